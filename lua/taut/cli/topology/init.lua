-- SPDX-License-Identifier: GPL-2.0-or-later
--- `taut topology`: questions about the wiring and the routes of a machine.
--
-- Each subcommand is a module lua/taut/cli/topology/NAME.lua of
--   summary            one line
--   setup(parser)      its arguments (argparse)
--   run(args, scene)   → exit status; `scene` is what taut.cli.scene gives: topology and health
--   offline = true     it wants no topology: run(args), and it has no --machine and no --fail
--   has_json = false   it has no --json
local old = require "taut.cli.old"
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
      for _, word in ipairs(old.names("topology", name)) do
         sub:hidden_name(word)
      end
      m.setup(sub)
      if not m.offline then
         scene.setup(sub)
      end
      if m.has_json ~= false then
         sub:flag("--json"):description "Print the answer as JSON."
      end
   end
end

function command.run(args)
   local m = require("taut.cli.topology." .. args.subcommand)
   if m.offline then
      return m.run(args)
   end
   local found, err = scene.open(args)
   if not found then
      report.complain(err)
      return err:find "^%-%-" and 2 or 1 -- what an option says is wrong
   end
   return m.run(args, found)
end

return command
