--- Says once what makes no verdict, so that the policy hears nothing of it: what diagnosis finds
-- slow as a whole (a cabinet, a class of components, new nodes), and hard evidence without a low
-- test.
local loop = require "taut.loop"
local whole = require "taut.diagnose.whole"

local wholes = {}

local AGAIN_S = 86400 -- what was not so for so long is news when it comes back

-- What there is to say about a suspect, and the part of it that stays the same.
local function news_of(d, c, k)
   if k.whole then
      return k.whole, whole.subject(k.whole)
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
