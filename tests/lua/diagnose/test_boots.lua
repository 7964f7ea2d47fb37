-- SPDX-License-Identifier: GPL-2.0-or-later
-- Which nodes booted since they were last heard.
local boots = require "taut.diagnose.boots"
local lu = require "luaunit"

local tests = {}

local topo = { nodes = { "n0", "n1", "n2" }, rails = 2 }

function tests.test_only_another_boot_id_than_was_known_is_a_boot()
   local known = {}
   lu.assertEquals(boots.note(known, { [1] = { boot = "a" }, [2] = {} }, topo), {})
   lu.assertEquals(boots.note(known, { [1] = { boot = "a" }, [2] = { boot = "b" } }, topo), {})
   lu.assertEquals(boots.note(known, { [1] = {} }, topo), {}) -- it does not say
   lu.assertEquals(boots.note(known, { [1] = { boot = "c" } }, topo), { 1, 2, 7, 8 }) -- both rails
   lu.assertEquals(boots.note(known, { [1] = { boot = "c" } }, topo), {})
   lu.assertEquals(boots.note(known, nil, topo), {})
end

return tests
