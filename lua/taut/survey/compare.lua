-- SPDX-License-Identifier: GPL-2.0-or-later
--- How an audit compares with those before it.
local json = require "taut.json"
local stages = require "taut.topology.stages"

local compare = {}

local CHANGED = 0.1 -- what differs by more of what is expected is named

-- How a test is found again: by the links between its nodes, which other nodes may measure another
-- time; of two nodes of one router by their tx and rx (stages.between).
--
-- key → what was measured last, and from when to when that was.
local function tests_before(survey)
   local was, since, time = {}, nil, nil
   for _, r in survey.each(survey.last or {}) do
      local key = stages.between(r.route or "")
      local old = was[key]
      local event = r.event or 0
      if r.class ~= "void" and (r.kind == "audit E" or r.kind == "audit G") and
         (not old or event > old.event or event == old.event and (r.bw_Bps or 0) > old.bw_Bps) then
         was[key] = { bw_Bps = r.bw_Bps or 0, event = event, time = r.time or 0 }
      end
   end
   for _, old in pairs(was) do
      since, time = math.min(since or old.time, old.time), math.max(time or old.time, old.time)
   end
   return was, since, time
end

-- Tests alone, the best of each key.  Where routes are hashed or adaptive, another stream may well
-- take another way: such tests are not compared.
local function tests_now(survey)
   local best, order = {}, {}
   for _, t in survey.each(survey.results) do
      if t.sending == "E" and not t.sets and t.class ~= "void" then
         local key = stages.between(stages.text(t.route, survey.topo.components))
         if not best[key] then
            order[#order + 1] = key
         end
         if not best[key] or best[key].bw_Bps <= t.bw_Bps then
            best[key] = t
         end
      end
   end
   return best, order
end

--- @param survey as in outcome.of; survey.last: rows of schema.last_audit
-- @return { time, since = when the compared tests were made, the newest and the oldest, changed =
--   array of { link, src, dst, was_Bps, now_Bps }, same = how many others }; nil where nothing was
--   measured before
function compare.of(survey)
   local was, since, time = tests_before(survey)
   if not time then
      return nil
   end
   local best, order = tests_now(survey)
   local changed, same = json.array {}, 0
   for _, key in ipairs(order) do
      local t, old = best[key], was[key]
      if old and math.abs(t.bw_Bps - old.bw_Bps) > CHANGED * math.max(t.expected_Bps, 1) then
         changed[#changed + 1] = { link = survey.topo.components[t.link or 0] or key,
            src = t.src_name, dst = t.dst_name, was_Bps = old.bw_Bps, now_Bps = t.bw_Bps }
      elseif old then
         same = same + 1
      end
   end
   table.sort(changed, function(one, other)
      return one.now_Bps - one.was_Bps < other.now_Bps - other.was_Bps
   end)
   return { time = time, since = since, changed = changed, same = same }
end

return compare
