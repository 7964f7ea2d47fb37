-- SPDX-License-Identifier: GPL-2.0-or-later
-- ingest/: what lines of logs mean, how a log is followed, and whatever else a log may hold.
local follow = require "taut.events.ingest.follow"
local import_fuzz = require "lib.import_fuzz"
local ingest = require "taut.events.ingest"
local lu = require "luaunit"

local tests = {}
local src = os.getenv "TAUT_SRCDIR" or "."
local folder

local NOW = os.time { year = 2024, month = 3, day = 5, hour = 12 }

function tests.setUp()
   folder = io.popen("mktemp -d"):read "l"
end

function tests.tearDown()
   os.execute("rm -r '" .. folder .. "'")
end

local function read(format, text, state)
   local list = {}
   local reader = assert(ingest.reader(format, { now = NOW, counting = true, state = state }))
   reader:feed(text, function(o) list[#list + 1] = o end)
   reader:finish(function(o) list[#list + 1] = o end)
   return list, reader
end

local function recorded(format, name)
   return read(format, import_fuzz.slurp(src .. "/tests/data/logs/" .. name))
end

local function date(o)
   return os.date("%Y-%m-%d %H:%M:%S", math.floor(o.to))
end

---------------------------------------------------------------- netwatch

function tests.test_lines_of_both_ends_are_one_lane_of_one_direction()
   local list, reader = recorded("netwatch", "netwatch.txt")
   lu.assertEquals({ #list, reader.lines, reader.wrong }, { 1, 4, 0 })
   local o = list[1]
   -- the Gemini of the second name sends; a copy of the log had digits for letters
   lu.assertEquals({ o.port, o.far, o.at.gemini, o.at.direction, o.left, o.class, date(o) },
      { "c2-0c2s4g0l17", "c2-0c2s3g0l27", "c2-0c2s4g0", "Z-", 23 / 24, "degrading",
        "2014-02-12 08:07:30" })
end

local function lane(way, a, b, mask)
   return ("130325 15:51:00 c0-0c1s0g0%s c0-0c1s0g1%s 1 %s lanemask=%s\n"):format(a, b, way, mask)
end

function tests.test_what_each_mask_leaves_of_a_tile_and_of_its_direction()
   for mask, lanes in pairs { [0] = 0, 1, 1, 2, 1, 2, 2 } do
      local o = read("netwatch", lane("TX", "l45", "l42", mask))[1]
      lu.assertEquals({ o.at.direction, o.left }, { "Y+", (9 + lanes) / 12 })
      o = read("netwatch", lane("TX", "l04", "l02", mask))[1]
      lu.assertEquals({ o.at.direction, o.left }, { "X+", (21 + lanes) / 24 })
   end
   lu.assertEquals(read("netwatch", lane("TX", "l45", "l42", 7)), {})
end

function tests.test_both_ends_lines_are_one_event_and_a_whole_mask_ends_it()
   local list, reader = read("netwatch", lane("RX", "l45", "l42", 3) .. lane("RX", "l45", "l42", 3)
      .. "130325 15:51:00 c0-0c1s0g1l42 c0-0c1s0g0l45 1 TX lanemask=3\n")
   lu.assertEquals(#list, 1)
   lu.assertEquals(list[1].port, "c0-0c1s0g1l42")
   list, reader = read("netwatch", lane("RX", "l45", "l42", 7), reader.state)
   lu.assertEquals({ list[1].class, list[1].left }, { "harmless", 1 })
   lu.assertEquals(reader.state.masks, {})
end

function tests.test_lines_that_cannot_be_are_named_with_their_number()
   local cases = {
      { lane("RX", "l45", "l42", 9), "lanemask '9', expected 0 to 7" },
      { lane("RX", "l45", "l42", "x"), "lanemask 'x', expected 0 to 7" },
      { lane("RX", "l45", "l42", ("9"):rep(400)),
        "lanemask '99999999999999999999', expected 0 to 7" },
      { lane("TX", "l23", "l42", 3), "c0-0c1s0g0l23 is a tile of the processors" },
      { (lane("TX", "l45", "l42", 3):gsub("^130325", "131325")), "no time that there is" },
   }
   for _, case in ipairs(cases) do
      local bad, why = case[1], case[2]
      local list, reader = read("netwatch", "x\ny\n" .. bad)
      lu.assertEquals({ list, reader.wrong, reader.notes }, { {}, 1, { { line = 3, text = why } } })
   end
   -- no tile, no Gemini: no such line at all
   lu.assertEquals((read("netwatch", lane("TX", "l68", "l42", 3))), {})
end

---------------------------------------------------------------- kernel

function tests.test_links_of_the_common_drivers()
   local list, reader = recorded("kernel", "kernel.txt")
   lu.assertEquals({ reader.lines, reader.wrong }, { 16, 0 })
   local words = {}
   for i, o in ipairs(list) do
      words[i] = ("%s %s %g"):format(o.port, o.what, o.left)
   end
   lu.assertEquals(words, { "n5/eth11 link 1", "n5/eth11 link 0", "n6/eth5 link 0",
      "n6/eth5 link 1", "n7/ens1f0 link 0", "n7/ens1f0 link 1", "n7/eth1 link 0", "n7/eth0 link 0",
      "n7/eth0 link 1", "n7/eth0 link 0", "n8/0000:01:00.0 width 0.5", "n9/hfi1_0 link 0",
      "x4207c7s5b0n0/hsn3 link 0", "x4207c7s5b0n0/hsn3 link 1" })
   lu.assertAlmostEquals(list[11].have_Bps, 63.008e9 / 8, 1)
end

function tests.test_lines_that_any_user_may_write_are_marked_unless_the_log_is_trusted()
   for format, marked in pairs { kernel = true, netwatch = false } do
      local text = import_fuzz.slurp(("%s/tests/data/logs/%s.txt"):format(src, format))
      for _, trusted in ipairs { false, true } do
         local reader = ingest.reader(format, { now = NOW, trusted = trusted })
         reader:feed(text, function(o)
            lu.assertEquals(o.untrusted, marked and not trusted or nil)
         end)
      end
   end
end

function tests.test_a_year_that_is_not_told_is_the_last_that_fits()
   local line = "%s n5 kernel: igc 0000:05:00.0 eth5: NIC Link is Down\n"
   local function when(stamp)
      return date(read("kernel", line:format(stamp))[1])
   end
   lu.assertEquals(when "Mar  5 11:59:59", "2024-03-05 11:59:59")
   lu.assertEquals(when "Dec 31 23:59:59", "2023-12-31 23:59:59")
   lu.assertEquals(when "Feb 29 00:00:00", "2024-02-29 00:00:00")
   lu.assertEquals(read("kernel", line:format "2024-03-05T12:00:00+02:00")[1].to,
      read("kernel", line:format "2024-03-05T10:00:00Z")[1].to)
   lu.assertEquals(#read("kernel", line:format "Mar 55 11:59:59"), 0)
end

---------------------------------------------------------------- OpenSM

function tests.test_a_port_that_left_the_fabric_and_came_back()
   local list = recorded("opensm", "opensm-3.3.23.txt")
   lu.assertEquals(#list, 2)
   lu.assertEquals({ list[1].left, list[1].class, list[1].at }, { 0, "fatal",
      { guid = "0x0000000000100007", name = "Hca3" } })
   lu.assertEquals({ list[2].left, list[2].class }, { 1, "harmless" })
end

function tests.test_notices_of_old_and_new()
   local head = "Nov 20 15:41:06 776337 [FA2EE6C0] 0x02 -> log_notice: "
   local new = head .. 'Reporting Urgent Notice "Local Link integrity threshold reached" from LID '
      .. "7, GUID 0x0002c90300001234, port 5\n"
   local old = "Nov 20 15:41:06 776337 [FA2EE6C0] 0x02 -> osm_report_notice: Reporting Generic "
      .. "Notice type:1 num:129 (Local Link integrity threshold reached) from LID:7 "
      .. "GID:fe80::2:c903:0:1234\n"
   local list = read("opensm", new .. old)
   lu.assertEquals(list[1].at, { guid = "0x0002c90300001234", port = 5 })
   lu.assertEquals(list[2].at, { guid = "0x0002c90300001234" })
   list = read("opensm", "Nov 20 15:41:06 2023 776337 [FA2EE6C0] 0x01 -> ERRORS DURING "
      .. "INITIALIZATION\n")
   lu.assertEquals(list[1].what, "sm")
end

---------------------------------------------------------------- pieces

function tests.test_pieces_of_any_size_say_the_same()
   local text = import_fuzz.slurp(src .. "/tests/data/logs/kernel.txt")
   for size = 1, 97, 7 do
      local list, taken = {}, 0
      local reader = ingest.reader("kernel", { now = NOW })
      for i = 1, #text, size do
         taken = taken + reader:feed(text:sub(i, i + size - 1), function(o)
            list[#list + 1] = o
         end)
      end
      lu.assertEquals({ #list, taken }, { 14, #text })
   end
end

function tests.test_an_endless_line_is_not_waited_for()
   local list, reader = {}, ingest.reader("kernel", { now = NOW })
   local function add(o)
      list[#list + 1] = o
   end
   local line = "Mar  5 11:00:00 n5 kernel: igc 0000:05:00.0 eth5: NIC Link is Down\n"
   for _ = 1, 100 do
      reader:feed(("x"):rep(10000), add)
      lu.assertTrue(#reader.rest <= 1 << 17)
   end
   reader:feed("Mar  5 11:00:00 n5 kernel: igc 0000:05:00.0 eth5: NIC Link is Down\n" .. line, add)
   lu.assertEquals(#list, 1) -- the first one was the end of the endless line
end

---------------------------------------------------------------- following

local LINE = "Mar  5 %02d:00:00 n5 kernel: igc 0000:05:00.0 eth%d: NIC Link is Down\n"

local function append(name, text, how)
   local f = assert(io.open(folder .. "/" .. name, how or "ab"))
   f:write(text)
   f:close()
end

-- Interfaces of the lines that a look found.
local function look(f, most)
   local list = {}
   local got, err = f:look(most or 1 << 20, function(o)
      list[#list + 1] = o.at.interface
   end)
   return list, got, err
end

local function follower(position, from_start)
   return assert(follow.new("kernel", folder .. "/log", position, from_start))
end

function tests.test_a_log_followed_for_the_first_time_is_read_from_its_end()
   append("log", LINE:format(1, 1))
   local f = follower()
   lu.assertEquals(look(f), {})
   append("log", LINE:format(2, 2))
   lu.assertEquals(look(f), { "eth2" })
   lu.assertEquals(look(f), {})
   lu.assertEquals(look(follower(nil, true)), { "eth1", "eth2" })
end

function tests.test_positions_survive_restarts_and_half_lines()
   append("log", "")
   local f = follower()
   look(f)
   append("log", LINE:format(1, 1) .. LINE:format(2, 2):sub(1, 30))
   lu.assertEquals(look(f), { "eth1" })
   local position = f:at()
   append("log", LINE:format(2, 2):sub(31) .. LINE:format(3, 3))
   lu.assertEquals(look(f), { "eth2", "eth3" })
   -- as if tautd had ended before the second look
   lu.assertEquals(look(follower(position)), { "eth2", "eth3" })
end

function tests.test_rotation_loses_and_repeats_nothing()
   append("log", "")
   local f = follower()
   look(f)
   append("log", LINE:format(1, 1))
   look(f)
   append("log", LINE:format(2, 2))
   os.rename(folder .. "/log", folder .. "/log.1")
   lu.assertEquals(look(f), { "eth2" }) -- the new one is not there yet
   append("log.1", LINE:format(3, 3))   -- the writer has not noticed
   append("log", LINE:format(4, 4))
   lu.assertEquals(look(f), { "eth3", "eth4" })
   -- rotated while nobody looked
   local position = f:at()
   append("log", LINE:format(5, 5))
   os.rename(folder .. "/log", folder .. "/log.1")
   append("log", LINE:format(6, 6))
   f = follower(position)
   local all = look(f)
   for _, name in ipairs((look(f))) do
      all[#all + 1] = name
   end
   lu.assertEquals(all, { "eth5", "eth6" })
end

-- logrotate's dateext, which most distributions set, was not looked for; of several rotations while
-- tautd was away all but the last were lost.
function tests.test_rotations_while_nobody_looked_lose_nothing()
   local function all_of(f)
      local all = {}
      for _ = 1, 3 do
         for _, name in ipairs((look(f))) do
            all[#all + 1] = name
         end
      end
      return all
   end
   append("log", "")
   local f = follower()
   look(f)
   append("log", LINE:format(1, 1))
   look(f)
   local position = f:at()
   append("log", LINE:format(2, 2))
   for i, name in ipairs { "log-20260305", "log-20260306", "log-2026030711" } do
      os.rename(folder .. "/log", folder .. "/" .. name)
      os.execute(("touch -d '2026-03-0%d' '%s/%s'"):format(i + 4, folder, name))
      append("log", LINE:format(2 + i, 2 + i))
   end
   -- not of this log, or nothing to read
   for _, name in ipairs { "log-audit", "log.gz", "log-20260306.gz", "logs.1", "log-20260304" } do
      append(name, LINE:format(9, 9))
      os.execute(("touch -d '2026-03-01' '%s/%s'"):format(folder, name))
   end
   lu.assertEquals(all_of(follower(position)), { "eth2", "eth3", "eth4", "eth5" })
   lu.assertEquals(all_of(f), { "eth2", "eth3", "eth4", "eth5" })
   -- and one whose next file is not there yet keeps its place
   os.rename(folder .. "/log", folder .. "/log.1")
   append("log.1", LINE:format(6, 6))
   lu.assertEquals(all_of(f), { "eth6" })
   append("log", LINE:format(7, 7))
   lu.assertEquals(all_of(f), { "eth7" })
end

function tests.test_a_log_that_was_cut_is_begun_anew()
   append("log", "")
   local f = follower()
   look(f)
   append("log", LINE:format(1, 1) .. LINE:format(2, 2))
   look(f)
   append("log", LINE:format(3, 3), "wb")
   lu.assertEquals(look(f), { "eth3" })
   local position = f:at()
   position.offset = 9999
   lu.assertEquals(look(follower(position)), { "eth3" })
end

function tests.test_a_log_that_is_not_there_or_no_file_is_an_error_until_it_is()
   local f = follower()
   local _, got, err = look(f)
   lu.assertNil(got)
   lu.assertStrContains(err, folder .. "/log")
   append("log", LINE:format(1, 1))
   lu.assertEquals({ look(f) }, { {}, 0 })
   os.execute("mkfifo '" .. folder .. "/pipe'")
   _, err = assert(follow.new("kernel", folder .. "/pipe")):look(100, print)
   lu.assertStrContains(err, "not a regular file")
   _, err = follow.new("dmesg", "/x")
   lu.assertEquals(err, "log format 'dmesg' is not known (known: kernel, netwatch, opensm)")
end

function tests.test_a_long_log_is_read_in_several_looks()
   append("log", LINE:format(1, 1):rep(1000))
   local f = follower(nil, true)
   local n, looks = 0, 0
   repeat
      local list, got = look(f, 10000)
      n, looks = n + #list, looks + 1
   until got < 10000
   lu.assertEquals(n, 1000)
   lu.assertTrue(looks > 5)
end

-- The position after a rotation was not told where both files were read equally far.
function tests.test_the_process_tells_each_position_that_is_new()
   local json = require "taut.json"
   local loop = require "taut.loop"
   local sys = require "taut.sys"
   append("log", "")
   local replies, proc = {}, nil
   local function ask(request)
      request.id = #replies + 1
      proc:send(json.encode(request))
   end
   local steps = {
      function() ask { op = "look" } end,
      function()
         ask { op = "conf", follow = { { format = "kernel", path = folder .. "/log" } } }
      end,
      function() ask { op = "look" } end,
      function()
         append("log", LINE:format(1, 1))
         ask { op = "look" }
      end,
      function()
         os.rename(folder .. "/log", folder .. "/log.1")
         append("log", LINE:format(2, 2))
         ask { op = "look" }
      end,
      function() ask { op = "look" } end,
   }
   local late = loop.timer(10000, loop.stop)
   proc = assert(loop.spawn { argv = { sys.paths.program, "--daemon", "--ingest" },
      on_line = function(line)
         replies[#replies + 1] = json.decode(line)
         local step = steps[#replies]
         if step then
            step()
         else
            proc:close()
         end
      end, on_exit = function() loop.stop() end })
   loop.run()
   late:cancel()
   lu.assertEquals(#replies, 7)
   lu.assertFalse(replies[2].ok) -- nothing was configured yet
   lu.assertEquals({ #replies[5].observations, #replies[5].positions }, { 1, 1 })
   lu.assertEquals({ #replies[6].observations, #replies[6].positions }, { 1, 1 })
   lu.assertNotEquals(replies[6].positions[1].position.inode,
      replies[5].positions[1].position.inode)
   lu.assertEquals({ #replies[7].observations, #replies[7].positions }, { 0, 0 })
end

---------------------------------------------------------------- whatever a log may hold

local ROUNDS = 1500

local CLASSES = { fatal = true, degrading = true, congestion = true, harmless = true }

local function check(o)
   assert(CLASSES[o.class] and type(o.to) == "number" and o.text:find "^[\32-\126]+$")
   assert(#o.text < 600 and (not o.left or o.left >= 0 and o.left <= 1))
   for _, v in pairs(o.at or {}) do
      assert(type(v) == "number" or not v:find "[^\32-\126]")
   end
end

for format, name in pairs { kernel = "kernel.txt", netwatch = "netwatch.txt",
   opensm = "opensm-3.3.23.txt" } do
   tests["test_fuzz_" .. format] = function()
      local text = import_fuzz.slurp(src .. "/tests/data/logs/" .. name)
      local other = import_fuzz.slurp(src .. "/tests/data/logs/"
         .. (format == "kernel" and "opensm-3.3.23.txt" or "kernel.txt"))
      math.randomseed(format:byte(1, -1))
      for _ = 1, ROUNDS do
         local changed = import_fuzz.mutate(text, other)
         local ok, why = pcall(function()
            local list, reader = read(format, changed)
            for _, o in ipairs(list) do
               check(o)
            end
            for _, note in ipairs(reader.notes) do
               assert(note.line >= 1 and note.line <= reader.lines and not note.text:find "%c")
            end
         end)
         if not ok then
            lu.fail(("%s\n%q"):format(why, changed))
         end
      end
   end
end

return tests
