-- SPDX-License-Identifier: GPL-2.0-or-later
-- Steering's decisions: what the advice file says, what is taken back, what is placed, what
-- waiting was ours, and the report.
local advice = require "taut.place.advice"
local cluster = require "taut.slurm.cluster"
local diagnose = require "taut.diagnose"
local file = require "taut.place.steer.file"
local gain = require "taut.place.steer.gain"
local json = require "taut.json"
local ledger = require "taut.place.steer.ledger"
local lu = require "luaunit"
local mark = require "taut.slurm.mark"
local pattern = require "taut.place.pattern"
local picture = require "taut.place.steer.picture"
local placing = require "taut.place.steer.placing"
local effect = require "taut.place.steer.effect"
local sim = require "lib.sim"
local sys = require "taut.sys"
local topology = require "taut.topology"
local withdraw = require "taut.place.steer.withdraw"

local src = os.getenv "TAUT_SRCDIR" or "."
local tests = {}

-- What steering works with: 4x2x2 routers, 32 nodes, all idle.
local function parts_of(capacity)
   local topo = assert(topology.build { kind = "torus", dims = { 4, 2, 2 }, nodes_per_router = 2,
      nodes = "n[0-31]", capacity = capacity or 1e9 })
   local d = { topo = topo, diagnosis = diagnose.new(topo, sim.quick), cluster = cluster.new() }
   d.cluster.nodes_at, d.cluster.partitions = 1000, { batch = {}, small = {} }
   for n = 0, 31 do
      local name = "n" .. n
      d.cluster.nodes[name] = { name = name, state = "idle", cpus = 2, memory_MB = 1000,
         disk_MB = 0, gres = "",
         features = "" }
      table.insert(d.cluster.partitions.batch, name)
      if n < 8 then
         table.insert(d.cluster.partitions.small, name)
      end
   end
   local o = { topology = topo, cluster = d.cluster, diagnosis = d.diagnosis,
      profiles = { background = function() return {}, 0 end } }
   d.picture, d.advice = picture.new(o), advice.new(o)
   return d
end

local PARTITIONS = { { name = "batch", nodes = "n[0-31]", up = true },
   { name = "small", nodes = "n[0-7]", up = true }, { name = "down", nodes = "n[0-3]", up = false },
   { name = "empty", nodes = "", up = true } }
local SETTINGS = { exclude = true, most_excluded = 0.5 }

local function slow(d, name, left)
   sim.tell(d.diagnosis, d.topo.component_id[name], { state = "slow", left = left })
end

-- Another job is on a node.
local function busy(d, name)
   d.cluster:prolog(10000 + tonumber(name:match "%d+"), { name }, name)
end

local function pending(d, change)
   local job = { id = 7, state = "pending", partition = "batch", num_nodes = 4, max_nodes = 4,
      reason = "Resources", comment = "taut: comm=ring", user_id = 0, array_job = 0, het_job = 0 }
   for k, v in pairs(change) do
      job[k] = v
   end
   table.insert(d.cluster.pending, job)
   return job
end

---------------------------------------------------------------- marks

function tests.test_a_mark_is_read_as_it_was_written()
   for _, text in ipairs { "taut: comm=ring", "taut: comm=halo3d:bytes=1M excluded=n[0-3]",
      "taut: comm=ring excluded=n0 switches=2@120 preferred=1 placed=1763653000:n[4-7]",
      "taut: comm=ring tried=1763653000" } do
      lu.assertEquals(mark.format(mark.parse(text)), text)
   end
   lu.assertEquals(mark.parse("taut: comm=ring placed=12:n[4-7]").placed_on, "n[4-7]")
end

function tests.test_other_comments_are_none_of_ours()
   for _, text in ipairs { "", "theirs", "taut: 8 nodes, sent 1 GB", "taut: comm= x",
      " taut: comm=ring" } do
      lu.assertNil(mark.parse(text))
   end
   lu.assertNil(mark.parse(nil))
end

function tests.test_lists_are_compared_by_their_nodes()
   lu.assertTrue(mark.same("n[0-1],n3", "n3,n0,n1"))
   lu.assertTrue(mark.same("n[0-1],n1", "n[0-1]"))
   lu.assertFalse(mark.same("n[0-1]", "n[0-2]"))
   lu.assertFalse(mark.same("n[0-1]", nil))
   lu.assertFalse(mark.same("n[0-", "n[0-"))
