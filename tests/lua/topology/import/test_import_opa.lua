-- SPDX-License-Identifier: GPL-2.0-or-later
-- Omni-Path's FastFabric tools.  The texts are made here, after the formats in opa-ff's sources
-- (opareport.c; 10.12, 2024) and lines that sites show of their own fabrics.
local import = require "taut.topology.import"
local importing = require "lib.importing"
local lu = require "luaunit"
local topology = require "taut.topology"

local tests = {}

function tests.tearDown()
   importing.clean()
end

local function host_guid(h)
   return 0x0011750101660000 + h
end

local function switch_guid(s)
   return 0x00117501026a0000 + s
end

-- Links of two edge switches, two core switches and two hosts on each edge; the first host has a
-- second adapter.
local function links()
   local list = {}
   for h = 1, 4 do
      local edge = (h + 1) // 2
      list[#list + 1] = { "100g", { host_guid(h), 1, "FI", ("co%d hfi1_0"):format(h) },
         { switch_guid(edge), h, "SW", "edge" .. edge } }
   end
   list[#list + 1] = { "100g", { host_guid(9), 1, "FI", "co1 hfi1_1" },
      { switch_guid(2), 9, "SW", "edge2" } }
   for edge = 1, 2 do
      for core = 1, 2 do
         list[#list + 1] = { core == 2 and edge == 1 and "75g" or "100g",
            { switch_guid(edge), 40 + core, "SW", "edge" .. edge },
            { switch_guid(16 + core), edge, "SW", ("core1 L10%dA"):format(core) } }
      end
   end
   return list
end

