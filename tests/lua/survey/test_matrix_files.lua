-- SPDX-License-Identifier: GPL-2.0-or-later
-- What a matrix is written as, whatever nodes are called and whatever was measured of them.
local cells = require "taut.survey.matrix.cells"
local data = require "taut.survey.matrix.data"
local files = require "taut.survey.matrix.files"
local json = require "taut.json"
local layout = require "taut.survey.matrix.layout"
local looptest = require "lib.looptest"
local lu = require "luaunit"
local picture = require "taut.survey.matrix.picture"
local sentences = require "taut.survey.matrix.sentences"
local sim = require "lib.sim"
local sys = require "taut.sys"

local HOSTILE = { "=HYPERLINK(\"x\")", "a,b\"c", "<script>alert(1)</script>", "x\r\ny", "n\xff",
   "'&", "-1", "]]>" }
local tests = {}

local function filled(names, o)
   local m = data.new(names, o)
   for i = 1, m.n do
      for j = 1, m.n do
         if i ~= j then
            m:set(i, j, { bw_Bps = 12.5e6, expected_Bps = 12.5e6, class = "good" })
         end
      end
   end
   return m
end

local function outcome(found)
   return { findings = found or {}, unnamed = 0, levels = {}, subtitle = "job 1",
      info = { job = "1" } }
end

