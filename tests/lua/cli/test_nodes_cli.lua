-- SPDX-License-Identifier: GPL-2.0-or-later
-- `taut nodes`: whose probe is of which release.
local lu = require "luaunit"
local nodes = require "taut.cli.state.nodes"

local tests = {}

local function node(name, release, protocol)
   return { node = name, probe = release and { release = release, protocol = protocol } }
end

function tests.test_releases_of_probes()
   lu.assertEquals(nodes.probes { node "n1", node "n2" }, {})
   lu.assertEquals(nodes.probes { node("n1", "0.2.0", 3), node "n2" },
      { "probes of 0.2.0 (protocol 3): 1 node" })
   lu.assertEquals(nodes.probes { node("n1", "0.2.0", 3), node("n2", "0.1", 2),
      node("n3", "0.2.0", 3), node("n4", "0.1.9", 2) }, {
      "probes of 0.2.0 (protocol 3): 2 nodes", "probes of 0.1 (protocol 2): n2",
      "probes of 0.1.9 (protocol 2): n4" })
   local n5 = node("n5", "9.0", 99)
   n5.probe.refused = true
   lu.assertEquals(nodes.probes { n5 },
      { "probes of 9.0 (protocol 99, refused: jobs there are not checked): 1 node" })
end

-- A node that was resumed had no room for its reason in 80 columns.
function tests.test_what_is_remarked_of_both_ends_stands_once()
   local function row(tx, rx, reason)
      local r = nodes.row({ node = "n5", router = "r0", slurm = "idle", heard = 99,
         tx = { state = "slow", left = 0.25, remark = tx }, rx = { state = "ok", remark = rx },
         drain = reason and true, reason = reason }, 100)
      return { r[3], r[4], r[7] }
   end
   lu.assertEquals(row("on probation", "on probation", "taut: tx at 25%"),
      { "slow at 25%", "ok", "on probation; taut: tx at 25%" })
   lu.assertEquals(row("on probation", "on probation"), { "slow at 25%", "ok", "on probation" })
   lu.assertEquals(row("busy?", ""), { "slow at 25% (busy?)", "ok", "" })
   lu.assertEquals(row("", ""), { "slow at 25%", "ok", "" })
end

function tests.test_what_a_node_loses_is_said()
   local r = nodes.row({ node = "n5", router = "r0", slurm = "idle", heard = 99,
      tx = { state = "lossy", loss = 0.012, left = 0.16,
         remark = "84 % of a stream's rate is gone" },
      rx = { state = "ok", remark = "" } }, 100)
   lu.assertEquals(r[3], "loses 1.2 % (84 % of a stream's rate is gone)")
   r = nodes.row({ node = "n5", router = "r0", heard = 99,
      tx = { state = "lossy", loss = 0.012, left = 0.16, remark = "on probation" },
      rx = { state = "ok", remark = "on probation" } }, 100)
   lu.assertEquals(r[3], "loses 1.2 %")
end

return tests
