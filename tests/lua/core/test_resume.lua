-- SPDX-License-Identifier: GPL-2.0-or-later
-- A restart resumes: all that was said before a stop is said after it.
local lu = require "luaunit"
local restart = require "lib.restart"

local tests = {}

local BROKEN = { ["n5/tx"] = 0.25, ["r2.0.0/X+"] = 0.3, ["r1.1.1/Z+"] = 0.6 }

-- A database of its own, gone afterwards.
local function with_database(o, body)
   local folder = io.popen("mktemp -d"):read "l"
   o.path = folder .. "/db"
   local ok, err = pcall(restart.run, o, body)
   os.execute("rm -r " .. folder)
   if not ok then
      error(err, 0)
   end
end

local function machine(more)
   math.randomseed(62)
   return { dims = { 4, 2, 2 }, npr = 2, more = restart.quick .. (more or "") }
end

-- Jobs on a machine with something broken, hard evidence, a mark.
local function history(w, jobs)
   w.left = BROKEN
   w:jobs(jobs)
   w.p.events:take({ { source = "fabric", what = "width", class = "degrading", to = w.now,
      left = 0.5, text = "r0.0.0 to r1.0.0: 2 of 4 lanes", components = { "r0.0.0/X+" } } }, true)
   w:ask("verify", { what = "r3.0.0/Y+", component = "r3.0.0/Y+" })
   w.now = w.now + 1
end

-- When a test was last planned, which only plans ask for, is not written with each event; nor is
-- of how many tests some were low, where one showed neither that nor that it is well.
local PLANNED = { "^last%.", "%.low_of$" }
local EXPLAINED = { "n5/tx", "r2.0.0/X+", "r1.1.1/Z+", "r0.0.0/X+" }

local function compare(w, before, but)
   local list = restart.differences(before, w:facts(EXPLAINED), but)
   lu.assertEquals(table.concat(list, "\n"), "")
end

-- What is well known is known: there are verdicts, suspects and good ones among the facts.
local function check_there_is_something(w)
   local states = w:ask("status").states
   lu.assertTrue(states.ok > 20 and states.slow > 0 and states.unknown > 0, require("taut.json")
      .encode(states))
end

function tests.test_a_clean_stop_loses_nothing()
   for _, jobs in ipairs { 3, 9, 40 } do
      with_database(machine(), function(w)
         w:start()
         history(w, jobs)
         if jobs == 40 then
            check_there_is_something(w)
         end
         local before = w:facts(EXPLAINED)
         w:stop()
         w:start()
         compare(w, before)
         w:stop() -- and once more: what was read is written as it was
         w:start()
         compare(w, before)
         w:stop()
      end)
   end
end

