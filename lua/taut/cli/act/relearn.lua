-- SPDX-License-Identifier: GPL-2.0-or-later
local ask = require "taut.base.ask"
local report = require "taut.report"

local relearn = { summary = "Learn anew what components carry: a change of all is the new normal." }

function relearn.setup(parser)
   parser:argument("class"):description(
      "Only of this class, as `taut status` names it; without it of all.")
      :args "?"
end

function relearn.run(args)
   local d, code = ask.tautd(args, "relearn", { class = args.class })
   if d then
      print(("%s will be learned anew; until then %s unknown"):format(report.count(d.components,
         "component"), d.components == 1 and "it is" or "they are"))
   end
   return code or 0
end

return relearn
