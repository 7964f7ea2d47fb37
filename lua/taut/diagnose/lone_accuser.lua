-- SPDX-License-Identifier: GPL-2.0-or-later
--- One node at an end of all low tests over a link may be the slow one. It may receive selectively,
-- or report false values, and no other node contradicts it.
local member = require "taut.diagnose.sets.member"
local tables = require "taut.base.tables"
local stages = require "taut.topology.stages"

local lone_accuser = {}

local function does_cross(topo, src, dst, component)
   for _, on in ipairs(src ~= dst and stages.all(topo:route(src, dst)) or {}) do
      if on == component then
         return true
      end
   end
   return false
end

-- Has src another receiver over the component, or dst another sender?  The likeliest are next to
-- the one there is.
local function has_another(topo, component, src, dst, side)
   local is_receiver = side == "receivers"
   local own, last = is_receiver and dst or src, #topo.nodes
   local function is_another(node)
      return node >= 1 and node <= last
         and does_cross(topo, is_receiver and src or node, is_receiver and node or dst, component)
   end
   for away = 1, math.max(own - 1, last - own) do
      if is_another(own - away) or is_another(own + away) then
         return true
      end
   end
   return false
end

-- Routes do not change often, and there may be many nodes.
local function could_have_another(self, component, src, dst, side)
   local known = self.ends_of
   if not known or known.topo ~= self.topo or known.epoch ~= self.topo.epoch then
      known = { topo = self.topo, epoch = self.topo.epoch, senders = {}, receivers = {} }
      self.ends_of = known
   end
   if known[side][component] == nil then
      known[side][component] = has_another(self.topo, component, src, dst, side)
   end
   return known[side][component]
end

--- What a case against a link lacks: senders or receivers, where the routes have more of them.
-- @param self the diagnosis
-- @param case of taut.evidence
-- @param far how many of each there must be
-- @param src, dst the ends of its newest test, or nil
-- @return { what = "senders" or "receivers", has, needs }, or nil
function lone_accuser.missing(self, component, case, far, src, dst)
   if not self.topo:is_link(component) then
      return nil
   end
   local flows = member.flows(self.sets, component)
   for _, side in ipairs { "senders", "receivers" } do
      if math.max(case[side], tables.size(flows[side])) < math.min(far, 2) then
         -- without a ceiling nothing tells a link from the one node that it leads to
         if src and (case.is_any or could_have_another(self, component, src, dst, side)) then
            return { what = side, has = case[side], needs = math.ceil(far) }
         end
      end
   end
   return nil
end

return lone_accuser
