-- SPDX-License-Identifier: GPL-2.0-or-later
-- InfiniBand: ibnetdiscover in both forms, maps of names, OpenSM's tables.
local import = require "taut.topology.import"
local importing = require "lib.importing"
local lu = require "luaunit"
local speed = require "taut.topology.import.speed"

local tests = {}
local data, refused, read = importing.data, importing.refused, importing.read

function tests.tearDown()
   importing.clean()
end

local SMALL = [[
vendid=0x8f1
switchguid=0x11(11)
Switch	4 "S-0000000000000011"		# "leaf 1" base port 0 lid 1 lmc 0
[1]	"H-0000000000000021"[1](22) 		# "n1 HCA-1" lid 3 4xQDR
[2]	"S-0000000000000012"[2]		# "leaf 2" lid 2 4xQDR

switchguid=0x12(12)
Switch	4 "S-0000000000000012"		# "leaf 2" base port 0 lid 2 lmc 0
[1]	"H-0000000000000031"[1](32) 		# "n2 mlx5_0" lid 4 4xEDR
[2]	"S-0000000000000011"[2]		# "leaf 1" lid 1 4xQDR

caguid=0x21
Ca	1 "H-0000000000000021"		# "n1 HCA-1"
[1](22) 	"S-0000000000000011"[1]		# lid 3 lmc 0 "leaf 1" lid 1 4xQDR

caguid=0x31
Ca	1 "H-0000000000000031"		# "n2 mlx5_0"
[1](32) 	"S-0000000000000012"[1]		# lid 4 lmc 0 "leaf 2" lid 2 4xEDR
]]

-- SMALL with a piece of it replaced.
local function with(what, by)
   local at, stop = SMALL:find(what, 1, true)
   assert(at, what)
   return SMALL:sub(1, at - 1) .. by .. SMALL:sub(stop + 1)
end

