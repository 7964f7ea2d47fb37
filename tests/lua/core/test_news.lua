-- SPDX-License-Identifier: GPL-2.0-or-later
-- What is slow as a whole is said, once.
local acks = require "taut.policy.acks"
local loop = require "taut.loop"
local looptest = require "lib.looptest"
local lu = require "luaunit"
local news = require "taut.core.news"

local tests = {}

local function leaf(number, n)
   return { kind = "group", of = "leaf leaf" .. number, n = n, total = 8 }
end

-- A daemon with suspects of which diagnosis says what they are a part of.
local function daemon(list)
   local d = { said = {}, rows = {}, wholes_of = list,
      site = { topo = { components = { "n0/tx", "n1/tx" } },
         conf = { diagnosis = { good = 0.75 } } } }
   d.diagnosis = {}
   function d.diagnosis.suspected()
      return ipairs { true, true }
   end
   function d.diagnosis.component(_, c)
      return { whole = d.wholes_of[c] }
   end
   d.act = {}
   function d.act.say(_, text)
      table.insert(d.said, text)
   end
   function d.act.record(_, row)
      table.insert(d.rows, row)
   end
   d.acks = acks.new()
   d.news = news.new(d)
   return d
end

function tests.test_a_suspect_of_its_own_is_no_alert()
   local d = daemon {}
   d.news:suspects()
   lu.assertEquals(d.said, {})
end

function tests.test_one_cabinet_is_one_alert_whatever_its_figures()
   local d = daemon { leaf(1, 7) }
   d.wholes_of[2] = d.wholes_of[1]
   d.news:suspects()
   d.wholes_of[1] = leaf(1, 8)
   d.news:suspects()
   lu.assertEquals(d.said, { "leaf leaf1 is slow as a whole: 7 of 8 nodes" })
   lu.assertEquals(#d.rows, 1)
   lu.assertEquals(d.rows[1].action, "alert")
   d.wholes_of[2] = leaf(2, 8)
   d.news:suspects()
   lu.assertEquals(#d.said, 2)
end

function tests.test_what_is_known_without_a_test_is_said_once()
   local d = daemon {}
   local hard = { { left = 0.5, why = "lanes of hsn0 (pcie) is 8, it should be 16" },
      { left = 0.9, why = "one of ten lanes" } }
   function d.diagnosis.component(_, c)
      return { hard = hard[c] }
   end
   d.news:suspects()
   hard[1].left = 0.25
   d.news:suspects()
   lu.assertEquals(d.said, { "n0/tx is suspect: lanes of hsn0 (pcie) is 8, it should be 16; " ..
      "50% left, not drained for that alone" })
end

function tests.test_after_a_day_without_it_it_is_news()
   local d = daemon { leaf(1, 7) }
   d.news:suspects()
   local at = d.news.said_at
   at["leaf leaf1 is slow as a whole"] = at["leaf leaf1 is slow as a whole"] - 86401
   d.news:suspects()
   lu.assertEquals(#d.said, 2)
end

function tests.test_what_is_known_to_be_bad_is_no_alert()
   local d = daemon {}
   function d.diagnosis.component(_, c)
      return { hard = { left = 0.5, why = "lanes of " .. c } }
   end
   d.acks:add("n1/tx", { ticket = "T1", ["until"] = loop.time() + 60 }, loop.time())
   looptest.quietly(function() d.news:suspects() end)
   lu.assertEquals(#d.said, 1)
   lu.assertStrContains(d.said[1], "n0/tx is suspect")
end

return tests
