-- SPDX-License-Identifier: GPL-2.0-or-later
-- What keeps the database small and whole, on a file of SQLite; on servers: test_servers.lua.
local housekeeping = require "taut.store.housekeeping"
local journal = require "taut.store.journal"
local loop = require "taut.loop"
local looptest = require "lib.looptest"
local lu = require "luaunit"
local sys = require "taut.sys"

local tests = {}

local LIMIT_MS = 60000
local DAY_S = 86400

-- A store in a folder, and what looks after it; `told` gets what the site's program is told.
local function with_store(fn)
   local folder <close> = looptest.folder()
   local path, told, open = folder.path .. "/taut.db", {}, false
   local j = journal.start({ sys.paths.program, "--daemon", "--store", path },
      function() open = true end)
   looptest.until_true(function() return open end, LIMIT_MS)
   local h = housekeeping.new { journal = j, site = { conf = { keep_days = 30, keep = {} } },
      teller = { tell = function(_, event) told[#told + 1] = event end },
      argv = { sys.paths.program, "--daemon", "--db", path } }
   local function ask(args)
      local answer
      h:answer(args, function(...) answer = table.pack(...) end)
      looptest.until_true(function() return answer end, LIMIT_MS)
      return table.unpack(answer, 1, answer.n)
   end
   looptest.quietly(function() fn(ask, h, j, path, told) end)
   local stopped
   j:stop(function() stopped = true end)
   looptest.until_true(function() return stopped end, LIMIT_MS)
end

local function add(j, first, last, time)
   for i = first, last do
      j:add("event", { id = i, time = time, purpose = "prolog", job = 7, note = ("x"):rep(500) })
   end
   local ok
   j:confirm(function() ok = true end)
   looptest.until_true(function() return ok end, LIMIT_MS)
end

local function rows_of(ask, name)
   for _, t in ipairs(ask { what = "size" }.tables) do
      if t.name == name then
         return t.rows, t.bytes
      end
   end
end

function tests.test_size_says_rows_and_bytes()
   with_store(function(ask, _, j)
      add(j, 1, 100, 1)
      local rows, bytes = rows_of(ask, "event")
      lu.assertEquals(rows, 100)
      lu.assertTrue(bytes > 50000 and bytes < 500000, bytes)
   end)
end

function tests.test_old_rows_go_in_steps_each_table_by_its_own_days()
   with_store(function(ask, h, j)
      local now = loop.time()
      add(j, 1, 6000, now - 40 * DAY_S)
      add(j, 6001, 6010, now - 20 * DAY_S)
      for _, days in ipairs { 50, 5 } do
         j:add("verdict", { time = now - days * DAY_S, component = "c", was = "ok",
            state = "slow" })
      end
      add(j, 6011, 6011, now)
      lu.assertEquals(ask { what = "prune" }, { pruned = true })
      lu.assertEquals(rows_of(ask, "event"), 11)
      lu.assertEquals(rows_of(ask, "verdict"), 2) -- for good, if nothing is said
      h.site.conf.keep = { event = 10, verdict = 10 }
      ask { what = "prune" }
      lu.assertEquals({ (rows_of(ask, "event")), (rows_of(ask, "verdict")) }, { 1, 1 })
      local before = ask { what = "size" }
      local d = ask { what = "vacuum" }
      lu.assertTrue(d.after < d.before and d.after < before.bytes)
   end)
end

function tests.test_the_oldest_details_go_where_it_is_too_large()
   with_store(function(ask, h, j, _, told)
      local now = loop.time()
      for day = 1, 20 do
         add(j, day * 1000, day * 1000 + 999, now - (21 - day) * DAY_S)
      end
      j:add("verdict", { time = now - 100 * DAY_S, component = "c", was = "ok", state = "slow" })
      local before = ask { what = "size" }.bytes
      local said
      h.site.conf.keep_gb = before / 2 / (1 << 30)
      h:bound(function(ok, err) said = { ok, err } end)
      looptest.until_true(function() return said end, LIMIT_MS)
      lu.assertEquals(said, { true })
      local d = ask { what = "size" }
      lu.assertTrue(d.bytes - d.free <= before / 2, d.bytes - d.free)
      local rows = rows_of(ask, "event")
      lu.assertTrue(rows >= 5000 and rows <= 12000, rows)
      lu.assertEquals((rows_of(ask, "verdict")), 1)
      lu.assertTrue(h:state().cut.before < now - 8 * DAY_S)
      lu.assertEquals(told[1].state, "full")
   end)
end

function tests.test_a_backup_is_whole_and_replaces_nothing()
   with_store(function(ask, _, j, path)
      add(j, 1, 10, 1)
      local d = ask { what = "backup", path = path .. ".1" }
      lu.assertEquals({ d.path, d.bytes }, { path .. ".1", sys.stat(path .. ".1").size })
      local _, err = ask { what = "backup", path = path .. ".1" }
      lu.assertStrContains(err, "is there already")
      _, err = ask { what = "backup", path = "here" }
      lu.assertStrContains(err, "expected a path from /")
      _, err = ask { what = "tidy" }
      lu.assertStrContains(err, "expected check")
      local dbi = require "DBI"
      local copy = assert(dbi.Connect("SQLite3", d.path))
      local stmt = assert(copy:prepare "SELECT COUNT(*) AS n FROM event")
      stmt:execute()
      lu.assertEquals(stmt:fetch(true).n, 10)
      stmt:close()
      copy:close()
   end)
end

function tests.test_a_damaged_page_is_seen_and_told()
   with_store(function(ask, h, j, path, told)
      add(j, 1, 300, 1)
      lu.assertEquals(#ask { what = "check" }.wrong, 0)
      lu.assertEquals({ h:state().damage, #told }, { nil, 0 })
      ask { what = "vacuum" } -- what is in the journal goes into the file
      local size = sys.stat(path).size
      local f = assert(io.open(path, "r+b"))
      f:seek("set", size // 2 // 4096 * 4096)
      f:write(("\xa5"):rep(8192))
      f:close()
      lu.assertTrue(#ask { what = "check" }.wrong > 0)
      lu.assertNotNil(h:state().damage)
      lu.assertEquals({ #told, told[1].event, told[1].state }, { 1, "database", "damaged" })
   end)
end

-- `taut explain` and `taut events` failed, and `taut status` had nothing to say until the night.
function tests.test_damage_is_seen_when_a_question_meets_it()
   with_store(function(ask, h, j, path, told)
      add(j, 1, 300, 1)
      h:start()
      looptest.until_true(function() return h:state().checked_at end, LIMIT_MS)
      ask { what = "vacuum" }
      local f = assert(io.open(path, "r+b"))
      f:seek("set", 2 * 4096) -- but for the list of tables
      f:write(("\xa5"):rep(sys.stat(path).size - 2 * 4096))
      f:close()
      lu.assertNil(h:state().damage)
      local answered, err
      j:query("events_of_job", { job = 7 }, function(_, why) answered, err = true, why end)
      looptest.until_true(function() return answered and h:state().damage end, LIMIT_MS)
      lu.assertStrContains(err, "malformed")
      lu.assertEquals({ #told, told[1].state }, { 1, "damaged" })
   end)
end

function tests.test_a_file_of_which_nothing_can_be_opened_is_damaged()
   with_store(function(ask, h, _, path)
      ask { what = "vacuum" }
      for _, name in ipairs { path .. "-wal", path .. "-shm" } do
         os.remove(name)
      end
      local f = assert(io.open(path, "r+b"))
      f:write(("\xa5"):rep(8192))
      f:close()
      lu.assertStrContains(ask { what = "check" }.wrong[1], "not a database")
      lu.assertNotNil(h:state().damage)
   end)
end

function tests.test_one_thing_at_a_time()
   with_store(function(ask, h)
      local first
      h:check(function() first = true end)
      local _, err = ask { what = "size" }
      lu.assertStrContains(err, "check is under way")
      looptest.until_true(function() return first end, LIMIT_MS)
      lu.assertNotNil((ask { what = "size" }))
   end)
end

return tests
