-- SPDX-License-Identifier: GPL-2.0-or-later
local ask = require "taut.base.ask"
local config = require "taut.config"
local json = require "taut.json"
local report = require "taut.report"
local sys = require "taut.sys"

local command = { summary = "check: is a configuration good?  reload: make tautd take it." }

function command.setup(parser)
   parser:argument("action"):description "What to do.":choices { "check", "reload" }
   parser:argument("file"):description "For check (default: the installed one).":args "?"
end

function command.run(args)
   if args.action == "reload" then
      local d, code = ask.tautd(args, "reload")
      if d then
         print("in force: " .. d.taken)
      end
      return code or 0
   end
   local path = args.file or sys.paths.confdir .. "/taut.lua"
   local conf, err = config.load(path, sys.paths)
   if args.json then
      print(json.encode({ good = conf ~= nil, file = path, error = err,
         hints = conf and json.array(conf.hints) }, 2))
      return conf and 0 or 1
   elseif not conf then
      io.stderr:write("taut: ", err, "\n")
      return 1
   end
   for _, hint in ipairs(conf.hints) do
      io.stderr:write("taut: ", hint, "\n")
   end
   print(("%s is good: %d nodes, %d components, mode %s"):format(path, #conf.topology.nodes,
      #conf.topology.components, report.word(conf.mode)))
   return 0
end

return command
