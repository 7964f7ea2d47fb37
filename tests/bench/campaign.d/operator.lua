-- SPDX-License-Identifier: GPL-2.0-or-later
--- What the site does with verdicts, in the world's time: policy.lua decides whom to drain, with
-- its caps and its circuit breaker.  Slurm is a list of nodes in one partition, and where the
-- policy has stopped an administrator who looks in every hour tells it to go on.
local policy = require "taut.policy"

local operator = {}
local Operator = {}
Operator.__index = Operator

local LOOK_S = 3600

--- @param topo topology
-- @param s the `policy` section
-- @param drain function(node number): carries it out
function operator.new(topo, s, drain)
   return setmetatable({ topo = topo, s = s, cluster = policy.cluster(topo),
      history = policy.history(), standing = {}, waits = false, looked = 0, held = 0, stops = 0,
      carry_out = drain }, Operator)
end

local function verdicts_of(self)
   local list = {}
   for c, v in pairs(self.standing) do
      list[#list + 1] = { c = c, state = v.state, left = v.left, since = v.since, whole = v.whole }
   end
   table.sort(list, function(a, b) return a.c < b.c end)
   return list
end

local function decide(self, now)
   local d = policy.decide { topology = self.topo, settings = self.s, cluster = self.cluster,
      history = self.history, now = now, mode = "enable", verdicts = verdicts_of(self) }
   for _, a in ipairs(d.actions) do
      if a.action == "drain" then
         self.carry_out(self.topo.node_id[a.node])
      elseif a.action == "stop" or a.action == "capped" then
         self.stops = self.stops + 1
      end
      policy.note(self.history, a, now)
   end
   self.waits, self.changed = next(d.held) ~= nil, false
   self.held = self.held + (self.waits and 1 or 0)
end

--- A component was called slow or failed.
-- @param v { state, left = share of its capacity, whole = text where a whole leaf is slow }
function Operator:verdict(c, v, now)
   self.standing[c] = { state = v.state, left = v.left, whole = v.whole, since = now }
   self.changed = true
end

--- It was taken back, or repaired and its nodes released.
function Operator:clear(c)
   local names, text = {}, self.topo.components[c]
   self.standing[c] = nil
   for name, d in pairs(self.history.drained) do
      if d.component == text then
         names[#names + 1] = name
      end
   end
   policy.forget(self.history, names)
   for _, name in ipairs(names) do
      policy.note(self.history, { action = "release", node = name })
   end
end

--- Once an event: decide about what changed, and now and then about what was held back.
function Operator:tick(now)
   local look = now >= self.looked + LOOK_S
   if look then
      self.looked = now
      look = policy.resume(self.history) or self.waits
   end
   if look or self.changed then
      decide(self, now)
   end
end

return operator
