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

return tests
