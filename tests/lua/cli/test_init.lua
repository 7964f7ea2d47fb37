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

-- A folder with some files, gone afterwards; fn(folder, found).
local function with(files, config_text, fn)
   local folder = io.popen("mktemp -d"):read "l"
   for name, text in pairs(files) do
      local f = assert(io.open(folder .. "/" .. name, "w"))
      f:write(text)
      f:close()
   end
   local answers = { ["scontrol show config"] = config_text:format(folder),
      ["sinfo -h -N -o %N"] = "n0\nn1\nn2\nn3\nn3\n", ["ls /sys/class/net"] = "lo\neno1\nib0\n",
      ["cat /sys/class/net/ib0/speed"] = "200000\n", ["cat /sys/class/net/ib0/type"] = "32\n",
      ["cat /sys/class/net/eno1/speed"] = "-1\n", ["cat /sys/class/net/eno1/type"] = "1\n" }
   local ok, err = pcall(fn, folder, look.around(function(c) return answers[c] end))
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
      lu.assertStrContains(texts.node(found), "servers=ctl1\nuser=slurm\n")
      lu.assertStrContains(texts.node(found), "#   ib0, InfiniBand (IPoIB), 200 Gbit/s")
      lu.assertStrContains(texts.plugstack(found), "optional ")
   end)
end

function tests.test_where_nobody_tells_the_wiring_it_says_what_it_assumed()
   with({ ["topology.conf"] = "what is this" }, CONFIG, function(folder, found)
      local text = texts.machine(found)
      lu.assertStrContains(text, "Assumed: one switch")
      lu.assertStrContains(text, "Tried in vain: ")
      lu.assertEquals(#taken(folder, text).topology.nodes, 4)
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

return tests