-- Fields of a line of CSV, as RFC 4180 has them.
local function fields(text)
   local list, at = {}, 1
   while at <= #text + 1 do
      local quoted, last
      if text:sub(at, at) == '"' then
         -- doubled quotes are inside
         local stop = at + 1
         repeat
            stop = text:find('"', stop, true)
            local double = text:sub(stop + 1, stop + 1) == '"'
            stop = stop + (double and 2 or 1)
         until not double
         quoted, last = text:sub(at + 1, stop - 2):gsub('""', '"'), stop
         list[#list + 1] = quoted
      else
         local plain
         plain, last = text:match("^([^,]*)()", at)
         list[#list + 1] = plain
      end
      at = last + 1
   end
   return list
end

function tests.test_csv_of_hostile_names()
   local text = files.csv(filled(HOSTILE))
   local n = 0
   for line in text:gmatch "([^\r\n]*)\r\n" do
      local f = fields(line)
      lu.assertEquals(#f, 8, line)
      lu.assertNil(f[1]:find "^[=+@-]")
      n = n + 1
   end
   lu.assertEquals(n, 1 + 8 * 7)
   lu.assertStrContains(text, "\"'=HYPERLINK(\"\"x\"\")\",\"a,b\"\"c\",12500000,12500000,1," ..
      "good,no,")
   lu.assertNil(text:gsub("\r\n", ""):find "[\r\n]")
end

function tests.test_csv_says_what_is_void_and_what_is_missing()
   local m = data.new { "a", "b", "c" }
   m:set(1, 2, { bw_Bps = 3e6, expected_Bps = 12e6, class = "low", again = true })
   m:set(2, 1, { class = "void", why = "b, was starved of CPU", expected_Bps = 12e6, bw_Bps = 1 })
   local text = files.csv(m)
   lu.assertStrContains(text, "a,b,3000000,12000000,0.25,low,yes,\r\n")
   lu.assertStrContains(text, "b,a,,12000000,,void,no,\"b, was starved of CPU\"\r\n")
   lu.assertStrContains(text, "a,c,,,,none,no,\r\n")
end

function tests.test_csv_of_latencies()
   local m = data.new({ "a", "b" }, { mode = "latency" })
   m:set(1, 2, { class = "good", lat_ns = { median = 16300, p99 = 41000 }, hops = 1 })
   m:set(2, 1, { class = "void", why = "0 round trips only" })
   m:judge_latency(2)
   local text = files.csv(m)
   lu.assertStrContains(text, "a,b,16300,41000,16300,good,no,\r\n")
   lu.assertStrContains(text, "b,a,,,,void,no,0 round trips only\r\n")
   lu.assertStrContains(picture.svg(m, outcome()), "16.3 µs, 99th 41.0 µs")
end

-- Where every test was discarded it is not known whether a pair is slow.
function tests.test_a_matrix_of_nothing_calls_nobody_well()
   local m = data.new({ "a", "b" }, { mode = "latency" })
   m:set(1, 2, { class = "void", why = "0 round trips only" })
   m:set(2, 1, { class = "void", why = "0 round trips only" })
   local drawn = picture.svg(m, outcome())
   lu.assertStrContains(drawn, "Nothing is known of any pair.")
   lu.assertNil(drawn:find("No pair is slow", 1, true))
   local lines, plain = {}, print
   rawset(_G, "print", function(line) lines[#lines + 1] = line end)
   sentences.print(m, outcome())
   rawset(_G, "print", plain)
   lu.assertStrContains(table.concat(lines, "\n"), "nothing is known of any pair")
end

function tests.test_json_is_rows_of_columns()
   local m = filled { "a", "b" }
   m:set(2, 1, { class = "void", why = "?", bw_Bps = 0, expected_Bps = 1 })
   local d = json.decode(files.json(m, outcome { { kind = "pair", name = "x", text = "y" } }))
   lu.assertEquals(d.nodes, { "a", "b" })
   lu.assertEquals(d.bw_Bps, { { json.null, 12500000 }, { json.null, json.null } })
   lu.assertEquals(d.class, { { json.null, "good" }, { "void", json.null } })
   lu.assertEquals(d.why, { { from = "b", to = "a", why = "?" } })
   lu.assertEquals(d.findings[1].text, "y")
end

-- Only what was drawn is in the picture: no tag of a name, no character that XML forbids.
local function assert_is_well_formed(text)
   local open = {}
   for slash, name, rest in text:gmatch "<(/?)([%w]+)([^>]*)>" do
      if slash == "/" then
         lu.assertEquals(table.remove(open), name)
      elseif not rest:find "/$" then
         open[#open + 1] = name
      end
   end
   lu.assertEquals(open, {})
   lu.assertNotNil(utf8.len(text))
   lu.assertNil(text:find "[%z\1-\8\11\12\14-\31]")
   lu.assertNil(text:find "<script")
end

function tests.test_svg_of_hostile_names()
   local m = filled(HOSTILE)
   m:set(1, 2, { class = "void", why = "</title><b>\0" })
   assert_is_well_formed(picture.svg(m, { findings = { { kind = "pair", name = "<b>", from =
      { HOSTILE[1] }, to = { HOSTILE[2] }, tied = { "]]>" }, low = 1, clear = 0 },
      { kind = "tx", node = "no such node", name = "\27[31m", tied = {}, low = 1, clear = 0 } },
      unnamed = 3, levels = {}, subtitle = "<i>" }))
end

function tests.test_svg_at_all_sizes()
   for _, dims in ipairs { { 2 }, { 16 }, { 8, 8 }, { 16, 8 }, { 8, 8, 8 } } do
      local topo = sim.torus(dims, 1)
      local m, number = filled(topo.nodes), {}
      for i = 1, m.n do
         number[i] = i
      end
      m:set(1, 2, { bw_Bps = 3e6, expected_Bps = 12.5e6, class = "low" })
      local text = picture.svg(m, { findings = {}, unnamed = 1, subtitle = "",
         levels = layout.levels(topo, number) })
      assert_is_well_formed(text)
      lu.assertTrue(#text < 5e6, #text)
   end
end

-- Once a slow link was number 1 below the picture, and nowhere in it.
function tests.test_what_is_no_row_or_column_is_framed_and_numbered()
   for _, case in ipairs { { 16, 2, true }, { 64, 2, true }, { 128, 1, false },
      { 2000, 1, false } } do
      local n, badges, framed = table.unpack(case)
      local names = {}
      for i = 1, n do
         names[i] = "n" .. i
      end
      local m = data.new(names)
      local one = { kind = "link", name = "r0/X+", tied = {}, parts = {}, low = 3, clear = 0,
         cells = { m:key(1, 9), m:key(1, 10), m:key(3, 9) } }
      local text = picture.svg(m, outcome { one })
      one.cells = nil
      local without = picture.svg(m, outcome { one })
      local function count(what)
         return select(2, text:gsub(what, "")) - select(2, without:gsub(what, ""))
      end
      assert_is_well_formed(text)
      lu.assertEquals(count ">1</text>", badges, n)
      lu.assertEquals(count "<path", framed and 1 or 0, n)
   end
   local d = json.decode(files.json(filled { "a", "b" }, outcome { { name = "x", cells = { 2 } } }))
   lu.assertEquals(d.findings, { { name = "x" } })
end

function tests.test_squares_that_are_none_are_not_drawn()
   local text = picture.svg(filled { "a", "b" }, outcome { { kind = "link", name = "x", tied = {},
      low = 1, clear = 0, cells = { 0, -7, 1, 4, 5, 1000000 } } })
   assert_is_well_formed(text)
   lu.assertEquals(select(2, text:gsub(">1</text>", "")), 1)
end

function tests.test_more_pairs_than_squares()
   local px, bin, squares = cells.size(2500)
   lu.assertEquals({ px, bin, squares }, { 1, 3, 834 })
   px, bin, squares = cells.size(1024)
   lu.assertEquals({ px, bin, squares }, { 1, 1, 1024 })
end

function tests.test_an_empty_matrix_is_drawn()
   local m = data.new { "a", "b", "c" }
   assert_is_well_formed(picture.svg(m, outcome()))
   lu.assertEquals(select(2, files.csv(m):gsub("none", "")), 6)
end

function tests.test_files_are_all_or_nothing()
   local folder = os.tmpname()
   os.remove(folder)
   os.execute("mkdir " .. folder)
   local m, want = filled { "a", "b" }, { csv = folder .. "/m.csv", json = folder .. "/m.json" }
   lu.assertEquals(files.check(want), {})
   lu.assertNil(io.open(want.csv .. ".part"))
   lu.assertEquals(files.write(m, outcome(), want), {})
   lu.assertNotNil(io.open(want.csv))
   local wrong = files.write(m, outcome(), { csv = folder .. "/none/m.csv" })
   lu.assertStrContains(wrong[1], "No such file")
   lu.assertStrContains(files.check { json = folder .. "/none/m" }[1], "No such file")
   lu.assertStrContains(files.check { png = "-" }[1], "expected a file")
   lu.assertEquals(files.check { csv = "" }, { "--csv: expected a path of 1 to 4000 bytes, got 0" })
   lu.assertStrContains(files.check { svg = ("x"):rep(4001) }[1], "got 4001")
   os.execute("rm -r " .. folder)
end

local function text_of(path)
   local f = assert(io.open(path, "rb"))
   local text = f:read "a"
   f:close()
   return text
end

local function put(path, text)
   local f = assert(io.open(path, "wb"))
   f:write(text)
   f:close()
end

-- Once the file was written as m.csv.part first: one of that name was lost, and a link of that
-- name in /tmp led root anywhere.
function tests.test_what_lies_beside_a_file_is_left_alone()
   local folder <close> = looptest.folder()
   local m, path = filled { "a", "b" }, folder.path .. "/m.csv"
   put(path .. ".part", "mine")
   put(folder.path .. "/victim", "victim")
   os.execute(("ln -s victim %s/n.csv.part"):format(folder.path))
   for _, p in ipairs { path, folder.path .. "/n.csv" } do
      lu.assertEquals(files.check { csv = p }, {})
      lu.assertEquals(files.write(m, outcome(), { csv = p }), {})
      lu.assertStrContains(text_of(p), "a,b,12500000")
   end
   lu.assertEquals(text_of(path .. ".part"), "mine")
   lu.assertEquals(text_of(folder.path .. "/victim"), "victim")
   local pipe = assert(io.popen("ls " .. folder.path))
   lu.assertEquals(pipe:read "a", "m.csv\nm.csv.part\nn.csv\nn.csv.part\nvictim\n")
   pipe:close()
end

function tests.test_a_device_or_a_link_is_not_replaced()
   local folder <close> = looptest.folder()
   local link, m = folder.path .. "/link", filled { "a", "b" }
   os.execute("ln -s /dev/null " .. link)
   for _, path in ipairs { link, folder.path } do
      lu.assertStrContains(files.check { csv = path }[1], path .. ": is not a regular file")
      lu.assertStrContains(files.write(m, outcome(), { json = path })[1], "is not a regular file")
   end
end

function tests.test_a_file_has_the_mode_that_the_umask_leaves()
   local folder <close> = looptest.folder()
   local script, path = folder.path .. "/s.lua", folder.path .. "/m"
   put(script, ("local f, name = require 'taut.sys'.create_beside %q f:close() os.rename(name, %q)")
      :format(path, path))
   for umask, mode in pairs { ["027"] = "640", ["077"] = "600", ["022"] = "644" } do
      os.execute(("umask %s; rm -f %s; %s --lua %s"):format(umask, path, sys.paths.program, script))
      local pipe = assert(io.popen("stat -c %a " .. path))
      lu.assertEquals(pipe:read "l", mode)
      pipe:close()
   end
end

-- A path is a path: nothing in it is a word of a shell's.
function tests.test_png_path_is_no_command()
   if not os.execute "command -v rsvg-convert >/dev/null" then
      lu.skip "rsvg-convert is not installed (Debian: librsvg2-bin)"
   end
   local folder = os.tmpname()
   os.remove(folder)
   os.execute("mkdir " .. folder)
   local path = folder .. "/it's $(touch " .. folder .. "/x) `id` ;.png"
   path = path:gsub("touch " .. folder .. "/x", "touch x")
   lu.assertEquals(files.write(filled { "a", "b" }, outcome(), { png = path }), {})
   local f = lu.assertNotNil(io.open(path, "rb")) or io.open(path, "rb")
   lu.assertEquals(f:read(8), "\x89PNG\r\n\x1a\n")
   f:close()
   lu.assertNil(io.open "x")
   os.execute("rm -r " .. folder)
end

return tests
