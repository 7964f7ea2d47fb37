-- SPDX-License-Identifier: GPL-2.0-or-later
-- An adapter that is missing moved all rails after it up by one: tests of these were held for other
-- leaves and links than they took.
local check = require "taut.topology.check"
local diff = require "taut.topology.diff"
local import = require "taut.topology.import"
local importing = require "lib.importing"
local lu = require "luaunit"
local topology = require "taut.topology"

local tests = {}

local NAMES = { 0, 3, 4, 5, 6, 9, 10, 11 }
local HOSTS = { "wk01", "wk02", "wk03", "wk04" }
local whole

function tests.setUp()
   whole = importing.text_of(importing.data "cases/rails-shift-missing-adapter/whole.txt")
end

function tests.tearDown()
   importing.clean()
end

local function read(text)
   return assert(importing.read("ibnetdiscover", text, { nodes = HOSTS }))
end

local function topo_of(w)
   return assert(topology.build { kind = "fattree", wiring = w })
end

-- Without the adapters of a host whose numbers are given: out of its section, and its leaf's.
local function without(text, host, devices)
   for _, d in ipairs(devices) do
      local guid = text:match('Ca\t%d+ "H%-(%x+)"%s+# "' .. host .. " mlx5_" .. d .. '"')
      text = text:gsub("vendid=[^\n]*\ndevid=[^\n]*\nsysimgguid=[^\n]*\ncaguid=0x" .. guid ..
         "[^\n]*\nCa\t[^\n]*\n%[1%][^\n]*\n", "")
      text = text:gsub("%[%d+%]\t\"H%-" .. guid .. "\"[^\n]*\n", "")
      assert(not text:find(guid .. '"', 1, true), d)
   end
   return text
end

local function leaves(w, host)
   for _, n in ipairs(w.nodes) do
      if n.name == host then
         local list = {}
         for k, r in ipairs(n.rails) do
            list[k] = r and tonumber(w.routers[r.router].name:match "leaf(%d+)") or "-"
         end
         return table.concat(list, " ")
      end
   end
end

local function missing(w)
   local list = {}
   for _, n in ipairs(w.notes) do
      list[#list + 1] = n.text:match "^%S+ has .* adapters, .*$"
   end
   return table.concat(list, "; ")
end

function tests.test_a_missing_adapter_leaves_its_rail_empty()
   local w = read(whole)
   lu.assertEquals(leaves(w, "wk02"), "1 2 3 4 5 6 7 8")
   lu.assertEquals(missing(w), "")
   w = read(importing.text_of(
      importing.data "cases/rails-shift-missing-adapter/one-adapter-dead.txt"))
   lu.assertEquals(leaves(w, "wk02"), "1 2 - 4 5 6 7 8")
   lu.assertEquals(missing(w), "wk02 has 7 of 8 adapters, mlx5_4 is missing: rail 3 stays empty")
   local there = read(whole)
   local d = diff.compare(topo_of(there), topo_of(w))
   lu.assertEquals({ #d.moved, d.moved[1].node, d.moved[1].rail, #d.ends, d.count },
      { 1, "wk02", 3, 0, 1 })
   local list = check.all(topo_of(w), {})
   lu.assertEquals(list[1].kind, "missing_rails")
   lu.assertEquals(list[1].names, { "wk02: rail 3 of 8" })
end

function tests.test_an_adapter_without_a_name_may_be_the_missing_one()
   local w = read(importing.text_of(
      importing.data "cases/rails-shift-missing-adapter/one-adapter-unnamed.txt"))
   lu.assertEquals(leaves(w, "wk02"), "1 2 - 4 5 6 7 8")
   lu.assertStrContains(missing(w), "mlx5_4 (perhaps H-fc6a1f0001020000, which names no host)")
end

-- The same kind, drawn anew: any one, the first, the last, several, up to half of them.
function tests.test_whichever_adapters_are_missing()
   math.randomseed(5)
   for turn = 1, 24 do
      local gone, list = {}, {}
      local count = turn <= 8 and 1 or math.random(1, 4)
      while #list < count do
         local k = turn <= 8 and turn or math.random(8)
         if not gone[k] then
            gone[k], list[#list + 1] = true, NAMES[k]
         end
      end
      local want = {}
      for k = 1, 8 do
         want[k] = gone[k] and "-" or k
      end
      local host = HOSTS[turn % 4 + 1]
      local w = read(without(whole, host, list))
      lu.assertEquals(leaves(w, host), table.concat(want, " "))
      lu.assertStrContains(missing(w), ("%s has %d of 8 adapters"):format(host, 8 - count))
      lu.assertEquals(#topo_of(w).missing_rails, count)
   end
end

-- A kernel that finds seven of eight may number them anew: the leaves tell.
function tests.test_adapters_that_are_numbered_anew_are_told_by_their_leaves()
   local text = without(whole, "wk03", { 4 })
   local names = { "0", "3", "5", "6", "9", "10", "11" }
   for k, d in ipairs(names) do
      text = text:gsub('"wk03 mlx5_' .. d .. '"', '"wk03 mlx5_new' .. k - 1 .. '"')
   end
   text = text:gsub("mlx5_new", "mlx5_")
   local w = read(text)
   lu.assertEquals(leaves(w, "wk03"), "1 2 - 4 5 6 7 8")
   lu.assertStrContains(missing(w), "wk03 has 7 of 8 adapters, mlx5_4 is missing")
end

-- All adapters of a host on one leaf: their names tell.
function tests.test_where_rails_share_leaves_names_tell()
   local out = { 'switchguid=0x10(10)\nSwitch\t40 "S-0000000000000010"\t\t# "sw1" base port 0 ' ..
      'lid 1 lmc 0' }
   local cas, port = {}, 0
   for h = 1, 4 do
      for d = 0, 3 do
         if not (h == 2 and d == 1) then
            port = port + 1
            local guid = ("%016x"):format(0x1000 + 16 * h + d)
            out[#out + 1] = ('[%d]\t"H-%s"[1](%s) \t\t# "n%d mlx5_%d" lid %d 4xNDR'):format(port,
               guid, guid, h, d, port + 1)
            cas[#cas + 1] = ('caguid=0x%s\nCa\t1 "H-%s"\t\t# "n%d mlx5_%d"\n[1](%s) \t' ..
               '"S-0000000000000010"[%d]\t\t# lid %d lmc 0 "sw1" lid 1 4xNDR'):format(guid, guid, h,
               d, guid, port, port + 1)
         end
      end
   end
   local w = assert(import.parse("ibnetdiscover", table.concat(out, "\n") .. "\n\n" ..
      table.concat(cas, "\n\n") .. "\n"))
   lu.assertEquals(#w.nodes[2].rails, 4)
   lu.assertFalse(w.nodes[2].rails[2])
   lu.assertStrContains(missing(w), "n2 has 3 of 4 adapters, mlx5_1 is missing: rail 2 stays empty")
end

-- Hosts of another make have fewer adapters and miss none.
function tests.test_a_login_node_with_one_adapter_misses_none()
   local text = whole
   for _, host in ipairs { "wk03", "wk04" } do
      text = without(text, host, { 3, 4, 5, 6, 9, 10, 11 })
   end
   local w = read(text)
   lu.assertEquals(missing(w), "")
   lu.assertEquals(leaves(w, "wk04"), "1")
end

return tests
