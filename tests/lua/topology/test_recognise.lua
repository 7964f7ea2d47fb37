-- SPDX-License-Identifier: GPL-2.0-or-later
-- What kind of fabric a wiring is, and where its routers are in it.
local grid = require "taut.topology.import.grid"
local import = require "taut.topology.import"
local importing = require "lib.importing"
local lu = require "luaunit"
local recognise = require "taut.topology.import.recognise"
local source = require "taut.topology.import.source"
local topology = require "taut.topology"
local wiring = require "taut.topology.import.wiring"

local tests = {}
local data = importing.data

function tests.tearDown()
   importing.clean()
end

local function empty()
   return wiring.new(source.of("", "made"), "made")
end

-- The routers of a wiring renamed and shuffled, its ports without meaning.
local function shuffled(w, seed)
   math.randomseed(seed)
   local n, new = #w.routers, {}
   for i = 1, n do
      new[i] = i
   end
   for i = n, 2, -1 do
      local j = math.random(i)
      new[i], new[j] = new[j], new[i]
   end
   local out, used = { routers = {}, nodes = {}, cables = {}, notes = {}, source = "x",
      format = "x" }, {}
   for i = 1, n do
      out.routers[new[i]], used[i] = { name = "sw" .. ("abcdefghij"):sub(new[i] % 10, new[i] % 10)
         .. ("x"):rep(new[i] // 10) }, {}
   end
   local function port(r)
      local p
      repeat
         p = math.random(64)
      until not used[r][p]
      used[r][p] = true
      return tostring(p)
   end
   for _, c in ipairs(w.cables) do
      out.cables[#out.cables + 1] = { a = new[c.a], b = new[c.b], a_port = port(c.a),
         b_port = port(c.b) }
   end
   for i = 1, n do
      out.nodes[i] = { name = "n" .. i, rails = { { router = new[i], port = port(i) } } }
   end
   return out
end

local function torus(dims)
   local w = empty()
   grid.torus(w, 1, dims, "r", 1e6)
   for i = 1, #w.routers do
      w:node(1, { name = "n" .. i, rails = { { router = i, port = "node" } } })
   end
   return w:finish()
end

local function hyperx(dims)
   local w, n = empty(), 1
   for _, d in ipairs(dims) do
      n = n * d
   end
   for i = 1, n do
      w:router(1, { name = "r" .. i })
      w:node(1, { name = "n" .. i, rails = { { router = i, port = "node" } } })
   end
   local stride = n
   for d, len in ipairs(dims) do
      stride = stride // len
      for i = 0, n - 1 do
         local x = i // stride % len
         for y = x + 1, len - 1 do
            w:cable { a = i + 1, a_port = d .. "." .. y, b = i + 1 + (y - x) * stride,
               b_port = d .. "." .. x }
         end
      end
   end
   return w:finish()
end

-- Neighbours in the numbering must be neighbours in the wiring, and nothing else.
local function check_coordinates(w, found)
   local ring = found.kind == "torus"
   for _, c in ipairs(w.cables) do
      local differ = 0
      for d, len in ipairs(found.dims) do
         local step = (found.coord[c.a][d] - found.coord[c.b][d]) % len
         if step ~= 0 then
            differ = differ + 1
            lu.assertTrue(not ring or step == 1 or step == len - 1)
         end
      end
      lu.assertEquals(differ, 1)
   end
   local seen = {}
   for r = 1, #w.routers do
      local k = table.concat(found.coord[r], ".")
      lu.assertNil(seen[k])
      seen[k] = true
   end
end

local function sorted(list)
   local copy = table.move(list, 1, #list, 1, {})
   table.sort(copy)
   return copy
end

function tests.test_tori_by_their_ports_and_names()
   for _, dims in ipairs { { 4, 2, 2 }, { 4, 4, 4 }, { 5, 3 }, { 8 }, { 6, 5, 4 }, { 3, 3, 3 },
      { 2, 5 }, { 4, 4 }, { 5, 4, 3, 2 } } do
      local w = torus(dims)
      local found = recognise.kind(w)
      local what = table.concat(dims, "x")
      lu.assertEquals({ found.kind, found.dims, found.misfits }, { "torus", dims, {} }, what)
      for r, router in ipairs(w.routers) do
         lu.assertEquals(found.coord[r], router.coord, what)
      end
   end
end

function tests.test_tori_by_their_structure_alone()
   for seed, dims in ipairs { { 5, 6 }, { 8, 5 }, { 6, 5, 7 }, { 3, 5, 8 }, { 10 }, { 5, 5, 5 },
      { 2, 6 }, { 3, 3, 5 } } do
      local w = shuffled(torus(dims), seed)
      local found = recognise.kind(w)
      local what = table.concat(dims, "x")
      lu.assertEquals({ found.kind, sorted(found.dims), found.misfits },
         { "torus", sorted(dims), {} }, what)
      check_coordinates(w, found)
   end
end

function tests.test_hyperx()
   for seed, dims in ipairs { { 4, 4 }, { 5 }, { 3, 4 }, { 6, 2 }, { 4, 5, 6 }, { 12, 12 } } do
      local w = shuffled(hyperx(dims), seed)
      local found = recognise.kind(w)
      lu.assertEquals({ found.kind, sorted(found.dims), found.misfits },
         { "hyperx", sorted(dims), {} }, table.concat(dims, "x"))
      check_coordinates(w, found)
   end
end

function tests.test_meshes()
   local w = torus { 5, 4 }
   for i = #w.cables, 1, -1 do
      local a, b = w.routers[w.cables[i].a].coord, w.routers[w.cables[i].b].coord
      if math.abs(a[1] - b[1]) > 1 or math.abs(a[2] - b[2]) > 1 then
         table.remove(w.cables, i)
      end
   end
   local found = recognise.kind(w)
   lu.assertEquals({ found.kind, found.dims, found.misfits }, { "mesh", { 5, 4 }, {} })
   found = recognise.kind(shuffled(w, 3))
   lu.assertEquals({ found.kind, sorted(found.dims) }, { "mesh", { 4, 5 } })
end

function tests.test_what_is_missing_is_said()
   local w = torus { 6, 5, 5 }
   table.remove(w.cables, 100)
   table.remove(w.cables, 17)
   local found = recognise.kind(w)
   lu.assertEquals({ found.kind, found.dims, #found.misfits }, { "torus", { 6, 5, 5 }, 2 })
   lu.assertStrContains(found.misfits[1], "no cable between ")
   -- a router that is not there
   w = torus { 6, 6 }
   for i = #w.cables, 1, -1 do
      local c = w.cables[i]
      if c.a == 36 or c.b == 36 then
         table.remove(w.cables, i)
      end
   end
   w.routers[36], w.nodes[36] = nil, nil
   found = recognise.kind(w)
   lu.assertEquals({ found.kind, found.dims }, { "torus", { 6, 6 } })
   lu.assertStrContains(found.misfits[1], "1 of 36 places have no router")
   -- two nodes where the others have one
   w = torus { 5, 5 }
   w.nodes[26] = { name = "x", rails = { { router = 1, port = "x" } } }
   found = recognise.kind(w)
   lu.assertStrContains(found.misfits[1], "1 of 25 routers have other than 1 nodes (1 to 2)")
end

function tests.test_simulated_fabrics()
   for name, e in pairs {
      ["t444-dor"] = { "torus", { 4, 4, 4 }, "sw%-(%d)%-(%d)%-(%d)" },
      ["hx44-dor"] = { "hyperx", { 4, 4 }, "hx%-(%d)%-(%d)" },
   } do
      local w = assert(import.read("ibnetdiscover", data("routing/" .. name ..
         "/ibnetdiscover.txt.gz")))
      local found = recognise.kind(w)
      lu.assertEquals({ found.kind, found.dims, found.misfits }, { e[1], e[2], {} })
      for r, router in ipairs(w.routers) do
         local at = { router.name:match(e[3]) }
         for d = 1, #at do
            lu.assertEquals(found.coord[r][d], tonumber(at[d]))
         end
      end
   end
   local w = assert(import.read("ibnetdiscover",
      data "routing/df-a4h2p2-minhop/ibnetdiscover.txt.gz"))
   local found = recognise.kind(w)
   lu.assertEquals({ found.kind, found.groups, found.routers_per_group, found.local_dims,
      found.links_per_pair, found.global_per_router, found.nodes_per_router, found.misfits },
      { "dragonfly", 9, 4, { 4 }, { 1, 1 }, { 2, 2 }, { 2, 2 }, {} })
   -- groups as their names say
   for _, list in ipairs(found.members) do
      local group = w.routers[list[1]].name:match "^df%-(%d)"
      for _, r in ipairs(list) do
         lu.assertEquals(w.routers[r].name:match "^df%-(%d)", group)
      end
   end
end

-- Eleven switches: six leaves, four spines, and one that hangs on two spines and has no nodes.
function tests.test_psmn()
   local w = assert(import.read("ibnetdiscover", data "infiniband/psmn-x5/X5.topofile"))
   local found = recognise.kind(w)
   lu.assertEquals({ found.kind, found.levels, found.regular, found.nodes_per_leaf },
      { "fattree", { 7, 4 }, false, { 0, 24 } })
   lu.assertStrContains(recognise.words(found), "irregular fat tree of 2 levels")
   lu.assertStrContains(table.concat(found.misfits, "\n"), "switches above")
   local spines = importing.text_of(data "infiniband/psmn-x5/X5.spine")
   for r, router in ipairs(w.routers) do
      if found.level[r] == 1 then
         lu.assertStrContains(spines, "S-" .. router.guid:sub(3))
      end
   end
   -- width does not change what kind it is
   local degraded = assert(import.read("ibnetdiscover",
      data "infiniband/ibsim-samples-x5/ibnetdiscover-degraded.txt"))
   lu.assertEquals(recognise.kind(degraded).levels, { 7, 4 })
end

function tests.test_trees()
   local w = assert(importing.read("slurm-conf", "SwitchName=l[1] Nodes=n1\n"))
   lu.assertEquals(recognise.kind(w).kind, "fattree")
   -- three levels: 4 pods of 2 leaves and 2 spines, 4 cores
   local b = empty()
   for i = 1, 8 do
      b:router(1, { name = "leaf" .. i })
      b:node(1, { name = "n" .. i, rails = { { router = i, port = "9" } } })
   end
   for i = 1, 8 do
      b:router(1, { name = "spine" .. i })
   end
   for i = 1, 4 do
      b:router(1, { name = "core" .. i })
   end
   for pod = 0, 3 do
      for i = 1, 2 do
         for j = 1, 2 do
            b:cable { a = pod * 2 + i, a_port = "" .. j, b = 8 + pod * 2 + j, b_port = "" .. i }
            b:cable { a = 8 + pod * 2 + j, a_port = "" .. 2 + i, b = 16 + 2 * j - 2 + i,
               b_port = "" .. pod }
         end
      end
   end
   local found = recognise.kind(b:finish())
   lu.assertEquals({ found.kind, found.levels, found.regular, found.uplinks },
      { "fattree", { 8, 8, 4 }, true, { 2, 2 } })
   lu.assertEquals(recognise.words(found), "fat tree of 3 levels with 8 + 8 + 4 switches " ..
      "(leaves first), 1 node and 2 links up on a leaf")
   -- a link between two leaves does not change it, and is named
   b:cable { a = 1, a_port = "7", b = 5, b_port = "7" }
   found = recognise.kind(b:finish())
   lu.assertEquals({ found.kind, found.levels }, { "fattree", { 8, 8, 4 } })
   lu.assertEquals(found.misfits[1], "leaf1 and leaf5 are joined inside of level 0")
end

-- Storage on a switch of the middle and a gateway on top: these are no leaves, and routes go on
-- through their switches.
local function with_hosts_above()
   local w, used = empty(), {}
   for i = 1, 12 do
      w:router(1, { name = (i <= 4 and "leaf" or i <= 8 and "mid" or "top") .. i })
   end
   local function port(r)
      used[r] = (used[r] or 0) + 1
      return tostring(used[r])
   end
   local function cable(a, b)
      w:cable { a = a, b = b, a_port = port(a), b_port = port(b) }
   end
   for leaf = 1, 4 do
      local pod = (leaf - 1) // 2
      cable(leaf, 5 + 2 * pod)
      cable(leaf, 6 + 2 * pod)
   end
   for mid = 5, 8 do
      for top = 9 + (mid - 5) % 2, 12, 2 do
         cable(mid, top)
      end
   end
   for i = 1, 14 do
      local at = i <= 12 and (i - 1) // 3 + 1 or i == 13 and 5 or 9
      w:node(1, { name = "n" .. i, rails = { { router = at, port = port(at) } } })
   end
   return w:finish()
end

function tests.test_nodes_on_upper_switches_are_no_leaves()
   local w = with_hosts_above()
   local found = recognise.kind(w)
   lu.assertEquals(found.levels, { 4, 4, 4 })
   lu.assertEquals(found.misfits, { "mid5 is on level 1 and has 1 nodes",
      "top9 is on level 2 and has 1 nodes" })
   local topo = assert(topology.build { kind = "fattree", wiring = w, capacity = 1e9 })
   for c = topo.first_link, #topo.components do
      lu.assertNotEquals(topo:kind(c), "link", topo.components[c])
   end
   for a = 1, 14 do
      for b = 1, 14 do
         lu.assertTrue(a == b or topo:route(a, b) ~= nil, ("n%d to n%d"):format(a, b))
      end
   end
end

function tests.test_what_nothing_explains()
   local jabl = assert(import.read("ibnetdiscover", data "infiniband/jabl-ibtopotool/1.topo"))
   local found = recognise.kind(jabl)
   lu.assertEquals({ found.kind, found.misfits },
      { "irregular", { "2 routers are too few to tell" } })
   -- a random graph
   local w = empty()
   math.randomseed(4)
   for i = 1, 60 do
      w:router(1, { name = "r" .. i })
      w:node(1, { name = "n" .. i, rails = { { router = i, port = "n" } } })
      for _ = 1, i > 1 and 3 or 0 do
         w:cable { a = i, a_port = "x", b = math.random(i - 1), b_port = "y" }
      end
   end
   found = recognise.kind(w:finish())
   lu.assertEquals(found.kind, "irregular")
   lu.assertStrContains(found.misfits[1], "explain its links")
   -- two tori side by side
   w = empty()
   grid.torus(w, 1, { 4, 4 }, "a", 1e6)
   grid.torus(w, 1, { 4, 4 }, "b", 1e6)
   found = recognise.kind(w:finish())
   lu.assertEquals(found.misfits, { "it falls into 2 parts that nothing joins" })
   lu.assertEquals(recognise.kind(empty():finish()).kind, "irregular")
end

return tests
