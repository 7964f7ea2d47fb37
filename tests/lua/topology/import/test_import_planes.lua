-- SPDX-License-Identifier: GPL-2.0-or-later
-- A fabric with planes was refused: "port GUID … is here and in line …".
local check = require "taut.topology.check"
local importing = require "lib.importing"
local lu = require "luaunit"
local names = require "taut.events.names"
local planar = require "lib.planar"
local recognise = require "taut.topology.import.recognise"
local topology = require "taut.topology"
local write = require "taut.topology.import.write"

local tests = {}

local XDR = 25e9 -- bytes per second of a lane

function tests.tearDown()
   importing.clean()
end

local function read(o)
   return assert(importing.read("ibnetdiscover", planar.text(o or {})))
end

local function notes(w)
   local list = {}
   for i, n in ipairs(w.notes) do
      list[i] = n.text
   end
   return table.concat(list, "\n")
end

-- "leaf1-A1/101 spine1-A1/1 4 1.0" of each cable
local function cables(w)
   local list = {}
   for i, c in ipairs(w.cables) do
      list[i] = ("%s/%s %s/%s %d"):format(w.routers[c.a].name, c.a_port, w.routers[c.b].name,
         c.b_port, math.floor(c.Bps / XDR + 0.5))
   end
   table.sort(list)
   return list
end

