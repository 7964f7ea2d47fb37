-- SPDX-License-Identifier: GPL-2.0-or-later
-- Which nodes booted since they were last heard.
local lu = require "luaunit"
local node_boots = require "taut.diagnose.node_boots"

local tests = {}

local topo = { nodes = { "n0", "n1", "n2" }, rails = 2 }

function tests.test_only_another_boot_id_than_was_known_is_a_boot()
   local known = {}
   lu.assertEquals(node_boots.note(known, { [1] = { boot = "a" }, [2] = {} }, topo), {})
   lu.assertEquals(node_boots.note(known, { [1] = { boot = "a" }, [2] = { boot = "b" } }, topo), {})
   lu.assertEquals(node_boots.note(known, { [1] = {} }, topo), {}) -- it does not say
   -- both rails
   lu.assertEquals(node_boots.note(known, { [1] = { boot = "c" } }, topo), { 1, 2, 7, 8 })
   lu.assertEquals(node_boots.note(known, { [1] = { boot = "c" } }, topo), {})
   lu.assertEquals(node_boots.note(known, nil, topo), {})
end

return tests
