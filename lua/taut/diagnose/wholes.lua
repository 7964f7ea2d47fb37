-- SPDX-License-Identifier: GPL-2.0-or-later
--- Says once what makes no verdict, so that the policy hears nothing of it: what diagnosis finds
-- slow as a whole (a cabinet, a class of components, new nodes), a set of links one of which is
-- slow, and hard evidence without a low test.
local json = require "taut.json"
local loop = require "taut.loop"
local sys = require "taut.sys"
local words = require "taut.diagnose.words"

local wholes = {}

local KEEP_S = 600    -- between two writes of what is known of sets
local AGAIN_S = 86400 -- what was not so for so long is news when it comes back

-- Members of a set get no verdict either: nobody knows which it is.
local function tell_sets(d, changes)
   for _, v in ipairs(changes) do
      if v.over then
         sys.log("notice", select(2, d.diagnosis.sets:words(v)) .. " no longer")
      else
         local text = d.diagnosis.sets:words(v)
         d.act:say(text)
         d.act:record { action = "alert", component = d.topo.components[v.members[1]],
            reason = text }
      end
   end
end

-- Keep what is known of sets: at once when a verdict changed, else now and then.
local function keep_sets(d, changed, now)
   local sets = d.diagnosis.sets
   if #changed > 0 or sets.closed ~= d.sets_kept and now - (d.sets_kept_at or 0) >= KEEP_S then
      d.sets_kept, d.sets_kept_at = sets.closed, now
      d.journal:add("setting", { name = "sets", value = json.encode(json.array(sets:pack())) })
   end
end

--- What the tests of an event said of sets of links (diagnose/sets.lua): told, and kept.
-- @param d daemon: diagnosis, topo, act, journal
function wholes.sets(d)
   local changes = d.diagnosis:take_set_changes()
   if d.diagnosis.has_sets then
      tell_sets(d, changes)
      keep_sets(d, changes, loop.time())
   end
end

--- Take over what was kept of sets.
-- @param text value of the setting
function wholes.restore_sets(d, text)
   local kept, err = json.decode(text)
   local ok
   if kept then
      ok, err = d.diagnosis.sets:restore(kept)
   end
   if not ok then
      sys.log("warning", "database: sets of links: " .. err)
   end
end

-- What there is to say about a suspect, and the part of it that stays the same.
local function news_of(d, c, k)
   if k.whole then
      return words.whole(k.whole)
   elseif k.hard and k.hard.left < d.conf.diagnosis.good then
      local what = ("%s is suspect: %s"):format(d.topo.components[c], k.hard.why)
      return ("%s; %d%% left, not drained for that alone"):format(what,
         math.floor(k.hard.left * 100 + 0.5)), what
   end
end

--- Look at the suspects; what is new among them is an alert.
-- @param d daemon: diagnosis, topo, act; keeps `wholes`, map of what was said → when it was last so
function wholes.review(d)
   local now = loop.time()
   d.wholes = d.wholes or {}
   for c in pairs(d.diagnosis.suspects) do
      local text, what = news_of(d, c, d.diagnosis:component(c))
      if what and now - (d.wholes[what] or -math.huge) > AGAIN_S then
         d.act:say(text)
         d.act:record { action = "alert", component = d.topo.components[c], reason = text }
      end
      if what then
         d.wholes[what] = now
      end
   end
end

return wholes
