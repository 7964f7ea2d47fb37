-- SPDX-License-Identifier: GPL-2.0-or-later
-- What `taut init` makes of what it finds: files that Taut itself takes.
local config = require "taut.config"
local look = require "taut.cli.begin.look"
local lu = require "luaunit"
local texts = require "taut.cli.begin.texts"

local tests = {}

local CONFIG = [[
Configuration data as of 2026-11-28T07:00:00
AuthType                = auth/munge
ClusterName             = alpha
HealthCheckInterval     = 60 sec
HealthCheckNodeState    = ANY,CYCLE
HealthCheckProgram      = /usr/sbin/nhc
PlugStackConfig         = (null)
PrologFlags             = Alloc,X11
SlurmUser               = slurm(64030)
SlurmctldHost[0]        = ctl1(10.0.0.1)
SLURM_CONF              = %s/slurm.conf
SLURM_VERSION           = 24.11.5
TopologyPlugin          = topology/tree
]]

-- A folder with some files, gone afterwards; fn(folder, found).  Slurm's are in that folder, a
-- folder of LLDP's files and what ibnetdiscover and opareport say may come beside them.
local function with(files, config_text, fn, lldp, swept, links)
   local folder = io.popen("mktemp -d"):read "l"
   for name, text in pairs(files) do
      local f = assert(io.open(folder .. "/" .. name, "w"))
      f:write(text)
      f:close()
   end
   local answers = { ["scontrol show config"] = config_text:format(folder),
      ["sinfo -h -N -o %N"] = "n0\nn1\nn2\nn3\nn3\n",
      ['sinfo -h -o "%R %D"'] = "batch 2\nbatch 1\ngpu 1\n",
      ["ls /sys/class/net"] = "lo\neno1\nib0\n",
      ["cat /sys/class/net/ib0/speed"] = "200000\n", ["cat /sys/class/net/ib0/type"] = "32\n",
      ["cat /sys/class/net/eno1/speed"] = "-1\n", ["cat /sys/class/net/eno1/type"] = "1\n",
      ibnetdiscover = swept, ["opareport -q -o links"] = links }
   local ok, err = pcall(fn, folder, look.around(lldp, function(c) return answers[c] end))
   os.execute("rm -r " .. folder)
   lu.assertTrue(ok, err)
end

local TREE = "SwitchName=leaf0 Nodes=n[0-1]\nSwitchName=leaf1 Nodes=n[2-3]\n" ..
   "SwitchName=top Switches=leaf[0-1]\n"

-- Does Taut take this taut.lua?
local function taken(folder, text)
   local path = folder .. "/taut.lua"
   local f = assert(io.open(path, "w"))
   f:write(text)
   f:close()
   os.execute("chmod 644 " .. path)
   local conf, err = config.load(path, { rundir = "/run/taut", statedir = "/var/lib/taut" })
   lu.assertNotNil(conf, err)
   return conf
end

