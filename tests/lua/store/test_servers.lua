-- time limit: 600 s
-- SPDX-License-Identifier: GPL-2.0-or-later
-- The store on real servers, which the test starts: all that is asked of SQLite, and what happens
-- while they are away.
local address = require "taut.store.address"
local cases = dofile((os.getenv "TAUT_SRCDIR" or ".") .. "/tests/lua/store/test_store.lua")
local housekeeping = require "taut.store.housekeeping"
local journal = require "taut.store.journal"
local looptest = require "lib.looptest"
local lu = require "luaunit"
local servers = require "lib.servers"
local sys = require "taut.sys"

local tests = {}

local KINDS = { "postgresql", "mysql" }
local LIMIT_MS = 60000

-- Each test of test_store.lua that is not about SQLite's own files.
for name, fn in pairs(cases) do
   if name:find "^test_" and not name:find "version_1" and not name:find "commit_that_fails" and
      not name:find "cannot_be_stored" and not name:find "existing_database" then
      for _, kind in ipairs(KINDS) do
         tests[name .. "_" .. kind] = function()
            cases.path = servers.shared(kind):database()
            cases.setUp()
            fn()
            cases.tearDown()
         end
      end
   end
end

local function each_kind(name, fn)
   for _, kind in ipairs(KINDS) do
      tests[name .. "_" .. kind] = function()
         local s = servers.shared(kind)
         local folder <close> = looptest.folder()
         local run = os.getenv "LOUD" and function(f) f() end or looptest.quietly
         run(function() fn(s, s:database(), folder.path .. "/queue") end)
      end
   end
end

local function start(url, folder, most)
   local open
   local j = journal.start({ sys.paths.program, "--daemon", "--store", url },
      function() open = true end, { folder = folder, most = most,
         write_ms = 2000, retry_ms = 100, again_ms = 200, -- a test has no time
         argv = { sys.paths.program, "--daemon", "--queue" } })
   return j, function() return open end
end

local function stop(j)
   local stopped
   j:stop(function() stopped = true end)
   looptest.until_true(function() return stopped end, LIMIT_MS)
end

-- What fn, called with a function that takes its answer, answers.
local function wait(fn)
   local answer
   fn(function(...) answer = table.pack(...) end)
   looptest.until_true(function() return answer end, LIMIT_MS)
   return table.unpack(answer, 1, answer.n)
end

local function confirm(j)
   return wait(function(take) j:confirm(take) end)
end

local function rows_of(j, name, args)
   return wait(function(take) j:query(name, args or {}, take) end)
end

local function events(j, first, last)
   for i = first, last do
      j:add("event", { id = i, time = i, purpose = "prolog", job = 7 })
      j:add("verdict", { time = i, component = "c", was = "ok", state = "slow", evidence = "{}" })
   end
end

-- The ids that are stored, and how many verdicts: each once, in order.
local function stored(j)
   local ids = {}
   for i, row in ipairs(rows_of(j, "events_of_job", { job = 7 })) do
      ids[i] = row.id
   end
   return ids, #rows_of(j, "verdicts_of", { component = "c", limit = 10000 })
end

