-- SPDX-License-Identifier: GPL-2.0-or-later
-- What administrators said is known after a restart, whatever became of file or database.
local brakes = require "taut.store.brakes"
local looptest = require "lib.looptest"
local lu = require "luaunit"
local switches = require "taut.core.switches"

local tests = {}

local OFF = { generation = 7, mode = "observe", switch = "off" }

local function put(path, text)
   local file <close> = assert(io.open(path, "wb"))
   file:write(text)
end

-- Switches as a tautd has them that starts in the folder: `rows` is what the database gives, nil
-- where it cannot be read.
local function start(folder, rows, has_database)
   local path, db = folder.path .. "/brakes", folder.path .. "/taut.db"
   if rows or has_database then
      put(db, "x")
   else
      os.remove(db)
   end
   local kept = {}
   local s = switches.new { site = { conf = { mode = "enable" } }, journal = {
      add = function(_, _, row) kept[row.name] = row.value end } }
   looptest.quietly(function()
      s:open(switches.look(path, db))
      if rows then
         s:restore(rows)
      else
         s:give_up "the database cannot be read"
      end
   end)
   return s, kept
end

local function says(s) return { s:mode(), s:checks(), s:steering() or "-" } end

function tests.test_text_and_back()
   for _, b in ipairs { { generation = 0 }, OFF,
      { generation = 1 << 60, mode = "enable", switch = "on", steering = "off" } } do
      lu.assertEquals(brakes.parse(brakes.text(b)), b)
   end
end

function tests.test_a_torn_file_is_none()
   local text = brakes.text(OFF)
   for n = 0, #text - 1 do
      lu.assertNil((brakes.parse(text:sub(1, n))), n)
   end
   lu.assertNil((brakes.parse(text .. "x")))
   lu.assertNil((brakes.parse(text .. text)))
end

function tests.test_each_changed_byte_is_found()
   local text = brakes.text(OFF)
   for i = 1, #text do
      local other = text:sub(1, i - 1) .. string.char(text:byte(i) ~ 1) .. text:sub(i + 1)
      lu.assertNil((brakes.parse(other)), i)
   end
   local _, why = brakes.parse((text:gsub("observe", "enable")))
   lu.assertStrContains(why, "the checksum is ")
end

function tests.test_words_nobody_knows()
   local _, why = brakes.parse(brakes.text { generation = 1, mode = "fast" })
   lu.assertEquals(why, "mode: 'fast' is unknown")
end

function tests.test_a_file_says_what_is_wrong_with_it()
   local folder <close> = looptest.folder()
   local path = folder.path .. "/brakes"
   lu.assertEquals({ brakes.read(path) }, { nil, path .. ": No such file or directory", false })
   local b, why, is_there
   for _, text in ipairs { "", "generation 7\nmode obs" } do
      put(path, text)
      b, why, is_there = brakes.read(path)
      lu.assertEquals({ b == nil, is_there }, { true, true })
      lu.assertStrContains(why, path .. ": it ends early")
   end
   b, why, is_there = brakes.read(folder.path)
   lu.assertEquals({ b == nil, is_there }, { true, true })
   lu.assertStrContains(why, "directory")
   lu.assertTrue(brakes.write(path, OFF))
   lu.assertEquals(brakes.read(path), OFF)
end

function tests.test_the_higher_generation_wins()
   local newer = { generation = 8, mode = "enable", switch = "on" }
   lu.assertEquals(brakes.newest(OFF, newer), newer)
   lu.assertEquals(brakes.newest(newer, OFF), newer)
   lu.assertEquals(brakes.newest(nil, OFF), OFF)
   lu.assertEquals(brakes.newest(OFF), OFF)
   lu.assertNil(brakes.newest())
end

function tests.test_of_equal_ones_the_stricter()
   local a = { generation = 7, mode = "enable", switch = "off" }
   local b = { generation = 7, mode = "observe", steering = "on" }
   local both = { generation = 7, mode = "observe", switch = "off" }
   lu.assertEquals(brakes.newest(a, b), both)
   lu.assertEquals(brakes.newest(b, a), both)
end

function tests.test_of_several_tautd_the_newest_lease_wins()
   -- said on this host under lease 3, and never stored; under 4 another one acted
   local unheard = { token = 3, generation = 9, mode = "enable" }
   local database = { token = 4, generation = 8, mode = "observe" }
   lu.assertEquals(brakes.newest(unheard, database), database)
   lu.assertEquals(brakes.newest(database, unheard), database)
   -- a database out of an old backup, or of a time when there was one tautd
   lu.assertEquals(brakes.newest({ generation = 99, mode = "enable" }, database), database)
   lu.assertEquals(brakes.parse(brakes.text(database)), database)