function tests.test_planes_are_one_switch_one_cable_and_one_rail()
   for _, no_system in ipairs { false, true } do
      local w = read { no_system = no_system }
      lu.assertEquals({ #w.routers, #w.nodes, #w.cables }, { 4, 4, 8 })
      lu.assertEquals(w.routers[1].name, "leaf1-A1")
      lu.assertEquals(#w.routers[1].others, 3)
      for _, n in ipairs(w.nodes) do
         lu.assertEquals(#n.rails, 1)
         lu.assertEquals({ n.rails[1].Bps, n.rails[1].planes, n.rails[1].left },
            { 4 * XDR, 4, nil })
      end
      lu.assertEquals(cables(w)[1], "leaf1-A1/101 spine1-A1/1 4")
      lu.assertEquals(notes(w), "")
   end
end

function tests.test_several_adapters_are_as_many_rails()
   local w = read { rails = 2, planes = 2 }
   lu.assertEquals(#w.nodes[1].rails, 2)
   lu.assertEquals(w.nodes[1].rails[2].Bps, 2 * XDR)
   lu.assertNotEquals(w.nodes[1].rails[1].guid, w.nodes[1].rails[2].guid)
end

-- Without planes nothing changes: two ports of two GUIDs are two rails.
function tests.test_one_plane_is_no_plane()
   local w = read { planes = 1 }
   lu.assertNil(w.nodes[1].rails[1].planes)
   lu.assertNil(w.cables[1].planes)
   lu.assertEquals(w.nodes[1].rails[1].Bps, XDR)
end

function tests.test_a_plane_that_is_down_is_a_rail_with_less_capacity()
   local w = read { cut = function(kind, h, _, p)
      return kind == "host" and (h == 1 and p == 1 or h == 2 and p ~= 3)
   end }
   lu.assertEquals({ w.nodes[1].rails[1].left, w.nodes[2].rails[1].left, w.nodes[3].rails[1].left },
      { 0.75, 0.25, nil })
   lu.assertStrContains(notes(w), '"n1 mlx5_0" has 3 of 4 planes')
   lu.assertStrContains(notes(w), '"n2 mlx5_0" has 1 of 4 planes')
   local text = write.text(w, recognise.kind(w), {})
   local conf = assert(load("local function fattree(t) t.kind = 'fattree' return t end " ..
      "local function graph(t) t.kind = 'graph' return t end " .. text .. " return topology"))()
   local topo = assert(topology.build(conf))
   lu.assertEquals(topo.capacity[topo.component_id["n1/tx"]], 4 * XDR)
   local left = {}
   for c, v in pairs(topo.degraded) do
      left[topo.components[c]] = v
   end
   lu.assertEquals(left, { ["n1/tx"] = 0.75, ["n1/rx"] = 0.75, ["n2/tx"] = 0.25, ["n2/rx"] = 0.25 })
end

function tests.test_a_cable_of_one_plane_that_is_out_is_less_of_the_link()
   for _, no_system in ipairs { false, true } do
      local w = read { no_system = no_system, cut = function(kind, leaf, spine, p, k)
         return kind == "switch" and leaf == 2 and spine == 1 and p == 2 and k == 1
      end }
      local found = {}
      for _, c in ipairs(w.cables) do
         if c.left then
            found[#found + 1] = ("%s/%s %g"):format(w.routers[c.a].name, c.a_port, c.left)
         end
      end
      lu.assertEquals(#w.cables, 8)
      lu.assertEquals(found, { "leaf2-A1/101 0.75" }, tostring(no_system))
      local topo = assert(topology.build { kind = "fattree", wiring = w })
      lu.assertEquals(topo.degraded[topo.component_id["leaf2-A1/101"]], 0.75)
      lu.assertEquals(topo.degraded[topo.component_id["spine1-A1/3"]], 0.75)
   end
end

-- What a sweep says of one plane's cable is said of a part of the link; before, all of it was down.
function tests.test_a_sweep_that_sees_one_plane_down_leaves_the_others()
   local topo = assert(topology.build { kind = "fattree", wiring = read() })
   local link = topo.component_id["leaf1-A1/101"]
   lu.assertEquals({ topo.planes[link], topo.planes[topo.component_id["n1/tx"]] }, { 4, 4 })
   local o = { source = "fabric", scope = "link", guid = "0x0a00000100000003", number = 101,
      port = "leaf1-A3/101", components = { "leaf1-A3/101", "spine1-A3/1" } }
   names.resolve(o, topo)
   lu.assertEquals(o.components, { "leaf1-A1/101", "spine1-A1/1" })
   local whole = assert(topology.build { kind = "fabrics", fabrics = {
      ib = { kind = "fattree", wiring = read() } } })
   o = { source = "fabric", guid = "0x0a00000100000003", number = 101, port = "leaf1-A3/101",
      components = { "leaf1-A3/101" } }
   names.resolve(o, whole)
   lu.assertEquals(o.components, { "ib:leaf1-A1/101" })
   lu.assertEquals(whole.planes[whole.component_id["ib:leaf1-A1/101"]], 4)
end

-- A switch whose ports are numbered otherwise than those of the first plane's: what a sweep says of
-- its port 121 is of no cable that the topology has there, and was said of another.
function tests.test_a_sweep_s_word_on_a_port_that_has_another_number_is_of_no_cable()
   local function moved(port)
      return ("[%d]"):format(math.tointeger(port) + (port == "104" and -3 or 1))
   end
   local text = planar.text { planes = 2 }
   text = text:gsub('(Switch\t144 "S%-0a00000100000002".-\n)(\n)', function(section, rest)
      return section:gsub("\n%[(10%d)%]", function(port) return "\n" .. moved(port) end) .. rest
   end):gsub('("S%-0a00000100000002")%[(10%d)%]', function(name, port)
      return name .. moved(port)
   end)
   local w = assert(importing.read("ibnetdiscover", text))
   lu.assertEquals({ #w.routers, #w.cables, notes(w) }, { 4, 8, "" })
   lu.assertEquals(w.routers[1].renumbered, { "0x0a00000100000002" })
   lu.assertNil(w.routers[3].renumbered)
   local topo = assert(topology.build { kind = "fattree", wiring = w })
   local o = { source = "fabric", guid = "0x0a00000100000002", number = 102, port = "leaf1-A2/102",
      components = { "leaf1-A2/102" } }
   names.resolve(o, topo)
   lu.assertEquals(o.components, { "leaf1-A2/102" })
   o = { source = "fabric", guid = "0x0b00000100000002", number = 1, port = "spine1-A2/1",
      components = { "spine1-A2/1" } }
   names.resolve(o, topo)
   lu.assertEquals(o.components, { "spine1-A1/1" })
end

function tests.test_a_plane_that_is_on_another_leaf_is_named_and_left_out()
   local w = read { from = function(h, p) return h == 1 and p == 2 and 2 or (h - 1) // 2 + 1 end }
   lu.assertEquals({ #w.routers, #w.cables }, { 4, 8 })
   lu.assertStrContains(notes(w), 'port 2 of "n1 mlx5_0" is on "leaf2/A2", its other planes are ' ..
      'on "leaf1/A1"; left out')
   lu.assertEquals(w.nodes[1].rails[1].left, 0.75)
   lu.assertEquals(w.routers[w.nodes[1].rails[1].router].name, "leaf1-A1")
end

function tests.test_hosts_with_one_port_on_an_asic_keep_their_port()
   local text = planar.text { planes = 2 }
   -- a manager's adapter on the second ASIC of leaf1, at a port that the first has in use, too
   text = text:gsub('(Switch\t144 "S%-0a00000100000002"[^\n]*\n)', '%1[50]\t' ..
      '"H-0d00000000000001"[1](0d00000000000002)\t\t# "ufm mlx5_0" lid 900 4xNDR\n', 1) ..
      'caguid=0x0d00000000000001\nCa\t1 "H-0d00000000000001"\t\t# "ufm mlx5_0"\n' ..
      '[1](0d00000000000002) \t"S-0a00000100000002"[50]\t\t# lid 900 lmc 0 "leaf1/A2" ' ..
      'lid 1018 4xNDR\n'
   local w = assert(importing.read("ibnetdiscover", text))
   lu.assertEquals({ w.nodes[#w.nodes].name, w.nodes[#w.nodes].rails[1].port,
      w.nodes[#w.nodes].rails[1].planes }, { "ufm", "50", nil })
   lu.assertEquals(w.routers[w.nodes[#w.nodes].rails[1].router].name, "leaf1-A1")
end

-- It was said to have one of two planes on each of its ports, and twice their capacity.
function tests.test_an_adapter_with_two_ports_beside_those_with_planes_has_none()
   local text = planar.text { planes = 2 }
   for p = 1, 2 do
      local leaf = "0a00000" .. p .. "00000001"
      text = text:gsub('(Switch\t144 "S%-' .. leaf .. '"[^\n]*\n)', ('%%1[50]\t' ..
         '"H-0d00000000000001"[%d](0d0000000000000%d)\t\t# "io1 mlx5_0" lid %d 4xNDR\n'):format(p,
         p + 1, 900 + p), 1)
   end
   text = text .. 'caguid=0x0d00000000000001\nCa\t2 "H-0d00000000000001"\t\t# "io1 mlx5_0"\n'
   for p = 1, 2 do
      text = text .. ('[%d](0d0000000000000%d) \t"S-0a00000%d00000001"[50]\t\t# lid %d lmc 0 ' ..
         '"leaf%d/A1" lid %d 4xNDR\n'):format(p, p + 1, p, 900 + p, p, 1001 + p * 16)
   end
   local w = assert(importing.read("ibnetdiscover", text))
   local io = w.nodes[#w.nodes]
   lu.assertEquals({ io.name, #io.rails, io.rails[1].planes, io.rails[1].left, io.rails[2].planes },
      { "io1", 2 })
   lu.assertEquals(io.rails[1].Bps, 50e9)
   lu.assertEquals(notes(w), "")
end

function tests.test_errors_name_what_the_file_has()
   local text = planar.text { planes = 2 }
   local bad = text:gsub('%[1%]%(0c00000100000001%) \t"S%-0a00000100000001"%[1%]',
      '[1](0c00000100000001) \t"S-0a00000100000001"[9]', 1)
   local w, err = importing.read("ibnetdiscover", bad)
   lu.assertNil(w)
   lu.assertStrContains(err, ", which leads to \"0x0a00000100000001\"[9] in line ")
   -- a GUID that two adapters have is no plane
   bad = text:gsub("%(0c00000200000001%)", "(0c00000100000001)")
   w, err = importing.read("ibnetdiscover", bad)
   lu.assertNil(w)
   lu.assertStrContains(err, "is here and in line")
end

-- Each plane has tables of its own, by ports of its own ASICs.
function tests.test_of_forwarding_tables_those_of_the_first_plane_count()
   local text = planar.text { planes = 2, leaves = 1, spines = 1, cables = 1 }
   local function dump(plane, port_of_2)
      return ("Unicast lids [0x0-0x30] of switch Lid 9 guid 0x0a0000010000000%d (leaf1/A%d):\n" ..
         "0x0011 001 : (Channel Adapter portguid 0x0c00000100000001: 'n1 mlx5_0')\n" ..
         "0x0021 %03d : (Channel Adapter portguid 0x0c00000200000001: 'n2 mlx5_0')\n" ..
         "2 lids dumped\n"):format(plane, plane, port_of_2)
   end
   local path = importing.file(dump(1, 2) .. dump(2, 7))
   local w = assert(importing.read("ibnetdiscover", text,
      { with = { { format = "opensm-lfts", path = path } } }))
   lu.assertEquals(w.tables, { { [17] = 1, [33] = 2 } })
   lu.assertStrContains(notes(w), "1 tables of switches of other planes are passed over")
end

function tests.test_planes_of_a_wiring_by_hand_are_checked()
   for words, spoil in pairs {
      ["nodes: 'n1', rail 1: expected left above 0 and up to 1, got 2"] =
         function(w) w.nodes[1].rails[1].left = 2 end,
      ["nodes: 'n1', rail 1: expected planes = a whole number of at least 1, got 0"] =
         function(w) w.nodes[1].rails[1].planes = 0 end,
      ["cables[1]: expected left above 0 and up to 1, got 0"] =
         function(w) w.cables[1].left = 0 end,
      ["cables[1]: expected planes = a whole number of at least 1, got x"] =
         function(w) w.cables[1].planes = "x" end } do
      local w = read()
      spoil(w)
      local topo, err = topology.build { kind = "graph", wiring = w }
      lu.assertNil(topo, words)
      lu.assertEquals(err, "topology.wiring: " .. words)
   end
end

function tests.test_check_says_which_rails_lack_a_plane()
   local w = read { cut = function(kind, h, _, p) return kind == "host" and h == 2 and p == 4 end }
   local topo = assert(topology.build { kind = "fattree", wiring = w })
   local found = {}
   for _, f in ipairs(check.all(topo, {})) do
      found[f.kind] = f.names
   end
   lu.assertEquals(found.planes, { "n2: rail 1 has 3 of 4 planes" })
end

-- Random fabrics: whatever planes are cut, all hosts and switches stay, and no rail is whole that
-- lost one.
function tests.test_whatever_is_cut_the_rest_stays()
   math.randomseed(7)
   for round = 1, 60 do
      local planes, lost, out_of, gone = math.random(2, 4), {}, {}, 0
      local o = { planes = planes, leaves = math.random(1, 4), spines = math.random(1, 3),
         hosts = math.random(1, 4), cables = math.random(1, 3), no_system = round % 2 == 0 }
      o.cut = function(kind, a, b, p, k)
         local is_out = math.random() < 0.05 and (kind == "host" and p > 1
            or kind == "switch" and k > 1)
         if is_out and kind == "host" then
            lost["n" .. a] = (lost["n" .. a] or 0) + 1
         elseif is_out then
            local cable = ("%d %d %d"):format(a, b, k)
            out_of[cable] = (out_of[cable] or 0) + 1
            gone = gone + (out_of[cable] == planes and 1 or 0)
         end
         return is_out
      end
      local w = read(o)
      lu.assertEquals({ #w.nodes, #w.routers }, { o.leaves * o.hosts, o.leaves + o.spines }, round)
      if not o.no_system then -- else nobody knows which spine of a plane is which of another
         lu.assertEquals(#w.cables, o.leaves * o.spines * o.cables - gone, round)
      end
      for _, n in ipairs(w.nodes) do
         lu.assertEquals(n.rails[1].left, lost[n.name] and (planes - lost[n.name]) / planes or nil)
      end
      lu.assertNotNil(topology.build { kind = "graph", wiring = w })
   end
end

return tests
