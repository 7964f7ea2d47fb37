-- SPDX-License-Identifier: GPL-2.0-or-later
--- taut.graph as Lua sees it: arguments that cannot be, and what is left when it is closed.
local graph = require "taut.graph"
local lu = require "luaunit"

local tests = {}

-- Two routers with a node each, one cable.
local function options(more)
   local o = { routers = 2, nodes = 2, rails = 1, from = { 0, 1 }, to = { 1, 0 }, at = { 0, 1 },
      capacity = { 1, 1, 1, 1, 1, 1 } }
   for k, v in pairs(more or {}) do
      o[k] = v
   end
   return o
end

local function routed()
   local g = assert(graph.new(options()))
   assert(g:engine("torus", { dims = { 2 }, wraps = { true }, port = { 0, 0 } }))
   return g
end

function tests.test_a_graph_that_cannot_be_is_refused()
   local cases = {
      { { from = { 0, 2 } }, "link 1 goes from router 2 to 0 of 2" },
      { { to = { 1, 1 } }, "link 1 goes from router 1 to itself" },
      { { at = { 0, 5 } }, "endpoint 1 is on router 5 of 2" },
      { { capacity = { 1, 1, 0, 1, 1, 1 } }, "component 2: capacity 0" },
      { { capacity = { 1, 1, 1 / 0, 1, 1, 1 } }, "component 2: capacity inf" },
      { { capacity = {} }, "component 0: capacity 0" },
      { { back = { 1, 2 } }, "link 0 is not the way back of link 0" },
      { { back = { 9, 1 } }, "link 8 is not the way back" },
      { { rails = 65 }, "65 rails, expected 1 to 64" },
      { { routers = 1 << 21 }, "2097152 routers, expected 1 to" },
   }
   for _, c in ipairs(cases) do
      local o = options(c[1])
      for e = #o.at + 1, o.nodes * o.rails do
         o.at[e] = false
      end
      local g, err = graph.new(o)
      lu.assertNil(g, c[2])
      lu.assertStrContains(err, c[2])
   end
end

function tests.test_wrong_types_are_the_callers_mistake()
   for _, more in ipairs { { from = 5 }, { at = { 0 } }, { at = { 0, "x" } }, { to = { 1, 2.5 } },
      { to = { 1, -1 } }, { routers = 0 }, { routers = 1 << 40 }, { nodes = "many" },
      { back = "no" }, { capacity = 7 } } do
      lu.assertError(graph.new, options(more))
   end
   lu.assertError(graph.new)
   local g = routed()
   for _, call in ipairs { { g.left, g, 0 }, { g.left, g, 7 }, { g.set_left, g, 1, 2 },
      { g.set_left, g, 1, 0 / 0 }, { g.behind, g, 1, -1, 0.75 }, { g.crossing, g, 1 },
      { g.all_to_all, g, { -1, 1 } }, { g.all_to_all, g, nil, { threads = 65 } },
      { g.pair_loads, g, { 1, 3, 1 } }, { g.links_of, g, 2 }, { g.engine, g, "magic", {} },
      { g.engine, g, "torus" }, { g.flow, g, 3 }, { g.left, {}, 1 } } do
      lu.assertError(table.unpack(call, 1, 4))
   end
end

function tests.test_an_engine_that_does_not_fit_is_refused()
   for _, c in ipairs {
      { { dims = { 3 }, port = { 0, 0 } }, "another number of routers than 2" },
      { { dims = { -2 }, port = { 0, 0 } }, "expected 1 to 4096" },
      { { dims = {}, port = { 0, 0 } }, "0 dimensions" },
      { { dims = { 2 }, port = { 0, 7 } }, "link 1 has port 7 of 2" },
      { { dims = { 2 }, port = { -1, 0 } }, "link 0 has port 4294967295" },
      { { dims = { 2 }, order = { 1 }, port = { 0, 0 } }, "does not name each" } } do
      local g = assert(graph.new(options()))
      local ok, err = g:engine("torus", c[1])
      lu.assertNil(ok)
      lu.assertStrContains(err, c[2])
      lu.assertError(g.classes, g) -- still without routes
      lu.assertEquals(g:behind(1, 0, 0.75), { 1 })
   end
end

function tests.test_a_closed_graph_is_an_error_not_a_crash()
   local g, route
   do
      local open <close> = routed()
      g, route = open, open:closures().route
      lu.assertEquals(route(nil, 1, 2), { 1, 5, 4 })
   end
   lu.assertErrorMsgContains("closed", g.left, g, 1)
   lu.assertErrorMsgContains("closed", route, nil, 1, 2)
end

function tests.test_a_rail_that_is_not_there_has_no_route()
   local g = assert(graph.new(options { rails = 2, at = { 0, 1, 0, false },
      capacity = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 } }))
   assert(g:engine("torus", { dims = { 2 }, wraps = { true }, port = { 0, 0 } }))
   local f = g:closures()
   lu.assertEquals({ f.route(nil, 1, 2, nil, 2) }, { nil, "no route" })
   lu.assertEquals(f.hops(nil, 1, 2, 2), math.huge)
   lu.assertNil(f.router(nil, 2, 2))
   lu.assertEquals(g:on_router(0), { 1 })
   local loads, lost = g:all_to_all()
   lu.assertEquals(loads, { 1, 1 })
   lu.assertEquals(lost, 0)
   lu.assertEquals(select(2, g:pair_loads({ 1, 2, 1 }, 2)), 1)
end

function tests.test_digest()
   lu.assertEquals(graph.digest "", "cbf29ce484222325")
   lu.assertEquals(graph.digest "a", "af63dc4c8601ec8c") -- of the authors' own test
end

return tests
