-- SPDX-License-Identifier: GPL-2.0-or-later
-- The part of tests/bench/snapshot that measures: snapshot.lua ROUNDS FOLDER.
local config = require "taut.config"
local coverage = require "taut.plan.coverage"
local diagnose = require "taut.diagnose"
local figure = require "figure"
local journal = require "taut.store.journal"
local kept = require "taut.topology.before.kept"
local loop = require "taut.loop"
local same = require "taut.topology.before.same"
local snapshot = require "taut.store.snapshot"
local sys = require "taut.sys"
local topology = require "taut.topology"
local units = require "kernel.units"

local ROUNDS, FOLDER = tonumber(arg[1]), arg[2]

collectgarbage "stop" -- its turns come in any turn of the loop, and are not the snapshot's
math.randomseed(tonumber(os.getenv "BENCH_SEED" or "") or 1)

local topo = assert(topology.build { kind = "torus", layout = "gemini", dims = { 25, 16, 24 },
   nodes_per_router = 2, nodes = "n[0-19199]" })
local rules = assert(config.diagnosis {})

-- What tautd knows of the machine; its parts that a snapshot asks.
local function machine(j)
   local m = { site = { topo = topo }, journal = j, coverage = coverage.new(0.01),
      diagnosis = diagnose.new(topo, rules), cluster = { last_heard = {} },
      findings = { boots = {} }, is_busy = function() return false end }
   m.diagnosis:tell(m.coverage)
   m.snapshot = snapshot.new(m)
   return m
end

-- Every component tested by events of the last days, as many of them as there are jobs.
local function fill(m)
   local now, evidence = loop.time(), m.diagnosis.evidence
   local events = {}
   for i = 1, 5000 do
      events[i] = now - math.random() * 2 * 86400
   end
   for c = 1, #topo.components do
      local at = events[math.random(#events)]
      evidence:restore_seen(c, { cleared_at = at, cleared_by = math.floor(at * 1000), last = at,
         tests = math.random(1, 4000), good = math.random(1, 300), reach = 1 })
      m.coverage:touch(c, at)
      m.coverage:reserve(c, 0.025, at, at + 0.2)
   end
   for n, name in ipairs(topo.nodes) do
      m.cluster.last_heard[name] = now - math.random(86400)
      m.findings.boots[n] = ("%08x-0000-4000-8000-%012x"):format(n, n)
   end
end

-- Processor time: others may use the machine meanwhile.
local function ms_since(s)
   return (os.clock() - s) * 1000
end

-- Write all as tautd does, and add up its turns.
local function write_all(m, done)
   local sum, longest, first = 0, 0, m.snapshot:begin()
   local function slice(i)
      local t0 = os.clock()
      local more = m.snapshot:write_slice(i)
      local ms = ms_since(t0)
      sum, longest = sum + ms, math.max(longest, ms)
      -- the loop's own part of it: rows as text, and down the pipe
      t0 = os.clock()
      m.journal:flush()
      ms = ms_since(t0)
      sum, longest = sum + ms, math.max(longest, ms)
      m.journal:confirm(function()
         if more then
            return slice(i + 1)
         end
         m.journal:add("seen_before", { seq = first })
         m.journal:confirm(function() done(sum, longest) end)
      end)
   end
   slice(1)
end

local kept_text = kept.text(topo)

-- The same where the machine has changed: it is compared, and every number goes through a map.
local function restore_changed(m, rows)
   local t0 = os.clock()
   assert(kept.text(topo) == kept_text)
   local old = same.compare(assert(kept.read(kept_text)), topo)
   m.snapshot:restore(rows, old)
   assert(old.kept == #topo.components)
   return ms_since(t0) / 1000
end

local function read_all(j, done)
   j:query("seen", {}, function(rows, err)
      assert(rows, err)
      local bytes = 0
      for _, row in ipairs(rows) do
         bytes = bytes + #row.data
      end
      local m = machine(j)
      local t0 = os.clock()
      m.snapshot:restore(rows)
      local s = ms_since(t0) / 1000
      local changed = machine(j)
      done(s, restore_changed(changed, rows), bytes, m)
   end)
end

local function median(list)
   table.sort(list)
   return list[(#list + 1) // 2]
end

local function check(m, again)
   for c = 1, #topo.components, 97 do
      local a, b = m.diagnosis:seen(c), again.diagnosis:seen(c)
      assert(a.cleared_at == b.cleared_at and a.tests == b.tests and a.cleared_by == b.cleared_by
         and m.coverage:tested(c) == again.coverage:tested(c), topo.components[c])
   end
end

local times, longest, restores, changes, bytes = {}, 0, {}, {}, 0
local j

local function round(i, m)
   if i > ROUNDS then
      return j:stop(loop.stop)
   end
   m.snapshot:booted { 96 * i }
   collectgarbage() -- the machine that was read is nothing that tautd has
   write_all(m, function(sum, most)
      times[i], longest = sum, math.max(longest, most)
      read_all(j, function(s, changed, n, again)
         restores[i], changes[i], bytes = s, changed, n
         check(m, again)
         round(i + 1, m)
      end)
   end)
end

j = journal.start({ sys.paths.program, "--daemon", "--store", FOLDER .. "/db" }, function()
   local m = machine(j)
   fill(m)
   m.snapshot:restore {}
   m.snapshot:all() -- nodes are written once, then where one boots
   j:confirm(function() round(1, m) end)
end)
loop.run()
os.execute("rm -r " .. FOLDER)

print(("%d components, %d nodes, %d rounds"):format(#topo.components, #topo.nodes, ROUNDS))
print(("all slices: %.1f ms, median; %.1f ms at most"):format(median(times), times[#times]))
print(("read: %.3f s, median; %.3f s at most"):format(median(restores), restores[#restores]))
print(("read by a machine that has changed: %.3f s, median; %.3f s at most"):format(median(changes),
   changes[#changes]))
units.figure("snapshot_ms", median(times), "ms", "<=", 50)
units.figure("snapshot_slice_ms", longest, "ms", "<=", 5)
units.figure("snapshot_restore_s", median(restores), "s", "<=", 0.3)
units.figure("snapshot_changed_s", median(changes), "s", "<=", 0.3)
figure("snapshot_kb", bytes / 1000, "kB")
figure("snapshot_machine_kb", #kept_text / 1000, "kB")
