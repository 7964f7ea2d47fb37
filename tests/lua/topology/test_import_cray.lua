-- SPDX-License-Identifier: GPL-2.0-or-later
-- Cray: rtr dumps, xtdb2proc, xtprocadmin, ALPS inventories.
local import = require "taut.topology.import"
local importing = require "lib.importing"
local lu = require "luaunit"
local recognise = require "taut.topology.import.recognise"

local tests = {}
local data, refused, read = importing.data, importing.refused, importing.read

function tests.tearDown()
   importing.clean()
end

-- Edison as its operators counted it: 15 groups numbered 0-11 and 13-15, of 6 chassis of 16
-- routers; green inside of a chassis, black between chassis (three tiles each), blue between
-- groups.
function tests.test_edison()
   local nodes = data "cray/edison-pytokio/sample.xtdb2proc.gz"
   local w = assert(import.read("rtr", data "cray/links-edison.txt.gz",
      { with = { { format = "xtdb2proc", path = nodes } } }))
   lu.assertEquals({ #w.routers, #w.nodes, #w.cables }, { 1440, 499, 24120 })
   local groups, kinds, pairs_ = {}, {}, {}
   for _, r in ipairs(w.routers) do
      groups[r.group] = (groups[r.group] or 0) + 1
      lu.assertEquals(r.coord, { r.group, r.row, r.col })
      lu.assertTrue(r.row < 6 and r.col < 16)
   end
   for g = 0, 15 do
      lu.assertEquals(groups[g], g ~= 12 and 96 or nil)
   end
   for _, c in ipairs(w.cables) do
      kinds[c.kind] = (kinds[c.kind] or 0) + 1
      local a, b = w.routers[c.a].group, w.routers[c.b].group
      local k = math.min(a, b) .. "-" .. math.max(a, b)
      pairs_[k] = (pairs_[k] or 0) + 1
   end
   lu.assertEquals(kinds, { green = 15 * 6 * 120, black = 15 * 16 * 15 * 3, blue = 105 * 24 })
   lu.assertEquals({ pairs_["0-1"], pairs_["13-15"] }, { 24, 24 })
   lu.assertEquals({ w.cables[1].kind, w.cables[1].Bps }, { "green", 5250000000 })
   importing.noted(w, "9360 blue tiles are unused")
   -- every node's own coordinates are those of its router in the other file
   for _, n in ipairs(w.nodes) do
      lu.assertEquals(n.coord, w.routers[n.rails[1].router].coord)
   end
   local found = recognise.kind(w)
   lu.assertEquals({ found.kind, found.groups, found.routers_per_group, found.local_dims,
      found.links_per_pair }, { "dragonfly", 15, 96, { 6, 16 }, { 24, 24 } })
end

local RTR = [[
c0-0c0s0a0l00(0:0:0) green -> c0-0c0s1a0l10(0:0:1)
c0-0c0s0a0l01(0:0:0) blue -> unused
c0-0c0s0a0l02(0:0:0) black -> c0-0c1s0a0l03(0:1:0)
c0-0c0s0a0l50(0:0:0) ptile -> processor
c0-0c0s1a0l10(0:0:1) green -> c0-0c0s0a0l00(0:0:0)
c0-0c1s0a0l03(0:1:0) black -> c0-0c0s0a0l02(0:0:0)
]]

function tests.test_rtr_that_is_wrong()
   lu.assertEquals(#assert(read("rtr", RTR)).cables, 2)
   local lines = {}
   for line in RTR:gmatch "[^\n]+" do
      lines[#lines + 1] = line
   end
   local function without(i)
      return table.concat(lines, "\n", 1, i - 1) .. "\n" .. table.concat(lines, "\n", i + 1) .. "\n"
   end
   refused("rtr", without(5), 1, "which is not described")
   refused("rtr", without(1), 5, "which is not described")
   refused("rtr", RTR .. lines[1], 7, "is here and in line 1")
   refused("rtr", "", 1, "without a router")
   refused("rtr", "c0-0c0s0a0l00(0:0:0) green\n", 1, "expected a tile such as")
   for i, change in ipairs {
      { "l10(0:0:1) green ->", "l10(0:0:2) green ->", 5, "has coordinates (0:0:2)" },
      { "l10(0:0:1) green ->", "l10(0:0:1) black ->", 5, "a black link from" },
      { "l01(0:0:0) blue -> unused", "l01(0:0:0) blue -> c0-0c0s1a0l11(0:0:1)", 2, "a blue link" },
      { "ptile -> processor", "ptile -> unused", 4, "a ptile tile that leads to unused" },
      { "-> c0-0c0s0a0l00(0:0:0)", "-> c0-0c0s0a0l02(0:0:0)", 5, "in line 3 instead" },
      { "c0-0c1s0a0l03(0:1:0) black ->", "c0-0c2s0a0l03(0:1:0) black ->", 6, "are those of" },
      { "c0-0c0s0a0l50", "c0-0c3s0a0l50", 4, "cage 3, expected 0 to 2" },
      { "-> c0-0c0s1a0l10(0:0:1)", "-> c0-0c0s0a0l10(0:0:0)", 1, "leads to its own router" },
   } do
      local at, stop = RTR:find(change[1], 1, true)
      refused("rtr", RTR:sub(1, at - 1) .. change[2] .. RTR:sub(stop + 1), change[3], change[4])
      lu.assertTrue(i > 0)
   end
end

local function proc(t)
   return ("cpu=%d,slot=%d,cage=%d,cabinet=null,cab_position=%d,cab_row=%d,x_coord=%d," ..
      "y_coord=%d,z_coord=%d,processor_status='up',processor_type='compute',processor_id=%d\n")
      :format(table.unpack(t))
end

-- A small Gemini machine: two nodes at each point of a 2x2x3 torus.
local function gemini()
   local out, nid = { "# table\n" }, 0
   for x = 0, 1 do
      for y = 0, 1 do
         for z = 0, 2 do
            for n = 0, 1 do
               out[#out + 1] = proc { 2 * y + n, z, 0, x, 0, x, y, z, nid }
               nid = nid + 1
            end
         end
      end
   end
   return table.concat(out)
end

function tests.test_xtdb2proc_of_a_torus()
   local w = assert(read("xtdb2proc", gemini()))
   lu.assertEquals({ #w.routers, #w.nodes, #w.cables }, { 12, 24, 6 + 6 + 12 })
   lu.assertEquals(w.nodes[3].name, "nid00002")
   lu.assertEquals(w.nodes[3].coord, { 0, 0, 1 })
   local found = recognise.kind(w)
   lu.assertEquals({ found.kind, found.dims, found.nodes_per_router },
      { "torus", { 2, 2, 3 }, { 2, 2 } })
   importing.noted(w, "a torus of 2x2x3 is assumed")
end

function tests.test_xtdb2proc_of_aries_tells_no_cables()
   local w = assert(import.read("xtdb2proc", data "cray/edison-pytokio/sample.xtdb2proc.gz"))
   lu.assertEquals({ #w.routers, #w.nodes, #w.cables }, { 126, 499, 0 })
   importing.noted(w, "does not describe cables")
   lu.assertEquals(recognise.kind(w).kind, "irregular")
end

function tests.test_xtdb2proc_that_is_wrong()
   local good = { 0, 1, 0, 0, 0, 0, 0, 1, 4 }
   for i, e in ipairs { { "cpu=4", "cpu=\"4\"" }, { "slot=16", "slot=\"16\"" },
      { "cage=3", "cage=\"3\"" } } do
      local bad = { table.unpack(good) }
      bad[i] = tonumber(e[1]:match "%d+$")
      refused("xtdb2proc", proc(good) .. proc(bad), 2, e[2])
   end
   refused("xtdb2proc", proc(good) .. proc(good), 2, "processor_id 4 is here and in line 1")
   refused("xtdb2proc", proc(good) .. proc { 0, 1, 0, 0, 0, 0, 0, 1, 5 }, 2,
      "expected one node at a place")
   refused("xtdb2proc", "cpu=0,slot=1\n", 1, "no cage, expected one")
   refused("xtdb2proc", proc(good):gsub("\n", ",cpu=1\n"), 1, "is given twice")
   refused("xtdb2proc", "hello world\n", 1, "expected pairs such as")
   refused("xtdb2proc", "# none\n", 1, "without a node")
   refused("xtdb2proc", proc { 0, 1, 0, 0, 0, 4000, 4000, 4000, 1 }, 1, "make more than")
end

-- Coordinates of two files that do not agree, and places that the dump does not have.
function tests.test_dumps_of_two_machines()
   local rtr = importing.file(RTR)
   local function added(text, format)
      local path = importing.file(text)
      local w, err = import.read("rtr", rtr, { with = { { format = format, path = path } } })
      return w, err and (err:gsub(path, "F"))
   end
   local w = assert(added(proc { 0, 1, 0, 0, 0, 0, 0, 1, 4 }, "xtdb2proc"))
   lu.assertEquals(w.nodes[1].rails[1].router, 2)
   local _, err = added("\n" .. proc { 0, 1, 0, 0, 0, 0, 0, 2, 4 }, "xtdb2proc")
   lu.assertStrContains(err, "F:2: nid00004 has coordinates 0,0,2, its router c0-0c0s1a0 has 0,0,1")
   _, err = added(proc { 0, 9, 0, 0, 0, 0, 0, 9, 4 }, "xtdb2proc")
   lu.assertStrContains(err, "F:1: nid00004 sits on c0-0c0s9a0, which")
   _, err = added(proc { 0, 1, 0, 0, 0, 0, 0, 1, 4 } .. proc { 1, 1, 0, 0, 0, 0, 0, 2, 5 },
      "xtdb2proc")
   lu.assertStrContains(err, "F:2: nid00005 has coordinates 0,0,2, its neighbour on c0-0c0s1a0")
   _, err = added("x", "slurm-conf")
   lu.assertStrContains(err, "cannot be added to another file")
end

function tests.test_daint()
   local w = assert(import.read("xtprocadmin", data "cray/daint/xtprocadmin.daint.gz"))
   lu.assertEquals(#w.nodes, 7634)
   local down = 0
   for _, n in ipairs(w.nodes) do
      down = down + (n.state == "down" and 1 or 0)
      -- the numbering of that machine, see SOURCE.txt
      local column, row, chassis, slot, k = n.place:match "^c(%d+)%-(%d+)c(%d)s(%d+)n(%d)$"
      lu.assertEquals(n.nid, ((row * 10 + column) * 3 + chassis) * 64 + slot * 4 + k)
   end
   lu.assertEquals(down, 9)
   lu.assertStrContains(w.routers[1].name, "a0")
end

function tests.test_xtprocadmin_that_is_wrong()
   local head = "   NID    (HEX)    NODENAME     TYPE    STATUS        MODE\n"
   local row = "     4      0x4  c0-0c0s1n0  compute        up interactive\n"
   assert(read("xtprocadmin", head .. row))
   refused("xtprocadmin", head .. row .. row, 3, "NID 4 is here and in line 2")
   refused("xtprocadmin", head .. row:gsub("0x4", "0x5"), 2, "4 is not 0x5")
   refused("xtprocadmin", head .. row:gsub("n0 ", "n7 "), 2, "node 7, expected 0 to 3")
   refused("xtprocadmin", head .. row:sub(1, 40), 2, "expected a row such as")
   refused("xtprocadmin", head, 1, "without a node")
   -- 8 slots in a chassis: Gemini, two routers on a blade
   local w = assert(read("xtprocadmin", row .. (row:gsub("4      0x4", "6      0x6")
      :gsub("n0 ", "n2 "))))
   lu.assertEquals({ w.routers[1].name, w.routers[2].name }, { "c0-0c0s1g0", "c0-0c0s1g1" })
end

local BASIL = [[
<?xml version='1.0'?>
<BasilResponse protocol='1.3'>
 <ResponseData status='SUCCESS' method='QUERY'>
  <Inventory mpp_host='x' timestamp='1'>
   <NodeArray changecount='2'>
    <Node node_id='61' name='c3-0c0s12n0' architecture='XT' role='BATCH' state='UP'>
     <SegmentArray><Segment ordinal='0'/></SegmentArray>
    </Node>
    <Node node_id='62' name='c3-0c0s12n1' architecture='XT' role='INTERACTIVE' state='DOWN'/>
   </NodeArray>
   <ReservationArray/>
  </Inventory>
 </ResponseData>
</BasilResponse>
]]

function tests.test_basil()
   local w = assert(read("basil", BASIL))
   lu.assertEquals(w.nodes[2], { name = "nid00062", nid = 62, place = "c3-0c0s12n1",
      role = "interactive", state = "down", rails = { { router = 1, port = "n1" } } })
   lu.assertEquals(w.routers[1].name, "c3-0c0s12a0")
end

function tests.test_basil_that_is_wrong()
   local function changed(what, by)
      local text, n = BASIL:gsub(what, by)
      assert(n > 0)
      return text
   end
   refused("basil", BASIL:sub(1, -18), 14, "not XML")
   refused("basil", changed("node_id='62'", "node_id='61'"), 9, "node_id 61 is here and")
   refused("basil", changed("s12n1", "s12n0"), 9, "expected one node at a place")
   refused("basil", changed("c3%-0c0s12n1", "nid7"), 9, "expected a place such as")
   refused("basil", changed("node_id='62'", "node_id='-1'"), 9, "expected a whole number")
   refused("basil", changed("node_id='62'", ""), 9, "a Node without 'node_id'")
   refused("basil", changed("SUCCESS", "FAILURE"), 3, "expected SUCCESS")
   refused("basil", changed("BasilResponse", "Html"), 2, "expected BasilResponse")
   refused("basil", changed("Inventory", "Other"), 1, "without Inventory")
   refused("basil", changed("Node node", "Knot node"):gsub("</Node>", "</Knot>"), 1,
      "an Inventory without a Node")
   refused("basil", changed("<BasilResponse", "<!DOCTYPE x [<!ENTITY a 'b'>]>\n<BasilResponse"), 2,
      "a DOCTYPE")
   refused("basil", "<BasilResponse>" .. ("<a>"):rep(1000), 1, "nested deeper than 24")
   refused("basil", "", 1, "not XML")
   refused("basil", "\0", 1, "not XML")
end

-- A tag or comment that never ended was scanned again with every piece of the file.
function tests.test_basil_that_goes_on_without_end()
   local long = "begins here has no end within 1048576 bytes"
   local size = 3 << 20
   refused("basil", ("a"):rep(size), 1, long)
   refused("basil", "<BasilResponse>\n<a" .. ("b"):rep(size), 2, long)
   refused("basil", "<BasilResponse>\n<!--" .. (" comment\n"):rep(size // 9), 2, long)
   refused("basil", "<BasilResponse>\n<a b='" .. ("c\n"):rep(size // 2), 2, long)
end

-- Neither one long line nor much text is too long.
function tests.test_basil_in_one_long_line()
   local text = BASIL:gsub("\n", " "):gsub(" <ResponseData", ("<x>text</x> "):rep(150000) .. "%0")
   text = text:gsub(" <ResponseData", "<y>" .. ("blah "):rep(300000) .. "</y>%0")
   lu.assertTrue(#text > 3 << 20)
   lu.assertEquals(#assert(read("basil", text)).nodes, 2)
end

return tests
