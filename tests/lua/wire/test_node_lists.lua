-- SPDX-License-Identifier: GPL-2.0-or-later
local lu = require "luaunit"
local node_lists = require "taut.wire.node_lists"

local tests = {}

local function lists(count)
   return node_lists.new(function() return count end)
end

function tests.test_the_nodes_of_a_hello()
   local list = assert(lists(4):of_hello { node = "n1", nodes = "n[0-3]" })
   lu.assertEquals(list.names, { "n0", "n1", "n2", "n3" })
   lu.assertEquals(list.has, { n0 = true, n1 = true, n2 = true, n3 = true })
end

function tests.test_a_node_outside_its_job_is_refused()
   local list, err = lists(4):of_hello { node = "n9", nodes = "n[0-3]" }
   lu.assertNil(list)
   lu.assertStrContains(err, "n9 is not in nodes")
   list, err = lists(4):of_hello { node = "n1", nodes = "n[0-" }
   lu.assertNil(list)
   lu.assertStrContains(err, "HELLO: nodes:")
end

function tests.test_nodes_of_one_job_share_one_list()
   local l = lists(100)
   local first = l:of_hello { node = "n0", nodes = "n[0-99]" }
   for n = 1, 99 do
      lu.assertTrue(rawequal(l:of_hello { node = "n" .. n, nodes = "n[0-99]" }, first))
   end
   lu.assertEquals(l.made, 1)
end

function tests.test_no_more_names_than_nodes()
   local l = lists(4)
   for _, text in ipairs { "n[0-4]", "n[0-999999]", "n[0-999],m[0-999]", "n[0-9][0-9]" } do
      local list, err = l:of_hello { node = "n0", nodes = text }
      lu.assertNil(list)
      lu.assertStrContains(err, "more than 4 names")
   end
   lu.assertNotNil(l:list "n[0-3]")
   local list, err = l:list("n[0-3]", 3) -- though it is there
   lu.assertNil(list)
   lu.assertStrContains(err, "more than 3 names")
end

function tests.test_what_is_kept_is_bounded()
   local l = lists(10)
   for i = 1, 1000 do
      assert(l:list(("n[%d-%d]"):format(i, i + 9)))
      local held = 0
      for _, half in ipairs { l.newer, l.older } do
         for _, list in pairs(half) do
            held = held + #list.names
         end
      end
      lu.assertTrue(held <= 80, held)
   end
   local made = l.made
   l:list "n[1000-1009]"
   lu.assertEquals(l.made, made)
   l:list "n[1-10]"
   lu.assertEquals(l.made, made + 1)
end

return tests
