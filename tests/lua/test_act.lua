-- act.lua: drains through a Slurm that answers when the test says so.
local act = require "taut.act"
local lu = require "luaunit"

local tests = {}

local function cluster_of(n)
   local cl = { nodes = {}, partitions = { batch = {} }, pending = {}, nodes_at = 0,
      refresh = function() end }
   for i = 0, n - 1 do
      local name = "n" .. i
      cl.nodes[name] = { name = name, state = "idle", partitions = { "batch" }, reason = "" }
      cl.partitions.batch[i + 1] = name
   end
   return cl
end

local function new(policy)
   local slurm = { asked = {} }
   function slurm:ask(request, fn)
      self.asked[#self.asked + 1] = { request = request, fn = fn }
   end
   local mode = { "enable" }
   local a = act.new { slurm = slurm, cluster = cluster_of(8), policy = policy,
      journal = { add = function() end }, mode = function() return mode[1] end,
      encode = function() return "" end, on_released = function() end }
   return a, slurm, mode
end

-- Four nodes wanted at once were all asked for before Slurm had answered for the first.
function tests.test_the_cap_counts_drains_that_slurm_has_not_answered()
   local a, slurm = new { cap_nodes = 2, per_hour = false }
   for i = 0, 3 do
      a:want("n" .. i, "r0.0.0/X+", "taut: X+ link at 25%")
   end
   lu.assertEquals(#slurm.asked, 2)
   lu.assertStrContains(a.held.n2.why, "cap: 2 of at most 2")
   for _, s in ipairs(slurm.asked) do
      s.fn { done = true }
   end
   a:want("n3", "r0.0.0/X+", "taut: X+ link at 25%")
   lu.assertEquals(#slurm.asked, 2)
end

function tests.test_the_hourly_cap_counts_them_too()
   local a, slurm = new { cap_nodes = 8, per_hour = 3 }
   for i = 0, 5 do
      a:want("n" .. i, "n" .. i .. "/tx", "taut: tx at 25%")
   end
   lu.assertEquals(#slurm.asked, 3)
end

function tests.test_a_drain_slurm_refuses_gives_its_place_back()
   local a, slurm = new { cap_nodes = 1, per_hour = false }
   a:want("n0", "n0/tx", "taut: tx at 25%")
   slurm.asked[1].fn { done = false, why = "in a maintenance reservation" }
   a:want("n1", "n1/tx", "taut: tx at 25%")
   lu.assertEquals(#slurm.asked, 2)
end

-- The figures in a reason change with each test; the alert came again each time.
function tests.test_one_cause_is_one_alert()
   local a, _, mode = new { cap_nodes = 8, per_hour = false }
   mode[1] = "observe"
   a:want("n0", "n0/tx", "taut: tx at 25%; 3 of 3 tests")
   a:want("n0", "n0/tx", "taut: tx at 25%; 4 of 4 tests")
   lu.assertEquals(#a.alerts, 1)
   lu.assertStrContains(a.held.n0.reason, "4 of 4")
end

-- A node that an administrator had drained and gave back was drained again at the next look.
function tests.test_a_node_an_administrator_gives_back_is_released()
   local a, slurm = new { cap_nodes = 8, per_hour = false }
   local released = {}
   a.on_released = function(name, d) released[#released + 1] = name .. " " .. d.component end
   a.cluster.nodes.n0.drain = true
   a.cluster.nodes.n0.reason = "bad memory"
   a:want("n0", "n0/tx", "taut: tx at 25%")
   lu.assertStrContains(a.held.n0.why, "bad memory")
   a:reconcile()
   lu.assertEquals(released, {})
   a.cluster.nodes.n0.drain = false
   a:reconcile()
   lu.assertEquals(released, { "n0 n0/tx" })
   lu.assertNil(a.held.n0)
   lu.assertEquals(#slurm.asked, 0)
end

return tests
