-- SPDX-License-Identifier: GPL-2.0-or-later
--- `taut study`: what failed, slow and detuned links cost, before anybody has to find out.
--
-- Each subcommand is a module lua/taut/cli/study/NAME.lua of `summary`, `setup(parser)` and
-- `run(args)` → exit status.
local command = {
   summary = "The cost of failed and slow links to a machine's jobs, and the benefit of repairs.",
   has_json = false,
}

-- In the order of `taut study --help`; adding one is a file and a line.
local subcommands = { "links", "detune", "inject", "repair", "outlook", "latency", "run" }

function command.setup(parser)
   parser:command_target "subcommand"
   parser:require_command(true)
   for _, name in ipairs(subcommands) do
      local m = require("taut.cli.study." .. name)
      local sub = parser:command(name):summary(m.summary):description(m.summary)
      m.setup(sub)
      sub:flag("--json"):description "Print the answer as JSON."
   end
end

function command.run(args)
   return require("taut.cli.study." .. args.subcommand).run(args)
end

return command
