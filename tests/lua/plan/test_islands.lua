-- SPDX-License-Identifier: GPL-2.0-or-later
-- Parts of a machine that nothing joins: an importer invented a switch "top" above several roots,
-- and then tests went over cables that do not exist, jobs were advised across, Slurm was told that
-- the parts are one.
local audit_links = require "taut.survey.links"
local check = require "taut.topology.check"
local coverage = require "taut.plan.coverage"
local export = require "taut.topology.export.slurm"
local import = require "taut.topology.import"
local islands = require "taut.topology.islands"
local lu = require "luaunit"
local matrix = require "taut.survey.matrix"
local pattern = require "taut.place.pattern"
local plan = require "taut.plan"
local rank = require "taut.place.rank"
local recognise = require "taut.topology.import.recognise"
local sim = require "lib.sim"
local topology = require "taut.topology"
local write = require "taut.topology.import.write"

local tests = {}

local TWO = [[
SwitchName=ibA Switches=leafA[1-2]
SwitchName=leafA1 Nodes=n[0-1]
SwitchName=leafA2 Nodes=n[2-3]
SwitchName=ibB Switches=leafB[1-2]
SwitchName=leafB1 Nodes=n[4-5]
SwitchName=leafB2 Nodes=n[6-7]
]]

-- Three parts: one of three levels, one of two, one single switch; a part's switches share a child.
local THREE = [[
SwitchName=deep Switches=mid[1-2]
SwitchName=mid1 Switches=l[1-2]
SwitchName=mid2 Switches=l3
SwitchName=l1 Nodes=a[1-3]
SwitchName=l2 Nodes=a[4-6]
SwitchName=l3 Nodes=a[7-9]
SwitchName=one Switches=m[1-2]
SwitchName=two Switches=m[1-2]
SwitchName=m1 Nodes=b[1-2]
SwitchName=m2 Nodes=b[3-4]
SwitchName=alone Nodes=c[1-3]
]]

-- Written out as taut.lua and read back: what an administrator has.
local function machine(text)
   local w = assert(import.parse("slurm-conf", text, "topology.conf"))
   local given = {}
   local env = setmetatable({}, { __newindex = given, __index = function(_, kind)
      return function(t)
         t.kind = kind
         return t
      end
   end })
   assert(load(write.text(w, recognise.kind(w), { capacity = 1e9 }), "=taut.lua", "t", env))()
   return assert(topology.build(given.topology)), w
end

