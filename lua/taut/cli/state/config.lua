-- SPDX-License-Identifier: GPL-2.0-or-later
local ask = require "taut.base.ask"
local config = require "taut.config"
local json = require "taut.json"
local report = require "taut.report"
local sys = require "taut.sys"
local tables = require "taut.base.tables"

local command = { summary = "check: is a configuration good?  reload: make tautd take it." }

function command.setup(parser)
   parser:argument("action"):description "What to do.":choices { "check", "reload" }
   parser:argument("file"):description "For check (default: the installed one).":args "?"
   parser:flag("--dry-run"):description "For reload: show the consequences, and change nothing."
end

local SHOWN = 10 -- components by name

local function say_forgotten(list)
   local names = {}
   for i = 1, math.min(#list, SHOWN) do
      local f = list[i]
      names[i] = f.component .. report.text_with(" (", f.state ~= "ok" and f.state, ")")
   end
   if #list > 0 then
      print(("forgotten:    what is known of %s: %s%s"):format(report.count(#list, "component"),
         table.concat(names, ", "), report.text_if(#list > SHOWN, ", …")))
   end
end

local function say_dry_run(answer)
   if answer.refused then
      print("refused:      " .. answer.refused)
      return 1
   end
   for _, hint in ipairs(answer.hints) do
      print("hint:         " .. hint)
   end
   if #answer.at_once > 0 then
      print("at once:      " .. table.concat(answer.at_once, ", "))
   end
   if #answer.restart > 0 then
      print("refused:      needs a restart of tautd: " .. table.concat(answer.restart, ", "))
   end
   if answer.machine then
      print(("topology:     %s; of %d components %d are unchanged"):format(answer.machine.what,
         answer.machine.of, answer.machine.same))
      say_forgotten(answer.machine.forgotten)
   end
   if #answer.at_once + #answer.restart == 0 and not answer.machine then
      print "nothing would change"
   end
   return tables.one_if(#answer.restart > 0)
end

-- What reload would do.
local function show_dry_run(args)
   local d, code = ask.tautd(args, "reload", { dry_run = true })
   if d then
      return say_dry_run(d)
   end
   return code or 0
end

function command.run(args)
   if args.action == "reload" and args.dry_run then
      return show_dry_run(args)
   elseif args.action == "reload" then
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
      return tables.one_if(not conf)
   elseif not conf then
      io.stderr:write("taut: ", err, "\n")
      return 1
   end
   for _, hint in ipairs(conf.hints) do
      io.stderr:write("taut: ", hint, "\n")
   end
   print(("%s is good: %d nodes, %d components, mode %s"):format(path, #conf.topology.nodes,
      #conf.topology.components - conf.topology:absent(), report.word(conf.mode)))
   return 0
end

return command