local function assert_all(j, n)
   local ids, verdicts = stored(j)
   lu.assertEquals({ #ids, ids[1], ids[#ids], verdicts }, { n, 1, n, n })
end

each_kind("test_nothing_is_lost_while_it_is_killed_and_comes_back", function(s, url, folder)
   local j, is_open = start(url, folder)
   looptest.until_true(is_open, LIMIT_MS)
   events(j, 1, 10)
   lu.assertTrue(confirm(j))
   s:kill()
   events(j, 11, 300)
   lu.assertTrue(confirm(j)) -- on disk is stored
   looptest.until_true(function() return j:state().away end, LIMIT_MS)
   local state = j:state()
   lu.assertEquals({ state.error, state.lost, state.waiting }, { nil, 0, 0 })
   lu.assertTrue(state.queued.rows >= 580)
   lu.assertNil((rows_of(j, "settings")))
   s:start()
   looptest.until_true(function() return j:state().queued.rows == 0 and not j:state().away end,
      LIMIT_MS)
   assert_all(j, 300)
   stop(j)
end)

each_kind("test_what_waits_outlives_tautd_and_comes_first", function(s, url, folder)
   local j, is_open = start(url, folder)
   looptest.until_true(is_open, LIMIT_MS)
   s:kill()
   events(j, 1, 20)
   lu.assertTrue(confirm(j))
   stop(j)
   -- one that starts without a server keeps its rows, too
   j, is_open = start(url, folder)
   events(j, 21, 40)
   lu.assertTrue(confirm(j))
   lu.assertNil(is_open())
   s:start()
   looptest.until_true(is_open, LIMIT_MS)
   assert_all(j, 40)
   stop(j)
end)

each_kind("test_one_that_stands_still_holds_nobody_up", function(s, url, folder)
   local j, is_open = start(url, folder)
   looptest.until_true(is_open, LIMIT_MS)
   s:freeze(true)
   events(j, 1, 10)
   local ok = confirm(j)
   s:freeze(false)
   lu.assertTrue(ok)
   looptest.until_true(function() return j.is_open and j:state().queued.rows == 0 end, LIMIT_MS)
   assert_all(j, 10)
   stop(j)
end)

each_kind("test_a_row_that_is_refused_is_set_aside", function(s, url, folder)
   local j, is_open = start(url, folder)
   looptest.until_true(is_open, LIMIT_MS)
   events(j, 1, 2)
   j:add("event", { id = 99, purpose = "without a time" })
   events(j, 3, 4)
   lu.assertTrue(confirm(j))
   looptest.until_true(function() return j:state().queued.refused == 1 end, LIMIT_MS)
   assert_all(j, 4)
   local file <close> = assert(io.open(folder .. "/refused.rows"))
   lu.assertStrContains(file:read "a", "without a time")
   stop(j)
   lu.assertNotNil(s)
end)

each_kind("test_the_disk_takes_so_much_and_no_more", function(s, url, folder)
   local j, is_open = start(url, folder, 20000)
   looptest.until_true(is_open, LIMIT_MS)
   s:kill()
   events(j, 1, 200)
   local ok, why = confirm(j)
   lu.assertNil(ok)
   lu.assertStrContains(why, "is full")
   lu.assertEquals(j:state().lost, 0) -- in memory
   s:start()
   looptest.until_true(function() return j.is_open and j:state().queued.rows == 0 and
      j:state().waiting == 0 end, LIMIT_MS)
   assert_all(j, 200)
   stop(j)
end)

each_kind("test_a_second_tautd_is_refused", function(_, url, folder)
   local j, is_open = start(url, folder)
   looptest.until_true(is_open, LIMIT_MS)
   local other = start(url, folder .. "2")
   looptest.until_true(function() return other.store.down end, LIMIT_MS)
   lu.assertStrContains(other:state().away, "another tautd has it")
   stop(other)
   stop(j)
end)

each_kind("test_a_database_of_somebody_else_is_refused", function(_, url, folder)
   local a = assert(address.parse(url))
   local dialect = require("taut.store.dialects")[a.kind]
   local conn = assert(dialect.connect(require "DBI", a))
   conn:autocommit(true)
   local stmt = assert(conn:prepare "CREATE TABLE theirs (a INTEGER)")
   assert(stmt:execute())
   stmt:close()
   conn:close()
   local j = start(url, folder)
   looptest.until_true(function() return j.store.down end, LIMIT_MS)
   lu.assertStrContains(j.store.down, "none of them is Taut's")
   stop(j)
end)

each_kind("test_values_come_back_as_they_were", function(_, url, folder)
   local j, is_open = start(url, folder)
   looptest.until_true(is_open, LIMIT_MS)
   local big, text = 1763000000123, ("x"):rep(200000) .. "ü'\"\\"
   j:add("event", { id = big, time = 1763000000.123, purpose = "prolog", job = 7, uid = -1,
      note = text })
   j:add("event", { id = 1, time = 1, purpose = "prolog", tests = 3 })
   j:add("job", { id = 1 << 40, restart = 0, time = 1.5, user = "u", name = ("n"):rep(300),
      partition = "p", nodes = 3.0, share = 0.1 })
   lu.assertTrue(confirm(j))
   local e = rows_of(j, "events_of_job", { job = 7 })[1]
   lu.assertEquals({ e.id, e.time, e.uid, e.note, e.tests }, { big, 1763000000.123, -1, text, nil })
   lu.assertEquals(math.type(e.id), "integer")
   local job = rows_of(j, "jobs_of_profile", { user = "u", limit = 1 })[1]
   lu.assertEquals({ job.id, job.partition, job.nodes, job.share }, { 1 << 40, "p", 3, 0.1 })
   lu.assertEquals(rows_of(j, "profiles", {})[1].user, "u")
   local days = rows_of(j, "day", { from = 0, to = 2e9 })
   lu.assertEquals({ days[1].purpose, days[1].checks }, { "prolog", 2 })
   lu.assertEquals(rows_of(j, "discarded", { since = 0 }), {})
   lu.assertEquals(rows_of(j, "unsteered_like", {}), {})
   stop(j)
end)

each_kind("test_it_is_looked_after", function(_, url, folder)
   local j, is_open = start(url, folder)
   looptest.until_true(is_open, LIMIT_MS)
   events(j, 1, 100)
   lu.assertTrue(confirm(j))
   local h = housekeeping.new { journal = j, site = { conf = { keep_days = 30, keep = {} } },
      argv = { sys.paths.program, "--daemon", "--db", url } }
   local function ask(args)
      return wait(function(take) h:answer(args, take) end)
   end
   lu.assertEquals(#ask { what = "check" }.wrong, 0)
   lu.assertEquals(ask { what = "prune" }, { pruned = true })
   for _, t in ipairs(ask { what = "size" }.tables) do
      lu.assertEquals(t.rows, ({ setting = t.rows, verdict = 100 })[t.name] or 0, t.name)
      lu.assertTrue(t.bytes >= 0)
   end
   lu.assertTrue(ask { what = "vacuum" }.after > 0)
   local _, err = ask { what = "backup", path = folder .. "/copy" }
   lu.assertStrContains(err, "pg_dump, mariadb-dump")
   stop(j)
end)

-- The password comes from its file, and is in no message, whatever is wrong with it.
for _, kind in ipairs(KINDS) do
   tests["test_a_password_opens_it_and_a_wrong_one_is_not_told_" .. kind] = function()
      local s = servers.shared(kind)
      local folder <close> = looptest.folder()
      local file = folder.path .. "/password"
      local url = ("%s&password_file=%s"):format(s:guest("keeper", "right word"), file)
      local function tell(text)
         local f = assert(io.open(file, "w"))
         f:write(text)
         f:close()
      end
      local function try()
         local pipe = io.popen(("%s --daemon --store '%s' 2>&1 </dev/null"):format(
            sys.paths.program, url))
         local said = pipe:read "a"
         pipe:close()
         return said
      end
      tell "right word\nnothing of this\n"
      local said = try()
      lu.assertStrContains(said, '"ready":true', false, "it does not open: " .. said)
      tell "wrong word\n"
      said = try()
      lu.assertStrContains(said, '"fatal"')
      lu.assertNotStrContains(said, "wrong word")
      tell "\n"
      lu.assertStrContains(try(), "its first line is empty")
      os.remove(file)
      lu.assertStrContains(try(), "No such file")
   end
end

tests.test_zzz_the_end = servers.close_shared -- the last of all

return tests
