-- SPDX-License-Identifier: GPL-2.0-or-later
-- How heavily a job communicates, out of what its nodes counted.
local lu = require "luaunit"
local others_traffic = require "taut.diagnose.others_traffic"
local profile = require "taut.events.profile"
local profiles = require "taut.events.profiles"
local summary = require "taut.events.summary"
local topology = require "taut.topology"

local tests = {}

local function topo_of()
   return assert(topology.build { kind = "torus", dims = { 4, 2, 2 }, nodes_per_router = 2,
      nodes = "n[0-31]", capacity = 1e8 })
end

-- What summary.of says of each node out of rows of the table `growth`.
local function nodes_of(rows)
   return (select(2, summary.of(rows)))
end

-- Such rows, as netdev counts: what each node sent and received in `seconds`.
local function rows(list, seconds)
   local out = {}
   for i, r in ipairs(list) do
      out[i] = { node = "n" .. i - 1, interface = "hsn0", source = "netdev",
         seconds = seconds or 10, counters = { tx_bytes = r[1], rx_bytes = r[2] } }
   end
   return out
end

local function nodes(list, seconds)
   return nodes_of(rows(list, seconds))
end

function tests.test_the_share_of_what_nodes_can_inject()
   local m = profile.measure(topo_of(), nodes { { 2e8, 1e8 }, { 2e8, 3e8 } })
   lu.assertEquals(m.nodes, 2)
   lu.assertAlmostEquals(m.sent_Bps, 2e7)
   lu.assertAlmostEquals(m.received_Bps, 2e7)
   lu.assertAlmostEquals(m.share, 0.2)
   lu.assertAlmostEquals(m.uneven, 1.25)
end

function tests.test_one_busy_node_is_uneven()
   local m = profile.measure(topo_of(), nodes { { 9e8, 0 }, { 0, 0 }, { 0, 0 } })
   lu.assertAlmostEquals(m.uneven, 3)
end

function tests.test_what_tells_nothing()
   local topo = topo_of()
   lu.assertNil(profile.measure(topo, {}))
   lu.assertNil(profile.measure(topo, nodes({ { 2e8, 1e8 } }, 0.5)))
   lu.assertNil(profile.measure(topo, nodes_of { { node = "stranger", source = "netdev",
      interface = "x", seconds = 10, counters = { tx_bytes = 5 } } }))
   local m = profile.measure(topo, nodes_of { { node = "n0", source = "netdev", interface = "x",
      seconds = 10, counters = "odd" } })
   lu.assertEquals(m.share, 0)
end

-- One interface is seen by several sources.
function tests.test_bytes_that_two_sources_count_are_counted_once()
   local list = rows { { 2e8, 2e8 } }
   list[2] = { node = "n0", interface = "hsn0", source = "other", seconds = 10,
      counters = { tx_bytes = 2e8 } }
   lu.assertAlmostEquals(profile.measure(topo_of(), nodes_of(list)).share, 0.2)
end

function tests.test_classes()
   local function class(share, uneven, comm, most)
      return { profile.class { share = share, uneven = uneven or 1, comm = comm,
         nodes_max = most or 8 } }
   end
   lu.assertEquals(class(0.5, 1, nil, 1), { "one node" })
   lu.assertEquals(class(0.001), { "light" })
   lu.assertEquals(class(0.001, 1, "ring"), { "light" })
   lu.assertEquals(class(0.05), { "moderate" })
   lu.assertEquals(class(0.05, 1, "halo3d:bytes=1M"), { "moderate", "halo3d" })
   lu.assertEquals(class(0.5), { "heavy", "all-to-all" })
   lu.assertEquals(class(0.5, 4), { "heavy" })
end

---------------------------------------------------------------- a daemon

-- Rows go into `written`.
local function daemon()
   local d = { topo = topo_of(), written = {}, cluster = { jobs = {}, seen_running = {},
      nodes_at = 1 } }
   d.journal = { add = function(_, name, row) table.insert(d.written, { name, row }) end }
   d.profiles = profiles.new { topology = d.topo, cluster = d.cluster, journal = d.journal }
   return d
end

local function job_of(change)
   local j = { id = 7, user_id = 0, name = "cfd", partition = "batch", num_nodes = 2, start = 110,
      ["end"] = 120, submitted = 100, eligible = 104, restart = 1 }
   for k, v in pairs(change or {}) do
      j[k] = v
   end
   return j
end

function tests.test_a_job_that_ended_becomes_a_row_and_a_profile()
   local d, job = daemon(), job_of { comment = "taut: comm=ring" }
   local row = d.profiles:take(job, nodes { { 2e8, 2e8 }, { 2e8, 2e8 } })
   lu.assertEquals({ row.id, row.restart, row.user, row.name, row.nodes, row.seconds, row.wait_s,
      row.comm }, { 7, 1, "root", "cfd", 2, 10, 6, "ring" })
   lu.assertAlmostEquals(d.profiles:profile("root", "cfd").share, 0.2)
   d.profiles:take(job, nodes { { 4e8, 2e8 }, { 4e8, 2e8 } })
   lu.assertAlmostEquals(d.profiles:profile("root", "cfd").share, 0.2 + 0.3 * 0.2)
   lu.assertEquals(d.profiles:profile("root", "cfd").jobs, 2)
   lu.assertNil(d.profiles:profile("root", "other"))
