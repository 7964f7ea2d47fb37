-- SPDX-License-Identifier: GPL-2.0-or-later
--- `taut topology`: questions about the wiring and the routes of a machine.
--
-- Each subcommand is a module lua/taut/cli/topology/NAME.lua of
--   summary            one line
--   setup(parser)      its arguments (argparse)
--   run(args, scene)   → exit status; `scene` is what taut.cli.scene gives: topology and health
--   offline = true     it wants no topology: run(args), and it has no --machine and no --fail
--   has_json = false   it has no --json
--   names(args)        names of components, nodes and routers that it is asked about, where it is
--   single = true      of a machine of several fabrics it looks at one; whole = true: at all of
--                      them at once.  Others look at one after the other, and give their answers
--                      with common.json
local common = require "taut.cli.topology.common"
local json = require "taut.json"
local report = require "taut.report"
local scene = require "taut.cli.topology.scene"

local command = {
   summary = "Wiring and routes: show, route, dependents, load, check, draw, export …",
   has_json = false,
}

-- In the order of `taut topology --help`; adding one is a file and a line.
local subcommands = { "show", "route", "dependents", "exposed", "classes", "load", "diff",
   "check", "draw", "export", "import" }

function command.setup(parser)
   parser:command_target "subcommand"
   parser:require_command(true)
   for _, name in ipairs(subcommands) do
      local m = require("taut.cli.topology." .. name)
      local sub = parser:command(name):summary(m.summary):description(m.summary)
      m.setup(sub)
      if not m.offline then
         scene.setup(sub)
      end
      if m.has_json ~= false then
         sub:flag("--json"):description "Print the answer as JSON."
      end
   end
end

-- Of several fabrics, one after the other; the worst exit status.
local function run_each(subcommand, args, list)
   local status, answers = 0, nil
   if #list > 1 and args.json then
      answers = {}
   end
   for i, found in ipairs(list) do
      found.answers, found.is_first = answers, i == 1
      if #list > 1 and not args.json then
         print(report.text_if(i > 1, "\n") .. "fabric " .. found.fabric.name)
      end
      status = math.max(status, subcommand.run(args, found) or 0)
   end
   if answers then
      print(json.encode({ fabrics = answers }, 2))
   end
   return status
end

function command.run(args)
   local m = require("taut.cli.topology." .. args.subcommand)
   if m.offline then
      return m.run(args)
   end
   local list, err, is_usage
   if m.whole then
      local found
      found, err = scene.open(args)
      list = found and { found }
   elseif m.single then
      local found
      found, err = scene.one(args)
      list = found and { found }
   else
      list, err, is_usage = scene.each(args, m.names and m.names(args))
   end
   if not list then
      report.complain(err)
      if is_usage then
         return 2
      end
      return common.status_of(err)
   end
   return run_each(m, args, list)
end

return command
