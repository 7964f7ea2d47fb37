-- SPDX-License-Identifier: GPL-2.0-or-later
-- Ethernet fabrics had no importer: half of the sites wrote their wiring by hand.
local import = require "taut.topology.import"
local importing = require "lib.importing"
local json = require "taut.json"
local lu = require "luaunit"

local tests = {}

function tests.tearDown()
   importing.clean()
end

local CASE = "cases/lldp-no-importer/"

-- "leaf01/swp31 spine01/swp1", sorted; "wk01 leaf01/swp1s0"
local function words(w)
   local cables, nodes = {}, {}
   for i, c in ipairs(w.cables) do
      local a = w.routers[c.a].name .. "/" .. c.a_port
      local b = w.routers[c.b].name .. "/" .. c.b_port
      cables[i] = a < b and a .. " " .. b or b .. " " .. a
   end
   for i, n in ipairs(w.nodes) do
      local list = { n.name }
      for k, r in ipairs(n.rails) do
         list[k + 1] = r and w.routers[r.router].name .. "/" .. r.port or "-"
      end
      nodes[i] = table.concat(list, " ")
   end
   table.sort(cables)
   table.sort(nodes)
   return cables, nodes
end

local function noted(w, text)
   for _, n in ipairs(w.notes) do
      if n.text:find(text, 1, true) then
         return true
      end
   end
   return false
end

function tests.test_switches_that_speak_json_of_several_kinds()
   local files = {}
   for i, name in ipairs { "leaf01", "leaf02", "spine01" } do
      files[i] = importing.data(CASE .. name .. ".json")
   end
   local w = assert(import.read("lldp", files, { nodes = { "wk01", "wk02", "wk03", "wk04" } }))
   local cables, nodes = words(w)
   lu.assertEquals(cables, { "leaf01/swp31 spine01/swp1", "leaf02/Ethernet120 spine01/swp2" })
   lu.assertEquals(nodes, { "wk01 leaf01/swp1s0", "wk02 leaf01/swp1s1", "wk03 leaf02/Ethernet0",
      "wk04 leaf02/Ethernet4" })
   lu.assertTrue(noted(w, 'swp2 of leaf01 leads to "02:00:5e:00:09:09", which gives no name'))
   lu.assertTrue(noted(w, "eth0 of leaf01 is a port for management"))
end

---------------------------------------------------------------- fabrics drawn anew