end

function tests.test_whoever_takes_over_says_by_which_lease()
   local folder <close> = looptest.folder()
   local path, kept = folder.path .. "/brakes", {}
   put(path, brakes.text { token = 3, generation = 9, mode = "enable" })
   local s = switches.new { site = { conf = { mode = "enable" } }, journal = {
      add = function(_, _, row) kept[row.name] = row.value end } }
   s:open(switches.look(path, folder.path), 5)
   s:restore { brakes = brakes.text { token = 4, generation = 8, mode = "observe" } }
   lu.assertEquals(says(s), { "observe", "on", "-" })
   lu.assertEquals(brakes.read(path), { token = 5, generation = 9, mode = "observe" })
   lu.assertEquals(kept.brakes, brakes.text(brakes.read(path)))
end

function tests.test_a_first_start_takes_the_configuration()
   local folder <close> = looptest.folder()
   local s = start(folder, nil)
   lu.assertEquals(says(s), { "enable", "on", "-" })
   lu.assertNil(s:trouble())
   lu.assertNil(brakes.read(folder.path .. "/brakes"))
   s = start(folder, {})
   lu.assertEquals(says(s), { "enable", "on", "-" })
   lu.assertEquals(brakes.read(folder.path .. "/brakes"), { generation = 0 })
end

function tests.test_what_was_said_is_in_the_file_at_once_and_wins()
   local folder <close> = looptest.folder()
   local s, kept = start(folder, {})
   s:set_mode "observe"
   s:set_checks "off"
   s:set_steering "on"
   lu.assertEquals(brakes.parse(kept.brakes), brakes.read(folder.path .. "/brakes"))
   local want = { "observe", "off", "on" }
   lu.assertEquals(says((start(folder, nil, true))), want)
   lu.assertEquals(says((start(folder, nil))), want)
   lu.assertEquals(says((start(folder, {}))), want)
   lu.assertEquals(says((start(folder, { brakes = brakes.text { generation = 1 } }))), want)
   -- a newer database
   lu.assertEquals(says((start(folder, { brakes = brakes.text { generation = 9, mode = "enable" }
      }))), { "enable", "on", "-" })
end

function tests.test_a_damaged_file_beside_a_good_database()
   local folder <close> = looptest.folder()
   put(folder.path .. "/brakes", "generation 7\n")
   local s = start(folder, { brakes = brakes.text(OFF) })
   lu.assertEquals(says(s), { "observe", "off", "-" })
   lu.assertNil(s:trouble())
   lu.assertEquals(brakes.read(folder.path .. "/brakes"), OFF)
end

function tests.test_nothing_is_guessed()
   local folder <close> = looptest.folder()
   -- a database that cannot be read, and no file
   local s = start(folder, nil, true)
   lu.assertEquals(says(s), { "observe", "off", "off" })
   lu.assertStrContains(s:trouble(), "checks are off, mode is observe")
   -- a damaged file, and no database, or an empty one, or one whose copy is damaged
   put(folder.path .. "/brakes", "generation 7\n")
   for _, rows in ipairs { false, {}, { brakes = "x" } } do
      s = start(folder, rows or nil)
      lu.assertEquals(says(s), { "observe", "off", "off" })
      lu.assertStrContains(s:trouble(), folder.path .. "/brakes: it ends early")
   end
   -- until somebody says otherwise; what is not said stays safe, and what the database has at
   -- last counts but for that
   s = start(folder, nil, true)
   looptest.quietly(function()
      s:set_mode "enable"
      lu.assertEquals(says(s), { "enable", "off", "off" })
      s:restore { brakes = brakes.text { generation = 40, mode = "observe", steering = "on" } }
   end)
   lu.assertEquals(says(s), { "enable", "on", "on" })
   lu.assertNil(s:trouble())
   lu.assertEquals(brakes.read(folder.path .. "/brakes").generation, 41)
end

function tests.test_a_file_that_cannot_be_written_is_said_and_tried_again()
   local folder <close> = looptest.folder()
   local s = start(folder, {})
   local path = s.path
   s.path = folder.path .. "/none/brakes"
   looptest.quietly(function() s:set_mode "observe" end)
   lu.assertEquals(s:mode(), "observe")
   lu.assertNil((s:save()))
   lu.assertStrContains(s:trouble(), "not stored: " .. s.path)
   s.path = path
   lu.assertTrue(s:save())
   lu.assertNil(s:trouble())
   lu.assertEquals(brakes.read(path).mode, "observe")
end

return tests
