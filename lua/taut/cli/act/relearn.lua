-- SPDX-License-Identifier: GPL-2.0-or-later
local ask = require "taut.base.ask"
local report = require "taut.report"

local relearn = {
   summary = "Learn capacities anew, after a change of the machine that is to stay." }

function relearn.setup(parser)
   parser:argument("class"):description(
      "Only this class, as `taut status` names it (default: all).")
      :args "?"
end

function relearn.run(args)
   local d, code = ask.tautd(args, "relearn", { class = args.class })
   if d and args.json then
      print(ask.json(d))
   elseif d then
      print(("%s will be learned anew; until then %s unknown"):format(report.count(d.components,
         "component"), report.text_if(d.components == 1, "it is", "they are")))
   end
   return code or 0
end

return relearn
