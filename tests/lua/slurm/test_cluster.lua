-- SPDX-License-Identifier: GPL-2.0-or-later
-- cluster.lua: what Slurm says and what the checks hear, put together.
local cluster = require "taut.slurm.cluster"
local looptest = require "lib.looptest"
local lu = require "luaunit"
local privacy = require "taut.slurm.privacy"
local rights = require "taut.base.rights"
local sys = require "taut.sys"
local tables = require "taut.base.tables"

local tests = {}

-- A helper whose answers the test gives: answers[op] → reply.
local function with(answers)
   local h = { asked = {} }
   function h:ask(request, fn)
      self.asked[#self.asked + 1] = request.op
      local reply = answers[request.op]
      fn(reply, not reply and "no answer" or nil)
   end
   return cluster.new(h)
end

function tests.test_users_cannot_make_slurm_answer_again_and_again()
   local later, asked, told = {}, 0, 0
   local c = cluster.new { ask = function(_, request, fn)
      asked = asked + (request.op == "nodes" and 1 or 0)
      later[#later + 1] = fn
   end }
   local function tell() told = told + 1 end
   local function answer()
      local list = later
      later = {}
      for _, fn in ipairs(list) do
         fn(nil, "no answer")
      end
   end
   c:fresh(0, tell)
   for _ = 1, 3 do
      c:fresh(0, tell) -- after it was asked: they wait for the next time, together
   end
   lu.assertEquals(asked, 1)
   answer()
   lu.assertEquals({ asked, told }, { 1, 1 })
   c:fresh(60, tell)
   lu.assertEquals({ asked, told }, { 1, 2 })
   looptest.until_true(function() return asked == 2 end)
   answer()
   lu.assertEquals(told, 5)
end

-- A member of the group who asks from another host was told nothing of his own jobs.
function tests.test_who_administers_on_another_host_only_sees_his_own_jobs()
   local c = with {}
   local nobody, daemon = sys.user_id "nobody", sys.user_id "daemon"
   c.config = { private = { jobs = true }, flags = {} }
   c:administrators "nogroup"
   local rows = { { user = "nobody" }, { user = "daemon" } }
   local from_elsewhere = rights.of_user(nobody)
   lu.assertEquals(rights.user(from_elsewhere), nobody)
   lu.assertEquals(#privacy.visible(c, nobody, rows), 2)
   lu.assertEquals(privacy.visible(c, from_elsewhere, rows), { rows[1] })
   lu.assertFalse(privacy.is_hidden(c, from_elsewhere, nobody))
   lu.assertTrue(privacy.is_hidden(c, from_elsewhere, daemon))
   lu.assertTrue(privacy.is_hidden(c, from_elsewhere, nil))
   lu.assertTrue(privacy.is_hidden(c, rights.of_user(0), nobody))
end

-- Root and SlurmUser, and whoever is in the site's group of administrators.
function tests.test_who_administers()
   local c = with {}
   local nobody, daemon = sys.user_id "nobody", sys.user_id "daemon"
   lu.assertTrue(c:is_admin(0))
   lu.assertFalse(c:is_admin(nobody))
   lu.assertEquals(c:who_administers(), "root and SlurmUser")
   c:administrators "nogroup"
   lu.assertTrue(c:is_admin(nobody))
   lu.assertFalse(c:is_admin(daemon))
   lu.assertFalse(c:is_admin(4000000000))
   lu.assertEquals(c:who_administers(), "root, SlurmUser and members of nogroup")
   lu.assertFalse(c:is_admin(rights.of_user(nobody)))
   lu.assertFalse(c:is_admin(rights.of_user(0)))
   c:administrators "no such group"
   lu.assertFalse(c:is_admin(nobody))
   c:administrators(nil)
   lu.assertFalse(c:is_admin(nobody))
end

-- Users by the thousand leave nothing behind.
function tests.test_who_asked_is_not_kept_for_ever()
   local c = with {}
   c:administrators "nogroup"
   for uid = 1, 3000 do
      c:is_admin(3000000000 + uid)
   end
   lu.assertTrue(tables.size(c.members) <= 1024)
end

-- Slurm, asked a moment from now, has these jobs: { id, nodes, state (default: running), restart }.
local function slurm_has(c, answers, ...)
   local list = {}
   for i, j in ipairs { ... } do
      list[i] = { id = j[1], nodes = j[2], state = j[3] or "running", restart = j[4] }
   end
   answers.jobs = { jobs = list }
   for _, job in pairs(c.jobs) do
      job.added = job.added - 1
      for name, at in pairs(job.said_at) do
         job.said_at[name] = at - 1
      end
   end
   for _, claim in pairs(c.claims.by_node) do
      for id, at in pairs(claim.open) do
         claim.open[id] = at - 1
      end
   end
   c:refresh()
end

-- Its jobs have no epilogs, and a short one is over long before ALPS is asked again.
function tests.test_over_alps_a_new_job_ends_those_that_had_its_nodes()
   for _, kind in ipairs { "alps", "select/alps", "select/cons_tres" } do
      local c = with {}
      c.config = { select_type = kind, private = {}, flags = {} }
      for _, n in ipairs { "n0", "n1" } do
         c:prolog(1, { "n0", "n1" }, n, true)
      end
      c:prolog(2, { "n1", "n2" }, "n2", true)
      lu.assertEquals({ c:is_shared(2, { "n1", "n2" }) },
         kind == "select/cons_tres" and { "n1", 1 } or {})
      c:prolog(3, { "n3" }, "n3", true)
      lu.assertEquals({ c:is_shared(4, { "n3" }) }, { "n3", 3 })
   end
end

function tests.test_nodes_for_idle_cycles()
   local c = with {}
   local function names()
      local list = c:for_idle_cycles()
      table.sort(list)
      return table.concat(list, " ")
   end
   c:prolog(1, { "n0" }, "n0")
   lu.assertEquals(names(), "") -- Slurm has not said anything yet
   c:take_nodes { { name = "n0", state = "idle" }, { name = "n1", state = "idle" },
      { name = "n2", state = "idle", drain = true }, { name = "n3", state = "down", down = true },
      { name = "n4", state = "idle", off = true },
      { name = "n5", state = "idle", rebooting = true },
      { name = "n6", state = "allocated" }, { name = "n7", state = "drained", drain = true } }
   lu.assertEquals(names(), "n1 n2 n7")
   c:prolog(2, { "n1", "n7", "n9" }, "n1", true) -- n9 is none of Slurm's
   lu.assertEquals(names(), "n2")
   c:epilog(1, "n0")
   c:epilog(2, "n1")
   c:epilog(2, "n9")
   lu.assertEquals(names(), "n0 n1 n2")
end

function tests.test_a_job_on_the_same_node_is_shared()
   local answers = {}
   local c = with(answers)
   c:prolog(1, { "n0", "n1" }, "n0")
   lu.assertNil(c:is_shared(2, { "n1", "n2" })) -- n0's word is nothing for n1
   lu.assertFalse(c:has_job "n1")
   c:prolog(1, { "n0", "n1" }, "n1")
   lu.assertTrue(c:has_job "n1")
   lu.assertEquals({ c:is_shared(2, { "n1", "n2" }) }, { nil, nil, { n1 = 1 } })
   slurm_has(c, answers, { 1, "n[0-1]" })
   lu.assertEquals({ c:is_shared(2, { "n1", "n2" }) }, { "n1", 1 })
   lu.assertNil(c:is_shared(1, { "n0", "n1" }))
   lu.assertNil(c:is_shared(2, { "n2" }))
end

-- A node in hold-off says no epilog; the jobs after it were taken to share it, one after the other.
function tests.test_a_job_whose_epilog_was_lost_on_one_node_shares_nothing()
   local answers = {}
   local c = with(answers)
   c:prolog(1, { "n0", "n1" }, "n0")
   slurm_has(c, answers, { 1, "n[0-1]" })
   c:epilog(1, "n0")
   lu.assertEquals({ c:is_shared(2, { "n0", "n1" }) }, {})
end

-- Otherwise one node could say that a job of others is over.
function tests.test_a_node_leaves_a_job_once()
   local c = with {}
   local over = 0
   c:tell { job_over = function() over = over + 1 end }
   c:prolog(1, { "n0", "n1" }, "n0")
   for _, node in ipairs { "n0", "n0", "n5" } do
      c:epilog(1, node)
   end
   lu.assertEquals(over, 0)
   c:prolog(1, { "n0", "n1" }, "n1")
   c:epilog(1, "n1")
   lu.assertEquals(over, 1)
end

function tests.test_an_epilog_of_a_node_that_has_not_the_job_ends_nothing()
   local answers = {}
   local c = with(answers)
   c:prolog(1, { "n[0-1]" }, "n5")
   slurm_has(c, answers, { 1, "n[0-1]" })
   c:prolog(1, { "n5" }, "n5")
   c:epilog(1, "n5")
   lu.assertEquals({ c:is_shared(2, { "n0" }) }, { "n0", 1 })
end

function tests.test_a_requeued_job_has_not_ended()
   local answers = {}
   local c = with(answers)
   c:prolog(1, { "n0", "n1" }, "n0")
   slurm_has(c, answers, { 1, "n[0-1]" })
   c:epilog(1, "n0")
   c:prolog(1, { "n0", "n1" }, "n0")
   c:prolog(1, { "n0", "n1" }, "n1")
   lu.assertEquals({ c:is_shared(2, { "n1" }) }, { "n1", 1 })
   lu.assertEquals({ c:is_shared(2, { "n0" }) }, { "n0", 1 })
end

function tests.test_a_job_slurm_no_longer_lists_is_gone_at_once()
   local answers = {}
   local c = with(answers)
   c:prolog(1, { "n0", "n1" }, "n0")
   slurm_has(c, answers)
   lu.assertFalse(c:has_job "n0")
   lu.assertEquals(c.jobs, {})
end

function tests.test_a_job_heard_of_after_slurm_was_asked_stays()
   local answers = { jobs = { jobs = {} } }
   local c = with(answers)
   c:prolog(1, { "n0", "n1" }, "n0")
   c.jobs[1].said_at.n0 = c.jobs[1].said_at.n0 + 1
   c:refresh()
   lu.assertTrue(c:has_job "n0")
end

-- Job ids follow each other: root on n0 named those to come, with other nodes, and they kept all
-- jobs there from being tested.
function tests.test_what_a_node_says_of_jobs_to_come_holds_for_itself_alone()
   local answers = {}
   local c = with(answers)
   for id = 10, 19 do
      c:prolog(id, { "n0", "n1", "n2" }, "n0")
   end
   lu.assertFalse(c:has_job "n1")
   slurm_has(c, answers, { 12, "n[4-5]" }, { 13, "n[0-1]" }, { 14, "n0", "over" })
   lu.assertEquals(c:nodes_of(12), { "n4", "n5" })
   lu.assertTrue(c:has_job "n4")
   lu.assertFalse(c:has_job "n2")
   lu.assertEquals(tables.keys(c.on_node.n0), { 13 })
   local surge = c.claims:surges()[1]
   lu.assertEquals({ surge.node, surge.denied }, { "n0", 8 })
end

-- Each node of a large machine was walked over at each `taut status`.
function tests.test_nodes_whose_jobs_slurm_has_are_forgotten()
   local answers = {}
   local c = with(answers)
   for id = 10, 13 do
      c:prolog(id, { "n" .. id }, "n" .. id)
   end
   c:prolog(99, { "n0" }, "n0")
   slurm_has(c, answers, { 10, "n10" }, { 11, "n11" }, { 12, "n12" }, { 13, "n13" })
   lu.assertEquals(tables.keys(c.claims.by_node), { "n0" })
   lu.assertEquals(c.claims:surges(), {})
   -- what it used up of what may be kept is remembered until it would be full again
   while c.claims:may_keep "n10" do end
   slurm_has(c, answers, { 10, "n10" })
   lu.assertFalse(c.claims:may_keep "n10")
end

function tests.test_a_requeued_job_is_not_where_slurm_had_it_before()
   local answers = {}
   local c = with(answers)
   slurm_has(c, answers, { 5, "n[0-1]", "running", 1 })
   lu.assertEquals(c:nodes_of(5, 1), { "n0", "n1" })
   lu.assertNil(c:nodes_of(5, 2))
end

function tests.test_hints()
   local c = with { config = { prolog_flags = { "Contain" }, slurm_user = "root" },
      nodes = { nodes = {} }, jobs = { jobs = {} } }
   c:start(3600)
   lu.assertFalse(c:has_alloc())
   lu.assertStrContains(c.hint, "lacks Alloc")
end

-- Two tautd, one beside each slurmctld, must not act both.
function tests.test_only_the_tautd_beside_the_active_slurmctld_acts()
   local function standby(active, here, ...)
      local list = {}
      for i, host in ipairs { ... } do
         list[i] = { host = host }
      end
      return cluster.standby_of({ controllers = list, active = active }, here)
   end
   lu.assertNil(standby(0, "ctl", "ctl"))
   lu.assertNil(standby(-1, "ctl", "ctl")) -- nobody else there
   lu.assertNil(standby(0, "ctl1", "ctl1", "ctl2"))
   lu.assertNil(standby(0, "ctl1.site.org", "ctl1", "ctl2"))
   lu.assertEquals(standby(0, "ctl2", "ctl1", "ctl2"), "the active slurmctld is on ctl1")
   lu.assertNil(standby(1, "ctl2", "ctl1", "ctl2"))
   lu.assertEquals(standby(1, "ctl1", "ctl1", "ctl2"), "the active slurmctld is on ctl2")
   lu.assertEquals(standby(-1, "ctl1", "ctl1", "ctl2"), "no slurmctld answers")
   lu.assertNil(standby(1, "elsewhere", "ctl1", "ctl2")) -- there is no other tautd that would
end

function tests.test_several_controllers_are_asked_for_each_time()
   local answers = { controllers = { controllers = { { host = "x1" }, { host = "x2" } },
      active = 0 }, nodes = { nodes = {} }, jobs = { jobs = {} } }
   local h = { asked = {} }
   function h:ask(request, fn)
      self.asked[#self.asked + 1] = request.op
      fn(answers[request.op], not answers[request.op] and "no answer" or nil)
   end
   local c = cluster.new(h)
   c:refresh()
   lu.assertEquals(h.asked, { "nodes", "reservations", "jobs" })
   c.controllers = 2
   c:refresh()
   lu.assertEquals(h.asked[4], "controllers")
end

-- Nodes that save power were idle candidates of advice and of surveys.
function tests.test_a_node_that_is_off_or_rebooting_is_not_free()
   local c = cluster.new()
   c.nodes = { a = { state = "idle" }, b = { state = "idle", off = true },
      c = { state = "idle", rebooting = true }, d = { state = "idle", barred = "not responding" },
      e = { state = "idle", off = true, drain = true } }
   local free, asleep, up = {}, {}, {}
   for name in pairs(c.nodes) do
      free[name], asleep[name] = c:is_free(name) or nil, c:is_asleep(name) or nil
      up[name] = c:is_up(name) or nil
   end
   lu.assertEquals({ free, asleep, up }, { { a = true }, { b = true }, { a = true } })
end

-- A survey's job asked for nodes in reservations, that were switched off, or of two partitions: it
-- waited for ever.
function tests.test_a_survey_asks_for_nodes_that_a_job_could_have_now()
   local far = 1 << 40
   local c = with {
      nodes = { nodes = {
         { name = "n1", state = "idle", partitions = { "a", "all" } },
         { name = "n2", state = "idle", reserved = true, partitions = { "a", "all" } },
         { name = "n3", state = "idle", off = true, partitions = { "b", "all" } },
         { name = "n4", state = "idle", rebooting = true, partitions = { "b" } },
         { name = "n5", state = "idle", drain = true, partitions = { "b" } },
         { name = "n6", state = "allocated", partitions = { "b" } },
         { name = "n7", state = "idle", partitions = { "b", "down" } },
         { name = "n8", state = "idle", reserved = true, partitions = { "b" } } },
         partitions = { { name = "a", up = true, max_minutes = 30 },
            { name = "all", up = true, default = true }, { name = "b", up = true },
            { name = "down", up = false } } },
      reservations = { reservations = {
         { name = "course", nodes = "n2", start = 1, ["end"] = far },
         { name = "later", nodes = "n[1-8]", start = far, ["end"] = far + 1 } } },
      jobs = { jobs = {} },
   }
   c:refresh()
   local names = { "n1", "n2", "n3", "n4", "n5", "n6", "n7", "n8", "n9" }
   local list, left = c:survey_room(names)
   lu.assertEquals(list, { "n1", "n7" })
   local why = {}
   for _, l in ipairs(left) do
      why[table.concat(l.nodes, ",")] = l.why
   end
   lu.assertEquals(why, { n2 = "in reservation course", n5 = "drained", n8 = "reserved",
      n3 = "switched off to save power, or not yet on again", n9 = "not known to Slurm",
      n4 = "to be rebooted, or rebooting" })
   lu.assertEquals({ c:survey_room(names, "course") }, { { "n2" }, { left[#left] } })
   lu.assertEquals({ c:survey_room(names, "later") }, { nil, "reservation 'later' has not begun" })
   lu.assertStrContains(select(2, c:survey_room(names, "no")), "there is no reservation 'no'")
   -- the partition that has most, of equal ones the default; none that is down
   local parts = c:partitions_of { "n1", "n2", "n7" }
   lu.assertEquals({ parts[1].name, parts[1].count }, { "all", 2 })
   lu.assertEquals(parts[2], { name = "a", count = 2, default = false, max_minutes = 30 })
   lu.assertEquals({ parts[3].name, parts[3].count, #parts }, { "b", 1, 3 })
end

return tests