local function text(list, count)
   local out = { "Link Summary\n\n", ("%d Links in Fabric:\n"):format(count or #list),
      "Rate NodeGUID          Port Type Name\n" }
   for _, l in ipairs(list) do
      for k = 2, 3 do
         out[#out + 1] = ("%4s 0x%016x %3d %2s   %s\n"):format(k == 2 and l[1] or "<-> ", l[k][1],
            l[k][2], l[k][3], l[k][4])
      end
      out[#out + 1] = "    PassiveCu   3m  Hitachi Metals   P/N IQSFP26C-30  Rev 03\n"
   end
   return table.concat(out) .. ("-"):rep(79) .. "\n"
end

local function xml(list)
   local out = { '<?xml version="1.0" encoding="utf-8" ?>\n' ..
      '<Report date="Sat Nov 28 21:00:00 2026" unixtime="1795899600" ' ..
      'options="&quot;-o&quot; &quot;links&quot; &quot;-x&quot;">\n' ..
      "<LinkSummary>\n", ("    <LinkCount>%d</LinkCount>\n"):format(#list) }
   for _, l in ipairs(list) do
      out[#out + 1] = ('    <Link id="0x%016x:%d">\n        <Rate>%s</Rate>\n' ..
         "        <Rate_Int>16</Rate_Int>\n        <Internal>0</Internal>\n"):format(l[2][1],
         l[2][2], l[1])
      for k = 2, 3 do
         local p = l[k]
         out[#out + 1] = ('        <Port id="0x%016x:%d">\n' ..
            "            <NodeGUID>0x%016x</NodeGUID>\n" ..
            "%s            <PortNum>%d</PortNum>\n            <NodeType>%s</NodeType>\n" ..
            "            <NodeType_Int>1</NodeType_Int>\n            <NodeDesc>%s</NodeDesc>\n" ..
            "        </Port>\n"):format(p[1], p[2], p[1], p[3] == "FI" and
            ("            <PortGUID>0x%016x</PortGUID>\n"):format(p[1]) or "", p[2], p[3],
            p[4]:gsub("&", "&amp;"))
      end
      out[#out + 1] = "        <CableInfo>\n            <Length>3m</Length>\n" ..
         "        </CableInfo>\n    </Link>\n"
   end
   return table.concat(out) .. "</LinkSummary>\n</Report>\n"
end

local function rows(list)
   local out = {}
   for i, l in ipairs(list) do
      out[i] = ("0x%016x;%d;%s;%s;0x%016x;%d;%s;%s\n"):format(l[2][1], l[2][2], l[2][3], l[2][4],
         l[3][1], l[3][2], l[3][3], l[3][4])
   end
   return table.concat(out)
end

local function shown(w)
   local list = {}
   for _, n in ipairs(w.nodes) do
      for k, r in ipairs(n.rails) do
         list[#list + 1] = ("%s:%d %s/%s %s %s"):format(n.name, k, r and w.routers[r.router].name,
            r and r.port, r and r.guid, r and r.Bps and r.Bps / 1e9)
      end
   end
   for _, c in ipairs(w.cables) do
      list[#list + 1] = ("%s/%s %s/%s %s"):format(w.routers[c.a].name, c.a_port,
         w.routers[c.b].name, c.b_port, c.Bps and c.Bps / 1e9)
   end
   table.sort(list)
   return list
end

local WANTED = {
   "co1:1 edge1/1 0x0011750101660001 12.5", "co1:2 edge2/9 0x0011750101660009 12.5",
   "co2:1 edge1/2 0x0011750101660002 12.5", "co3:1 edge2/3 0x0011750101660003 12.5",
   "co4:1 edge2/4 0x0011750101660004 12.5", "edge1/41 core1-L101A/1 12.5",
   "edge1/42 core1-L102A/1 9.375", "edge2/41 core1-L101A/2 12.5", "edge2/42 core1-L102A/2 12.5" }

function tests.test_text_and_xml_tell_the_same()
   for _, made in ipairs { text(links()), xml(links()) } do
      local w = assert(importing.read("opareport", made))
      lu.assertEquals(shown(w), WANTED)
      lu.assertEquals(#w.notes, 0)
      local topo = assert(topology.build { kind = "fattree", wiring = w })
      lu.assertEquals(topo.port_guids["0x0011750101660009"].rail, 2)
   end
end

function tests.test_rows_have_no_rate()
   local w = assert(importing.read("opareport", rows(links())))
   local wanted = {}
   for i, line in ipairs(WANTED) do
      wanted[i] = line:gsub("[%d.]+$", "nil")
   end
   lu.assertEquals(shown(w), wanted)
   lu.assertStrContains(w.notes[1].text, "links without a rate")
end

-- Several reports in one file; each link in two of them.
function tests.test_reports_of_other_things_are_passed_over()
   local some = {}
   for _, l in ipairs(links()) do
      some[#some + 1] = l[2][3] == "SW" and l or nil
   end
   local made = "Node Type Brief Summary\n\n4 Connected FIs in Fabric:\n" ..
      "NodeGUID         Type Name\n" ..
      "0x0011750101660001 FI co1 hfi1_0\n" .. ("-"):rep(79) .. "\n" .. text(links()) ..
      text(some):gsub("Link Summary", "Inter-Switch Link Summary")
         :gsub("Links in Fabric", "Inter-Switch Links in Fabric")
   lu.assertEquals(shown(assert(importing.read("opareport", made))), WANTED)
end

function tests.test_a_focus_has_fewer_links_than_the_fabric()
   local made = text(links(), 5967):gsub("%-%-%-%-+\n$", "9 Matching Links Found\n%0")
   lu.assertEquals(#assert(importing.read("opareport", made)).cables, 4)
end

function tests.test_only_the_machine_s_nodes_are_kept()
   local w = assert(importing.read("opareport", text(links()), { nodes = { "co1", "co2" } }))
   lu.assertEquals({ #w.nodes, #w.routers }, { 2, 4 })
end

function tests.test_what_does_not_fit_is_refused_with_its_line()
   local good = text(links())
   local function refused(made, line, words)
      importing.refused("opareport", made, line, words)
   end
   refused("", 1, "empty")
   refused("nothing of it\n", 1, "without a link")
   refused(good:gsub("9 Links", "12 Links"), 3, "12 links, and the file has 9; is it cut short?")
   refused(good:match "^(.*<%->  0x.-\n).-\n%d+g", 3, "9 links, and the file has")
   refused(good:gsub("<%->.-\n", "", 1), 7, "a link before the other end")
   refused(good:gsub("FI   co1 hfi1_0", "XX   co1 hfi1_0"), 5, "expected FI or SW")
   refused(good:gsub("  1 FI   co1 hfi1_0", "1234 FI   co1 hfi1_0"), 5, "a number up to 999")
   refused(good:gsub("  2 SW   edge1", "  1 SW   edge1"), 9, "is here and in line")
   local whole = xml(links())
   refused(whole:gsub("<LinkCount>9", "<LinkCount>10"), 4, "is it cut short?")
   refused(whole:gsub("</Report>", ""), 210, "not XML")
   refused(whole:gsub("<Report", "<Result"):gsub("</Report", "</Result"), 2, "expected the Report")
   refused(whole:gsub("<NodeGUID>0x", "<NodeGUID>x", 1), 9, "expected 0x and at most 16")
   refused("<!DOCTYPE x>\n" .. whole:gsub("^.-\n", ""), 1, "DOCTYPE")
   refused(rows(links()) .. "0x1;2;FI\n", 10, "expected eight fields")
end

local function lids()
   return "0x0011750101660001;1;FI;co1 hfi1_0;0x0001\n" ..
      "0x0011750101660009;1;FI;co1 hfi1_1;0x0009\n" ..
      "0x00117501026a0001;0;SW;edge1;0x0020\n0x0011750101669999;1;FI;other hfi1_0;0x0030\n"
end

-- Totals and rates that are no number of links, or of anything.
function tests.test_figures_beyond_all_measure_are_refused_with_their_line()
   local list = links()
   importing.refused("opareport", text(list):gsub("9 Links", ("9"):rep(20) .. " Links"), 3,
      '"99999999999999999999" links in all, expected a whole number')
   importing.refused("opareport", xml(list):gsub("<LinkCount>9", "<LinkCount>1e999"), 4,
      '"1e999" links in all')
   importing.refused("opareport", text(list):gsub("100g", ("9"):rep(40) .. "g", 1), 5,
      'g", expected at most 100000g')
end

-- A line of 32 kB of blanks took 15 s, one of 1 MB hours.
function tests.test_long_lines_and_texts_are_refused()
   local list, blanks, letters = links(), (" "):rep(1 << 19), ("a"):rep(1 << 19)
   importing.refused("opareport", text(list) .. blanks .. "x\n", 33, "expected at most 1024")
   importing.refused("opareport", text(list) .. "0x" .. letters .. "\n", 33,
      "expected at most 1024")
   importing.refused("opareport", rows(list) .. "0x1;1;SW;" .. blanks .. "x\n", 10,
      "expected at most 1024")
   importing.refused("opareport", xml(list):gsub("edge1", "e" .. blanks .. "1", 1), 22,
      "a text of more than 1024 bytes")
   -- XML may well be a single line
   local one = xml(list):gsub("\n", " "):gsub("<LinkSummary>", "%0" .. blanks .. blanks)
   lu.assertEquals(#assert(importing.read("opareport", one)).nodes, 4)
end

function tests.test_lids_are_added_to_rails_and_switches()
   local as_text = "LID Summary\n\n4 LID(s) in Fabric:\n" ..
      "   LID(Range) NodeGUID          Port Type Name\n" ..
      "0x0001        0x0011750101660001   1 FI co1 hfi1_0\n" ..
      "0x0009        0x0011750101660009   1 FI co1 hfi1_1\n" ..
      "0x0020-0x0021 0x00117501026a0001   0 SW edge1\n" ..
      "0x0030        0x0011750101669999   1 FI other hfi1_0\n4 Reported LID(s)\n" ..
      ("-"):rep(79) .. "\n"
   local as_xml = '<?xml version="1.0" encoding="utf-8" ?>\n<Report>\n<LIDSummary>\n<LIDs>\n'
   for guid, port, kind, desc, lid in lids():gmatch "(%w+);(%d+);(%w+);([^;]+);(%w+)" do
      as_xml = as_xml .. ('<Value LID="%s">\n<NodeGUID>%s</NodeGUID>\n<PortNum>%s</PortNum>\n' ..
         "<NodeType>%s</NodeType>\n<NodeDesc>%s</NodeDesc>\n</Value>\n"):format(lid, guid, port,
         kind, desc)
   end
   as_xml = as_xml .. "</LIDs>\n</LIDSummary>\n</Report>\n"
   for _, made in ipairs { lids(), as_text, as_xml } do
      local w = assert(importing.read("opareport", text(links()),
         { with = { { format = "opa-lids", path = importing.file(made) } } }))
      lu.assertEquals({ w.nodes[1].rails[1].lid, w.nodes[1].rails[2].lid, w.routers[1].lid },
         { 1, 9, 32 })
      lu.assertStrContains(w.notes[#w.notes].text, "1 LIDs are of ports that")
   end
   for made, words in pairs { ["0x1;1;FI;a;0x0000\n"] = "LID \"0x0000\", expected",
      ["0x1;1;FI;a;0x1\n0x2;1;FI;b;0x1\n"] = "LID 0x0001 is here",
      [rows(links())] = "without a LID" } do
      local w, err = importing.read("opareport", text(links()),
         { with = { { format = "opa-lids", path = importing.file(made) } } })
      lu.assertNil(w)
      lu.assertStrContains(err, words)
   end
end

-- Changed files are read or refused, never more than that.
function tests.test_changed_files_break_nothing()
   math.randomseed(11)
   for _, whole in ipairs { text(links()), xml(links()), rows(links()) } do
      for _ = 1, 300 do
         local at, n = math.random(#whole), math.random(0, 40)
         local made = whole:sub(1, at) .. whole:sub(at + n, math.random() < 0.3 and at + 2000 or -1)
         local w, err = import.parse("opareport", made)
         lu.assertTrue(w ~= nil or type(err) == "string")
         lu.assertNotStrContains(err or "", "cannot be read")
      end
   end
end

-- For the corpus of the fuzzer.
if os.getenv "TAUT_GOLDEN" == "write" then
   local folder = (os.getenv "TAUT_SRCDIR" or ".") .. "/tests/fuzz/corpus/import/"
   for name, made in pairs { ["opareport/links"] = text(links()), ["opareport/xml"] = xml(links()),
      ["opareport/rows"] = rows(links()), ["opa-lids/rows"] = lids() } do
      local f = assert(io.open(folder .. name, "w"))
      f:write(made)
      f:close()
   end
end

return tests
