-- SPDX-License-Identifier: GPL-2.0-or-later
--- What the site does with verdicts, in the world's time: policy.lua decides whom to drain, and a
-- Slurm of one partition that is nothing but a list says who is drained.
local policy = require "taut.policy"

local operator = {}
local Operator = {}
Operator.__index = Operator

local RETRY_S = 3600 -- drains that a cap held back are looked at again

--- @param topo topology
-- @param s the `policy` section
-- @param drain function(node number): carries it out
function operator.new(topo, s, drain)
   local nodes, all = {}, {}
   for _, name in ipairs(topo.nodes) do
      nodes[name] = { partitions = { "batch" } }
      all[#all + 1] = name
   end
   local cluster = { nodes = nodes, partitions = { batch = all }, pending = {},
      is_usable = function(_, name) return not nodes[name].drain end }
   return setmetatable({ topo = topo, s = s, cluster = cluster, drained = {}, times = {},
      waiting = {}, looked = 0, held = 0, carry_out = drain }, Operator)
end

local function last_hour(self, now)
   local n = 0
   for _, time in ipairs(self.times) do
      n = n + (time > now - 3600 and 1 or 0)
   end
   return n
end

local function try(self, n, c, now)
   local name = self.topo.nodes[n]
   if self.drained[name] then
      return
   end
   if policy.held_back(name, self.s, self.cluster, self.drained, last_hour(self, now)) then
      self.waiting[n] = c
      self.held = self.held + 1
      return
   end
   self.waiting[n] = nil
   self.drained[name] = { component = c, time = now }
   self.times[#self.times + 1] = now
   self.carry_out(n)
end

--- A component was called slow or failed.
-- @param left share of its capacity that is left
function Operator:verdict(c, left, now)
   for _, n in ipairs((policy.nodes_for(self.topo, c, left, self.s))) do
      try(self, n, c, now)
   end
end

--- It was taken back, or repaired: nobody waits for a drain because of it, nobody stays drained.
function Operator:clear(c)
   for n, why in pairs(self.waiting) do
      self.waiting[n] = why ~= c and why or nil
   end
   for name, d in pairs(self.drained) do
      if d.component == c then
         self.drained[name] = nil
      end
   end
end

--- Time goes by: what was held back may be allowed now.
function Operator:tick(now)
   if now < self.looked + RETRY_S then
      return
   end
   self.looked = now
   for n, c in pairs(self.waiting) do
      try(self, n, c, now)
   end
end

return operator