end

function tests.test_jobs_that_nobody_measured_are_in_no_profile()
   local d = daemon()
   lu.assertNil(d.profiles:take(job_of(), {}).share)
   lu.assertNil(d.profiles:profile("root", "cfd"))
end

function tests.test_running_heavy_jobs_are_background()
   local d = daemon()
   lu.assertEquals({ d.profiles:background() }, { {}, 0 })
   d.profiles:restore { { user = "root", name = "cfd", jobs = 9, share = 0.3, sent_Bps = 3e7,
      uneven = 1 }, { user = "root", name = "light", jobs = 9, share = 0.01, sent_Bps = 1e6,
      uneven = 1 } }
   d.cluster.jobs = { [1] = { names = { "n0", "n2" } }, [2] = { names = { "n16", "n18" } },
      [3] = { names = { "n30" } } }
   d.cluster.seen_running = { [1] = job_of(), [2] = job_of { name = "light" }, [3] = job_of() }
   d.cluster.nodes_at = 2
   local map, jobs = d.profiles:background()
   lu.assertEquals(jobs, 1)
   local function at(name) return map[d.topo.component_id[name]] end
   lu.assertAlmostEquals(at "n0/tx", 3e7)
   lu.assertAlmostEquals(at "n0/rx", 3e7)
   lu.assertAlmostEquals(at "r0.0.0/Z+", 3e7)
   lu.assertNil(at "n16/tx")
   lu.assertIs(d.profiles:background(), map)
end

-- A low test over a link that others fill is not evidence; over one that has room for both it is.
function tests.test_other_jobs_are_an_excuse_where_they_fill_a_link()
   local d = daemon()
   local loads = {}
   d.profiles:restore { { user = "root", name = "cfd", jobs = 9, share = 0.6, sent_Bps = 6e7,
      uneven = 1 } }
   d.cluster.jobs = { [1] = { names = { "n0", "n2" } }, [2] = { names = { "n0", "n2" } } }
   d.cluster.seen_running = { [1] = job_of(), [2] = job_of { name = "unknown" } }
   local function class(job, bw_Bps, from, to, shares, port)
      local src, dst = d.topo.node_id[from], d.topo.node_id[to]
      local t = { src = src, dst = dst, route = d.topo:route(src, dst), job = job, class = "low",
         bw_Bps = bw_Bps, shares = shares }
      if port then
         t.class, t.port = "void", { component = d.topo.component_id[port], is_low = true }
      end
      others_traffic.excuse(t, { topology = d.topo, good = 0.75, loads = loads,
         sent = d.profiles:background(t.job) })
      return t.class, t.why, t.port
   end
   local late = { src = 2, dst = 4, route = d.topo:route(2, 4), job = 9, class = "void",
      why = "n1 was late", bw_Bps = 2e7, segments = 200, lost = 4 }
   others_traffic.excuse(late, { topology = d.topo, good = 0.75, loads = {},
      sent = d.profiles:background(9) })
   lu.assertEquals({ late.class, late.why, late.segments, late.lost }, { "void", "n1 was late" })
   local link = d.topo.component_id["r0.0.0/Z+"]
   lu.assertEquals({ class(9, 2e7, "n1", "n3") },
      { "void", "over r0.0.0/Z+ other jobs send 60 MB/s by their profiles: it is busy" })
   lu.assertEquals(class(9, 1e7, "n1", "n3"), "low") -- there was room for more
   lu.assertEquals(class(9, 1e7, "n1", "n3", { [link] = 2 }), "void") -- two such tests at once
   lu.assertEquals(class(9, 2e7, "n17", "n19"), "low") -- another link
   -- what a loaded port carried in all: by the link before it, but not by itself
   lu.assertNil(select(3, class(9, 2e7, "n1", "n3", nil, "n3/rx")))
   lu.assertNotNil(select(3, class(9, 2e7, "n3", "n2", nil, "n2/rx")))
   lu.assertEquals(class(1, 2e7, "n1", "n3"), "low") -- before its prolog a job sends nothing
   lu.assertEquals(class(nil, 2e7, "n1", "n3"), "void") -- idle nodes
   d.cluster.seen_running[1] = nil
   d.cluster.nodes_at = 2
   lu.assertEquals(class(9, 2e7, "n1", "n3"), "low")
   -- a switch counted it, whoever sent that
   loads = { { component = "r0.0.0/Z+", Bps = 7e7 }, { component = "elsewhere/1", Bps = 7e7 } }
   lu.assertEquals({ class(9, 1e7, "n1", "n3") },
      { "void", "r0.0.0/Z+ carried 70 MB/s between the last two sweeps: it is busy" })
   lu.assertEquals(class(9, 2e6, "n1", "n3"), "low")
   lu.assertEquals(class(9, 2e7, "n17", "n19"), "low")
end

-- A job that says it communicates is believed until it was measured.
function tests.test_a_named_pattern_counts_before_it_was_measured()
   local d = daemon()
   d.cluster.jobs = { [1] = { names = { "n0", "n2" } } }
   d.cluster.seen_running = { [1] = job_of { comment = "taut: comm=ring" } }
   local map = d.profiles:background()
   lu.assertAlmostEquals(map[d.topo.component_id["n0/tx"]], 0.25 * 1e8)
end

return tests
