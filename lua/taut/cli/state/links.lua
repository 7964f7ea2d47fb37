-- SPDX-License-Identifier: GPL-2.0-or-later
local ask = require "taut.base.ask"
local report = require "taut.report"
local verdicts = require "taut.report.verdicts"

local links = { summary = "Router-to-router links: verdict, what to do, which cable." }

function links.setup(parser)
   parser:flag("-a --all"):description "All links, not only those that are not ok."
end

function links.run(args)
   local d, code = ask.tautd(args, "links")
   if not d then
      return code
   end
   local rows, well, unknown = {}, 0, 0
   for _, l in ipairs(d.links) do
      well = well + (l.state == "ok" and 1 or 0)
      unknown = unknown + (l.state == "unknown" and 1 or 0)
      if args.all or l.state ~= "ok" and l.state ~= "unknown" then
         local slow = verdicts.is_verdict(l.state)
         local bad = l.state ~= "ok" and l.state ~= "unknown"
         rows[#rows + 1] = { l.component, report.state(l), l.action or (bad and "watch" or "-"),
            ("%d of %d"):format(l.low, l.low_of or l.tests), report.ago(l.last, d.now),
            report.known(l.known) or slow and "repair " .. l.cable
               or bad and "look at " .. l.cable or "" }
      end
   end
   if #rows > 0 then
      report.table({ "LINK", "VERDICT", "ACTION", ">LOW", "TESTED", "CABLE" }, rows)
   end
   print(("%s: %d ok, %d never tested"):format(report.count(#d.links, "link"), well, unknown))
   return 0
end

return links
