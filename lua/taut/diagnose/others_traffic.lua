-- SPDX-License-Identifier: GPL-2.0-or-later
--- What others are known to send, as an excuse of a low test: where they and the test together fill
-- a link, it is busy and not broken.
--
-- Known is what the link's own port counted between the last two sweeps (fabric/load.lua), and what
-- running jobs send as their profiles say (events/profiles.lua).  Neither is of just that moment,
-- so it is an excuse and no more: the test becomes void, and is made again at another time.
local stages = require "taut.topology.stages"

local others_traffic = {}

--- @param t judged test: route, class, bw_Bps, port; shares: the plan's own senders by component
-- @param others map component → bytes per second of others
-- @param topo topology
-- @param good share of a capacity from which on a component is full
-- @return the component that is full, or nil
function others_traffic.full(t, others, topo, good)
   if not next(others) then
      return nil -- nearly always; the test's route need not be made for it
   end
   for _, c in ipairs(stages.sure(t.route)) do
      local more, capacity = others[c], topo.capacity[c]
      local is_counted = t.port and t.port.component == c -- its node told what it carried
      if more and not is_counted and capacity < math.huge then
         local own = t.bw_Bps * (t.shares and t.shares[c] or 1)
         if own + more >= good * capacity then
            return c
         end
      end
   end
   return nil
end

-- What ports counted, by component.
local function counted(loads, topo)
   local map = {}
   for _, l in ipairs(loads) do
      local c = topo:component_named(l.component)
      map[c or 0] = math.max(map[c or 0] or 0, l.Bps)
   end
   map[0] = nil
   return map
end

local TEXT = {
   counted = "%s carried %.3g MB/s between the last two sweeps: it is busy",
   sent = "over %s other jobs send %.3g MB/s by their profiles: it is busy",
}

--- A low test becomes void where others explain it; a void one at a loaded port tells nothing more.
-- What such a test lost others' queues may have dropped: also where an end was late.
-- @param t judged test
-- @param o { topology, good, loads = what ports counted: array of { component = name, Bps }, sent =
--   what other jobs send by their profiles: map component → Bps }
function others_traffic.excuse(t, o)
   local known = { counted = counted(o.loads, o.topology), sent = o.sent }
   for _, how in ipairs { "counted", "sent" } do
      local c = others_traffic.full(t, known[how], o.topology, o.good)
      if c then
         if t.class == "low" or t.port then
            t.why = TEXT[how]:format(o.topology.components[c], known[how][c] / 1e6)
         end
         t.class, t.port, t.segments, t.lost = "void", nil, nil, nil
         return
      end
   end
end

return others_traffic
