local lu = require "luaunit"
local policy = require "taut.policy"
local reason = require "taut.reason"
local sim = require "sim"

local tests = {}

local SETTINGS = { router_link = "avoid", nodes_per_component = 4, cap_share = 0.01,
   per_hour = 3, capability_hold = true }

local function with(t)
   return setmetatable(t, { __index = SETTINGS })
end

local function fake_cluster(n)
   local cl = { nodes = {}, partitions = { batch = {} }, pending = {} }
   for i = 0, n - 1 do
      local name = "n" .. i
      cl.nodes[name] = { name = name, state = "idle", partitions = { "batch" }, reason = "" }
      cl.partitions.batch[i + 1] = name
   end
   function cl:is_usable(name)
      local x = self.nodes[name]
      return not x.drain and not x.down
   end
   return cl
end

function tests.test_whom_a_verdict_concerns()
   local topo = sim.torus({ 4, 2, 2 }, 2)
   local function nodes_for(name, left, s)
      local list, what = policy.nodes_for(topo, topo.component_id[name], left, s)
      for i, n in ipairs(list) do
         list[i] = topo.nodes[n]
      end
      return table.concat(list, " "), what
   end
   lu.assertEquals({ nodes_for("n5/tx", 0.25, SETTINGS) }, { "n5", "drain" })
   lu.assertEquals({ nodes_for("r1.0.0/X+", 0.25, SETTINGS) }, { "", "avoid" })
   lu.assertEquals({ nodes_for("r1.0.0/X+", 0.25, with { router_link = "drain" }) },
      { "n8 n9 n16 n17", "drain" })
   lu.assertEquals({ nodes_for("r1.0.0/X+", 0.25, with { router_link = "drain",
      nodes_per_component = 3 }) }, { "", "alert" })
end

function tests.test_what_holds_a_drain_back()
   local cl = fake_cluster(200)
   local held = policy.held_back
   lu.assertNil(held("n5", SETTINGS, cl, {}, 0))
   lu.assertStrContains(held("x1", SETTINGS, cl, {}, 0), "does not know")
   lu.assertNil(held("n5", SETTINGS, cl, { n1 = {} }, 1))
   lu.assertStrContains(held("n5", SETTINGS, cl, { n1 = {}, n2 = {} }, 2),
      "2 of at most 2 nodes of partition batch")
   lu.assertStrContains(held("n5", SETTINGS, cl, {}, 3), "3 nodes drained within the hour")
   lu.assertNil(held("n5", with { per_hour = false }, cl, {}, 99))
   lu.assertNil(held("n5", with { cap_nodes = 3 }, cl, { n1 = {}, n2 = {} }, 2))
   cl.nodes.n5.maint = true
   lu.assertStrContains(held("n5", SETTINGS, cl, {}, 0), "maintenance")
   cl.nodes.n5 = { drain = true, reason = "bad dimm", partitions = { "batch" } }
   lu.assertStrContains(held("n5", SETTINGS, cl, {}, 0), "bad dimm")
end

function tests.test_a_small_partition_may_lose_one_node()
   local cl = fake_cluster(32)
   lu.assertNil(policy.held_back("n5", SETTINGS, cl, {}, 0))
   lu.assertNotNil(policy.held_back("n5", SETTINGS, cl, { n1 = {} }, 0))
end

function tests.test_the_job_at_the_head_of_the_queue_keeps_its_nodes()
   local cl = fake_cluster(32)
   cl.pending = { { id = 7, num_nodes = 32, partition = "batch" } }
   lu.assertStrContains(policy.held_back("n5", SETTINGS, cl, {}, 0), "job 7")
   lu.assertNil(policy.held_back("n5", with { capability_hold = false }, cl, {}, 0))
   cl.pending[1].num_nodes = 31
   lu.assertNil(policy.held_back("n5", SETTINGS, cl, {}, 0))
   cl.pending[1] = { id = 8, num_nodes = 32, partition = "other" }
   lu.assertNil(policy.held_back("n5", SETTINGS, cl, {}, 0))
   -- it cannot start anyway: that is no reason to keep a bad node
   cl.pending[1] = { id = 9, num_nodes = 33, partition = "batch" }
   lu.assertNil(policy.held_back("n5", SETTINGS, cl, {}, 0))
end

function tests.test_every_verdict_fits_what_sinfo_shows()
   for _, kind in ipairs { "tx", "rx", "X+", "X-", "Y+", "Y-", "Z+", "Z-", "C-", "X",
      "uplink", "downlink", "link", "local", "global", "green", "black", "blue", "backplane" } do
      for left = 0, 100 do
         for _, state in ipairs { "slow", "failed" } do
            local head = reason.head(kind, state, left / 100)
            lu.assertTrue(#head <= reason.SHOWN, head)
            lu.assertTrue(#reason.noun(kind) <= 7)
         end
      end
   end
   lu.assertEquals(reason.head("X+", "slow", 0.251), "taut: X+ link at 25%")
   lu.assertEquals(reason.head("uplink", "slow", 0.5), "taut: uplink at 50%")
   lu.assertEquals(reason.head("tx", "failed", 0), "taut: port down")
end

function tests.test_a_reason_is_ascii_and_bounded()
   local text = reason.format { kind = "tx", state = "slow", left = 0.25, low = 6, tests = 7,
      job = 4711, test = { src_name = ("n"):rep(200) .. "|\1é", dst_name = ("m"):rep(200),
      bw_Bps = 3e6, expected_Bps = 12e6 } }
   lu.assertEquals(#text, 255)
   lu.assertNil(text:find("[^\32-\126]"))
   lu.assertNil(text:find("|", 1, true))
   lu.assertEquals(reason.format { kind = "tx", state = "slow", left = 0.25, low = 6, tests = 7,
      job = 12, test = { src_name = "n5", dst_name = "n4", bw_Bps = 1.7e9,
      expected_Bps = 6.7e9 } },
      "taut: tx at 25%; n5 -> n4, 1.7/6.7 GB/s, 6 of 7 tests, last job 12")
   lu.assertTrue(reason.is_ours(text))
   lu.assertFalse(reason.is_ours("bad dimm, not taut: at all"))
end

return tests
