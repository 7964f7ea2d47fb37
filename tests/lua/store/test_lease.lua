-- time limit: 600 s
-- SPDX-License-Identifier: GPL-2.0-or-later
-- Of several tautd with one database one acts, on real servers: who takes the lease when, what an
-- older one may still write, and whose connection ends.
local journal = require "taut.store.journal"
local lease = require "taut.store.lease"
local looptest = require "lib.looptest"
local loop = require "taut.loop"
local lu = require "luaunit"
local servers = require "lib.servers"
local sys = require "taut.sys"

local tests = {}

local LIMIT_MS = 60000

local function each_kind(name, fn)
   for _, kind in ipairs { "postgresql", "mysql" } do
      tests[name .. "_" .. kind] = function()
         local s = servers.shared(kind)
         looptest.quietly(function() fn(s, s:database()) end)
      end
   end
end

-- One that wants the lease; `events` is what it was told: "held 1", "lost 2" …
local function start(url, host, events)
   local l
   l = lease.start { host = host, argv = { sys.paths.program, "--daemon", "--lease", url },
      held = function(token) events[#events + 1] = ("%s held %d"):format(host, token) end,
      lost = function(row) events[#events + 1] = ("%s lost %d"):format(host, row.token) end }
   return l
end

local function wait_for(done) looptest.until_true(done, LIMIT_MS) end

-- As a process that is gone: its helper ends, and it asks no more.
local function kill(l)
   l.is_ended = true
   l.helper:stop()
end

local function give_up(l)
   local done
   l:offer("*", function() done = true end)
   wait_for(function() return done end)
   l.helper:stop()
end

each_kind("test_one_of_two_has_it_and_the_other_takes_it_when_that_is_gone", function(_, url)
   local events = {}
   local a = start(url, "a", events)
   wait_for(function() return a:until_ns() end)
   local b = start(url, "b", events)
   wait_for(function() return b:state().host == "a" and a:state().waiting == "b" end)
   looptest.pass(4000) -- longer than the life of a lease without renewal
   lu.assertEquals(events, { "a held 1" })
   lu.assertNil(b:until_ns())
   kill(a)
   local both = loop.every(1, function()
      lu.assertFalse(a:until_ns() ~= nil and b:until_ns() ~= nil)
   end)
   wait_for(function() return b:until_ns() end)
   both:cancel()
   lu.assertEquals(events, { "a held 1", "b held 2" })
   give_up(b)
end)

each_kind("test_who_could_not_renew_goes_on_where_nobody_took_it", function(s, url)
   local events = {}
   local a = start(url, "a", events)
   wait_for(function() return a:until_ns() end)
   s:freeze(true)
   wait_for(function() return not a:until_ns() end)
   lu.assertNil(a:state().host)
   wait_for(function() return a:state().error end)
   s:freeze(false)
   wait_for(function() return a:until_ns() end)
   lu.assertEquals(events, { "a held 1" })
   give_up(a)
end)

each_kind("test_who_could_not_renew_is_told_that_another_one_took_it", function(_, url)
   local events = {}
   local a = start(url, "a", events)
   wait_for(function() return a:until_ns() end)
   local ask = a.helper.ask
   a.helper.ask = function(_, _, fn) fn(nil, "cut") end
   local b = start(url, "b", events)
   wait_for(function() return b:until_ns() end)
   lu.assertNil(a:until_ns())
   a.helper.ask = ask
   wait_for(function() return events[3] end)
   lu.assertEquals(events, { "a held 1", "b held 2", "a lost 2" })
   kill(a)
   give_up(b)
end)

each_kind("test_it_is_handed_to_a_host_and_to_anybody", function(_, url)
   local events = {}
   local a = start(url, "a", events)
   wait_for(function() return a:until_ns() end)
   local b, c = start(url, "b", events), start(url, "c.site", events)
   wait_for(function() return b.row and c.row end)
   a:offer("c", function() end)
   wait_for(function() return c:until_ns() end)
   c:offer("*", function() end)
   wait_for(function() return b:until_ns() end)
   lu.assertEquals(events, { "a held 1", "c.site held 2", "b held 3" })
   kill(a)
   kill(c)
   give_up(b)
end)

---------------------------------------------------------------- writing

local function open(url, token, folder)
   local is_open
   local j = journal.start({ sys.paths.program, "--daemon", "--store", url, "--token",
      tostring(token) }, function() is_open = true end, { folder = folder, token = token,
      retry_ms = 100, again_ms = 200, argv = { sys.paths.program, "--daemon", "--queue" } })
   return j, function() return is_open end
end

local function stop(j)
   local stopped
   j:stop(function() stopped = true end)
   wait_for(function() return stopped end)
end

local function add(j, n)
   j:add("action", { time = n, node = "n1", action = "drain", who = "taut", result = "done" })
   j:add("setting", { name = "brakes", value = "of " .. n })
   j:add("drained", { node = "n" .. n, data = "{}" })
   j:add("event", { id = n, time = n, purpose = "prolog", job = 7 })
end

local function rows_of(j, name, args)
   local got
   j:query(name, args or {}, function(rows, err) got = { rows, err } end)
   wait_for(function() return got end)
   return got[1]
end

-- "actions with their tokens; nodes drained; brakes; events"
local function stored(j)
   local out, brakes = { {}, {} }, nil
   for _, a in ipairs(rows_of(j, "actions_of", { node = "n1", limit = 10 })) do
      table.insert(out[1], 1, ("%d by %d"):format(a.time // 1 | 0, a.token or 0))
   end
   for _, d in ipairs(rows_of(j, "drained")) do
      table.insert(out[2], d.node)
   end
   table.sort(out[2])
   for _, s in ipairs(rows_of(j, "settings")) do
      brakes = s.name == "brakes" and s.value or brakes
   end
   return ("%s; %s; %s; %d events"):format(table.concat(out[1], ", "),
      table.concat(out[2], " "), brakes, #rows_of(j, "events_of_job", { job = 7 }))
end

each_kind("test_under_an_older_token_only_what_was_seen_is_taken", function(s, url)
   local folder <close> = looptest.folder()
   local events = {}
   local a = start(url, "a", events)
   wait_for(function() return a:until_ns() end)
   local j, is_open = open(url, 1, folder.path .. "/a")
   wait_for(is_open)
   add(j, 1)
   local ok
   j:confirm(function(...) ok = { ... } end)
   wait_for(function() return ok end)
   lu.assertEquals(ok, { true })
   lu.assertEquals(stored(j), "1 by 1; n1; of 1; 1 events")
   -- the server is away: rows wait on this host's disk, and that is said
   s:kill()
   ok = nil
   add(j, 2)
   j:confirm(function(...) ok = { ... } end)
   wait_for(function() return ok end)
   lu.assertNil(ok[1])
   lu.assertStrContains(ok[2], "the database is away")
   stop(j)
   kill(a)
   s:start()
   -- another host's takes over, and says other things
   local b = start(url, "b", events)
   wait_for(function() return b:until_ns() end)
   j, is_open = open(url, 2, folder.path .. "/b")
   wait_for(is_open)
   add(j, 3)
   stop(j)
   give_up(b)
   -- and the first one again, with what waited on its disk
   a = start(url, "a", events)
   wait_for(function() return a:until_ns() end)
   j, is_open = open(url, 3, folder.path .. "/a")
   wait_for(is_open)
   lu.assertEquals(stored(j), "1 by 1, 3 by 2, 2 by 1; n1 n3; of 3; 3 events")
   lu.assertEquals(events, { "a held 1", "b held 2", "a held 3" })
   stop(j)
   give_up(a)
end)

each_kind("test_whoever_takes_over_ends_the_connection_of_the_one_before", function(_, url)
   local folder <close> = looptest.folder()
   local events = {}
   local a = start(url, "a", events)
   wait_for(function() return a:until_ns() end)
   local first, is_open = open(url, 1, folder.path .. "/a")
   wait_for(is_open)
   kill(a)
   local b = start(url, "b", events)
   wait_for(function() return b:until_ns() end)
   local second
   second, is_open = open(url, 2, folder.path .. "/b")
   wait_for(is_open)
   add(second, 1)
   add(first, 2)
   -- its store finds the lease over, and what it has waits on its disk
   wait_for(function() return (first.store.down or ""):find "lease 1 has ended" end)
   lu.assertEquals(stored(second), "1 by 2; n1; of 1; 1 events")
   stop(first)
   stop(second)
   give_up(b)
end)

function tests.test_names_of_hosts()
   lu.assertTrue(lease.is_host("ctl1", "ctl1.site.org"))
   lu.assertTrue(lease.is_host("ctl1.site.org", "ctl1"))
   lu.assertFalse(lease.is_host("ctl1", "ctl11"))
   lu.assertFalse(lease.is_host("", "ctl1"))
end

tests.test_zzz_the_end = servers.close_shared -- the last of all

return tests
