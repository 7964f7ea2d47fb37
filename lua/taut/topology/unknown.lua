-- SPDX-License-Identifier: GPL-2.0-or-later
--- Components whose capacity nobody configured: what they carry is learned
-- (lua/taut/diagnose/learned_capacity.lua), and until then they are open.
--
-- A model gives them CABLE for each of their cables.  As a topology they have a guess, since
-- routes, loads and flows want some number: the largest capacity that is configured.
local unknown = {}

--- In place of the bytes per second of one cable.
unknown.CABLE = -1

local GUESS_Bps = 1e9 -- where nothing at all is configured: all alike

--- A capacity out of a configuration.
-- @param given the whole setting `capacity`: nil, a number or a table
-- @param v what it says of this kind, or nil
-- @param kind for the message
-- @return bytes per second, CABLE, or nil and what was expected
function unknown.checked(given, v, kind)
   if given ~= nil and type(given) ~= "number" and type(given) ~= "table" then
      v = given
   elseif v == nil then
      return unknown.CABLE
   end
   if type(v) ~= "number" or not (v > 0 and v < math.huge) then
      return nil, ("topology.capacity: expected bytes per second for '%s', got %s"):format(kind,
         tostring(v))
   end
   return v
end

--- Capacity of two cables that are one link.
function unknown.sum(a, b)
   if (a < 0) ~= (b < 0) then
      return unknown.CABLE -- of one of them nobody knows
   end
   return a + b
end

--- Take the capacities that are not known out of a topology under way.
function unknown.take(topo)
   local learns, most = {}, 0
   for c, v in ipairs(topo.capacity) do
      if v < 0 then
         learns[c] = -v
      end
      most = math.max(most, v)
   end
   if next(learns) then
      topo.learns, topo.open = {}, {}
      if most <= 0 then
         most = GUESS_Bps
      end
      for c, cables in pairs(learns) do
         unknown.open(topo, c, cables, most)
      end
   end
end

--- The capacity that a model gave a component: what is to be learned counts its cables below 0.
function unknown.made_capacity(topo, component)
   local cables = topo.learns and topo.learns[component]
   if cables then
      return -cables
   end
   return topo.capacity[component]
end

--- A component is to be learned.
-- @param cables how many it has
-- @param guess bytes per second of one
function unknown.open(topo, component, cables, guess)
   topo.learns, topo.open = topo.learns or {}, topo.open or {}
   topo.learns[component], topo.open[component] = cables, true
   topo.capacity[component] = guess * cables
   if topo.graph then
      topo.graph:set_capacity(component, topo.capacity[component])
   end
   if topo.traffic then
      topo.traffic.graph:set_capacity(component, topo.capacity[component])
   end
   if topo.graph and topo.fabrics then
      local f, k = topo:part_of(component)
      unknown.open(f.topo, k, cables, guess)
   end
end

--- A component carries so much.
function unknown.known(topo, component, Bps)
   topo.open[component], topo.capacity[component] = nil, Bps
   topo.graph:set_capacity(component, Bps)
   if topo.traffic then
      topo.traffic.graph:set_capacity(component, Bps)
   end
   if topo.fabrics then
      local f, k = topo:part_of(component)
      unknown.known(f.topo, k, Bps)
   end
end

--- What a component is compared with when its capacity is learned: its class, and how many cables
-- it has.
function unknown.class_of(topo, component)
   local cables = topo.learns[component]
   if cables == 1 then
      return topo:class(component)
   end
   return ("%s x%d"):format(topo:class(component), cables)
end

--- All that are learned, by class.
-- @return map class → array of components
function unknown.classes(topo)
   local list = {}
   for c = 1, #topo.components do
      if topo.learns and topo.learns[c] and topo:is_there(c) then
         local name = unknown.class_of(topo, c)
         list[name] = list[name] or {}
         table.insert(list[name], c)
      end
   end
   return list
end

-- Every word by which `capacity` may name some component.
local function words_of(topo)
   local known = { tx = true, rx = true, link = true, uplink = true, downlink = true }
   for c = topo.first_link, #topo.components do
      local kind, class = topo:kind(c), topo:class(c)
      local letter = kind:sub(1, 1)
      known[kind], known[class], known[letter], known[letter .. " " .. class] = true, true, true,
         true
   end
   return known
end

--- Where something is to be learned, a word of `capacity` that names nothing is more likely
-- misspelt than of no use.
-- @return true, or nil and what was expected
function unknown.check_names(topo, capacity)
   if not topo.learns or type(capacity) ~= "table" then
      return true
   end
   local known = words_of(topo)
   for name in pairs(capacity) do
      if not known[name] then
         return nil, ("topology.capacity: '%s' names no component of this machine, and '%s' has " ..
            "no capacity"):format(tostring(name), unknown.class_of(topo, (next(topo.learns))))
      end
   end
   return true
end

return unknown
