-- SPDX-License-Identifier: GPL-2.0-or-later
--- `taut init`: the first configuration of a site, from the findings on this host.
local doctor = require "taut.cli.doctor"
local look = require "taut.cli.begin.look"
local report = require "taut.report"
local save = require "taut.report.save"
local sys = require "taut.sys"
local texts = require "taut.cli.begin.texts"

local init = { summary = "Look at Slurm and the fabric, write a first configuration.",
   has_json = false }

local FILE, PROGRAM = tonumber("644", 8), tonumber("755", 8) -- modes

function init.setup(parser)
   parser:option("-o --output"):description(("The folder to write to (default %s)."):format(
      sys.paths.confdir)):argname "<folder>"
   parser:flag("-n --dry-run"):description "Print what would be written, write nothing."
   parser:option("--lldp"):description("A folder with a file of each switch: the output " ..
      "of `lldpcli show neighbors -f json` there."):argname "<folder>"
   parser:epilog("An existing file with other contents is kept; the new one is written beside " ..
      "it, as FILE.new.  Exit status: 0 done, 1 Slurm does not answer, or a file cannot be " ..
      "written; else that of `taut doctor`.")
end

local function read_file(path)
   local f = io.open(path, "rb")
   local text = f and f:read "a"
   if f then
      f:close()
   end
   return text
end

-- @param mode of the file
local function write_file(path, text, mode)
   local was = read_file(path)
   if was == text then
      print(path .. ": is up to date")
      return true
   end
   local to, what = path, path .. ": written"
   if was then
      to = path .. ".new"
      what = ("%s: exists with other contents, kept; the new file is %s"):format(path, to)
   end
   local ok, err = save.text(to, text)
   if ok then
      ok, err = sys.chmod(to, mode)
   end
   if not ok then
      return nil, err
   end
   print(what)
   return true
end

local function files_to_write(found)
   local list = { { "taut.lua", texts.machine(found), FILE },
      { "node.conf", texts.node(found), FILE },
      { "plugstack.line", texts.plugstack(found), FILE } }
   local check = texts.healthcheck(found)
   if check then
      list[4] = { "healthcheck.next", check, PROGRAM }
   end
   return list
end

local function say_rest(found)
   local lines = texts.slurm_conf(found)
   if #lines > 0 then
      print "\nslurm.conf lacks these lines, or has other values:"
      for _, line in ipairs(lines) do
         print("   " .. line)
      end
      print "then restart slurmctld, and slurmd on every node."
   end
   print("\nnode.conf, plugstack.line (a line of plugstack.conf) and healthcheck.next, if it " ..
      "exists,\ngo to every compute node; taut.lua stays here.")
end

function init.run(args)
   local ok, err
   if args.lldp then
      ok, err = sys.names(args.lldp)
      if not ok then
         report.complain("init: --lldp: ", err)
         return 2
      elseif #ok == 0 then
         report.complain("init: --lldp: ", args.lldp, ": is empty, expected a file of each switch")
         return 2
      end
   end
   local found = look.around(args.lldp)
   for _, text in ipairs(found.wiring.why) do
      report.complain("init: not used for the wiring: ", text)
   end
   if not found.slurm then
      report.complain "init: Slurm does not answer here (scontrol show config)"
      return 1
   elseif #found.slurm.nodes < 2 then
      report.complain "init: Slurm has fewer than two nodes (sinfo -N)"
      return 1
   end
   local folder = args.output or sys.paths.confdir
   for _, f in ipairs(files_to_write(found)) do
      local path = folder .. "/" .. f[1]
      if args.dry_run then
         print(("---- %s\n%s"):format(path, f[2]))
      else
         ok, err = write_file(path, f[2], f[3])
         if not ok then
            report.complain("init: ", err)
            return 1
         end
      end
   end
   say_rest(found)
   if args.dry_run then
      return 0
   end
   print "\ntaut doctor:"
   return doctor.run { socket = args.socket, server = args.server }
end

return init
