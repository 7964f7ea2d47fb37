-- SPDX-License-Identifier: GPL-2.0-or-later
-- Pictures: well-formed whatever the names, everything bad is in them, nothing else grows them.
local draw = require "taut.topology.draw"
local lu = require "luaunit"
local topology = require "taut.topology"

local function scene(conf, bad)
   local topo = assert(topology.build(conf))
   local s = { topo = topo, state = {}, left = {}, has_health = true, path = "/etc/m.lua" }
   for name, state in pairs(bad or {}) do
      local c = assert(topo.component_id[name], name)
      s.state[c], s.left[c] = state, state == "slow" and 0.25 or nil
   end
   return s
end

local MACHINES = {
   torus = { kind = "torus", dims = { 4, 3, 2 }, nodes_per_router = 1, nodes = "n[0-23]",
      capacity = 1 },
   ring = { kind = "torus", dims = { 9 }, nodes_per_router = 1, nodes = "n[0-8]", capacity = 1 },
   mesh4 = { kind = "mesh", dims = { 3, 2, 2, 2 }, nodes_per_router = 1, nodes = "n[0-23]",
      capacity = 1 },
   tree = { kind = "fattree", nodes_per_leaf = 2, levels = { { down = 3, up = 2, parallel = 2 } },
      nodes = "n[0-5]", capacity = 1 },
   dragonfly = { kind = "dragonfly", groups = 4, rows = 2, columns = 3, nodes_per_router = 1,
      nodes = "n[0-23]", capacity = 1 },
   hyperx = { kind = "hyperx", dims = { 4, 8 }, nodes_per_router = 1, nodes = "n[0-31]",
      capacity = 1 },
}

local function count(text, what)
   local _, n = text:gsub(what, "")
   return n
end

-- Enough of XML: tags are closed in order, and text has no bare "<" or "&".
local function assert_well_formed(text)
   local stack = {}
   for slash, name, rest in text:gmatch "<(/?)([%w]+)([^<>]*)>" do
      if slash == "/" then
         lu.assertEquals(table.remove(stack), name)
      elseif rest:sub(-1) ~= "/" then
         stack[#stack + 1] = name
      end
   end
   lu.assertEquals(stack, {})
   for entity in text:gmatch "&[^;]*;?" do
      lu.assertTrue(entity:find "^&#?%w+;$" ~= nil, entity)
   end
   lu.assertNil((text:find "nan"))
end

-- Without printing the whole picture when it has not.
local function assert_has(text, what)
   lu.assertTrue(text:find(what, 1, true) ~= nil, what)
end

local tests = {}

for name, conf in pairs(MACHINES) do
   tests["test_picture_of_a_" .. name] = function()
      local text, about = draw.picture(scene(conf), {})
      assert_well_formed(text)
      lu.assertEquals(about.bad, {})
      lu.assertTrue(about.links > 0)
   end
end

function tests.test_every_bad_link_is_numbered_and_told()
   local text, about = draw.picture(scene(MACHINES.torus, { ["r1.1.0/X+"] = "failed",
      ["r0.0.0/Z+"] = "slow", ["r2.0.1/Y-"] = "suspect", ["n7/tx"] = "slow" }), {})
   assert_well_formed(text)
   lu.assertEquals(about.bad, { "r1.1.0/X+ failed", "r0.0.0/Z+ slow, 25% left",
      "r2.0.1/Y- suspect", "n7/tx slow, 25% left" })
   lu.assertTrue(count(text, "stroke%-dasharray") >= 1)
   assert_has(text, "failed: 1")
   assert_has(text, "never tested: 117")
end

function tests.test_what_loses_has_a_look_of_its_own()
   local s = scene(MACHINES.torus, { ["r1.1.0/X+"] = "lossy", ["r0.0.0/Z+"] = "slow" })
   s.loss = { [s.topo.component_id["r1.1.0/X+"]] = 0.012 }
   local text, about = draw.picture(s, {})
   assert_well_formed(text)
   lu.assertEquals(about.bad[1], "r1.1.0/X+ loses 1.2 %") -- worse than slow
   assert_has(text, "lossy: 1")
   assert_has(text, 'stroke-dasharray="8 2 1.5 2"')
end

function tests.test_the_order_of_the_file_is_always_the_same()
   local bad = { ["r1.1.0/X+"] = "failed", ["r0.0.0/Z+"] = "slow", ["r2.0.1/Y-"] = "slow" }
   lu.assertTrue(draw.picture(scene(MACHINES.torus, bad), {}) ==
      draw.picture(scene(MACHINES.torus, bad), {}))
end

function tests.test_one_plane_only()
   local all, about = draw.picture(scene(MACHINES.torus), {})
   local one, less = draw.picture(scene(MACHINES.torus), { plane = "Z=1" })
   lu.assertTrue(#one < #all)
   lu.assertTrue(less.links < about.links)
   assert_has(one, "Z=1")
   lu.assertNil((one:find("Z=0", 1, true)))
   for _, text in ipairs { "Z=2", "Q=1", "Z", "Z=-1", "Z=1e9", "A=0" } do
      local _, err = draw.picture(scene(MACHINES.torus), { plane = text })
      lu.assertStrContains(err, "--plane: expected such as Z=1, got '" .. text .. "'")
   end
end

-- Names come from files that others wrote.
function tests.test_hostile_names_do_no_harm()
   local s = scene(MACHINES.tree, { ["leaf0/3"] = "failed", ["n0/tx"] = "slow" })
   local hostile = '</text><script>alert("1")</script>&amp;\'\1\255'
   for r = 0, s.topo.routers - 1 do
      s.topo.router_name[r] = hostile .. r
   end
   for c in ipairs(s.topo.components) do
      s.topo.components[c] = hostile .. c
   end
   s.path = hostile
   local text = assert(draw.picture(s, { title = nil }))
   assert_well_formed(text)
   lu.assertNil((text:find "<script"))
   lu.assertNotNil(utf8.len(text))
end

function tests.test_a_picture_of_a_large_torus_stays_small()
   local s = scene { kind = "torus", dims = { 25, 16, 24 }, nodes_per_router = 2,
      nodes = "n[0-19199]", capacity = 1 }
   local text = assert(draw.picture(s, {}))
   lu.assertTrue(#text < 2000000)
end

-- rsvg-convert took three minutes for one path of 16,640 curves.
function tests.test_no_path_is_long()
   for _, conf in ipairs { { kind = "dragonfly", groups = 33, routers = 32, nodes_per_router = 1,
      nodes = "n[0-1055]", capacity = 1 }, { kind = "torus", dims = { 40, 40 },
      nodes_per_router = 1, nodes = "n[0-1599]", capacity = 1 } } do
      local text = assert(draw.picture(scene(conf), {}))
      assert_well_formed(text)
      for d in text:gmatch '<path d="([^"]*)"' do
         lu.assertTrue(count(d, "M") <= 100)
      end
   end
end

return tests
