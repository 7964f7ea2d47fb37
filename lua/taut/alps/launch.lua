-- SPDX-License-Identifier: GPL-2.0-or-later
--- Starts taut-probe on a job's nodes: `tautd --alps launch PURPOSE --KEY VALUE …`, as root on a
-- front end, in the job's container, where aprun finds the job's reservation.
--
-- Each node has an aprun of its own, since standard input, by which its ticket comes, reaches an
-- application's first process only.  None of them outlives this program: it would hold the
-- reservation.  What goes wrong is said, and never a failure.
local basil = require "taut.alps.basil"
local hostlist = require "taut.hostlist"
local loop = require "taut.loop"
local sys = require "taut.sys"
local ticket = require "taut.wire.ticket"

local launch = {}

local NODES_MAX = 64 -- apruns at once; of a longer list, a part that moves with the job's number
local NOBODY = 0xfffffffe -- as uid of a user whom this host does not know
local TERM_MS = 300  -- from SIGTERM to SIGKILL
-- What this program takes for itself; everything else is taut-probe's.
local OWN = { probe = true, launch = true, ["launch-ms"] = true, launcher = true, batch = true,
   conf = true, ["munge-socket"] = true, node = true, nodes = true }

---------------------------------------------------------------- arguments

local function add_option(options, key, value)
   key = key:gsub("_", "-")
   if not options.at[key] then
      options.keys[#options.keys + 1] = key
   end
   options.at[key] = value
end

-- node.conf, as taut-probe reads it; the command line has the last word.
local function read_node_conf(options, path)
   local file, err = io.open(path)
   for line in file and file:lines() or function() end do
      local key, value = line:match "^%s*([%w_]+)%s*=%s*(.-)%s*$"
      if key and not options.at[key:gsub("_", "-")] then
         add_option(options, key, value)
      end
   end
   if file then
      file:close()
   end
   return file, err
end

local function parse_options(arg)
   local o, i = { purpose = arg[1], at = {}, keys = {} }, 2
   while i <= #arg do
      local key = arg[i]:match "^%-%-(.+)$"
      if not key or not arg[i + 1] then
         return nil, ("'%s': expected --KEY VALUE"):format(arg[i])
      end
      add_option(o, key, arg[i + 1])
      i = i + 2
   end
   local ok, err = true, nil
   if o.at.conf then
      ok, err = read_node_conf(o, o.at.conf)
   end
   return ok and o or nil, err
end

-- A batch system that tells its prologue nothing but the job: ALPS knows the nodes.
local function find_batch_nodes(options)
   local inventory, err = basil.inventory()
   for _, r in ipairs(inventory and inventory.reservations or {}) do
      if r.batch == options.at.batch then
         add_option(options, "job", tostring(basil.job_of(r) or 0))
         add_option(options, "uid", tostring(sys.user_id(r.user) or NOBODY))
         return basil.nodes_of(inventory, r.id)
      end
   end
   return nil, err or ("ALPS has no reservation of %s"):format(options.at.batch)
end

local function find_nodes(options)
   local names, err
   if options.at.batch then
      names, err = find_batch_nodes(options)
   else
      names, err = hostlist.expand(options.at.nodes or "", 1 << 20)
   end
   if not names or #names <= NODES_MAX then
      return names, err
   end
   local list, from = {}, tonumber(options.at.job or 0) * NODES_MAX % #names
   for i = 1, NODES_MAX do
      list[i] = names[(from + i - 1) % #names + 1]
   end
   return list
end

---------------------------------------------------------------- one node

local function say_line(options, text)
   if options.at.batch then
      sys.log(text:match "^error" and "err" or "info", ("job %s: %s"):format(options.at.job or "?",
         text))
   else
      sys.put(text .. "\n")
   end
end

local function make_probe_argv(options, node)
   local nid = node:match "^nid0*(%d+)$"
   if not nid then
      return nil, ("'%s' is not the name of a compute node, nidNNNNN"):format(node)
   end
   local argv = { "sh", "-c", 'exec aprun "$@" 2>&1', "aprun", "-q", "-b", "-n", "1", "-N", "1",
      "-L", nid, options.at.probe or sys.paths.libexecdir .. "/taut-probe", options.purpose,
      "--ticket", "--node", node, "--nodes", options.nodes }
   for _, key in ipairs(options.keys) do
      if not OWN[key] then
         argv[#argv + 1] = "--" .. key
         argv[#argv + 1] = options.at[key]
      end
   end
   return argv
end

local function count_ended(options)
   options.left = options.left - 1
   if options.left == 0 then
      loop.stop()
   end
end

local function follow_process(options, spec)
   local proc, why
   spec.on_exit = function(how)
      options.running[proc] = nil
      spec.ended(how)
   end
   proc, why = loop.spawn(spec)
   if proc then
      options.running[proc] = true
   end
   return proc, why
end

-- aprun of one node: its ticket by standard input, its output told with the node's name.
local function start_probe(options, node, line)
   local argv, why = make_probe_argv(options, node)
   local proc
   if argv then
      proc, why = follow_process(options, { argv = argv,
         on_line = function(text)
            local level, rest = text:match "^(%a+: )(.*)"
            if level ~= "error: " and level ~= "debug: " then
               level, rest = "", text
            end
            say_line(options, level .. node .. ": " .. rest)
         end,
         ended = function(how)
            if how ~= "exit 0" then
               say_line(options, ("error: %s: aprun: %s"):format(node, how))
            end
            count_ended(options)
         end })
   end
   if not proc then
      say_line(options, ("error: %s: %s"):format(node, why))
      return count_ended(options)
   end
   proc:send(line)
   proc:close()
end

local function number_or_zero(text)
   return math.tointeger(tonumber(text)) or 0
end

-- The credential comes from munge(1): a munged that hangs delays no one else.
local function make_ticket(options, node)
   local text, key = ticket.make { job = number_or_zero(options.at.job), node = node,
      nodes = options.nodes, purpose = options.purpose, uid = number_or_zero(options.at.uid),
      restart = number_or_zero(options.at.restart) }
   local cred
   local argv = { "munge", "--restrict-uid", options.at.user or "slurm", "--ttl",
      tostring(ticket.LIFE_S) }
   if options.at["munge-socket"] then
      argv[#argv + 1], argv[#argv + 2] = "--socket", options.at["munge-socket"]
   end
   local proc, why = follow_process(options, { argv = argv,
      on_line = function(line) cred = cred or line end,
      ended = function(how)
         if cred then
            return start_probe(options, node, key .. " " .. cred)
         end
         say_line(options, ("error: %s: munge: %s"):format(node, how))
         count_ended(options)
      end })
   if not proc then
      say_line(options, ("error: %s: munge: %s"):format(node, why))
      return count_ended(options)
   end
   proc:send(text)
   proc:close()
end

---------------------------------------------------------------- all of them

local function kill_running(options, signal)
   for proc in pairs(options.running) do
      proc:kill(signal)
   end
end

-- In time to kill what is late.
local function stop_in_time(options)
   local ms = tonumber(options.at["launch-ms"] or 5000)
   loop.timer(ms - TERM_MS, function()
      say_line(options, ("error: not done after %d ms; stopped"):format(ms - TERM_MS))
      kill_running(options, "TERM")
   end)
   loop.timer(ms, function()
      kill_running(options, "KILL")
      loop.stop()
   end)
end

--- @param arg PURPOSE, then --KEY VALUE
-- @return exit status, always 0
function launch.main(arg)
   local o, err = parse_options(arg)
   local names
   sys.log_to_stderr(false)
   if o then
      names, err = find_nodes(o)
   end
   if not names or #names == 0 then
      say_line(o or { at = {} }, ("error: %s"):format(err or "no nodes"))
      return 0
   end
   o.nodes, o.left, o.running = hostlist.compress(names), #names, {}
   stop_in_time(o)
   for _, node in ipairs(names) do
      make_ticket(o, node)
   end
   loop.run()
   return 0
end

return launch
