-- SPDX-License-Identifier: GPL-2.0-or-later
-- The cases of tests/data/cases: machines of others, made small after what they reported.  Those of
-- files are run here; of those that want a cluster, or a node's /sys, here is where they are.
local import = require "taut.topology.import"
local lu = require "luaunit"
local recognise = require "taut.topology.import.recognise"

local tests = {}

local SRC = os.getenv "TAUT_SRCDIR" or "."
local DIR = SRC .. "/tests/data/cases/"

-- Case → which test of which file runs it.
local ELSEWHERE = {
   ["audit-all-never-starts"] = { "tests/lab/sites/sites.bats",
      "an audit leaves out what is reserved or switched off, and says so" },
   ["auto-interface-bond"] = { "tests/unit/plugin/test_rails.c",
      "auto_takes_what_is_above_the_fastest" },
   ["counters-multiport-rdma"] = { "tests/unit/plugin/test_counters.c",
      "the_port_is_the_one_that_names_the_interface" },
   ["ib-xdr-speed"] = { "tests/lua/fabric/test_fabric.lua",
      "test_xdr_is_read_as_rdma_core_reads_it" },
   ["no-munge-cluster"] = { "tests/lua/bindings/test_munge.lua",
      "test_that_munged_is_away_is_said_at_once" },
   ["reboot-undoes-drain"] = { "tests/lab/policy.bats",
      "a node that is rebooted, not repaired, is drained again" },
   ["two-slurmd-one-host"] = { "tests/lua/wire/test_endpoints.lua",
      "test_nodes_of_one_host_are_no_pair" },
}

local function read(format, files, o)
   local paths = {}
   for i, f in ipairs(files) do
      paths[i] = DIR .. f
   end
   return import.read(format, paths, o)
end

local function noted(w, text)
   for _, n in ipairs(w.notes) do
      if n.text:find(text, 1, true) then
         return true
      end
   end
   return false
end

local RUN = {}

RUN["ib-paste-forms"] = function(folder)
   local first = assert(read("ibnetdiscover", { folder .. "rate.txt" }))
   for _, f in ipairs { "indent.txt", "quoted.txt" } do
      local w = assert(read("ibnetdiscover", { folder .. f }))
      lu.assertEquals({ w.routers, w.nodes, w.cables },
         { first.routers, first.nodes, first.cables }, f)
      lu.assertTrue(noted(w, "which is taken off"), f)
   end
   local w = assert(read("ibnetdiscover", { folder .. "norate.txt" }))
   lu.assertTrue(noted(w, "give --capacity"))
   for f, why in pairs { ["wrapped.txt"] = "broken in two", ["html.txt"] = "HTML" } do
      local none, err = read("ibnetdiscover", { folder .. f })
      lu.assertNil(none, f)
      lu.assertStrContains(err, why)
   end
end

RUN["lldp-no-importer"] = function(folder)
   local w = assert(read("lldp", { folder .. "leaf01.json", folder .. "leaf02.json",
      folder .. "spine01.json" }, { nodes = { "wk01", "wk02", "wk03", "wk04" } }))
   lu.assertEquals({ #w.routers, #w.nodes, #w.cables }, { 3, 4, 2 })
end

RUN["rails-shift-missing-adapter"] = function(folder)
   local o = { nodes = { "wk01", "wk02", "wk03", "wk04" } }
   local whole = assert(read("ibnetdiscover", { folder .. "whole.txt" }, o))
   for _, f in ipairs { "one-adapter-dead.txt", "one-adapter-unnamed.txt" } do
      local w = assert(read("ibnetdiscover", { folder .. f }, o))
      for i, n in ipairs(w.nodes) do
         for k = 1, 8 do
            local r = n.rails[k]
            lu.assertEquals(r and w.routers[r.router].name,
               not (n.name == "wk02" and k == 3) and
               whole.routers[whole.nodes[i].rails[k].router].name)
         end
      end
      lu.assertTrue(noted(w, "wk02 has 7 of 8 adapters, mlx5_4"), f)
   end
end

RUN["topology-empty-leaf"] = function(folder)
   for f, format in pairs { ["empty-leaf.conf"] = "slurm-conf", ["block-empty.conf"] = "slurm-conf",
      ["skeleton.yaml"] = "slurm-yaml" } do
      local w = assert(read(format, { folder .. f }))
      lu.assertTrue(noted(w, "it is left out"), f)
      lu.assertTrue(#w.nodes > 0)
   end
end

RUN["topology-several-roots"] = function(folder)
   local w = assert(read("slurm-conf", { folder .. "two-roots.conf" }))
   lu.assertEquals({ #w.routers, #w.cables }, { 6, 4 })
   local found = recognise.kind(w)
   lu.assertEquals({ found.kind, found.parts }, { "fattree", 2 })
end

local function folders()
   local pipe, list = assert(io.popen("ls '" .. DIR .. "'")), {}
   for name in pipe:lines() do
      list[#list + 1] = name
   end
   pipe:close()
   return list
end

local function text_of(path)
   local f = assert(io.open(path))
   local text = f:read "a"
   f:close()
   return text
end

function tests.test_each_case_is_run_here_or_by_a_test_that_is_there()
   local list = folders()
   lu.assertEquals(#list, 12)
   for _, name in ipairs(list) do
      lu.assertStrContains(text_of(DIR .. name .. "/README.txt"), "Wanted", false)
      local where = ELSEWHERE[name]
      if where then
         lu.assertNil(RUN[name])
         lu.assertStrContains(text_of(SRC .. "/" .. where[1]), where[2])
      else
         assert(RUN[name], name)(name .. "/")
      end
   end
end

return tests
