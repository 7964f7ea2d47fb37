-- SPDX-License-Identifier: GPL-2.0-or-later
-- By which addresses switches answer for the way had to be written by hand, port by port.
local import = require "taut.topology.import"
local importing = require "lib.importing"
local json = require "taut.json"
local lu = require "luaunit"
local recognise = require "taut.topology.import.recognise"
local topology = require "taut.topology"
local write = require "taut.topology.import.write"

local tests = {}

function tests.tearDown()
   importing.clean()
end

local function data(...)
   local paths = {}
   for i, name in ipairs { ... } do
      paths[i] = importing.data(name)
   end
   return paths
end

local CASE = { "cases/lldp-no-importer/leaf01.json", "cases/lldp-no-importer/leaf02.json",
   "cases/lldp-no-importer/spine01.json" }
local NODES = { nodes = { "wk01", "wk02", "wk03", "wk04" } }

-- name → address
local function map(w)
   local of = {}
   for _, a in ipairs(w.addresses or {}) do
      lu.assertNil(of[a.name], a.name)
      of[a.name] = a.address
   end
   return of
end

-- The topology that the written text makes.
local function built(w)
   local text = write.text(w, recognise.kind(w), { capacity = 1e9 })
   local conf = {}
   local env = setmetatable({}, { __index = function(_, kind)
      return function(t)
         t.kind = kind
         return t
      end
   end, __newindex = function(_, k, v) conf[k] = v end })
   assert(load(text, "text", "t", env))()
   lu.assertEquals(conf.topology.routing, w.routing)
   return assert(topology.build(conf.topology)), text
end

function tests.test_samples_of_three_forms_beside_those_of_neighbours()
   local w = assert(import.read("lldp", data(CASE[1], CASE[2], CASE[3], "lldp/leaf01.ip.txt",
      "lldp/leaf02.config_db.json", "lldp/spine01.ip.json"), NODES))
   lu.assertEquals(map(w), { ["leaf01/swp31"] = "10.1.1.1", ["leaf02/Ethernet120"] = "10.1.2.1",
      ["spine01/swp1"] = "10.1.1.0", ["spine01/swp2"] = "10.1.2.0" })
   local topo, text = built(w)
   lu.assertStrContains(text, '   routing = "ecmp",')
   lu.assertTrue(topo.is_hashed)
   lu.assertStrContains(text, '["spine01/swp1"] = "10.1.1.0",')
   -- what arrives at spine01's swp1 was sent by leaf01's swp31
   lu.assertEquals(topo.components[topo.asked_at.link["10.1.1.0"]], "leaf01/swp31")
   lu.assertEquals(topo.components[topo.asked_at.link["10.1.2.1"]], "spine01/swp2")
   lu.assertEquals(topo.asked_at.of[topo.component_id["spine01/swp1"]], "10.1.1.1")
   -- the files may come in any order, and of some switches only
   w = assert(import.read("lldp", data("lldp/spine01.ip.json", CASE[3], CASE[1], CASE[2]), NODES))
   lu.assertEquals(map(w), { ["spine01/swp1"] = "10.1.1.0", ["spine01/swp2"] = "10.1.2.0" })
   lu.assertStrContains(w.source, "spine01.json")
   built(w)
end

function tests.test_without_them_there_are_none()
   local w = assert(import.read("lldp", data(table.unpack(CASE)), NODES))
   lu.assertNil(w.addresses)
   local topo, text = built(w)
   lu.assertNotStrContains(text, "addresses")
   lu.assertNil(topo.asked_at)
end

---------------------------------------------------------------- fabrics drawn anew

