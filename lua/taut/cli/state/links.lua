-- SPDX-License-Identifier: GPL-2.0-or-later
local ask = require "taut.base.ask"
local report = require "taut.report"
local tables = require "taut.base.tables"
local verdicts = require "taut.report.verdicts"

local links = { summary = "Router-to-router links: verdict, what to do, which cable." }

function links.setup(parser)
   parser:flag("-a --all"):description "All links, not only those that are not ok."
end

-- Sets in place of links that no test can tell apart.
local function print_sets(answer, all)
   local rows = {}
   for _, s in ipairs(answer.sets or {}) do
      if all or s.state ~= "ok" and s.state ~= "unknown" then
         rows[#rows + 1] = { "one of " .. s.name, report.state(s),
            report.ago(s.last, answer.now), #s.links <= 4 and table.concat(s.links, " ")
            or ("%s … %s"):format(s.links[1], s.links[#s.links]) }
      end
   end
   if #rows > 0 then
      report.table({ "SET OF LINKS", "VERDICT", "TESTED", "LINKS" }, rows)
   end
end

-- Of several fabrics some may hash and others choose.
local function told_apart_by(sets)
   local hashed = tables.find(sets, function(set) return not set.adaptive end)
   local adaptive = tables.find(sets, function(set) return set.adaptive end)
   if hashed and adaptive then
      return report.tells_apart(false) .. ", and where routing is adaptive " ..
         report.tells_apart(true)
   end
   return report.tells_apart(adaptive ~= nil)
end

function links.run(args)
   local d, code = ask.tautd(args, "links")
   if not d then
      return code
   end
   local rows, well, unknown, in_sets = {}, 0, 0, 0
   for _, l in ipairs(d.links) do
      well = well + (l.state == "ok" and 1 or 0)
      local is_in_set = l.state == "unknown" and l.in_set
      in_sets = in_sets + (is_in_set and 1 or 0)
      unknown = unknown + (l.state == "unknown" and not is_in_set and 1 or 0)
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
   print_sets(d, args.all)
   report.wrap(("%s: %d ok, %d never tested%s"):format(report.count(#d.links, "link"), well,
      unknown, in_sets > 0 and (", %d tested in sets only (%s tells them apart)"):format(in_sets,
      told_apart_by(d.sets or {})) or ""), "", "  ")
   return 0
end

return links
