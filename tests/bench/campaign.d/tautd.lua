-- SPDX-License-Identifier: GPL-2.0-or-later
--- tautd below its frames, MUNGE and JSON: the real parts (lua/taut/core/parts.lua) with clock,
-- Slurm and measured values of the caller's.  "These nodes of this job, now" and "these values" go
-- in (lua/taut/core/check.lua and findings.lua), changes of state and drains come out.
--
-- Slurm is one partition that does what it is told; rows for the database go nowhere.  The clock is
-- the whole process's, so there is one at a time.
local json = require "taut.json"
local loop = require "taut.loop"
local make = require "taut.core.parts"
local sys = require "taut.sys"
local tables = require "taut.base.tables"

local tautd = {}
local Tautd = {}
Tautd.__index = Tautd

local BUDGET_MS = 1000    -- of a node's check, as taut-probe says
local WINDOW_NS = 20000000

local function nothing() end

local function journal()
   return { add = nothing, flush = nothing, tell = nothing, prune = nothing,
      confirm = function(_, fn) fn(true) end,
      query = function(_, _, _, fn) fn {} end }
end

local function slurm_of(self, o)
   local ops = {}
   function ops.drain(node, r)
      node.drain, node.reason = true, r.reason
      o.drain(r.node)
   end
   function ops.resume(node)
      node.drain, node.reason = nil, ""
   end
   return { ask = function(_, r, fn)
      local op = ops[r.op]
      if not op then
         return fn(nil, "not asked here")
      end
      op(self.parts.cluster.nodes[r.node], r)
      fn { done = true }
   end }
end

-- What is told of changes is kept; nothing else is written down.
local function listen(self)
   local p = self.parts
   for _, name in ipairs { "tests", "session", "seen", "components", "sets", "learned" } do
      p.records[name] = nothing
   end
   function p.records.verdict(_, change)
      self.changes[#self.changes + 1] = change
   end
   function p.news.sets(_, list)
      table.move(list, 1, #list, #self.set_changes + 1, self.set_changes)
   end
end

local function begin_cluster(p)
   local cl = p.cluster
   cl:take_nodes(tables.map(p.site.topo.nodes, function(name)
      return { name = name, state = "idle", partitions = { "all" }, reason = "" }
   end))
   cl.knows_queue = true
   cl:tell {}
   function cl.refresh(_, fn)
      if fn then
         fn()
      end
   end
end

--- It is so late, in seconds.
function Tautd:at(time)
   self.now = time
end

--- Slurm has told how its nodes are.
function Tautd:refresh()
   local p = self.parts
   p.cluster.nodes_at, p.cluster.nodes_asked = self.now, self.now
   p.review()
end

--- A job begins on these nodes.
-- @param id number
-- @param names of its nodes
-- @return array of the sessions of its check (check.lua): one for each group where anything is due
function Tautd:job(id, names)
   local p = self.parts
   for _, name in ipairs(names) do
      p.cluster:prolog(id, names, name, true)
   end
   local h, list = { purpose = "prolog", job = id, budget_ms = BUDGET_MS }, {}
   local job = p.check:job(h, names, true)
   for i = 1, #(job.nodes or {}), p.site.conf.checks.group do
      list[#list + 1] = p.check:group(job, job.nodes[i], h).session
   end
   return list
end

--- It is over.
function Tautd:ended(id, names)
   for _, name in ipairs(names) do
      self.parts.cluster:epilog(id, name)
   end
end

--- An idle cycle: its session, or nil.
function Tautd:idle()
   return self.parts.check:idle { job = 0 }
end

--- What a session's nodes test, all of them being there.
-- @return tests: array of { id, src, dst, phase, streams … }
function Tautd:plan(s)
   self.parts.check:plan(s, s.wanted, BUDGET_MS)
   return s.tests
end

-- What the ends tell of a stream's losses: of segments over TCP, of an adapter's packets over RDMA.
-- In this world they agree.
-- @param n { sent, resent }, or nil if not counted
-- @return the account of the sender, of the receiver
local function accounts(self, Bps, n)
   local send = { bytes = math.floor(Bps * WINDOW_NS / 1e9), window_ns = WINDOW_NS }
   if not n then
      return send, send
   elseif self.is_rdma then
      send.port_packets, send.port_lost = n.sent, n.resent
      return send, send
   end
   send.segments, send.resent, send.resent_bytes = n.sent, n.resent, n.resent * self.segment_bytes
   return send, { bytes = send.bytes, window_ns = WINDOW_NS, segments = n.sent - n.resent,
      disordered = n.resent }
end

--- The tests of a session were made.
-- @param values for each test bytes/s, as both its ends saw it, or false where it came to nothing
-- @param told what else a sender says: map id of a test → fields of its RESULT; or nil
-- @param counts of segments, as world.lua gives them; or nil
function Tautd:over(s, values, told, counts)
   for i, t in ipairs(s.tests) do
      if values[i] then
         local send, recv = accounts(self, values[i], counts and counts[i][1])
         for name, value in pairs(told and told[t.id] or {}) do
            send[name] = value
         end
         s.results[t.src], s.results[t.dst] = s.results[t.src] or {}, s.results[t.dst] or {}
         s.results[t.src]["send:" .. t.id], s.results[t.dst]["recv:" .. t.id] = send, recv
      end
   end
   self.parts.findings:session(s)
end

--- Changes since this was asked last.
-- @return of states: array of { component, from, to, state, time, left }
-- @return of sets, as Diagnosis:take_set_changes has them
function Tautd:take_changes()
   local changes, sets = self.changes, self.set_changes
   self.changes, self.set_changes = {}, {}
   return changes, sets
end

--- Somebody repaired a component, and gives back what was drained for it: `taut repair --done`.
function Tautd:repaired(c)
   local p = self.parts
   p.query:answer({ reply = nothing }, json.encode { cmd = "repair", args = { done = true,
      component = p.site.topo.components[c], release = true } }, 0)
end

--- An administrator looks: where a cap or the circuit breaker stopped the policy, it is to go on.
-- @return what is held back: number of nodes
function Tautd:go_on()
   local p, held = self.parts, 0
   if p.act:resume "administrator" then
      p.findings:review()
   end
   for _ in pairs(p.act:held_back()) do
      held = held + 1
   end
   return held
end

--- @param conf configuration, as config.load gives it
-- @param o { time = seconds, drain = function(name of a node), is_rdma = counts are of adapters,
--   segment_bytes = what a segment of TCP carries }
function tautd.new(conf, o)
   local self = setmetatable({ now = o.time, changes = {}, set_changes = {},
      is_rdma = o.is_rdma, segment_bytes = o.segment_bytes }, Tautd)
   loop.time = function() return self.now end
   sys.log = nothing
   self.parts = make(conf, journal(), slurm_of(self, o))
   listen(self)
   begin_cluster(self.parts)
   self.parts.switches:set_mode "enable"
   self.parts.act:restore({}, {})
   self:refresh()
   return self
end

return tautd