-- A fabric of ours: rows { switch, port, far, far_port }, both ends of each cable, and what is to
-- come out of it.
local function fabric(leaves, spines, hosts, ports)
   local rows, cables, nodes = {}, {}, {}
   for l = 1, leaves do
      local leaf = ("leaf%02d"):format(l)
      for s = 1, spines do
         local up, spine, down = "swp" .. 48 + s, "spine" .. s, "Ethernet" .. 4 * (l - 1)
         rows[#rows + 1] = { leaf, up, spine, down, bridge = true }
         rows[#rows + 1] = { spine, down, leaf, up, bridge = true }
         cables[#cables + 1] = leaf .. "/" .. up .. " " .. spine .. "/" .. down
      end
      for h = 1, hosts do
         local host, list = ("n%02d"):format((l - 1) // ports * hosts + h), {}
         local port = "swp" .. h
         rows[#rows + 1] = { leaf, port, host .. ".example.org",
            "ens" .. (l - 1) % ports + 1 .. "np0" }
         for k = 0, ports - 1 do
            list[k + 1] = ("leaf%02d/%s"):format((l - 1) // ports * ports + k + 1, port)
         end
         if (l - 1) % ports == 0 then
            nodes[#nodes + 1] = host .. " " .. table.concat(list, " ")
         end
      end
   end
   table.sort(cables)
   table.sort(nodes)
   return rows, cables, nodes
end

local function by_switch(rows)
   local of, order = {}, {}
   for _, r in ipairs(rows) do
      if not of[r[1]] then
         of[r[1]] = {}
         order[#order + 1] = r[1]
      end
      table.insert(of[r[1]], r)
   end
   return of, order
end

local function capability(r)
   return { { type = "Bridge", enabled = r.bridge == true } }
end

local FORMS = {
   json = function(list)
      local interfaces = json.array {}
      for i, r in ipairs(list) do
         interfaces[i] = { [r[2]] = { via = "LLDP", chassis = { [r[3]] = {
            id = { type = "mac", value = "02:00:00:00:00:01" }, capability = capability(r) } },
            port = { id = { type = "ifname", value = r[4] }, descr = "cable " .. i } } }
      end
      return json.encode { lldp = { interface = interfaces } }
   end,
   json0 = function(list)
      local interfaces = json.array {}
      for i, r in ipairs(list) do
         interfaces[i] = { name = r[2], via = "LLDP", chassis = { {
            id = { { type = "mac", value = "02:00:00:00:00:01" } }, name = { { value = r[3] } },
            capability = capability(r) } },
            port = { { id = { { type = "mac", value = "02:00:00:00:00:02" } },
               descr = { { value = r[4] } } } } }
      end
      return json.encode { lldp = { { interface = interfaces } } }
   end,
   sonic = function(list)
      local form = "%-12s %-22s %-16s %-11s %s"
      local lines = { "Capability codes: (R) Router, (B) Bridge, (O) Other",
         form:format("LocalPort", "RemoteDevice", "RemotePortID", "Capability", "RemotePortDescr"),
         "-----------  ---------------------  ---------------  ----------  ---------------" }
      for _, r in ipairs(list) do
         lines[#lines + 1] = form:format(r[2], r[3], r[4], r.bridge and "BR" or "O", "a cable")
      end
      lines[#lines + 1] = "--------------------------------------------------"
      lines[#lines + 1] = "Total entries displayed:  " .. #list
      return table.concat(lines, "\n") .. "\n"
   end,
}

-- Files of a folder, one a switch.
local function files_of(dir, rows, form)
   local of, order = by_switch(rows)
   local paths = {}
   for i, name in ipairs(order) do
      paths[i] = ("%s/%s.%s"):format(dir, name, form == "sonic" and "txt" or "json")
      local f = assert(io.open(paths[i], "w"))
      f:write(FORMS[form](of[name]))
      f:close()
   end
   return paths
end

local function in_folder(fn)
   local dir = os.tmpname()
   os.remove(dir)
   assert(os.execute("mkdir " .. dir))
   local ok, err = pcall(fn, dir)
   os.execute("rm -r " .. dir)
   if not ok then
      error(err, 0)
   end
end

function tests.test_fabrics_drawn_anew_in_each_form()
   for _, shape in ipairs { { 2, 1, 3, 1 }, { 4, 2, 4, 1 }, { 4, 2, 3, 2 }, { 8, 4, 2, 4 } } do
      local rows, cables, nodes = fabric(table.unpack(shape))
      for form in pairs(FORMS) do
         in_folder(function(dir)
            local w = assert(import.read("lldp", files_of(dir, rows, form)))
            local got_cables, got_nodes = words(w)
            lu.assertEquals(got_cables, cables, form)
            lu.assertEquals(got_nodes, nodes, form)
         end)
      end
      -- NetQ, and all switches in one file
      local netq, one = json.array {}, {}
      for i, r in ipairs(rows) do
         netq[i] = { hostname = r[1], ifname = r[2], peerHostname = r[3], peerIfname = r[4] }
      end
      local of = by_switch(rows)
      for name, list in pairs(of) do
         one[name] = json.decode(FORMS.json(list))
      end
      for _, text in ipairs { json.encode { lldp = netq }, json.encode(one) } do
         local got_cables, got_nodes = words(assert(importing.read("lldp", text)))
         lu.assertEquals(got_cables, cables)
         lu.assertEquals(got_nodes, nodes)
      end
   end
end

function tests.test_both_ends_of_a_cable_are_held_against_each_other()
   local rows, cables = fabric(4, 2, 2, 1)
   -- a spine that says of one port that it leads to another leaf's
   for _, r in ipairs(rows) do
      if r[1] == "spine1" and r[2] == "Ethernet0" then
         r[3] = "leaf03"
      end
   end
   in_folder(function(dir)
      local w = assert(import.read("lldp", files_of(dir, rows, "json")))
      local got = words(w)
      lu.assertEquals(#got, #cables - 1)
      lu.assertTrue(noted(w, "swp49 of leaf01 leads to Ethernet0 of spine1, which leads to " ..
         '"leaf03": the ends disagree, left out'))
   end)
   -- one that lost its neighbour: the other end is believed, with a note
   rows, cables = fabric(4, 2, 2, 1)
   for i, r in ipairs(rows) do
      if r[1] == "spine1" and r[2] == "Ethernet0" then
         table.remove(rows, i)
         break
      end
   end
   in_folder(function(dir)
      local w = assert(import.read("lldp", files_of(dir, rows, "json0")))
      lu.assertEquals(words(w), cables)
      lu.assertTrue(noted(w, "swp49 of leaf01 leads to Ethernet0 of spine1, which does not say so"))
   end)
end

function tests.test_hosts_that_speak_themselves()
   local rows, _, nodes = fabric(2, 1, 2, 1)
   local names = { "n01", "n02", "n03", "n04" }
   for i = #rows, 1, -1 do
      local r = rows[i]
      if not r.bridge then -- the switch has no neighbour there: the host's own word
         rows[i] = { r[3]:match "^[^.]+", r[4], r[1], r[2], bridge = true }
      end
   end
   in_folder(function(dir)
      local w = assert(import.read("lldp", files_of(dir, rows, "json"), { nodes = names }))
      lu.assertEquals(select(2, words(w)), nodes)
   end)
end

-- An adapter whose port is down leaves its rail empty, as in an InfiniBand fabric.
function tests.test_a_missing_port_leaves_its_rail_empty()
   local rows = fabric(8, 2, 4, 4)
   for i, r in ipairs(rows) do
      if r[1] == "leaf02" and r[3] == "n02.example.org" then
         table.remove(rows, i)
         break
      end
   end
   in_folder(function(dir)
      local w = assert(import.read("lldp", files_of(dir, rows, "json")))
      local _, nodes = words(w)
      lu.assertEquals(nodes[2], "n02 leaf01/swp2 - leaf03/swp2 leaf04/swp2")
      lu.assertTrue(noted(w, "n02 has 3 of 4 adapters, ens2np0 is missing: rail 2 stays empty"))
   end)
end

function tests.test_what_is_no_answer_of_lldp()
   for _, text in ipairs { "", "{", "[]", "{}", '{"lldp":{}}', '{"lldp":[]}', "swp1 leaf",
      '{"lldp":{"interface":5}}', '{"lldp":{"interface":[{"swp1":7}]}}', '{"a":{"lldp":3}}' } do
      local w, err = importing.read("lldp", text)
      lu.assertNil(w, text)
      lu.assertStrContains(err, ":1: ")
   end
   local _, err = import.read("slurm-conf", { "a", "b" })
   lu.assertNotNil(err)
end

return tests
