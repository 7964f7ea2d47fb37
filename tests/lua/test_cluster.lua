-- cluster.lua: what Slurm says and what the checks hear, put together.
local cluster = require "taut.cluster"
local lu = require "luaunit"

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

function tests.test_a_job_on_the_same_node_is_shared()
   local c = with {}
   c:prolog(1, { "n0", "n1" }, "n0")
   lu.assertEquals({ c:is_shared(2, { "n1", "n2" }) }, { "n1", 1 })
   lu.assertNil(c:is_shared(1, { "n0", "n1" }))
   lu.assertNil(c:is_shared(2, { "n2" }))
end

-- A node in hold-off says no epilog; the jobs after it were taken to share it, one after the other.
function tests.test_a_job_whose_epilog_was_lost_on_one_node_shares_nothing()
   local c = with {}
   c:prolog(1, { "n0", "n1" }, "n0")
   c:epilog(1, "n0")
   lu.assertNil(c:is_shared(2, { "n0", "n1" }))
end

function tests.test_a_requeued_job_has_not_ended()
   local c = with {}
   c:prolog(1, { "n0", "n1" }, "n0")
   c:epilog(1, "n0")
   c:prolog(1, { "n0", "n1" }, "n0")
   lu.assertEquals({ c:is_shared(2, { "n1" }) }, { "n1", 1 })
end

function tests.test_a_job_slurm_no_longer_lists_is_gone_at_once()
   local answers = { jobs = { jobs = {} } }
   local c = with(answers)
   c:prolog(1, { "n0", "n1" }, "n0")
   c.jobs[1].added = c.jobs[1].added - 1
   c:refresh()
   lu.assertNil(c:is_shared(2, { "n0" }))
end

function tests.test_a_job_heard_of_after_slurm_was_asked_stays()
   local answers = { jobs = { jobs = {} } }
   local c = with(answers)
   c:prolog(1, { "n0", "n1" }, "n0")
   c.jobs[1].added = c.jobs[1].added + 1
   c:refresh()
   lu.assertEquals({ c:is_shared(2, { "n0" }) }, { "n0", 1 })
end

function tests.test_hints()
   local c = with { config = { prolog_flags = { "Contain" }, slurm_user = "root" },
      nodes = { nodes = {} }, jobs = { jobs = {} } }
   c:start(3600)
   lu.assertFalse(c:has_alloc())
   lu.assertStrContains(c.hint, "lacks Alloc")
end

return tests
