-- SPDX-License-Identifier: GPL-2.0-or-later
-- Rank orders, and `taut map`.
local files = require "taut.place.rankmap.files"
local golden = require "lib.golden"
local json = require "taut.json"
local lu = require "luaunit"
local pattern = require "taut.place.pattern"
local rankmap = require "taut.place.rankmap"
local score = require "taut.place.score"
local topology = require "taut.topology"

local tests = {}

local TORUS = [[topology = torus { dims = { 8, 4, 4 }, nodes_per_router = 2, nodes = "n[000-255]",
   capacity = { tx = 5 * GB, rx = 5 * GB, link = 4 * GB } }]]

local function machines()
   return {
      assert(topology.build { kind = "torus", dims = { 8, 4, 4 }, nodes_per_router = 2,
         nodes = "n[0-255]", capacity = { tx = 5e9, rx = 5e9, link = 4e9 } }),
      assert(topology.build { kind = "fattree", nodes_per_leaf = 4, nodes = "f[0-63]",
         levels = { { down = 16, up = 2 } }, capacity = 5e9 }),
      assert(topology.build { kind = "dragonfly", groups = 6, routers = 4, nodes_per_router = 2,
         nodes = "d[0-47]", capacity = 5e9 }),
      assert(topology.build { kind = "hyperx", dims = { 4, 5 }, nodes_per_router = 2,
         nodes = "h[0-39]", capacity = 5e9 }),
   }
end