end

---------------------------------------------------------------- the file

function tests.test_healthy_machines_exclude_nothing()
   local p = parts_of().picture:take(PARTITIONS, SETTINGS)
   lu.assertEquals(#p.parts, 2)
   lu.assertEquals(p.parts[1], { name = "batch", nodes = "n[0-31]", usable = 32, cpus = 2,
      even = true, levels = {} })
end

function tests.test_nodes_exposed_to_slow_components_are_excluded_the_worst_first()
   local d = parts_of()
   slow(d, "r1.0.0/X+", 0.5)
   slow(d, "n31/tx", 0.1)
   sim.tell(d.diagnosis, d.topo.component_id["r3.0.0/Y+"], { state = "suspect", left = 0.1 })
   local p = d.picture:take(PARTITIONS, SETTINGS)
   lu.assertEquals(p.parts[1].levels, { { left = 31, list = "n31" },
      { left = 27, list = "n[0-1,8-9,31]" } })
   lu.assertEquals(p.parts[2].levels, { { left = 8 }, { left = 6, list = "n[0-1]" } })
   lu.assertEquals(#p.levels, 2)
   lu.assertEquals(p.levels[1].nodes, 1)
end

function tests.test_a_gain_is_what_the_component_costs_and_others_do_better()
   local d = parts_of()
   local line = {}
   for n = 1, 32 do
      line[n] = n
   end
   local x, tx = d.topo.component_id["r1.0.0/X+"], d.topo.component_id["n5/tx"]
   lu.assertAlmostEquals(gain.of(d.topo, line, tx, 0.25, { 6 }), 4, 1e-6)
   lu.assertTrue(gain.of(d.topo, line, x, 0.25, d.topo:exposed(x)) > gain.LEAST)
   lu.assertEquals(gain.of(d.topo, line, x, 1, d.topo:exposed(x)), 1)
   lu.assertEquals(gain.of(d.topo, line, tx, 0.25, {}), 1)
   lu.assertEquals(gain.of(d.topo, { 1, 2, 3, 4 }, tx, 0.25, { 6 }), 1)
   -- no others: nothing to gain
   lu.assertEquals(gain.of(d.topo, { 6 }, tx, 0.25, { 6 }), 1)
   lu.assertEquals(gain.of(d.topo, line, tx, 0, { 6 }), math.huge)
end

function tests.test_what_costs_nothing_is_not_excluded()
   -- links of four times a node's speed: a loss of a tenth is not what jobs wait for
   local d = parts_of { tx = 1e9, rx = 1e9, link = 64e9 }
   slow(d, "r1.0.0/X+", 0.9)
   slow(d, "n31/tx", 0.5)
   local p = d.picture:take(PARTITIONS, SETTINGS)
   lu.assertEquals(p.parts[1].levels, { { left = 31, list = "n31" } })
   lu.assertEquals(#p.levels, 1)
   lu.assertAlmostEquals(p.levels[1].gain, 2, 1e-6)
   -- until it is much worse
   slow(d, "r1.0.0/X+", 0.005)
   p = d.picture:take(PARTITIONS, SETTINGS)
   lu.assertEquals(p.parts[1].levels[1].list, "n[0-1,8-9]")
end

function tests.test_what_was_weighed_while_nodes_were_down_holds_when_they_are_back()
   local d = parts_of()
   for i = 0, 8 do
      d.cluster.nodes["n" .. i].drain = true
   end
   slow(d, "r1.0.0/X+", 0.25)
   lu.assertEquals(d.picture:take(PARTITIONS, SETTINGS).parts[1].levels[1].list, "n9")
   for i = 0, 8 do
      d.cluster.nodes["n" .. i].drain = nil
   end
   lu.assertEquals(d.picture:take(PARTITIONS, SETTINGS).parts[1].levels[1].list, "n[0-1,8-9]")
end

function tests.test_drained_nodes_need_not_be_excluded()
   local d = parts_of()
   slow(d, "n31/tx", 0.1)
   d.cluster.nodes.n31.drain = true
   local p = d.picture:take(PARTITIONS, SETTINGS)
   lu.assertEquals(p.parts[1].usable, 31)
   lu.assertEquals(p.parts[1].levels, {})
end

function tests.test_a_large_part_of_the_machine_is_not_excluded()
   local d = parts_of()
   slow(d, "r1.0.0/X+", 0.5)
   lu.assertEquals(#d.picture:take(PARTITIONS, { exclude = true, most_excluded = 0.1 }).levels, 0)
   lu.assertEquals(#d.picture:take(PARTITIONS, { exclude = true, most_excluded = 0.13 }).levels, 1)
   lu.assertEquals(#d.picture:take(PARTITIONS, { exclude = false, most_excluded = 1 }).levels, 0)
end

function tests.test_a_partition_is_even_when_its_usable_nodes_are_alike()
   for field, value in pairs { cpus = 4, memory_MB = 2000, gres = "gpu:4", features = "fat" } do
      local d = parts_of()
      d.cluster.nodes.n3[field] = value
      lu.assertFalse(d.picture:take(PARTITIONS, SETTINGS).parts[2].even)
      d.cluster.nodes.n3.drain = true
      lu.assertTrue(d.picture:take(PARTITIONS, SETTINGS).parts[2].even)
   end
   local d = parts_of()
   d.cluster.nodes.n3.features = "taut_cell_4" -- our own features make no difference
   lu.assertTrue(d.picture:take(PARTITIONS, SETTINGS).parts[2].even)
end

-- What tautd writes is what job_submit.lua takes.
function tests.test_job_submit_reads_what_is_written()
   local d = parts_of()
   slow(d, "r1.0.0/X+", 0.5)
   local p = d.picture:take(PARTITIONS, SETTINGS)
   p.serial, p.time, p.patterns = 17, os.time(), pattern.names
   p.switches, p.prefer = { nodes = 8, wait_s = 60 }, { nodes = 8, features = "[taut_cell_0]" }
   local path = os.tmpname()
   assert(sys.write_whole(path, file.text(p)))
   local m = dofile(src .. "/etc/job_submit.lua")
   m.file, m.log = path, error
   local job = { min_nodes = 4, max_nodes = 4, spank_job_env_size = 1,
      spank_job_env = { [0] = "_SLURM_SPANK_OPTION_taut_comm=halo3d" } }
   m.submit(job, { batch = { nodes = "n[0-31]", flag_default = 1 } }, 0)
   lu.assertEquals(job.admin_comment, "taut: comm=halo3d excluded=n[0-1,8-9] switches=1@60")
   lu.assertEquals(job.exc_nodes, "n[0-1,8-9]")
   os.remove(path)
end

function tests.test_partitions_with_names_of_another_kind_are_left_out()
   local p = { serial = 1, time = 2, patterns = { "ring" }, parts = {
      { name = "a b", usable = 1, cpus = 1, nodes = "n1", levels = {} },
      { name = "a", usable = 1, cpus = 1, nodes = "n1 n2", levels = {} },
      { name = "a", usable = 1, cpus = 0, nodes = "n1", levels = {} } } }
   lu.assertNil(file.text(p):find "part ")
end

function tests.test_a_file_that_cannot_be_written_says_so()
   local ok, err = sys.write_whole("/nowhere/advice", "x")
   lu.assertNil(ok)
   lu.assertStrContains(err, "/nowhere/advice.new")
end

---------------------------------------------------------------- taking back

local function decide(d, exposed, now, wait)
   return withdraw.decide(d.cluster, exposed, now or 2000, wait)
end

function tests.test_excludes_go_when_the_link_is_well()
   local d = parts_of()
   pending(d, { comment = "taut: comm=ring excluded=n[0-1,8-9] switches=1@60",
      excluded = "n[0-1,8-9]" })
   lu.assertEquals(#decide(d, { n0 = 1, n1 = 1, n8 = 1, n9 = 1 }), 0)
   local some = decide(d, { n0 = 1, n1 = 1 })
   lu.assertEquals(some[1].request, { op = "steer", job = 7, was_excluded = "n[0-1,8-9]",
      was_required = "", was_comment = "taut: comm=ring excluded=n[0-1,8-9] switches=1@60",
      excluded = "n[0-1]", comment = "taut: comm=ring excluded=n[0-1] switches=1@60" })
   lu.assertEquals(decide(d, {})[1].request.excluded, "")
   lu.assertEquals(decide(d, {})[1].request.comment, "taut: comm=ring switches=1@60")
end

function tests.test_excludes_of_somebody_else_stay()
   for _, change in ipairs { { excluded = "n[0-1]" }, { comment = "taut: comm=ring",
      excluded = "n[0-1]" }, { comment = "theirs", excluded = "n[0-1]" },
      { comment = "taut: comm=ring excluded=n[0-1]", excluded = "n[0-2]" },
      { comment = "taut: comm=ring excluded=n[0-1]" } } do
      local d = parts_of()
      pending(d, change)
      lu.assertEquals(decide(d, {}), {})
   end
end

local PLACED = "taut: comm=ring placed=1990:n[4-7]"

function tests.test_a_placement_that_does_not_start_is_taken_back()
   local d = parts_of()
   pending(d, { comment = PLACED, required = "n[4-7]" })
   lu.assertEquals(#decide(d, {}, 2000, 60), 0)
   local late = decide(d, {}, 2050, 60)
   lu.assertEquals(late[1].request.required, "")
   lu.assertNil(late[1].request.excluded)
   lu.assertEquals(late[1].request.comment, "taut: comm=ring tried=2050")
   lu.assertStrContains(decide(d, {}, 2000, nil)[1].why, "placing is off")
end

function tests.test_a_placement_is_taken_back_at_once_when_a_node_is_lost()
   local d = parts_of()
   pending(d, { comment = PLACED, required = "n[4-7]" })
   busy(d, "n5")
   lu.assertStrContains(decide(d, {}, 2000, 60)[1].why, "n5 is not free any more")
end

function tests.test_nodes_that_the_user_required_since_stay()
   local d = parts_of()
   pending(d, { comment = PLACED, required = "n[8-11]" })
   lu.assertEquals(decide(d, {}, 9000, 60), {})
end

---------------------------------------------------------------- placing

local function advise() return "n[8-11]", 1, 2 end

function tests.test_the_head_of_the_queue_is_placed()
   local d = parts_of()
   pending(d, { id = 1, reason = "Dependency" })
   pending(d, { id = 2 })
   pending(d, { id = 3 })
   local list = placing.decide(d.cluster, 3000, 1.1, advise)
   lu.assertEquals(#list, 1)
   lu.assertEquals(list[1].request, { op = "steer", job = 2, was_comment = "taut: comm=ring",
      was_excluded = "", was_required = "", required = "n[8-11]",
      comment = "taut: comm=ring placed=3000:n[8-11]" })
end

function tests.test_a_head_without_comm_is_not_passed_over()
   local d = parts_of()
   pending(d, { id = 1, comment = "" })
   pending(d, { id = 2 })
   lu.assertEquals(placing.decide(d.cluster, 3000, 1.1, advise), {})
end

function tests.test_what_is_not_worth_it_or_not_free_is_not_placed()
   local d = parts_of()
   pending(d, {})
   lu.assertEquals(#placing.decide(d.cluster, 3000, 2.1, advise), 0)
   lu.assertEquals(#placing.decide(d.cluster, 3000, 1.1, function() return nil end), 0)
   lu.assertEquals(#placing.decide(d.cluster, 3000, 1.1, function() return "n[8-10]", 1, 2 end), 0)
   busy(d, "n9")
   lu.assertEquals(#placing.decide(d.cluster, 3000, 1.1, advise), 0)
end

function tests.test_jobs_that_are_not_placed()
   for _, change in ipairs { { comment = "" }, { required = "n1" }, { excluded = "n1" },
      { features = "gpu" }, { reservation = "r" }, { array_tasks = "0-3" }, { array_job = 5 },
      { het_job = 5 }, { partition = "batch,small" }, { num_nodes = 1, max_nodes = 1 },
      { max_nodes = 8 }, { max_nodes = 0 }, { comment = PLACED },
      { comment = "taut: comm=ring tried=5" } } do
      local d = parts_of()
      lu.assertFalse(placing.may(pending(d, change)))
      lu.assertEquals(placing.decide(d.cluster, 3000, 1.1, advise), {})
   end
end

local function best(d, count, comm)
   local b = d.advice:pick { count = count, pattern = comm, partition = "batch", start = "now" }
   if b then
      return b.nodes, b.score, b.slurm
   end
end

function tests.test_prediction_prefers_nodes_that_do_not_cross_the_slow_link()
   local d = parts_of()
   slow(d, "r1.0.0/X+", 0.25)
   -- free are only pairs: Slurm takes the first two, on both sides of the slow link
   for n = 0, 31 do
      local free = n == 8 or n == 9 or n == 16 or n == 17 or n == 20 or n == 21
      if not free then
         busy(d, "n" .. n)
      end
   end
   local nodes, ours, slurms = best(d, 4, "all-to-all")
   lu.assertEquals(nodes, "n[16-17,20-21]")
   lu.assertTrue(slurms / ours > 1.5)
   lu.assertNil(best(d, 7, "all-to-all"))
   -- a job that has these nodes: the others still count as what it could have got
   local p = d.advice:predict({ nodes = nodes, partition = "batch" }, "all-to-all")
   lu.assertAlmostEquals(p.got, ours, 0.01)
   lu.assertAlmostEquals(p.without, slurms, 0.01)
   lu.assertNil(d.advice:predict({ nodes = "x[0-3]", partition = "batch" }, "all-to-all"))
   lu.assertNil(d.advice:predict({ nodes = "n3", partition = "batch" }, "all-to-all"))
   lu.assertNil(best(d, 4, "nosuch"))
end

---------------------------------------------------------------- waiting

local function added(change, taken)
   local d = parts_of()
   local job = pending(d, change)
   for n = taken or 0, 31 do
      busy(d, "n" .. n)
   end
   local l = ledger.new()
   l:look(d.cluster, 100)
   l:look(d.cluster, 110)
   job.reason = "Dependency"
   l:look(d.cluster, 120)
   return l:take(7).added
end

function tests.test_waiting_counts_when_free_nodes_were_kept_from_the_job()
   lu.assertEquals(added({ comment = "taut: comm=ring excluded=n[0-1]" }, 5), 10)
   lu.assertEquals(added({ comment = "taut: comm=ring excluded=n[0-1]" }, 3), 0)
   lu.assertEquals(added({ comment = "taut: comm=ring excluded=n[0-1]" }, 6), 0)
   lu.assertEquals(added({ comment = "taut: comm=ring placed=90:n[8-11]" }, 8), 10)
   lu.assertEquals(added({ comment = "taut: comm=ring switches=1@60" }, 8), 10)
   lu.assertEquals(added({ comment = "taut: comm=ring" }, 8), 0)
   lu.assertEquals(added({ comment = "" }, 8), 0)
end

---------------------------------------------------------------- the report

local function row(change)
   local r = { id = 1, user = "alice", name = "cfd", nodes = 8, seconds = 100, sent_Bps = 5e6,
      wait_s = 3 }
   for k, v in pairs(change) do
      r[k] = v
   end
   return r
end

function tests.test_the_report_sets_steered_jobs_beside_others()
   local steered, others = {}, {}
   for i = 1, 3 do
      steered[i] = row { comm = "ring", steered = json.encode { comm = "ring", excluded = "n[0-3]",
         added_s = 2, predicted = { got = 1, without = 3 } } }
      others[i] = row { seconds = 150, sent_Bps = 4e6 }
   end
   steered[4] = row { name = "other", steered = json.encode { comm = "ring", tried = 5 } }
   local r = effect.of(steered, others)
   lu.assertEquals({ r.jobs, r.touched, r.excluded, r.in_vain, r.added_s }, { 4, 4, 3, 1, 6 })
   local p = r.programs[1]
   lu.assertEquals({ p.jobs, p.others, p.predicted, p.faster, p.rate }, { 3, 3, 3, 1.5, 1.25 })
   lu.assertEquals(p.did["4 nodes excluded"], 3)
   lu.assertNil(r.programs[2].faster)
end

function tests.test_the_report_bears_rows_without_figures()
   local r = effect.of({ { user = "a", name = "b", steered = "no json" } }, {})
   lu.assertEquals({ r.jobs, r.touched }, { 1, 0 })
   lu.assertEquals(effect.of({}, {}).jobs, 0)
end

return tests