-- Leaves and spines with two cables between each pair: what they say by LLDP, `more` being what a
-- switch tells of its chassis; and function(fn(at, port, number of the cable, 0 or 1 for its end)).
local function fabric(leaves, spines, more)
   local said, ends = {}, {}
   local function row(at, port, far, far_port)
      said[at] = said[at] or json.array {}
      local chassis = { id = { type = "mac", value = "02:00:00:00:00:01" },
         capability = { { type = "Bridge", enabled = far:find "^n" == nil } } }
      chassis["mgmt-ip"] = more and more(far)
      table.insert(said[at], { [port] = { chassis = { [far] = chassis },
         port = { id = { type = "ifname", value = far_port } } } })
   end
   local number = 0
   for l = 1, leaves do
      for s = 1, spines do
         for k = 1, 2 do
            local leaf, up = "leaf" .. l, "swp" .. 10 * s + k
            local spine, down = "spine" .. s, "swp" .. 10 * l + k
            row(leaf, up, spine, down)
            row(spine, down, leaf, up)
            ends[#ends + 1] = { leaf, up, number, 0 }
            ends[#ends + 1] = { spine, down, number, 1 }
            number = number + 1
         end
      end
      row("leaf" .. l, "swp1", "n" .. l, "eth0")
      row("leaf" .. l, "swp2", "n" .. 100 + l, "eth0")
   end
   return said, ends
end

local function address(e)
   return ("10.%d.%d.%d"):format(e[3] // 100, e[3] % 100, e[4])
end

-- Of these ports of one switch, with their addresses, a file in each form.
local FORMS = {
   ["ip.json"] = function(list)
      local v = json.array { { ifname = "lo", addr_info = { { family = "inet",
         ["local"] = "127.0.0.1" } } }, { ifname = "eth0", addr_info = json.array {} } }
      for _, e in ipairs(list) do
         v[#v + 1] = { ifname = e[2], addr_info = { { family = "inet6", ["local"] = "fe80::1" },
            { family = "inet", ["local"] = address(e), prefixlen = 31 } } }
      end
      return json.encode(v)
   end,
   ["config_db.json"] = function(list)
      local v = {}
      for _, e in ipairs(list) do
         v[e[2]], v[e[2] .. "|" .. address(e) .. "/31"] = {}, {}
      end
      return json.encode { INTERFACE = v }
   end,
   ["ip.txt"] = function(list)
      local lines = { "Interface    IPv4 address/mask    Admin/Oper    BGP Neighbor    Neighbor IP",
         "-----------  -------------------  ------------  --------------  -------------" }
      for _, e in ipairs(list) do
         lines[#lines + 1] = ("%-12s %-20s %-13s %-15s %s"):format(e[2], address(e) .. "/31",
            "up/up", "N/A", "N/A")
      end
      return table.concat(lines, "\n") .. "\n"
   end,
}

-- In a folder of its own; files: name → text
local function read(files, opts)
   local dir = os.tmpname()
   os.remove(dir)
   assert(os.execute("mkdir " .. dir))
   local paths = {}
   for name, text in pairs(files) do
      paths[#paths + 1] = dir .. "/" .. name
      local f = assert(io.open(paths[#paths], "w"))
      f:write(text)
      f:close()
   end
   table.sort(paths)
   local w, err = import.read("lldp", paths, opts)
   os.execute("rm -r " .. dir)
   return w, err
end

local function lldp_files(said)
   local files = {}
   for name, interfaces in pairs(said) do
      files[name .. ".json"] = json.encode { lldp = { interface = interfaces } }
   end
   return files
end

function tests.test_every_port_of_fabrics_drawn_anew_in_each_form()
   for _, shape in ipairs { { 2, 1 }, { 4, 2 }, { 8, 4 } } do
      for form, text_of in pairs(FORMS) do
         local said, ends = fabric(table.unpack(shape))
         local files, of, want = lldp_files(said), {}, {}
         for _, e in ipairs(ends) do
            of[e[1]] = of[e[1]] or {}
            table.insert(of[e[1]], e)
            want[e[1] .. "/" .. e[2]] = address(e)
         end
         for name, list in pairs(of) do
            files[name .. "." .. form] = text_of(list)
         end
         local w = assert(read(files))
         lu.assertEquals(map(w), want, form)
         local topo = built(w)
         -- every cable's far end can be asked
         for c = topo.first_link, #topo.components do
            lu.assertNotNil(topo.asked_at.of[c], topo.components[c])
         end
      end
   end
end

---------------------------------------------------------------- whole switches

function tests.test_management_addresses_stand_for_whole_switches()
   local at = { spine1 = "192.0.2.1", spine2 = { "fe80::1", "192.0.2.2", "192.0.2.3" },
      leaf1 = { { value = "fd00::1" } }, leaf2 = "127.0.0.1", n1 = "192.0.2.99" }
   local said = fabric(2, 2, function(name) return at[name] end)
   local w = assert(read(lldp_files(said)))
   lu.assertEquals(map(w), { spine1 = "192.0.2.1", spine2 = "192.0.2.2", leaf1 = "fd00::1" })
   local topo = built(w)
   lu.assertEquals(topo.router_name[topo.asked_at.router["192.0.2.2"]], "spine2")
   lu.assertNil(w.routing) -- it may bridge: that is not known
   -- what a switch's own file says goes before it
   local files = lldp_files(said)
   files["spine1.chassis.json"] = json.encode { ["local-chassis"] = { chassis = { spine1 = {
      ["mgmt-ip"] = "10.9.9.9" } } } }
   lu.assertEquals(map(assert(read(files))).spine1, "10.9.9.9")
end

-- Ports without an address of their own answer by the loopback's, which `ip` shows at each.
function tests.test_unnumbered_ports_are_the_switchs_loopback()
   local said, ends = fabric(2, 2, function() return "192.0.2.7" end)
   local files = lldp_files(said)
   for number, name in ipairs { "spine1", "spine2", "leaf1", "leaf2" } do
      local own = { { ["local"] = "10.0.0." .. number } }
      local v = json.array { { ifname = "lo", addr_info = own } }
      for _, e in ipairs(ends) do
         v[#v + 1] = e[1] == name and { ifname = e[2] .. "@if5", addr_info = own } or nil
      end
      files[name .. ".ip.json"] = json.encode(v)
   end
   lu.assertEquals(map(assert(read(files))), { spine1 = "10.0.0.1", spine2 = "10.0.0.2",
      leaf1 = "10.0.0.3", leaf2 = "10.0.0.4" })
end

function tests.test_what_several_switches_have_is_nobodys()
   local said = fabric(2, 1)
   local files = lldp_files(said)
   for _, name in ipairs { "leaf1", "leaf2" } do
      files[name .. ".ip.json"] = json.encode { { ifname = "swp11", addr_info = { { ["local"] =
         "10.0.0.1" } } }, { ifname = "vlan10", addr_info = { { ["local"] = "10.5.0.1" } } } }
   end
   local w = assert(read(files))
   lu.assertNil(w.addresses)
   importing.noted(w, "10.0.0.1 is an address of several switches: left out")
end

function tests.test_a_bundle_of_one_port_is_that_port()
   local files = lldp_files((fabric(2, 1)))
   files["leaf1.config_db.json"] = json.encode { INTERFACE = {}, PORTCHANNEL_INTERFACE = {
      ["PortChannel1|10.0.0.0/31"] = {}, ["PortChannel2|10.0.0.2/31"] = {} },
      PORTCHANNEL_MEMBER = { ["PortChannel1|swp11"] = {}, ["PortChannel2|swp12"] = {},
         ["PortChannel2|swp13"] = {} } }
   lu.assertEquals(map(assert(read(files))), { ["leaf1/swp11"] = "10.0.0.0" })
end

function tests.test_files_that_say_nothing_or_nonsense()
   local _, err = read { ["leaf1.ip.json"] = '[{"ifname":"lo","addr_info":[]}]' }
   lu.assertStrContains(err, "have addresses only, expected neighbours of at least one switch")
   for _, text in ipairs { '[{"ifname":5,"addr_info":[]}]', '[{"ifname":"swp11","addr_info":5}]',
      '[{"ifname":"swp11","addr_info":[5,{"local":5},{"local":"x"},{"local":"10.0.0.300"}]}]',
      '{"INTERFACE":{"|":5,"a|":1,"|b":2,"swp11|no":{}}}', '{"INTERFACE":[1,2]}',
      '{"INTERFACE":{},"PORTCHANNEL_MEMBER":5,"PORTCHANNEL_INTERFACE":5,"DEVICE_METADATA":[]}',
      '{"local-chassis":5}', '{"local-chassis":{"chassis":[{"mgmt-ip":[[]]}]}}',
      "Interface  IPv4 address/mask  x\nswp11\n  10.0.0.0/31 \nswp12 10.0.0/31 up\n" } do
      local files = lldp_files((fabric(2, 1)))
      files["leaf1.ip.json"] = text
      local w = assert(read(files))
      lu.assertNil(w.addresses, text)
   end
end

return tests
