-- SPDX-License-Identifier: GPL-2.0-or-later
--- Samples with names of components, where the site wants such (`metrics.components`), what
-- `taut ack` knows of, and what releases the nodes' probes are of.
local loop = require "taut.loop"
local verdicts = require "taut.report.verdicts"

local named = {}

local RELEASES_MAX = 16

--- The fabric of a component, where the machine has several; for a label.
function named.fabric(topo, component)
   if topo.fabrics then
      return topo:fabric_of(component).name
   end
   return nil
end

local function is_known(self, component)
   return component ~= nil and self.acks:get(component, loop.time()) ~= nil
end

-- Decided verdicts, what is left least first.
local function list_decided(self)
   local list = {}
   for c, k in self.diagnosis:each() do
      if verdicts.is_verdict(k.state) then
         list[#list + 1] = { c = c, left = k.left or 0, state = k.state }
      end
   end
   table.sort(list, function(first, second)
      if first.left ~= second.left then
         return first.left < second.left
      end
      return first.c < second.c
   end)
   return list
end

--- Slow, lossy and failed components by name: samples, and how many are left out.
-- @param most so many; false: none
function named.components(self, most)
   if not most then
      return {}, 0
   end
   local samples, list, topo = {}, list_decided(self), self.site.topo
   for i = 1, math.min(#list, most) do
      local v = list[i]
      samples[i] = { v.left, labels = { component = topo.components[v.c], kind = topo:kind(v.c),
         fabric = named.fabric(topo, v.c), state = v.state,
         action = self.decision.measures[v.c] or "watch",
         known = is_known(self, topo.components[v.c]) and "yes" or nil } }
   end
   return samples, #list - #samples
end

--- Lossy components by name: the share of the packets that each loses.
-- @param most so many; false: none
function named.losses(self, most)
   local samples, topo = {}, self.site.topo
   for _, v in ipairs(most and list_decided(self) or {}) do
      local k = self.diagnosis:component(v.c)
      if k.loss and #samples < most then
         samples[#samples + 1] = { k.loss.share, labels = { component = topo.components[v.c],
            kind = topo:kind(v.c), fabric = named.fabric(topo, v.c) } }
      end
   end
   return samples
end

--- How many slow and failed components, and nodes that are held back, are known (`taut ack`).
function named.known(self)
   local components, held = 0, 0
   for _, v in ipairs(list_decided(self)) do
      if is_known(self, self.site.topo.components[v.c]) then
         components = components + 1
      end
   end
   for _, row in pairs(self.act:held_back()) do
      if is_known(self, row.component) then
         held = held + 1
      end
   end
   return components, held
end

--- Nodes by the release and the protocol of the probe that was heard last.
function named.probes(self)
   local count, keys, samples, rest = {}, {}, {}, nil
   for _, p in pairs(self.cluster:probes()) do
      local key = p.release .. "\0" .. p.protocol
      if not count[key] then
         count[key] = { 0, labels = { release = p.release, protocol = p.protocol } }
         keys[#keys + 1] = key
      end
      count[key][1] = count[key][1] + 1
   end
   table.sort(keys)
   for i, key in ipairs(keys) do
      if i <= RELEASES_MAX then
         samples[i] = count[key]
      else
         rest = (rest or 0) + count[key][1]
      end
   end
   samples[#samples + 1] = rest and { rest, labels = { release = "other", protocol = "other" } }
   return samples
end

return named
