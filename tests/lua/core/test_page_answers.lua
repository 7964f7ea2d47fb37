-- SPDX-License-Identifier: GPL-2.0-or-later
-- What `taut report` and `taut serve` ask tautd: cases, days, the jobs that one may see; and whom
-- tautd takes at their word that they ask for somebody else.
local json = require "taut.json"
local looptest = require "lib.looptest"
local lu = require "luaunit"
local parts = require "lib.parts"

local tests = {}

-- The answer to a request of a user.
local function ask(p, cmd, args, uid, as)
   local got
   local client = { reply = function(_, text) got = json.decode(text) end }
   p.query:answer(client, json.encode { cmd = cmd, args = args or {}, as = as }, uid or 1000)
   if not got then
      looptest.until_true(function() return got end)
   end
   return got
end

function tests.test_cases_have_the_reasoning_and_what_is_well_has_none()
   local p = parts.new()
   lu.assertEquals(ask(p, "cases").data.components, {})
   p.events:record { { component = "r0.0.0/X+", origin = "test", left = 0.5, text = "x8 of x16" } }
   local d = ask(p, "cases").data
   lu.assertEquals(d.all, #d.components)
   for _, c in ipairs(d.components) do
      lu.assertNotEquals(c.state, "ok")
      lu.assertEquals(type(c.reasoning), "table")
   end
end

function tests.test_days_are_counted_one_by_one_and_past_ones_once()
   local p = parts.new()
   p.journal.stored.day = { { purpose = "prolog", checks = 3 }, { purpose = "idle", checks = 2 },
      { class = "good", tests = 40 }, { class = "low", tests = 2 }, { class = "odd", tests = 9 } }
   local d = ask(p, "days", { since = os.time() - 3 * 86400 }).data
   lu.assertEquals(#d.days, 4)
   lu.assertEquals(d.days[1].checks, 5)
   lu.assertEquals(d.days[1].tests, { good = 40, low = 2, void = 0 })
   for i = 2, 4 do
      lu.assertTrue(math.abs(d.days[i].from - d.days[i - 1].from - 86400) <= 3600)
   end
   local asked = #p.journal.asked
   lu.assertEquals(asked, 4)
   ask(p, "days", { since = os.time() - 2 * 86400 })
   lu.assertEquals(#p.journal.asked, asked + 1) -- today alone
   for _, since in ipairs { -1e300, 1e300, "x", {} } do
      lu.assertTrue(ask(p, "days", { since = since }).ok)
   end
   lu.assertTrue(#p.journal.asked < asked + 120)
end

function tests.test_an_error_of_the_store_is_the_answer_and_others_are_still_served()
   local p = parts.new()
   function p.journal.query(_, _, _, fn) fn(nil, "disk full") end
   lu.assertEquals(ask(p, "days").error, "disk full")
   lu.assertEquals(ask(p, "days").error, "disk full")
end

local function with_jobs(o)
   local p = parts.new(o)
   p.cluster.seen_running = {
      [7] = { id = 7, user_id = 1000, name = "mine", nodes = "n[0-1]", num_nodes = 2,
         state = "running" },
      [8] = { id = 8, user_id = 1001, name = "other", nodes = "n2", num_nodes = 1,
         state = "running" },
      [9] = { id = 9, user_id = 1000, name = "ends", nodes = "n3", state = "completing" } }
   function p.cluster.is_admin(_, uid) return uid == 0 end
   return p
end

function tests.test_jobs_are_those_that_slurm_would_show()
   local p = with_jobs()
   local d = ask(p, "running").data
   lu.assertEquals({ #d.jobs, d.hidden, d.jobs[1].id, d.jobs[2].name }, { 2, 0, 7, "other" })
   p.cluster.config = { private = { jobs = true } }
   d = ask(p, "running").data
   lu.assertEquals({ #d.jobs, d.hidden, d.jobs[1].name }, { 1, 1, "mine" })
   lu.assertEquals(#ask(p, "running", {}, 0).data.jobs, 2)
   lu.assertEquals(#ask(p, "running", {}, 1002).data.jobs, 0)
end

function tests.test_only_who_may_everything_asks_for_others()
   local p = with_jobs()
   p.cluster.config = { private = { jobs = true } }
   lu.assertEquals(#ask(p, "running", {}, 0, 1001).data.jobs, 1)
   lu.assertEquals(ask(p, "running", {}, 0, 1001).data.jobs[1].name, "other")
   lu.assertEquals(ask(p, "running", {}, 1000, 1001).error,
      "only root and SlurmUser may ask in another user's name")
   lu.assertEquals(ask(p, "running", {}, 1000, 0).error,
      "only root and SlurmUser may ask in another user's name")
   lu.assertEquals(#ask(p, "running", {}, 1000, 1000).data.jobs, 1)
   for _, as in ipairs { -1, 1.5, "0", true } do
      lu.assertEquals(ask(p, "running", {}, 0, as).error, "as: expected a user id")
   end
   -- in an ordinary user's name no more can be done than that user may do
   lu.assertStrContains(ask(p, "off", {}, 0, 1000).error, "only root and SlurmUser may do this")
end

return tests