local function draw(topo, n)
   local list, seen = {}, {}
   while #list < n do
      local i = math.random(#topo.nodes)
      list[#list + 1] = not seen[i] and i or nil
      seen[i] = true
   end
   table.sort(list)
   return list
end

local function search(topo, nodes, ranks, spec, more)
   local job = { topo = topo, nodes = nodes, per = assert(rankmap.spread(ranks, #nodes)),
      P = assert(pattern.make(spec, ranks)) }
   for k, v in pairs(more or {}) do
      job[k] = v
   end
   return rankmap.search(job), job
end

local SPECS = { "all-to-all", "halo2d", "halo3d", "lattice4d", "ring", "random-pairs", "sweep",
   "all-reduce-rd", "halo27" }

function tests.test_never_worse_than_blocks_and_every_node_full()
   math.randomseed(21)
   for _, topo in ipairs(machines()) do
      for _, spec in ipairs(SPECS) do
         local nodes = draw(topo, math.random(2, 20))
         local ranks = #nodes * math.random(3) + math.random(0, 1)
         local d, job = search(topo, nodes, ranks, spec)
         lu.assertTrue(d.best.time_s <= d.block.time_s * (1 + 1e-9), spec)
         lu.assertTrue(d.gain >= 1 - 1e-9, spec)
         local count = {}
         for _, n in ipairs(d.best.order) do
            count[n] = (count[n] or 0) + 1
         end
         for i, n in ipairs(nodes) do
            lu.assertEquals(count[n], job.per[i], spec)
         end
         lu.assertAlmostEquals(score.evaluate(topo, d.best.order, job.P).time_s, d.best.time_s,
            1e-15)
      end
   end
end

function tests.test_block_where_nothing_is_better()
   local topo = machines()[2]
   local d = search(topo, { 1, 2, 3, 4 }, 4, "all-to-all")
   lu.assertEquals(d.best, d.block)
   lu.assertEquals(d.gain, 1)
end

function tests.test_a_grid_on_a_box_has_neighbours_next_to_each_other()
   local topo, nodes = machines()[1], {}
   for n = 1, 256 do
      nodes[n] = n
   end
   local d = search(topo, nodes, 256, "halo3d:grid=8x8x4", { only = "bisect" })
   lu.assertTrue(d.gain > 1.3, d.gain)
end

function tests.test_a_box_across_the_seam_of_a_ring_is_a_box()
   local topo = machines()[1]
   local far, near = {}, {}
   for n = 1, 256 do
      local x = topo:coordinates(topo:router(n))[1]
      far[#far + 1] = (x == 7 or x == 0) and n or nil
      near[#near + 1] = (x == 3 or x == 4) and n or nil
   end
   local a = search(topo, far, 64, "halo3d", { only = "bisect" })
   local b = search(topo, near, 64, "halo3d", { only = "bisect" })
   lu.assertAlmostEquals(a.tried[2].time_s, b.tried[2].time_s, 1e-12)
end

function tests.test_slow_links_count()
   local topo = machines()[1]
   local c = assert(topo.component_id["r0.0.0/X+"])
   local P = assert(pattern.make("shift:by=1", 4))
   local nodes = { 1, 33, 65, 97 }
   local job = { topo = topo, nodes = nodes, per = { 1, 1, 1, 1 }, P = P, left = { [c] = 0.1 } }
   local d = rankmap.search(job)
   lu.assertEquals(d.block.slowest, c)
   lu.assertTrue(d.best.time_s <= d.block.time_s)
end

function tests.test_scotch_is_missing_or_wrong()
   local topo, nodes = machines()[1], { 1, 9, 17, 30 }
   for program, why in pairs { ["/nonexistent/gmap"] = "/nonexistent/gmap is not installed",
      ["/bin/false"] = "/bin/false ended with status 1",
      ["/bin/true"] = "its answer has no node for rank 0" } do
      local d = search(topo, nodes, 8, "halo2d", { scotch = program, only = "scotch" })
      lu.assertEquals(d.best, d.block)
      lu.assertEquals(d.skipped[1], { name = "scotch", why = why })
   end
end

function tests.test_scotch()
   if not os.execute "command -v scotch_gmap >/dev/null 2>&1" then
      lu.skip "scotch_gmap is not installed (Debian: scotch)"
   end
   local topo, nodes = machines()[1], {}
   for n = 1, 64 do
      nodes[n] = n
   end
   local d = search(topo, nodes, 128, "random-pairs", { only = "scotch" })
   lu.assertEquals(d.best.name, "scotch")
   lu.assertEquals(d.best.time_s, 0) -- each pair on a node of its own
   lu.assertEquals(d.gain, math.huge)
end

function tests.test_spread()
   lu.assertEquals(rankmap.spread(10, 4), { 3, 3, 2, 2 })
   local _, err = rankmap.spread(3, 4)
   lu.assertEquals(err, "3 ranks on 4 nodes: expected at least one for each node")
end

---------------------------------------------------------------- files

function tests.test_files()
   local topo = machines()[1]
   local job = { topo = topo, nodes = { 5, 9 }, per = { 3, 2 }, words = "words",
      P = { ranks = 5 } }
   local order = { 9, 5, 5, 9, 5 }
   lu.assertEquals(files.hostfile(job, order), "n8\nn4\nn4\nn8\nn4\n")
   lu.assertEquals(files.mpich(job, order), "# words\n1,2,4\n0,3\n")
end

function tests.tearDown()
   golden.clean()
end

-- What it prints, exit status, what it complains of; "@" stands for the folder.
local function taut(...)
   local torus = golden.file("torus.lua", TORUS)
   local list = { "map", "-m", torus }
   for _, word in ipairs { ... } do
      list[#list + 1] = word:gsub("^@", golden.dir .. "/")
   end
   return golden.run(list)
end

function tests.test_the_command()
   local out, code = taut("n[000-031]", "--pattern", "halo3d", "--ntasks-per-node", "2", "-o",
      "@hosts")
   lu.assertEquals(code, 0, out)
   golden.narrow("map", out)
   lu.assertStrContains(out, "halo3d of 64 ranks (grid 4x4x4) on 32 nodes, 2 on each")
   lu.assertStrContains(out, "SLURM_HOSTFILE=hosts srun --distribution=arbitrary -n 64")
   local count = {}
   for line in io.lines(golden.dir .. "/hosts") do
      count[line] = (count[line] or 0) + 1
   end
   for i = 0, 31 do
      lu.assertEquals(count[("n%03d"):format(i)], 2)
   end
   out, code = taut("n[000-031]", "--pattern", "halo3d", "--json")
   lu.assertEquals(code, 0)
   local d = assert(json.decode(out))
   lu.assertEquals(#d.hosts, 32)
   lu.assertTrue(d.seconds <= d.block_seconds)
end

local WRONG = {
   { "n[000-003]", "ring:x=1", "pattern ring: parameter 'x' is not known" },
   { "n[000-003]", "none", "pattern 'none' is not known" },
   { "n[000-003],n001", "ring", "node 'n001' is given twice" },
   { "n[000-003],z", "ring", "has no node 'z'" },
   { "n[000-", "ring", "host list" },
   { "n[000-003]", "matrix:/nonexistent", "/nonexistent: No such file" },
   { "n[000-003]", "ring", "3 ranks on 4 nodes", "-n", "3" },
   { "n[000-003]", "ring", "--ntasks 9 is not 2 on each of 4 nodes", "-n", "9",
      "--ntasks-per-node", "2" },
   { "n[000-003]", "ring", "524288 ranks, expected at most 131072", "--ntasks-per-node",
      "131072" },
   { "n[000-003]", "halo3d:grid=2x2x2", "grid 2x2x2 does not have 4 places" },
}

function tests.test_wrong_arguments()
   for i, w in ipairs(WRONG) do
      local _, code, err = taut(w[1], "--pattern", w[2], table.unpack(w, 4))
      -- what is not there could be; the others cannot be done anywhere
      lu.assertEquals(code, w[3] == "has no node 'z'" and 1 or 2, i)
      lu.assertStrContains(err:gsub("%s+", " "), w[3], false, i)
   end
end

return tests
