-- SPDX-License-Identifier: GPL-2.0-or-later
-- What tautd did in a lab, it does again below its frames: checks that tests/lab/record wrote down,
-- given to the campaign's door, make the same plans and the same changes of state.
local src = os.getenv "TAUT_SRCDIR" or "."
package.path = ("%s/tests/bench/campaign.d/?.lua;%s"):format(src, package.path)
local json = require "taut.json"
local lu = require "luaunit"
local machine = require "machine"
local tautd = require "tautd"

local tests = {}

local function read(path)
   local f = assert(io.open(path))
   local text = f:read "a"
   f:close()
   return text
end

local Replay = {}
Replay.__index = Replay

local function plan_of(topo, list)
   local out = {}
   for i, t in ipairs(list) do
      out[i] = { id = t.id, src = topo.nodes[t.src], dst = topo.nodes[t.dst], phase = t.phase,
         streams = t.streams, kind = t.kind, confirms = t.confirms and topo.components[t.confirms] }
   end
   return out
end

function Replay:job(line)
   self.sessions[line.job] = self.tautd:job(line.job, line.names)[1]
end

function Replay:left(line)
   self.tautd.parts.cluster:epilog(line.job, line.node)
end

function Replay:plan(line)
   local s, present = self.sessions[line.job], {}
   for i, name in ipairs(line.present) do
      present[i] = self.topo.node_id[name]
   end
   self.planned[line.session] = s
   self.tautd.parts.check:plan(s, present, line.budget_ms, line.lead_ms)
   lu.assertEquals(plan_of(self.topo, s.tests), line.tests)
   self.tests = self.tests + #s.tests
end

function Replay:over(line)
   local s, changes = self.planned[line.session], {}
   for name, results in pairs(line.results) do
      s.results[self.topo.node_id[name]] = results
   end
   self.tautd.parts.findings:session(s)
   for i, c in ipairs((self.tautd:take_changes())) do
      changes[i] = { component = self.topo.components[c.component], from = c.from, to = c.to }
      self.slow = self.slow + (c.to == "slow" and 1 or 0)
   end
   lu.assertEquals(changes, line.changes)
end

-- Play a recording.
-- @return the numbers of tests and of verdicts that were made
local function replay(folder)
   local conf = assert(machine.configuration(read(folder .. "/taut.conf")))
   local first = assert(json.decode(read(folder .. "/checks.jsonl"):match "^[^\n]+"))
   local r = setmetatable({ topo = conf.topology, sessions = {}, planned = {}, tests = 0, slow = 0,
      tautd = tautd.new(conf, { time = first.at, drain = function() end }) }, Replay)
   for text in io.lines(folder .. "/checks.jsonl") do
      local line = assert(json.decode(text))
      r.tautd:at(line.at)
      r[line.op](r, line)
   end
   return r.tests, r.slow
end

function tests.test_a_recorded_lab_makes_the_same_plans_and_changes()
   local count, slow = replay(src .. "/tests/data/replay/torus")
   lu.assertTrue(count > 100, count)
   lu.assertTrue(slow > 0)
end

return tests