function tests.test_a_tree_of_slurms()
   with({ ["topology.conf"] = TREE }, CONFIG, function(folder, found)
      local conf = taken(folder, texts.machine(found))
      lu.assertEquals(#conf.topology.nodes, 4)
      lu.assertEquals(conf.topology.routers, 3)
      lu.assertEquals(conf.mode, "observe")
      lu.assertStrContains(texts.machine(found), "cluster alpha")
      lu.assertStrContains(texts.machine(found), "partitions batch (3 nodes), gpu (1 node).")
      lu.assertStrContains(texts.node(found), "servers=ctl1\nuser=slurm\n")
      lu.assertStrContains(texts.node(found), "#   ib0, InfiniBand (IPoIB), 200 Gbit/s")
      lu.assertStrContains(texts.plugstack(found), "optional ")
   end)
end

function tests.test_where_nobody_tells_the_wiring_it_says_what_it_assumed()
   with({ ["topology.conf"] = "what is this" }, CONFIG, function(folder, found)
      local text = texts.machine(found)
      lu.assertStrContains(text, "Assumed: one switch")
      lu.assertStrContains(text, "Tried without success: ")
      lu.assertEquals(#taken(folder, text).topology.nodes, 4)
   end)
end

-- A folder with a file of each switch: two leaves below a spine, two hosts on each.
local function lldp_files(hosts_of)
   local folder = io.popen("mktemp -d"):read "l"
   local function neighbour(port, name, far_port, kind)
      return ('{"%s":{"chassis":{"%s":{"capability":[{"type":"%s","enabled":true}]}},' ..
         '"port":{"id":{"type":"ifname","value":"%s"}}}}'):format(port, name, kind, far_port)
   end
   local spine = {}
   for leaf, hosts in ipairs(hosts_of) do
      local rows = { neighbour("swp9", "spine1", "swp" .. leaf, "Bridge") }
      for i, host in ipairs(hosts) do
         rows[i + 1] = neighbour("swp" .. i, host, "ens1", "Station")
      end
      spine[leaf] = neighbour("swp" .. leaf, "leaf" .. leaf, "swp9", "Bridge")
      local f = assert(io.open(folder .. "/leaf" .. leaf .. ".json", "w"))
      f:write('{"lldp":{"interface":[', table.concat(rows, ","), "]}}\n")
      f:close()
   end
   local f = assert(io.open(folder .. "/spine1.json", "w"))
   f:write('{"lldp":{"interface":[', table.concat(spine, ","), "]}}\n")
   f:close()
   return folder
end

-- Slurm's file has no ports; what the switches say has.
function tests.test_what_switches_say_comes_before_slurms_file()
   local folder = lldp_files { { "n0", "n1" }, { "n2", "n3" } }
   with({ ["topology.conf"] = TREE }, CONFIG, function(dir, found)
      local text = texts.machine(found)
      lu.assertStrContains(text, "LLDP output of 3 switches")
      lu.assertStrContains(text, "spine1")
      lu.assertEquals(#taken(dir, text).topology.nodes, 4)
   end, folder)
   os.execute("rm -r " .. folder)
end

-- A switch without a file, or hosts that are off: Slurm's file has all nodes, so it is taken, and
-- the reason stands beside it.
function tests.test_a_source_without_some_nodes_is_not_taken()
   local folder = lldp_files { { "n0", "n1" }, { "n2" } }
   with({ ["topology.conf"] = TREE }, CONFIG, function(dir, found)
      local text = texts.machine(found)
      lu.assertStrContains(text, "switches: lacks n3")
      lu.assertStrContains(text, "topology.conf.")
      lu.assertEquals(#taken(dir, text).topology.nodes, 4)
   end, folder)
   os.execute("rm -r " .. folder .. "/*")
   with({}, CONFIG, function(dir, found)
      lu.assertEquals(#taken(dir, texts.machine(found)).topology.nodes, 4)
   end, folder, "# no fabric\n")
   os.execute("rm -r " .. folder)
end

function tests.test_without_auth_munge_it_says_what_taut_needs()
   with({}, CONFIG:gsub("auth/munge", "auth/slurm"), function(_, found)
      lu.assertStrContains(texts.machine(found), "AuthType is auth/slurm")
   end)
   with({}, CONFIG, function(_, found)
      lu.assertNotStrContains(texts.machine(found), "AuthType")
   end)
end

-- NHC stays on, in its states, and flags of the site stay.
function tests.test_what_slurm_conf_lacks()
   with({}, CONFIG, function(_, found)
      lu.assertEquals(texts.healthcheck(found), "#!/bin/sh\nexec /usr/sbin/nhc \"$@\"\n")
      local lines = table.concat(texts.slurm_conf(found), "\n")
      lu.assertStrContains(lines, "PrologFlags=Alloc,DeferBatch,X11")
      lu.assertStrContains(lines, "/taut-healthcheck")
      lu.assertStrContains(lines, "HealthCheckNodeState=ANY")
      lu.assertNotStrContains(lines, "CYCLE")
   end)
   local done = CONFIG:gsub("/usr/sbin/nhc", "/usr/libexec/taut/taut-healthcheck")
      :gsub("ANY,CYCLE", "IDLE"):gsub("Alloc,X11", "Alloc,DeferBatch")
   with({}, done, function(_, found)
      lu.assertNil(texts.healthcheck(found))
      lu.assertEquals(texts.slurm_conf(found), {})
   end)
end

-- An Omni-Path fabric, which ibnetdiscover does not see.
function tests.test_opareport_tells_the_wiring_of_omni_path()
   local out = { "Link Summary\n\n5 Links in Fabric:\nRate NodeGUID          Port Type Name\n" }
   for n = 0, 4 do
      local host = n < 4 and ("0x00000000000000a%d   1 FI   n%d hfi1_0"):format(n, n)
         or "0x00000000000000b1  41 SW   edge1"
      out[#out + 1] = ("100g %s\n<->  0x00000000000000b%d  %2d SW   edge%d\n"):format(host,
         n < 2 and 1 or 2, n + 1, n < 2 and 1 or 2)
   end
   with({ ["topology.conf"] = TREE }, CONFIG, function(folder, found)
      local text = texts.machine(found)
      local conf = taken(folder, text)
      lu.assertEquals({ conf.topology.routers, #conf.topology.nodes }, { 2, 4 })
      lu.assertStrContains(text, "opareport -q -o links")
   end, nil, nil, table.concat(out))
end

return tests