function tests.test_small()
   local w = assert(read("ibnetdiscover", SMALL))
   lu.assertEquals(w.format, "ibnetdiscover")
   lu.assertEquals(#w.notes, 0)
   lu.assertEquals(w.routers[1], { name = "leaf-1", guid = "0x0000000000000011", ports = 4, lid = 1,
      place = "leaf 1" })
   lu.assertEquals(w.nodes[2], { name = "n2", guid = "0x0000000000000031", rails = { { router = 2,
      port = "1", lid = 4, lmc = 0, guid = "0x0000000000000032", width = "4x", speed = "EDR",
      Bps = 12500000000 } } })
   lu.assertEquals(w.cables, { { a = 1, a_port = "2", b = 2, b_port = "2", width = "4x",
      speed = "QDR", Bps = 4000000000 } })
end

-- As people hand it over: in mails, on pages, from long ago.
function tests.test_what_was_pasted()
   local plain = assert(read("ibnetdiscover", SMALL))
   for _, begin in ipairs { "> ", ">", "   ", "\t", "> > ", ">    " } do
      local w = assert(read("ibnetdiscover", (SMALL:gsub("[^\n]+", begin .. "%0"))))
      lu.assertEquals(w.cables, plain.cables, begin)
      lu.assertEquals(w.nodes, plain.nodes, begin)
      importing.noted(w, "all lines begin with")
   end
   refused("ibnetdiscover", (SMALL:gsub('"', "&quot;")), 3, "HTML")
   refused("ibnetdiscover", with('"leaf 1" base', '"leaf\n1" base'), 3, "broken in two?")
   refused("ibnetdiscover", with('# "n1 HCA-1" lid', '#\n"n1 HCA-1" lid'), 4, "broken in two?")
   local w = assert(read("ibnetdiscover", (SMALL:gsub(" 4x[QE]DR\n", "\n"))))
   lu.assertEquals(#w.cables, #plain.cables)
   lu.assertNil(w.cables[1].Bps)
   importing.noted(w, "give --capacity")
end

function tests.test_speeds()
   lu.assertEquals(speed.Bps("4x", "SDR"), 1000000000)
   lu.assertEquals(speed.Bps("1x", "QDR"), 1000000000)
   lu.assertEquals(speed.Bps("4x", "FDR"), 6818181818)
   lu.assertEquals(speed.Bps("4x", "HDR"), 25000000000)
   lu.assertEquals(speed.Bps("2X", "ndr"), 25000000000)
   lu.assertNil(speed.Bps("3x", "NDR"))
   lu.assertNil(speed.Bps("4x", "???"))
end

function tests.test_what_contradicts_itself()
   refused("ibnetdiscover", with("leaf 1\" lid 1 4xQDR\n\ncaguid=0x31", "leaf 1\" lid 1 4xQDR\n" ..
      "\nswitchguid=0x12\nSwitch\t4 \"S-0000000000000012\"\t# \"x\" base port 0 lid 2 lmc 0\n" ..
      "caguid=0x31"), 17, "is here and in line 8")
   local back = '[2]\t"S-0000000000000011"[2]'
   refused("ibnetdiscover", with(back, '[3]\t"S-0000000000000011"[2]'), 5, "does not lead back")
   refused("ibnetdiscover", with(back, '[2]\t"S-0000000000000011"[3]'), 5, "in line 10 instead")
   refused("ibnetdiscover", with("switchguid=0x12(12)", "switchguid=0x13(13)"), 8,
      "follows GUID")
   refused("ibnetdiscover", with("Ca\t1 \"H-0000000000000031", "Ca\t1 \"S-0000000000000031"),
      17, "begins with 'S-'")
   refused("ibnetdiscover", with("[1](32)", "[1](22)"), 9, "port GUID")
   refused("ibnetdiscover", (SMALL:gsub("%(32%)", "(22)")), 18, "port GUID")
   local out = '[2]\t"S-0000000000000012"'
   refused("ibnetdiscover", with(out, '[1]\t"S-0000000000000012"'), 5,
      "port 1 is here and in line 4")
   refused("ibnetdiscover", with(out, '[5]\t"S-0000000000000012"'), 5,
      "port 5 of a node with 4 ports")
end

function tests.test_what_is_cut_short()
   local whole = assert(read("ibnetdiscover", SMALL))
   lu.assertEquals(#whole.nodes, 2)
   -- a cut at any line but one between the hosts' own sections, and at any byte of a line
   local at, line = 0, 0
   for text in SMALL:gmatch "[^\n]*\n" do
      at, line = at + #text, line + 1
      if line < 18 and line >= 3 then
         local w, err = read("ibnetdiscover", SMALL:sub(1, at))
         lu.assertNil(w, line)
         lu.assertTrue((err:find "is the file cut short?" or err:find "does not lead back" or
            err:find "without a node") ~= nil, err)
      end
   end
   for stop = 1, #SMALL - 8, 7 do
      lu.assertNil((read("ibnetdiscover", SMALL:sub(1, stop))), stop)
   end
   refused("ibnetdiscover", "", 1, "without a switch")
   refused("ibnetdiscover", "# Topology file\n\n", 2, "without a switch")
end

function tests.test_what_is_none_of_it()
   refused("ibnetdiscover", "[1]\t\"S-0000000000000011\"[2]\t# \"x\" lid 1 4xQDR\n", 1,
      "before any node")
   refused("ibnetdiscover", "SwitchName=s0 Nodes=n[1-4]\n", 1, "expected a node, one of its ports")
   refused("ibnetdiscover", importing.text_of(data
      "infiniband/ibsim-samples-x5/ibnetdiscover-diff-unlink.txt"), 7, "--diff")
   refused("ibnetdiscover", ("x"):rep(2000), 1, "a line of 2000 bytes")
   refused("ibnetdiscover", SMALL:gsub("0000000000000012", "00000000000000012") .. "", 5,
      "expected a node")
end

function tests.test_the_ends_disagree_on_the_width()
   local w = assert(import.read("ibnetdiscover", data "infiniband/jabl-ibtopotool/1.topo"))
   lu.assertEquals({ #w.routers, #w.nodes, #w.cables }, { 2, 4, 2 })
   local n = importing.noted(w, '4x SDR here and 1x SDR at its other end')
   lu.assertEquals(n.line, 15)
   -- the slower of the two counts, on the cable and on the rail
   lu.assertEquals({ w.cables[2].width, w.cables[2].Bps }, { "1x", 250000000 })
   lu.assertEquals({ w.cables[1].width, w.cables[1].Bps }, { "4x", 1000000000 })
   importing.noted(w, '"H-0008f10403960558"[1] is 1x SDR here')
   -- one adapter with two ports is one node with two rails
   for _, node in ipairs(w.nodes) do
      lu.assertEquals(#node.rails, node.guid == "0x0008f10403960558" and 2 or 1)
   end
end

function tests.test_loops_of_cable_and_complaints_are_left_out()
   local w = assert(import.read("ibnetdiscover", data "infiniband/jabl-ibtopotool/3.topo"))
   lu.assertEquals({ #w.routers, #w.nodes, #w.cables }, { 2, 5, 1 })
   importing.noted(w, "is not part of the fabric")
   importing.noted(w, "one loop of cable")
   lu.assertEquals(w.routers[2].name, "MF0-switch-de779e:SX6012-U1")
   -- r-ufm101 has two adapters
   for _, node in ipairs(w.nodes) do
      lu.assertEquals(#node.rails, node.name == "r-ufm101" and 2 or 1, node.name)
   end
end

function tests.test_psmn_and_its_names()
   local file = data "infiniband/psmn-x5/X5.topofile"
   local w = assert(import.read("ibnetdiscover", file))
   lu.assertEquals({ #w.routers, #w.nodes, #w.cables, #w.notes }, { 11, 89, 70, 0 })
   lu.assertEquals(w.nodes[1].name:sub(1, 2), "H-")
   w = assert(import.read("ibnetdiscover", file, { with = { { format = "nodemap",
      path = data "infiniband/psmn-x5/X5.map" } } }))
   local named = 0
   for _, n in ipairs(w.nodes) do
      named = named + (n.name:find "^H%-" and 0 or 1)
   end
   -- three of them are not on the site's own list
   lu.assertEquals({ #w.nodes, named }, { 89, 86 })
end

function tests.test_both_forms_tell_the_same()
   local a = assert(import.read("ibnetdiscover",
      data "infiniband/ibsim-samples-x5/ibnetdiscover.txt"))
   local b = assert(import.read("ibnetdiscover",
      data "infiniband/ibsim-samples-x5/ibnetdiscover-p.txt"))
   local function cables(w)
      local set = {}
      for _, c in ipairs(w.cables) do
         local x = w.routers[c.a].guid .. "/" .. c.a_port
         local y = w.routers[c.b].guid .. "/" .. c.b_port
         set[x < y and x .. y or y .. x] = c.Bps
      end
      for _, n in ipairs(w.nodes) do
         -- with -p, an adapter is known by its port
         set[n.rails[1].guid] = w.routers[n.rails[1].router].guid .. n.rails[1].port
      end
      return set
   end
   lu.assertEquals(cables(a), cables(b))
end

function tests.test_a_degraded_link_is_seen()
   local w = assert(import.read("ibnetdiscover",
      data "infiniband/ibsim-samples-x5/ibnetdiscover-degraded.txt"))
   local slow = 0
   for _, c in ipairs(w.cables) do
      slow = slow + (c.width == "1x" and 1 or 0)
   end
   lu.assertEquals(slow, 1)
end

function tests.test_excerpts_with_one_end_are_refused()
   for name, words in pairs { test = "is not described", test2 = "instead" } do
      local w, err = import.read("ibnetdiscover",
         data("infiniband/osc-treydock/ibnetdiscover/" .. name .. ".out"))
      lu.assertNil(w)
      lu.assertStrContains(err, words)
   end
end

function tests.test_ports_form()
   local line = "SW 1 1 0x0000000000000011 4x EDR - CA 2 1 0x0000000000000021 ( 'a' - 'n1 m_0' )\n"
   local back = "CA 2 1 0x0000000000000021 4x EDR - SW 1 1 0x0000000000000011 ( 'n1 m_0' - 'a' )\n"
   local open = "SW 1 2 0x0000000000000011 4x ???                                    'a'\n"
   local w = assert(read("ibnetdiscover", line .. back .. open))
   lu.assertEquals(w.nodes[1].name, "n1")
   refused("ibnetdiscover", line, 1, "is not described")
   refused("ibnetdiscover", line .. back .. line, 3, "port 1 of")
   refused("ibnetdiscover", line .. back .. open .. open, 4, "port 2 of")
   refused("ibnetdiscover", line .. back .. open:gsub("0011", "0021"), 3, "is a switch here")
   refused("ibnetdiscover", line .. "SW 1\n", 2, "expected a line such as")
end

function tests.test_adapters_of_one_name_are_named_by_guid()
   -- with -p the two ports of an adapter are lines of their own
   local w = assert(read("ibnetdiscover", [[
SW 1 1 0x11 4x EDR - CA 2 1 0x21 ( 'a' - 'n1 HCA-1' )
SW 1 2 0x11 4x EDR - CA 3 2 0x22 ( 'a' - 'n1 HCA-1' )
CA 2 1 0x21 4x EDR - SW 1 1 0x11 ( 'n1 HCA-1' - 'a' )
CA 3 2 0x22 4x EDR - SW 1 2 0x11 ( 'n1 HCA-1' - 'a' )
]]))
   lu.assertEquals({ #w.nodes, #w.nodes[1].rails, #w.notes }, { 1, 2, 0 })
   local text = with('# "n2 mlx5_0"\n', '# "n1 HCA-1"\n')
   w = assert(read("ibnetdiscover", text))
   lu.assertEquals({ w.nodes[1].name, w.nodes[2].name }, { "H-0000000000000021",
      "H-0000000000000031" })
   importing.noted(w, "named by GUID")
end

function tests.test_nodes_of_the_machine()
   local w = assert(read("ibnetdiscover", SMALL, { nodes = { "n1", "n7" } }))
   lu.assertEquals(#w.nodes, 1)
   importing.noted(w, '"n2" is not among --nodes')
   importing.noted(w, 'node "n7" of the machine is not in this file')
end

function tests.test_maps_of_names()
   local function map(text)
      return { with = { { format = "nodemap", path = importing.file(text) } } }
   end
   local w = assert(read("ibnetdiscover", SMALL,
      map '# ours\n0x0000000000000011 "core A" # first\nH-0000000000000021 login1\n'))
   lu.assertEquals({ w.routers[1].name, w.nodes[1].name }, { "core-A", "login1" })
   for text, words in pairs {
      ["0x11 a\n0x11 b\n"] = "expected one name",
      ["switch 1\n"] = "expected a GUID and a name",
      ["0x11 \"\"\n"] = "an empty name",
      ["0x11\n"] = "expected a GUID and a name",
   } do
      local path = importing.file(text)
      local got, err = import.read("ibnetdiscover", importing.file(SMALL),
         { with = { { format = "nodemap", path = path } } })
      lu.assertNil(got)
      lu.assertStrContains(err, path .. ":")
      lu.assertStrContains(err, words)
   end
   refused("ibnetdiscover", "", 1, "without a switch", map "")
   local got, err = import.read("nodemap", importing.file "0x11 a\n")
   lu.assertNil(got)
   lu.assertStrContains(err, "describes no wiring by itself")
end

-- Forwarding tables: both of OpenSM's dumps say the same, and routes by them arrive.
function tests.test_tables_lead_everywhere()
   for _, name in ipairs { "t444-dor", "hx44-dor", "df-a4h2p2-minhop" } do
      local dir = "routing/" .. name .. "/"
      local file = data(dir .. "ibnetdiscover.txt.gz")
      local a = assert(import.read("ibnetdiscover", file, { with = { { format = "opensm-lfts",
         path = data(dir .. "opensm-lfts.dump.gz") } } }))
      local b = assert(import.read("ibnetdiscover", file, { with = { { format = "opensm-fdbs",
         path = data(dir .. "opensm.fdbs.gz") } } }))
      lu.assertEquals(a.tables, b.tables)
      lu.assertEquals(a.lids, b.lids)
      lu.assertEquals(#a.tables, #a.routers)
      local to = {}
      for i = 1, #a.routers do
         to[i] = {}
      end
      for _, c in ipairs(a.cables) do
         to[c.a][c.a_port], to[c.b][c.b_port] = c.b, c.a
      end
      local longest = 0
      for r = 1, #a.routers do
         for _, n in ipairs(a.nodes) do
            local at, hops = r, 0
            while at ~= n.rails[1].router do
               at, hops = to[at][tostring(a.tables[at][n.rails[1].lid])], hops + 1
               lu.assertTrue(at and hops <= 6, name)
            end
            lu.assertEquals(a.tables[at][n.rails[1].lid], tonumber(n.rails[1].port))
            longest = math.max(longest, hops)
         end
      end
      lu.assertEquals(longest, ({ ["t444-dor"] = 6, ["hx44-dor"] = 2 })[name] or 3)
   end
end

function tests.test_tables_that_are_wrong()
   local function with_tables(format, text)
      local path = importing.file(text)
      local w, err = import.read("ibnetdiscover", importing.file(SMALL),
         { with = { { format = format, path = path } } })
      return w, (err or ""):gsub(path, "F")
   end
   local head = "Unicast lids [0-4] of switch Lid 1 guid 0x0000000000000011 ('leaf 1'):\n"
   local w = assert(with_tables("opensm-lfts", head ..
      "0x0003 001 # Channel Adapter portguid 0x0000000000000022: 'n1 HCA-1'\n0x0004 002\n"))
   lu.assertEquals(w.tables, { { [3] = 1, [4] = 2 } })
   lu.assertEquals(w.lids[4], { node = 2, rail = 1 })
   importing.noted(w, 'switch "leaf-2"')
   for text, words in pairs {
      [""] = "F:1: the file ends without a table",
      ["0x0003 001\n"] = "F:1: lid 3 before any switch",
      [head .. head] = "F:2: the table of switch",
      [head .. "0x0003 001\n0x0003 002\n"] = "F:3: lid 3 is given twice",
      [head .. "0x0003 009\n"] = "F:2: port 9 of switch \"leaf-1\", which has 4",
      [head .. "0x0003 001 # Channel Adapter portguid 0x0000000000000099: 'n1'\n"] =
         "F:2: lid 3 is \"0x0000000000000099\" here",
      [head:gsub("11 %(", "77 (")] = "F:1: switch \"0x0000000000000077\" is not in",
      ["LID : Port\n"] = "F:1: \"LID : Port\", expected",
   } do
      local got, err = with_tables("opensm-lfts", text)
      lu.assertNil(got, text)
      lu.assertStrContains(err, words)
   end
   local got, err = with_tables("opensm-fdbs", "dump_ucast_routes: Switch 0x11\nLID : Port\n" ..
      "0x0003 : 001  : 01   : yes\n0x0004 : UNREACHABLE\n0x0001 : 000 : 00 : maybe\n")
   lu.assertNil(got)
   lu.assertStrContains(err, "F:5: ")
   w = assert(with_tables("opensm-fdbs", "Switch 0x11\n0x0003 : 004  : 01   : yes\n" ..
      "0x0004 : UNREACHABLE\n0x0009 : 001 : HOPS UNKNOWN\n"))
   lu.assertEquals(w.tables, { { [3] = 4, [9] = 1 } })
   importing.noted(w, "1 entries lead through ports where nothing is attached")
   importing.noted(w, "1 entries are for lids")
end

-- The end of a file is missing: the missing switches would not be noticed.
function tests.test_tables_that_are_cut_short()

   local function with_tables(format, text)
      local path = importing.file(text)
      local w, err = import.read("ibnetdiscover", importing.file(SMALL),
         { with = { { format = format, path = path } } })
      return w, (err or ""):gsub(path, "F")
   end
   local function switch(guid)
      return ("Unicast lids [0-4] of switch Lid 1 guid 0x00000000000000%s ('x'):\n"):format(guid)
   end
   local whole = switch(11) .. "0x0003 001\n0x0004 002\n2 lids dumped\n"
   lu.assertNotNil(with_tables("opensm-lfts", whole))
   lu.assertNotNil(with_tables("opensm-lfts", (whole:gsub("lids dumped", "valid lids dumped"))))
   for text, words in pairs {
      [whole:gsub("0x0004 002\n", "")] =
         'F:3: 2 lids dumped, and the table of switch "leaf-1" has 1',
      [whole .. switch(12) .. "0x0003 001\n"] = 'F:5: the table of switch "leaf-2" is cut short \z
         after 1 lid, expected its end',
   } do
      local got, err = with_tables("opensm-lfts", text)
      lu.assertNil(got, text)
      lu.assertStrContains(err, words)
   end
   local full = "osm_ucast_mgr_dump_ucast_routes: Switch 0x11\n0x0003 : 001  : 01   : yes\n" ..
      "0x0004 : UNREACHABLE\n"
   lu.assertNotNil(with_tables("opensm-fdbs", full))
   local got, err = with_tables("opensm-fdbs", full .. "Switch 0x12\n0x0003 : 001  : 01   : yes\n")
   lu.assertNil(got)
   lu.assertStrContains(err, "F:4: the table of switch \"leaf-2\" is cut short after 1 lid, " ..
      "expected 2 as in others")
end

-- OpenSM ends a table with its highest lid, not with how many there are, and leaves out what it has
-- no way to: two spines under ftree, lids that nobody has.
function tests.test_lids_without_a_way_are_not_missed()
   local here = (os.getenv "TAUT_SRCDIR" or ".") .. "/tests/data/routing/ft422-ftree/"
   local w = assert(import.read("ibnetdiscover", here .. "ibnetdiscover.txt.gz",
      { with = { { format = "opensm-lfts", path = here .. "opensm-lfts.dump.gz" } } }))
   local index = {}
   for i, r in ipairs(w.routers) do
      index[r.name] = i
   end
   lu.assertNil(w.tables[index.spine0][6]) -- spine1
   for _, n in ipairs(w.nodes) do
      for r in ipairs(w.routers) do
         lu.assertNotNil(w.tables[r][n.rails[1].lid])
      end
   end
end

-- Files as they lie around: compressed, from an editor that marks them, of another program.
function tests.test_compressed_and_marked_files()
   local here = (os.getenv "TAUT_SRCDIR" or ".") .. "/tests/data/routing/t444-dor/"
   local a = assert(import.read("ibnetdiscover", here .. "ibnetdiscover.txt.gz"))
   lu.assertEquals(#a.routers, 64)
   lu.assertEquals(#assert(importing.read("ibnetdiscover", "\xEF\xBB\xBF" .. SMALL)).routers, 2)
   local _, err = importing.read("ibnetdiscover", "\31\139 no gzip")
   lu.assertStrContains(err, "cannot be unpacked")
   refused("ibnetdiscover", "\xFF\xFEa\0", 1, "UTF-16")
   refused("ibnetdiscover", "{ CA Ports:01 SystemGUID:00 } { SW Ports:07 }\n", 1, "as ibdiagnet")
   refused("ibnetdiscover", "Unicast lids [0-4] of switch Lid 1\n", 1, "forwarding tables")
   refused("ibnetdiscover", "# IBDIAG\nSTART_NODES\n", 2, "ibdiagnet's database")
end

function tests.test_lids_that_two_have()
   local got, err = import.read("ibnetdiscover", importing.file(with(
      "lid 4 lmc 0", "lid 3 lmc 0")), { with = { { format = "opensm-fdbs",
      path = importing.file "Switch 0x11\n" } } })
   lu.assertNil(got)
   lu.assertStrContains(err, "lid 3 is both n1 and n2")
end

return tests
