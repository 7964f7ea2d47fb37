--- What other jobs are known to send, as an excuse of a low test: where they and the test together
-- fill a link, it is busy and not broken.  What jobs send is what their profiles say (learn.lua):
-- no more than an excuse, so the test becomes void, and is made again at another time.
local stages = require "taut.stages"

local elsewhere = {}

--- @param t judged test: route, class, bw_Bps; shares: the plan's own senders by component
-- @param background map component → bytes per second of others
-- @param topo topology
-- @param good share of a capacity from which on a component is full
-- @return why it is excused, or nil
function elsewhere.reason(t, background, topo, good)
   for _, c in ipairs(stages.sure(t.route)) do
      local others, capacity = background[c], topo.capacity[c]
      local own = t.bw_Bps * (t.shares and t.shares[c] or 1)
      if others and capacity < math.huge and own + others >= good * capacity then
         return ("other jobs send %.3g MB/s over %s by their profiles: it is busy"):format(
            others / 1e6, topo.components[c])
      end
   end
   return nil
end

--- A low test becomes void where other jobs explain it.
-- @param d daemon: learn, topo, conf
function elsewhere.excuse(d, t)
   if t.class ~= "low" or not d.learn then
      return
   end
   local why = elsewhere.reason(t, d.learn:background(t.job), d.topo, d.conf.diagnosis.good)
   if why then
      t.class, t.why = "void", why
   end
end

return elsewhere