local function all(topo)
   return sim.run_of(1, #topo.nodes)
end

local function each_machine(fn)
   for _, text in ipairs { TWO, THREE } do
      fn((machine(text)), text)
   end
end

function tests.test_nothing_is_invented_between_several_roots()
   local topo, w = machine(TWO)
   lu.assertEquals(topo.kind_name, "fattree")
   lu.assertNil(topo.router_id.top)
   lu.assertEquals(#w.cables, 4)
   lu.assertStrContains(w.notes[1].text, '2 trees that nothing joins, below "ibA", "ibB"')
   lu.assertEquals(#islands.of(topo).with_nodes, 2)
   lu.assertEquals(topo:why(1, 5), "no link joins the parts of the machine that they are in")
   topo, w = machine(THREE)
   lu.assertEquals(#islands.of(topo).with_nodes, 3)
   lu.assertStrContains(w.notes[#w.notes].text, '3 trees that nothing joins, below "deep", ' ..
      '"one", "alone"')
end

function tests.test_several_roots_above_the_same_leaves_are_one_part()
   local w = assert(import.parse("slurm-conf", "SwitchName=s1 Switches=l[1-2]\n" ..
      "SwitchName=s2 Switches=l[1-2]\nSwitchName=l1 Nodes=n[1-2]\nSwitchName=l2 Nodes=n[3-4]\n"))
   for _, note in ipairs(w.notes) do
      lu.assertNil(note.text:find("nothing joins", 1, true))
   end
end

function tests.test_several_roots_are_written_back_as_several()
   each_machine(function(topo, text)
      for _, yaml in ipairs { false, true } do
         local out = assert(export.export(topo, { form = "tree", yaml = yaml }))
         lu.assertNil(table.concat(out.lines, "\n"):find("whole", 1, true))
      end
      local out = assert(export.export(topo, { form = "tree" }))
      local again = machine(table.concat(out.lines, "\n") .. "\n")
      lu.assertEquals(#islands.of(again).with_nodes, #islands.of(topo).with_nodes, text)
      for n = 1, #topo.nodes do
         for m = 1, #topo.nodes do
            lu.assertEquals(islands.are_joined(again, again.node_id[topo.nodes[n]],
               again.node_id[topo.nodes[m]]), islands.are_joined(topo, n, m))
         end
      end
      for _, rows in ipairs { assert(export.export(topo, { form = "block" })).lines } do
         for _, line in ipairs(rows) do
            lu.assertNil(line:find("a%[.*b%["), line)
         end
      end
   end)
end

function tests.test_no_test_goes_across_and_each_part_is_covered()
   each_machine(function(topo)
      local seen, known = {}, coverage.new(false)
      for turn = 1, 12 do
         local phases = plan.make { topology = topo, nodes = all(topo), coverage = known,
            checks = sim.checks, now = 100 * turn, budget_ms = 2000 }
         for _, phase in ipairs(phases) do
            for _, t in ipairs(phase) do
               lu.assertTrue(islands.are_joined(topo, t.src, t.dst))
               for _, c in ipairs(t.route) do
                  seen[c] = true
               end
            end
         end
      end
      local _, unused = topo:classes()
      for _, c in ipairs(unused) do
         seen[c] = true
      end
      for c = 1, #topo.components do
         lu.assertTrue(seen[c], topo.components[c])
      end
   end)
   local topo = machine(TWO)
   local phases = plan.make { topology = topo, nodes = all(topo), coverage = coverage.new(false),
      checks = sim.checks, now = 100, budget_ms = 2000 }
   local set = {}
   for _, phase in ipairs(phases) do
      for _, t in ipairs(phase) do
         for _, c in ipairs(t.route) do
            set[c] = true
         end
      end
   end
   for c = 1, #topo.components do
      lu.assertTrue(set[c], topo.components[c])
   end
end

function tests.test_no_advice_goes_across()
   each_machine(function(topo)
      local largest = 0
      for _, part in ipairs(islands.of(topo).with_nodes) do
         largest = math.max(largest, #part.nodes)
      end
      local free = {}
      for n = 1, #topo.nodes do
         free[n] = true
      end
      for count = 2, #topo.nodes do
         local P = assert(pattern.make("all-to-all", count, {}))
         local list, why = rank.best(topo, free, count, P, { top = 8 })
         if count > largest then
            lu.assertNil(list)
            lu.assertEquals(why, ("no %d free nodes have routes between them"):format(count))
         else
            for _, c in ipairs(list) do
               for _, n in ipairs(c.nodes) do
                  lu.assertTrue(islands.are_joined(topo, c.nodes[1], n), c.shape)
               end
               lu.assertEquals(c.score.lost, 0)
            end
         end
      end
   end)
end

function tests.test_pairs_of_two_parts_are_no_part_of_a_matrix()
   each_machine(function(topo)
      for _, classic in ipairs { false, true } do
         local job = assert(matrix.begin { topology = topo, nodes = all(topo),
            settings = { matrix_ms = 50 }, diagnosis = { good = 0.75, clear_most = 0.95 },
            options = { steps = classic } })
         local apart = islands.pairs_apart(topo)
         lu.assertEquals(job.layout.apart, apart)
         local present, count = {}, 0
         for _, n in ipairs(all(topo)) do
            present[n] = true
         end
         while true do
            local phases = job:next(present)
            if not phases then
               break
            end
            for _, phase in ipairs(phases) do
               for _, t in ipairs(phase) do
                  lu.assertTrue(islands.are_joined(topo, t.src, t.dst))
                  t.class, t.bw_Bps, t.expected_Bps, count = "good", 1e9, 1e9, count + 1
               end
               job:take(phase)
            end
         end
         lu.assertEquals(count, #topo.nodes * (#topo.nodes - 1) - apart)
         local s = job.m:summary()
         lu.assertEquals({ s.pairs, s.measured, s.void }, { count, count, 0 })
      end
   end)
end

function tests.test_an_audit_covers_the_links_of_each_part()
   local topo = machine(TWO)
   local made = audit_links.plan(topo, all(topo))
   for c = topo.first_link, #topo.components do
      lu.assertTrue(made.covered[c], topo.components[c])
   end
   for _, phase in ipairs(made.phases) do
      for _, t in ipairs(phase) do
         lu.assertTrue(islands.are_joined(topo, t.src, t.dst))
      end
   end
end

function tests.test_that_parts_have_no_route_between_them_is_one_finding()
   each_machine(function(topo)
      local list = check.all(topo, {})
      lu.assertEquals(list[1].kind, "parts")
      for _, f in ipairs(list) do
         lu.assertNotEquals(f.kind, "unroutable")
      end
   end)
   -- one that failed inside of a part is told, and only that
   local topo = machine(TWO)
   local r = topo:set_health({ [topo.component_id["leafA1/up"]] = 0 })
   lu.assertEquals(r.pairs, 4)
   lu.assertEquals(#r.unroutable, 1)
   lu.assertEquals(topo.router_name[r.unroutable[1][1]], "leafA1")
end

function tests.test_exposure_is_a_share_of_the_routes_that_there_are()
   local topo = machine(TWO)
   lu.assertEquals(#topo:exposed(topo.component_id["leafA1/up"]), 4)
   lu.assertEquals(topo:exposed(topo.component_id["n5/tx"]), { topo.node_id.n5 })
end

return tests
