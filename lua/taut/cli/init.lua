-- SPDX-License-Identifier: GPL-2.0-or-later
--- `taut`: the command line.  Each command is a module of three things: `summary`, `setup(parser)`
-- (its arguments, argparse) and `run(args)` → exit status.
local argparse = require "argparse"
local ask = require "taut.base.ask"
local tables = require "taut.base.tables"
local json = require "taut.json"
local report = require "taut.report"
local step = require "taut.survey.step"
local sys = require "taut.sys"

local cli = {}

-- In the order of `taut --help`; adding one is a file and a line: name, folder.
local commands = {
   { "status", "state" },
   { "check", "state" },
   { "watch", "state" },
   { "doctor" },
   { "links", "state" },
   { "nodes", "state" },
   { "topology" },
   { "explain", "state" },
   { "why", "state" },
   { "events", "state" },
   { "report", "page" },
   { "serve", "page" },
   { "advise", "place" },
   { "audit", "survey" },
   { "matrix", "survey" },
   { "fabric", "fabric" },
   { "ingest", "state" },
   { "map", "place" },
   { "steer", "place" },
   { "study" },
   { "profile", "state" },
   { "resume", "act" },
   { "repair", "act" },
   { "ack", "act" },
   { "verify", "act" },
   { "relearn", "act" },
   { "policy", "act" },
   { "off", "act" },
   { "on", "act" },
   { "hook", "act" },
   { "init", "begin" },
   { "config", "state" },
   { "db", "state" },
   { "completion" },
   { "help" },
}

local function parser_of()
   local parser = argparse("taut")
      :description "Interconnect health and placement for Slurm."
      :epilog "Exit status: 0 done, 1 it could not be done, 2 wrong arguments."
      :help_max_width(79)
   parser:flag("-V --version"):description "Show the version.":action(function()
      print("taut " .. sys.version)
      os.exit(0)
   end)
   parser:option("--socket"):description(("tautd's socket (default %s/tautd.sock)."):format(
      sys.paths.rundir)):argname "<path>"
   parser:option("--server"):description(
      "Ask the tautd on another host (default: on a host without tautd, servers= of node.conf).")
      :argname "<host[:port]>"
   parser:command_target "command"
   parser:require_command(true)
   local modules = {}
   for _, entry in ipairs(commands) do
      local name, folder = entry[1], entry[2]
      local m = require("taut.cli." .. report.text_with("", folder, ".") .. name)
      local sub = parser:command(name):summary(m.summary):description(m.summary)
      m.setup(sub)
      if m.has_json ~= false then
         sub:flag("--json"):description "Print the answer as JSON."
      end
      modules[name] = m
   end
   return parser, modules
end

-- What is wrong with the command line is the same for all processes of a step: the first one says
-- it for a survey's.
local function is_silent(arg)
   local procid = step.procid()
   if not procid or procid <= 0 then
      return false
   end
   return tables.any(arg, function(word)
      return word == "audit" or word == "matrix"
   end)
end

-- What is wrong with the command line, and the usage of the command that it is about.
local function parse_line(parser, arg)
   local wrong
   function parser.error(of, text)
      wrong = { usage = of:get_usage(), text = text }
      error(wrong, 0)
   end
   local ok, args = pcall(parser.parse, parser, arg)
   if not ok and not wrong then
      error(args, 0)
   end
   return ok and args, wrong
end

-- Run a command.  Whoever asked for JSON gets some, also where it failed: { "error": … }.
local function run_command(command, args)
   local plain, any, wants = print, false, args.json == true -- of matrix it is a file
   if wants then
      rawset(_G, "print", function(...)
         any = true
         plain(...)
      end)
   end
   local status = command.run(args)
   rawset(_G, "print", plain)
   if wants and not any and status ~= 0 and status ~= true and report.complaint() then
      print(json.encode({ error = report.complaint() }, 2))
   end
   return status
end

-- "help explain" is "explain --help"; "help" alone is a command.
local function unfold_help(arg)
   if arg[1] ~= "help" or #arg < 2 or arg[2]:sub(1, 1) == "-" then
      return arg
   end
   local out = table.move(arg, 2, #arg, 1, {})
   out[#out + 1] = "--help"
   return out
end

--- @param arg command line
-- @return exit status
function cli.main(arg)
   local parser, modules = parser_of()
   arg = unfold_help(arg)
   local args, wrong = parse_line(parser, arg)
   if wrong then
      if not is_silent(arg) then
         io.stderr:write(wrong.usage, "\n\n")
         report.complain(wrong.text)
         if arg[1] ~= "matrix" and tables.has(arg, "--json") then
            print(json.encode({ error = wrong.text }, 2))
         end
      end
      return 2
   end
   local ok, err = ask.choose(args)
   if not ok then
      report.complain(err)
      return 2
   end
   args.argv, args.parser = arg, parser
   return run_command(modules[args.command], args)
end

return cli