-- For 24 h after each start idle nodes were called for nothing that no test had reached.
function tests.test_idle_nodes_are_tested_after_a_restart()
   with_database(machine(), function(w)
      w:start()
      w:jobs(20)
      w:written()
      lu.assertEquals(w.p.agenda:wanted "idle", {}) -- new: jobs have a day to reach all
      w:stop()
      w.now = w.now + 25 * 3600
      w:start()
      lu.assertEquals(#w.p.agenda:wanted "idle", 32)
      w:stop()
   end)
end

function tests.test_a_kill_loses_no_more_than_what_was_not_written()
   with_database(machine(), function(w)
      w:start()
      history(w, 30)
      w:written()
      local before = w:facts(EXPLAINED)
      local now = w.now
      w:jobs(1)
      w:kill()
      w.now = now
      w:start()
      compare(w, before, PLANNED)
      w:stop()
   end)
end

function tests.test_rows_about_events_and_all_of_it_come_in_the_order_in_which_they_are_true()
   with_database(machine(), function(w)
      w:start()
      w.left = BROKEN
      w:jobs(10)
      w.p.snapshot:all()
      w:jobs(10)
      w.p.findings:repaired { w.p.site.topo.component_id["n5/tx"] }
      w.now = w.now + 1
      w:written()
      local before = w:facts(EXPLAINED)
      w:kill()
      w:start()
      compare(w, before, PLANNED)
      w:stop()
   end)
end

function tests.test_what_is_learned_of_capacities_is_learned_further()
   for _, jobs in ipairs { 1, 12 } do
      local o = machine()
      o.learns = true
      with_database(o, function(w)
         w:start()
         w:jobs(jobs)
         local before = w:facts()
         w:stop()
         w:start()
         lu.assertEquals(table.concat(restart.differences(before, w:facts()), "\n"), "")
         w:stop()
      end)
   end
end

---------------------------------------------------------------- another machine

-- What is said of components and nodes that were there before, by names.
local function facts_of(w)
   local facts = {}
   for path, v in pairs(w:facts(EXPLAINED)) do
      facts[path] = v
   end
   return facts
end

-- Counts of the whole machine, and what depends on who else is there.
local OF_ALL = { "^status%.", "^advice" }

local function differences(before, after, but)
   local list = {}
   for _, text in ipairs(restart.differences(before, after)) do
      local path = text:match "^(.-): "
      local left_out = before[path] == nil or but and path:find(but)
      for _, pattern in ipairs(OF_ALL) do
         left_out = left_out or path:find(pattern)
      end
      list[#list + 1] = not left_out and text or nil
   end
   return table.concat(list, "\n")
end

local function as_slurm_says(w)
   local node = w.p.cluster.nodes.n5
   if node then
      node.drain, node.reason = true, "taut: tx"
   end
end

-- A node that is drained, with its verdict, and one that is known to be bad.
local function settle(w)
   w.p.act:past().drained.n5 = { component = "n5/tx", reason = "taut: tx", time = w.now }
   w.p.journal:add("drained", { node = "n5", data = require("taut.json").encode(
      w.p.act:standing().n5) })
   as_slurm_says(w)
   w:ask("ack", { component = "r2.0.0/X+", ticket = "T1", ["until"] = w.now + 1e6 })
end

local function with_service(nodes)
   local o = machine()
   o.service = nodes
   return o
end

-- Stop, and start as another machine.
local function start_as(w, o)
   w:stop()
   o.path = w.path
   w.o = o
   w:start()
   as_slurm_says(w)
end

function tests.test_a_node_more_forgets_nothing()
   with_database(with_service "n[30-31]", function(w)
      w:start()
      history(w, 40)
      settle(w)
      local before, states = facts_of(w), w:ask("status").states
      start_as(w, with_service "n31")
      lu.assertEquals(differences(before, facts_of(w)), "")
      local now = w:ask("status").states
      states.unknown = states.unknown + 2
      lu.assertEquals(now, states)
      lu.assertEquals(w.p.act:standing().n5.component, "n5/tx")
      lu.assertEquals(w:ask("acks").acks[1].component, "r2.0.0/X+")
      -- and it is kept as the machine is now, numbers and all
      before = facts_of(w)
      w:stop()
      w:start()
      as_slurm_says(w)
      compare(w, before)
      w:jobs(3)
      w:stop()
   end)
end

function tests.test_nodes_that_are_renamed_keep_what_is_known_of_them_by_a_map()
   local file = os.tmpname()
   local f = assert(io.open(file, "w"))
   f:write("# the spring's names\nn5 m5\nn6   m6 # both of one board\n")
   f:close()
   local map = ('renamed_nodes = "%s"\n'):format(file)
   for _, more in ipairs { map, "" } do
      with_database(machine(), function(w)
         w:start()
         history(w, 40)
         settle(w)
         local c = w.p.site.topo.component_id["n5/tx"]
         local tested, state = w.p.coverage:tested(c), w.p.diagnosis:record(c).state
         local o = machine(more)
         o.nodes = "0-4],m[5-6],n[7-31"
         start_as(w, o)
         c = w.p.site.topo.component_id["m5/tx"]
         if more == map then
            lu.assertEquals(w.p.coverage:tested(c), tested)
            lu.assertEquals(w.p.diagnosis:record(c).state, state)
            lu.assertEquals(w.p.act:standing().m5.component, "m5/tx")
            lu.assertNil(w.p.act:standing().n5)
            for _, t in ipairs(w.p.diagnosis:run(c)) do
               lu.assertEquals(t.src_name, "m5")
            end
            w:stop()
            w:start()
            lu.assertEquals(w.p.act:standing().m5.component, "m5/tx")
         else
            lu.assertNil(w.p.diagnosis:record(c))
            lu.assertNotNil(w.p.act:standing().n5) -- as Slurm may have it
         end
         w:stop()
      end)
   end
   os.remove(file)
end

-- Evidence goes with its way, and a verdict stays with its component.
function tests.test_a_torus_grows_and_what_did_not_change_stays()
   with_database(machine(), function(w)
      w:start()
      history(w, 40)
      settle(w)
      local before, seen = w:ask("status").states, {}
      local topo = w.p.site.topo
      for c, name in ipairs(topo.components) do
         seen[name] = { w.p.coverage:tested(c), w.p.diagnosis.evidence:seen(c).tests }
      end
      local o = machine()
      o.dims = { 5, 2, 2 }
      start_as(w, o)
      topo = w.p.site.topo
      local now, count = w:ask("status").states, 0
      for c, name in ipairs(topo.components) do
         local is_other = not seen[name] or name:find "^r0.*/X%-" or name:find "^r3.*/X%+"
         count = count + (is_other and 1 or 0)
         lu.assertEquals({ w.p.coverage:tested(c), w.p.diagnosis.evidence:seen(c).tests },
            is_other and { 0, 0 } or seen[name], name)
      end
      lu.assertEquals(now.slow, before.slow)
      lu.assertEquals(count, 8 * 2 + 4 * 4 + 4 * 2)
      lu.assertEquals(w.p.act:standing().n5.component, "n5/tx")
      for c in w.p.diagnosis:each() do
         for _, t in ipairs(w.p.diagnosis:run(c)) do
            local on = {}
            for _, other in ipairs(topo:route(t.src, t.dst)) do
               on[other] = true
            end
            lu.assertTrue(on[c])
         end
      end
      w:jobs(5)
      w:stop()
   end)
end

function tests.test_a_capacity_that_was_corrected_is_another_component()
   with_database(machine(), function(w)
      w:start()
      history(w, 20)
      local o = machine()
      o.capacity = "{ tx = 24e6, rx = 24e6, link = 30e6 }"
      start_as(w, o)
      local topo = w.p.site.topo
      for c = 1, #topo.components do
         lu.assertEquals(topo:is_link(c) and w.p.diagnosis.evidence:seen(c).tests > 0, false)
      end
      lu.assertEquals(w.p.diagnosis:record(topo.component_id["n5/tx"]).state, "slow")
      w:stop()
   end)
end

function tests.test_a_machine_that_cannot_be_read_is_forgotten()
   with_database(machine(), function(w)
      w:start()
      history(w, 10)
      w:written()
      w.p.records.machine = function() return "" end
      w.p.records:wiring()
      local o = machine()
      o.dims = { 5, 2, 2 }
      start_as(w, o)
      lu.assertEquals(w:ask("status").states.slow, 0)
      w:stop()
   end)
end

return tests
