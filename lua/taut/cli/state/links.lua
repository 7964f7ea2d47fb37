-- SPDX-License-Identifier: GPL-2.0-or-later
local ask = require "taut.base.ask"
local report = require "taut.report"
local tables = require "taut.base.tables"
local verdicts = require "taut.report.verdicts"

local links = { summary = "Router-to-router links: verdict, what to do, which cable." }

function links.setup(parser)
   parser:flag("-a --all"):description "All links, not only those that are not ok."
end

local function names_in_short(names)
   if #names <= 4 then
      return table.concat(names, " ")
   end
   return ("%s … %s"):format(names[1], names[#names])
end

-- Sets in place of links that no test can tell apart.
local function print_sets(answer, all)
   local rows = {}
   for _, s in ipairs(answer.sets or {}) do
      if all or s.state ~= "ok" and s.state ~= "unknown" then
         rows[#rows + 1] = { "one of " .. s.name, report.state(s),
            report.ago(s.last, answer.now), names_in_short(s.links) }
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

local function is_bad(link)
   return link.state ~= "ok" and link.state ~= "unknown"
end

-- What to do about a link.
local function advice_of(link)
   if link.known then
      return report.known(link.known)
   elseif verdicts.is_verdict(link.state) then
      return "repair " .. link.cable
   elseif is_bad(link) then
      return "look at " .. link.cable
   end
   return ""
end

local function link_row(link, now)
   return { link.component, report.state(link),
      link.action or report.text_if(is_bad(link), "watch", "-"),
      ("%d of %d"):format(link.low, link.low_of or link.tests), report.ago(link.last, now),
      advice_of(link) }
end

function links.run(args)
   local d, code = ask.tautd(args, "links")
   if not d then
      return code
   end
   local rows, well, unknown, in_sets = {}, 0, 0, 0
   for _, l in ipairs(d.links) do
      if l.state == "ok" then
         well = well + 1
      elseif l.state == "unknown" and l.in_set then
         in_sets = in_sets + 1
      elseif l.state == "unknown" then
         unknown = unknown + 1
      end
      if args.all or is_bad(l) then
         rows[#rows + 1] = link_row(l, d.now)
      end
   end
   if #rows > 0 then
      report.table({ "LINK", "VERDICT", "ACTION", ">LOW", "TESTED", "CABLE" }, rows)
   end
   print_sets(d, args.all)
   local text = ("%s: %d ok, %d never tested"):format(report.count(#d.links, "link"), well, unknown)
   if in_sets > 0 then
      text = ("%s, %d tested in sets only (%s tells them apart)"):format(text, in_sets,
         told_apart_by(d.sets or {}))
   end
   report.wrap(text, "", "  ")
   return 0
end

return links
