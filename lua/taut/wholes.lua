--- Says once what diagnosis finds slow as a whole: a cabinet, a class of components, new nodes.
--
-- Nobody in it gets a verdict for that, so that the policy hears nothing of it.
local loop = require "taut.loop"
local whole = require "taut.diagnose.whole"

local wholes = {}

local AGAIN_S = 86400 -- what was not so for so long is news when it comes back

--- Look at the suspects; what is new among them is an alert.
-- @param d daemon: diagnosis, topo, act; keeps `wholes`, map of what was said → when it was last so
function wholes.review(d)
   local now = loop.time()
   d.wholes = d.wholes or {}
   for c in pairs(d.diagnosis.suspects) do
      local text = d.diagnosis:component(c).whole
      local what = text and whole.subject(text)
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
