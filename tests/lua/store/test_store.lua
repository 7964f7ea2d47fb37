-- SPDX-License-Identifier: GPL-2.0-or-later
-- The store as tautd runs it: a process of its own, a real database, JSON lines.
local db = require "taut.store.db"
local helper = require "taut.base.helper"
local journal = require "taut.store.journal"
local json = require "taut.json"
local loop = require "taut.loop"
local lu = require "luaunit"
local migrate = require "taut.store.migrate"
local schema = require "taut.store.schema"
local sys = require "taut.sys"
local waiting = require "taut.store.waiting"
local told = require "lib.told"

local tests = {}
local folder, path

local start_argv

local function start(on_ready)
   return journal.start(start_argv or { sys.paths.program, "--daemon", "--store", path }, on_ready)
end

-- Run body(journal, done) in the loop; fails after 20 s.
local function with_store(body)
   local failed
   local j
   local late = loop.timer(20000, function()
      loop.stop()
      failed = "the store took more than 20 s"
   end)
   j = start(function()
      local ok, err = xpcall(body, debug.traceback, j, function()
         late:cancel()
         j:stop(loop.stop)
      end)
      if not ok then
         failed = err
         loop.stop()
      end
   end)
   loop.run()
   late:cancel()
   if failed then
      error(failed, 0)
   end
end

-- Ask, and check in the callback; errors of it reach luaunit.
local function ask(j, name, args, fn)
   j:flush()
   j:query(name, args, function(rows, err)
      local ok, why = xpcall(fn, debug.traceback, rows, err)
      if not ok then
         tests.failure = why
         loop.stop()
      end
   end)
end

-- Each audit: id, and route → { bandwidth, class }.
local function add_audit(j, id, list)
   j:add("event", { id = id, time = id, purpose = id == 9 and "prolog" or "audit", tests = #list })
   for i, r in ipairs(list) do
      j:add("test", { id = 100 * id + i, event = id, time = id, src = "a", dst = "b", route = r[1],
         kind = r[4] or "audit E", bw_Bps = r[2], class = r[3] or "good" })
   end
end

-- What a replay and the log of actions ask for.
function tests.test_actions_and_verdicts_in_pages()
   with_store(function(j, done)
      for i = 1, 5 do
         j:add("verdict", { time = 100 + i, component = "c" .. i % 2, was = "ok", state = "slow",
            evidence = "{}" })
         j:add("action", { time = 100 + i, node = "n" .. i % 2, action = i == 3 and "repaired"
            or "drain", who = "taut", result = "done", component = "c1", evidence = "{}" })
      end
      ask(j, "verdicts_from", { since = 102, after = 0, limit = 2 }, function(rows)
         lu.assertEquals({ #rows, rows[1].time, rows[2].time }, { 2, 102, 103 })
         ask(j, "verdicts_from", { since = 102, after = rows[2].id, limit = 9 }, function(more)
            lu.assertEquals({ #more, more[1].time }, { 2, 104 })
         end)
      end)
      ask(j, "verdicts_before", { since = 104, after = "", limit = 9 }, function(rows)
         lu.assertEquals({ #rows, rows[1].component, rows[1].time, rows[2].time }, { 2, "c0", 102,
            103 })
      end)
      ask(j, "verdicts_before", { since = 104, after = "c0", limit = 9 }, function(rows)
         lu.assertEquals({ #rows, rows[1].component }, { 1, "c1" })
      end)
      ask(j, "drains", { since = 102 }, function(rows)
         lu.assertEquals({ #rows, rows[1].time, rows[3].action }, { 4, 105, "repaired" })
      end)
      ask(j, "log", { since = 0, node = "n1", component = "", limit = 2 }, function(rows)
         lu.assertEquals({ #rows, rows[1].time, rows[1].component }, { 2, 105, "c1" })
      end)
      ask(j, "log", { since = 0, node = "", component = "c9", limit = 2 }, function(rows)
         lu.assertEquals(rows, {})
         done()
      end)
   end)
   lu.assertNil(tests.failure)
end

function tests.test_an_audit_that_came_to_nothing_hides_no_other()
   with_store(function(j, done)
      add_audit(j, 1, { { "r1", 10 }, { "r2", 20 }, { "r3", 30, "void" }, { "r4", 5, nil,
         "audit G" } })
      add_audit(j, 2, { { "r1", 11 }, { "r1", 12, "low" }, { "r2", 0, "void" },
         { "r1", 99, nil, "audit S" } })
      add_audit(j, 3, {})
      add_audit(j, 9, { { "r1", 7 } })
      ask(j, "last_audit", {}, function(rows)
         local got = {}
         for i, r in ipairs(rows) do
            got[i] = ("%s %d %d %s"):format(r.route, r.bw_Bps, r.event, r.kind)
         end
         lu.assertEquals(got, { "r2 20 1 audit E", "r4 5 1 audit G", "r1 12 2 audit E" })
         done()
      end)
   end)
   lu.assertNil(tests.failure)
end

function tests.setUp()
   folder = io.popen("mktemp -d"):read "l"
   path = tests.path or folder .. "/taut.db" -- an address: test_servers.lua
   tests.failure, start_argv = nil, nil
   sys.log_to_stderr(true)
end

function tests.tearDown()
   os.execute("chmod 755 " .. folder .. " && rm -rf " .. folder)
   if tests.failure then
      error(tests.failure, 0)
   end
end

local function test_row(id, src, dst)
   return { id = id, event = 1, time = 100.5, src = src, dst = dst,
      route = src .. "/tx r0/X+ " .. dst .. "/rx", streams = 1, expected_Bps = 24e6,
      bw_Bps = 6e6, ratio = 0.25, class = "low" }
end

function tests.test_rows_written_come_back_after_a_restart()
   with_store(function(j, done)
      j:add("event", { id = 1, time = 100, purpose = "prolog", job = 7, nodes = "n[0-1]" })
      j:add("test", test_row(1, "n0", "n1"))
      j:add("component", { name = "n0/tx", data = "{}" })
      j:add("setting", { name = "mode", value = "enable" })
      done()
   end)
   with_store(function(j, done)
      ask(j, "tests_of_job", { job = 7, limit = 10 }, function(rows)
         lu.assertEquals(#rows, 1)
         lu.assertEquals(rows[1].src, "n0")
         lu.assertEquals(rows[1].ratio, 0.25)
      end)
      ask(j, "tests_of_component", { component = "r0/X+", since = 0, limit = 10 },
         function(rows) lu.assertEquals(#rows, 1) end)
      ask(j, "tests_of_component", { component = "r0/X", since = 0, limit = 10 },
         function(rows) lu.assertEquals(#rows, 0) end)
      ask(j, "tests_of_node", { node = "n1", limit = 10 },
         function(rows) lu.assertEquals(#rows, 1) end)
      ask(j, "last_ids", {}, function(rows)
         lu.assertEquals(rows[1].event, 1)
         lu.assertEquals(rows[1].test, 1)
         done()
      end)
   end)
end

-- Past bug: while other rows were being written, what was asked for found nothing.
function tests.test_what_is_asked_after_a_flush_is_found_while_others_are_written()
   with_store(function(j, done)
      j:add("event", { id = 1, time = 100, purpose = "prolog", job = 7, nodes = "n[0-1]" })
      j:flush()
      j:add("event", { id = 2, time = 101, purpose = "prolog", job = 8, nodes = "n[0-1]" })
      local order = {}
      for _, job in ipairs { 8, 7 } do
         ask(j, "events_of_job", { job = job }, function(rows)
            lu.assertEquals(#rows, 1)
            order[#order + 1] = job
            if #order == 2 then
               lu.assertEquals(order, { 8, 7 })
               done()
            end
         end)
      end
   end)
end

local function sample(purpose, time, boot, counters)
   return { job = 7, restart = 0, node = "n0", purpose = purpose, time = time, boot = boot,
      counters = next(counters) and told.text { counters } or "" }
end

-- Two jobs on one node, whose prologs and epilogs cross.
function tests.test_growth_is_found_where_other_readings_came_in_between()
   with_store(function(j, done)
      local function of(job, purpose, time, counters)
         counters["if"] = "hsn0"
         local row = sample(purpose, time, "a", counters)
         row.job = job
         return row
      end
      j:add("sample", of(7, "prolog", 10, { tx_bytes = 100 }))
      j:add("sample", of(8, "prolog", 20, { tx_bytes = 300 }))
      j:add("sample", of(0, "idle", 30, { tx_bytes = 350 }))
      j:add("sample", of(8, "epilog", 40, { tx_bytes = 450 }))
      j:add("sample", of(7, "epilog", 50, { tx_bytes = 1000 }))
      local grown = {}
      ask(j, "usage_of_job", { job = 7 }, function(rows)
         lu.assertEquals(rows[1].nodes, { { node = "n0", seconds = 40, sent = 900, received = 0 } })
         lu.assertEquals(rows[1].summary.sent, 900)
      end)
      ask(j, "usage_of_job", { job = 9 }, function(rows)
         lu.assertEquals(rows, { { nodes = {} } })
      end)
      for _, job in ipairs { 7, 8 } do
         ask(j, "growth_of_job", { job = job }, function(rows)
            lu.assertEquals(#rows, 1)
            grown[#grown + 1] = { json.decode(rows[1].counters).tx_bytes, rows[1].seconds }
            if job == 8 then
               lu.assertEquals(grown, { { 900, 40 }, { 150, 20 } })
               done()
            end
         end)
      end
   end)
end

-- The store has the reading before at hand; what a batch that failed made of it is not what the
-- database has.
function tests.test_growth_is_from_what_was_written_not_from_a_batch_that_failed()
   local store, replies = nil, {}
   local function of(job, purpose, time, bytes)
      local row = sample(purpose, time, "a", { ["if"] = "hsn0", tx_bytes = bytes })
      row.job = job
      return { "sample", row }
   end
   local function write(...)
      store:ask({ op = "write", rows = { ... } }, function(reply)
         replies[#replies + 1] = reply and #reply.observations or "failed"
      end)
   end
   store = helper.start { name = "store", argv = { sys.paths.program, "--daemon", "--store", path },
      on_ready = function()
         write(of(7, "prolog", 10, 100))
         write(of(8, "prolog", 20, 5000), { "nothing", {} })
         write(of(7, "epilog", 30, 1000))
         store:ask({ op = "query", name = "growth_of_job", args = { job = 7 } }, function(reply)
            replies.grown = tostring(reply and reply.rows[1] and reply.rows[1].counters)
            store:stop()
            loop.stop()
         end)
      end }
   loop.run()
   lu.assertEquals(replies, { 0, "failed", 0, grown = '{"tx_bytes":900}' })
end

-- Of one transaction only the last reading of a node is written: the next one, by another process,
-- is held against it.
function tests.test_a_nodes_last_reading_of_a_batch_is_what_the_next_is_held_against()
   with_store(function(j, done)
      j:add("sample", sample("idle", 10, "a", { ["if"] = "hsn0", tx_bytes = 1 }))
      j:add("sample", sample("prolog", 20, "a", { ["if"] = "hsn0", tx_bytes = 5 }))
      done()
   end)
   with_store(function(j, done)
      j:add("sample", sample("epilog", 30, "a", { ["if"] = "hsn0", tx_bytes = 9 }))
      ask(j, "growth_of_job", { job = 7 }, function(rows)
         lu.assertEquals(json.decode(rows[1].counters), { tx_bytes = 4 })
         done()
      end)
   end)
end

-- A node that is renamed in a batch keeps its reading of that batch.
function tests.test_a_reading_goes_with_the_name_of_its_node()
   with_store(function(j, done)
      local epilog = sample("epilog", 20, "a", { ["if"] = "hsn0", tx_bytes = 7 })
      j:add("sample", sample("prolog", 10, "a", { ["if"] = "hsn0", tx_bytes = 5 }))
      j:add("renamed", { old = epilog.node, new = "other" })
      epilog.node = "other"
      j:add("sample", epilog)
      ask(j, "growth_of_job", { job = 7 }, function(rows)
         lu.assertEquals({ rows[1].node, json.decode(rows[1].counters) },
            { "other", { tx_bytes = 2 } })
         done()
      end)
   end)
end

-- What a prolog could not read is not counted from an older reading.
function tests.test_an_interface_that_the_prolog_did_not_read_has_not_grown()
   with_store(function(j, done)
      local function of(purpose, time, names)
         local row = sample(purpose, time, "a", {})
         local lines = {}
         for name, bytes in pairs(names) do
            lines[#lines + 1] = ("ib %s port_xmit_data=%d"):format(name, bytes)
         end
         row.counters = table.concat(lines, "\n")
         return row
      end
      j:add("sample", of("idle", 10, { ["ib0:1"] = 1, ["ib1:1"] = 1 }))
      j:add("sample", of("prolog", 20, { ["ib0:1"] = 5 }))
      j:add("sample", of("epilog", 30, { ["ib0:1"] = 25, ["ib1:1"] = 70 }))
      ask(j, "growth_of_job", { job = 7 }, function(rows)
         lu.assertEquals(#rows, 1)
         lu.assertEquals({ rows[1].interface, json.decode(rows[1].counters) },
            { "ib0:1", { port_xmit_data = 20 } })
         done()
      end)
   end)
end

function tests.test_growth_is_between_prolog_and_epilog_and_never_a_reset()
   with_store(function(j, done)
      j:add("sample", sample("prolog", 10, "a", { ["if"] = "hsn0", tx_bytes = 1 << 53,
         rx_bytes = 500, rx_errors = 3, speed_Mbps = 100 }))
      j:add("sample", sample("epilog", 20, "a", { ["if"] = "hsn0", tx_bytes = (1 << 53) + 1,
         rx_bytes = 400, rx_errors = 5, speed_Mbps = 200 }))
      ask(j, "growth_of_job", { job = 7 }, function(rows)
         lu.assertEquals(#rows, 1)
         lu.assertEquals(rows[1].seconds, 10)
         -- rx_bytes fell: somebody reset it; the speed is no count
         lu.assertEquals(json.decode(rows[1].counters), { tx_bytes = 1, rx_errors = 2 })
         done()
      end)
   end)
end

-- Most of a month's database was counters that stood still, and samples nobody asks for again.
function tests.test_of_a_job_that_is_over_only_what_grew_and_its_traffic_are_kept()
   with_store(function(j, done)
      j:add("sample", sample("prolog", 10, "a", { ["if"] = "hsn0", tx_bytes = 5, rx_bytes = 1,
         rx_errors = 3, tx_errors = 2 }))
      j:add("sample", sample("epilog", 20, "a", { ["if"] = "hsn0", tx_bytes = 5, rx_bytes = 3,
         rx_errors = 3, tx_errors = 4 }))
      -- an epilog that comes twice finds nothing to be held against
      j:add("sample", sample("epilog", 30, "a", { ["if"] = "hsn0", tx_bytes = 9, rx_bytes = 9,
         rx_errors = 9, tx_errors = 9 }))
      ask(j, "growth_of_job", { job = 7 }, function(rows)
         lu.assertEquals(#rows, 1)
         lu.assertEquals(json.decode(rows[1].counters), { tx_bytes = 0, rx_bytes = 2,
            tx_errors = 2 })
         done()
      end)
   end)
end

function tests.test_a_reboot_in_between_says_nothing_but_that()
   with_store(function(j, done)
      j:add("sample", sample("prolog", 10, "a", { ["if"] = "hsn0", tx_bytes = 1 }))
      j:add("sample", sample("epilog", 20, "b", { ["if"] = "hsn0", tx_bytes = 2 }))
      ask(j, "growth_of_job", { job = 7 }, function(rows)
         lu.assertEquals(#rows, 1)
         lu.assertEquals({ rows[1].note, rows[1].counters }, { "booted", "{}" })
      end)
      ask(j, "observations", {}, function(rows)
         lu.assertEquals({ #rows, rows[1].what, rows[1].class }, { 1, "boot", "harmless" })
         done()
      end)
   end)
end

local function observation(o)
   for k, v in pairs { source = "fabric", from = 100, to = 200, scope = "link", what = "width",
      class = "degrading", text = "it's \"narrow\"", components = { "leaf3/17" }, port = "leaf3/17",
      far = "spine1/3", left = 0.25, jobs = { 7, 8 }, have = "1X", limit = nil } do
      o[k] = o[k] == nil and v or o[k]
   end
   return o
end

function tests.test_observations_are_found_by_place_job_and_time()
   with_store(function(j, done)
      j:add("observation", observation {})
      j:add("observation", observation { node = "n'1\"", components = { "n'1\"/tx" }, to = 300,
         jobs = {}, class = "harmless" })
      local function found(args, n, fn)
         ask(j, "observations", args, function(rows)
            lu.assertEquals(#rows, n, json.encode(args))
            if fn then
               fn(rows)
            end
         end)
      end
      found({ link = "leaf3/17" }, 2, function(rows)
         lu.assertEquals(rows[1].time, 300) -- the latest first
         lu.assertEquals({ rows[2].jobs, rows[2].places, rows[2].capacity_left, rows[2].text },
            { "7 8", "leaf3/17 spine1/3", 0.25, "it's \"narrow\"" })
         lu.assertEquals(json.decode(rows[2].more).have, "1X")
      end)
      found({ job = 7 }, 1)
      found({ job = 9 }, 0)
      found({ node = "n'1\"" }, 1)
      found({ node = "n' OR 1=1 --" }, 0)
      found({ since = 250 }, 1)
      found({ worse_than_harmless = true }, 1)
      found({ limit = 1 }, 1)
      ask(j, "blamed", { since = 0 }, function(rows)
         lu.assertEquals(#rows, 2)
         done()
      end)
   end)
end

function tests.test_what_samples_show_comes_back_to_tautd_once_it_is_stored()
   with_store(function(j, done)
      j.on_observations = function(list)
         lu.assertEquals({ #list, list[1].what, list[1].jobs, list[1].id }, { 1, "link_downed",
            { 7 }, 1 })
         j:add("observation_place", { observation = 1, place = "r0.0.0/X+" })
         ask(j, "observations", { link = "r0.0.0/X+" }, function(rows)
            lu.assertEquals(#rows, 1)
            done()
         end)
      end
      for i, purpose in ipairs { "prolog", "epilog" } do
         local row = sample(purpose, 10 * i, "a", { ["if"] = "hsn0", source = "ib",
            link_downed = i })
         row.jobs, row.mono, row.host_boot = { 7 }, i, "h"
         j:add("sample", row)
      end
      j:flush()
   end)
end

function tests.test_evidence_and_positions_come_back_and_go()
   with_store(function(j, done)
      j:add("evidence", { component = "n1/tx", origin = "a", data = "{}" })
      j:add("evidence", { component = "n1/tx", origin = "b", data = "{}" })
      j:add("forget_evidence", { component = "n1/tx", origin = "a" })
      j:add("log_position", { path = "/l", data = "{1}" })
      j:add("log_position", { path = "/l", data = "{2}" })
      ask(j, "evidence", {}, function(rows)
         lu.assertEquals({ #rows, rows[1].origin }, { 1, "b" })
      end)
      ask(j, "log_positions", {}, function(rows)
         lu.assertEquals({ #rows, rows[1].data }, { 1, "{2}" })
         done()
      end)
   end)
end

-- A table and a column that a later version would add, and rows that it would change; a step
-- that fails leaves all as it was.
function tests.test_an_older_database_is_taken_over()
   with_store(function(j, done)
      j:add("setting", { name = "kept", value = "yes" })
      j:add("component", { name = "n0/tx", data = "{}" })
      ask(j, "tests_of_node", { node = "a", limit = 9 }, done)
   end)
   local next_step = { [[CREATE TABLE later (name TEXT PRIMARY KEY)]],
      [[ALTER TABLE component ADD COLUMN size INTEGER]], [[UPDATE component SET size = 3]] }
   db.open(path, {})
   schema.steps[2], schema.version = { next_step[1], "ALTER TABLE nowhere ADD COLUMN x INTEGER" }, 2
   local ok, err = pcall(db.transaction, migrate.run)
   lu.assertFalse(ok)
   lu.assertStrContains(err, "nowhere")
   lu.assertEquals(db.tables().later == true, db.is_loose())
   schema.steps[2] = next_step
   lu.assertTrue(migrate.is_needed())
   db.transaction(migrate.run)
   lu.assertEquals(db.rows_of "SELECT name, size FROM component", { { name = "n0/tx", size = 3 } })
   lu.assertEquals(db.rows_of("SELECT value FROM setting WHERE name = ?", "kept")[1].value, "yes")
   lu.assertFalse(migrate.is_needed())
   schema.steps[2], schema.version = nil, 1
   lu.assertErrorMsgContains("database has schema 2, this tautd knows 1", migrate.is_needed)
   db.close()
end

local function add_job(j, id, o)
   local row = { id = id, restart = 0, time = 100 + id, user = "alice", name = "halo", nodes = 8,
      seconds = 10, begin = 90 + id, run_s = 10, share = 0.5, sent_Bps = 1e6, facts = "{}" }
   for k, v in pairs(o or {}) do
      row[k] = v
   end
   j:add("job", row)
end

-- What `taut why` asks, on each server, too.
function tests.test_what_is_kept_of_jobs_for_why()
   with_store(function(j, done)
      for id = 1, 5 do
         add_job(j, id)
      end
      add_job(j, 6, { result = "failed" })
      add_job(j, 7, { nodes = 4 })
      add_job(j, 8, { user = "bob", label = "8_1", cause = "component", lost_s = 80.5 })
      add_job(j, 9, { user = "bob", label = "8_2", lost_s = 0, time = 500, begin = 495 })
      add_job(j, 10, { user = "bob", label = "9_2", time = 90 })
      local function ids(name, args, expected)
         ask(j, name, args, function(rows)
            local list = {}
            for i, row in ipairs(rows) do
               list[i] = row.id or row.label
            end
            lu.assertEquals(list, expected, name)
         end)
      end
      ids("earlier_runs", { user = "alice", name = "halo", nodes = 8, before = 105, id = 5,
         restart = 0, limit = 3 }, { 4, 3, 2 })
      ids("earlier_runs", { user = "alice", name = "halo", nodes = 8, before = 999, id = 5,
         restart = 0, limit = 9 }, { 4, 3, 2, 1 }) -- not the one that failed
      ids("at_the_same_time", { from = 104, to = 106, till = 400, share = 0.01, id = 4, limit = 9 },
         { 5, 6, 8, 7 })
      ask(j, "counted_lately", { since = 0, before = 500, id = 4, limit = 3 },
         function(rows) lu.assertEquals(#rows, 3) end)
      ids("jobs_that_lost", { since = 0, limit = 9 }, { 8 })
      ids("tasks_of_array", { array = "8", limit = 9 }, { "8_2", "8_1" })
      ids("job_row", { id = 7 }, { 7 })
      ids("job_row", { label = "8_1" }, { 8 })
      ids("job_row", { user = "bob" }, { 9 })
      ask(j, "job_row", { id = 8 }, function(rows)
         lu.assertEquals({ rows[1].lost_s, rows[1].cause, rows[1].facts, rows[1].begin },
            { 80.5, "component", "{}", 98 })
         done()
      end)
   end)
end

function tests.test_a_bad_row_fails_its_batch_and_nothing_of_it_stays()
   with_store(function(j, done)
      j.store:ask({ op = "write", rows = { { "setting", { name = "a", value = "1" } },
         { "nonsense", {} } } }, function(_, err)
         lu.assertStrContains(err, "no table 'nonsense'")
         ask(j, "settings", {}, function(rows)
            for _, row in ipairs(rows) do
               lu.assertNotEquals(row.name, "a")
            end
            done()
         end)
      end)
   end)
end

-- A row that nothing can be made of held up all that came after it.
function tests.test_a_bad_row_goes_and_those_around_it_are_written()
   with_store(function(j, done)
      for i = 1, 9 do
         j:add(i == 5 and "nonsense" or "setting", { name = "k" .. i, value = "1" })
      end
      local function look(is_written) -- a batch on its way may still fail, and be taken apart
         if not is_written then
            return loop.timer(50, function() j:confirm(look) end)
         end
         ask(j, "settings", {}, function(rows)
            local n = 0
            for _, row in ipairs(rows) do
               n = n + (row.name:find "^k%d" and 1 or 0)
            end
            lu.assertEquals(n, 8)
            lu.assertTrue(j:state().lost <= 1) -- a server's process has set it aside
            done()
         end)
      end
      look()
   end)
end

-- It was committed, its answer was too long a line, and so it was committed again and again.
function tests.test_a_batch_whose_answer_was_lost_is_not_written_twice()
   with_store(function(j, done)
      local real, lost = j.store.ask, 0
      function j.store:ask(request, fn, ...)
         if request.op ~= "write" or lost == 3 then
            return real(self, request, fn, ...)
         end
         lost = lost + 1
         real(self, request, function() fn(nil, "store ended: exit 1") end)
      end
      for i = 1, 5 do
         j:add("action", { time = i, node = "n1", action = "drain" })
      end
      local function look()
         if j:state().waiting > 0 then
            j:flush()
            return loop.timer(50, look)
         end
         ask(j, "actions_of", { node = "n1", limit = 100 }, function(rows)
            lu.assertEquals({ #rows, lost }, { 5, 1 })
            done()
         end)
      end
      look()
   end)
end

-- The request itself was lost: the database says that it was not done, and that is no word about
-- the row.
function tests.test_a_row_whose_request_was_lost_is_written_again()
   with_store(function(j, done)
      local real, lost = j.store.ask, 0
      function j.store:ask(request, fn, ...)
         if request.op ~= "write" or lost == 2 then
            return real(self, request, fn, ...)
         end
         lost = lost + 1
         loop.timer(1, function() fn(nil, "store ended: exit 1") end)
      end
      j:add("action", { time = 1, node = "n1", action = "drain" })
      local function look()
         if j:state().waiting > 0 then
            j:flush()
            return loop.timer(50, look)
         end
         ask(j, "actions_of", { node = "n1", limit = 100 }, function(rows)
            lu.assertEquals({ #rows, lost, j:state().lost }, { 1, 2, 0 })
            done()
         end)
      end
      look()
   end)
end

-- One that no JSON has: its request never goes, and the others do.
function tests.test_a_row_that_cannot_be_sent_is_left_out_alone()
   with_store(function(j, done)
      for i = 1, 3 do
         j:add("action", { time = i == 2 and math.huge or i, node = "n1", action = "drain" })
      end
      local function look()
         if j:state().waiting > 0 then
            j:flush()
            return loop.timer(50, look)
         end
         ask(j, "actions_of", { node = "n1", limit = 100 }, function(rows)
            lu.assertEquals({ #rows, j:state().lost }, { 2, 1 })
            done()
         end)
      end
      look()
   end)
end

-- It ends the store's process each time: it may not hold up the others for ever.
function tests.test_a_row_that_is_lost_again_and_again_is_left_out()
   with_store(function(j, done)
      local real = j.store.ask
      function j.store:ask(request, fn, ...)
         for _, row in ipairs(request.op == "write" and request.rows or {}) do
            if row[2].time == 2 then
               return loop.timer(1, function() fn(nil, "store ended: exit 1") end)
            end
         end
         return real(self, request, fn, ...)
      end
      for i = 1, 3 do
         j:add("action", { time = i, node = "n1", action = "drain" })
      end
      local function look()
         if j:state().waiting > 0 then
            j:flush()
            return loop.timer(20, look)
         end
         ask(j, "actions_of", { node = "n1", limit = 100 }, function(rows)
            lu.assertEquals({ #rows, j:state().lost }, { 2, 1 })
            done()
         end)
      end
      look()
   end)
end

-- One line of more than 16 MiB ended the store's process.
function tests.test_a_long_answer_comes_in_parts()
   with_store(function(j, done)
      for i = 1, 300 do
         j:add("action", { time = i, node = "n1", action = "drain", reason = ("r"):rep(80000) })
      end
      ask(j, "actions_of", { node = "n1", limit = 1000 }, function(rows, err)
         lu.assertEquals(rows and #rows, 300, err)
         lu.assertEquals({ rows[1].time, rows[300].time, #rows[7].reason }, { 300, 1, 80000 })
         done()
      end)
   end)
end

function tests.test_what_waits_is_bounded_in_bytes_and_one_node_has_its_share()
   local w = waiting.new()
   local long = ("x"):rep(16000)
   for _ = 1, 2000 do
      w:add { "sample", { node = "n1", counters = long } }
   end
   lu.assertTrue(w.bytes < 5 << 20, w.bytes)
   lu.assertStrContains(select(2, w:add { "sample", { node = "n1", counters = long } }), "n1 has")
   lu.assertTrue(w:add { "sample", { node = "n2", counters = long } })
   for i = 1, 100000 do
      w:add { "sample", { node = "m" .. i, counters = long } }
   end
   lu.assertTrue(w.bytes < 49 << 20, w.bytes)
   lu.assertNil((w:add { "event", {} }))
   lu.assertTrue(w:add { "setting", { name = "mode", value = "drain" } })
   local count = w.count
   local rows = w:take(5000, 1 << 20)
   lu.assertTrue(#rows > 60 and #rows < 70, #rows)
   w:give_back(rows)
   lu.assertEquals({ w.count, w:take(1, 1)[1] }, { count, rows[1] })
   while w.count > 0 do
      w:take(5000, 1 << 30)
   end
   lu.assertEquals({ w.bytes, next(w.of_node) }, { 0 })
end

function tests.test_one_nodes_counters_make_so_many_events()
   with_store(function(j, done)
      local seen = 0
      j.on_observations = function(list) seen = seen + #list end
      for i = 1, 600 do
         local row = sample("idle", 10 + i / 100, "a", { ["if"] = "hsn0", source = "ib",
            link_downed = i, symbol_error = i * 1000 })
         row.jobs, row.mono, row.host_boot = {}, i / 100, "h"
         j:add("sample", row)
      end
      ask(j, "observations", { limit = 10000 }, function(rows)
         lu.assertTrue(#rows > 100 and #rows <= 257, #rows)
         done()
      end)
   end)
end

function tests.test_a_database_of_the_future_is_refused()
   with_store(function(j, done)
      j:add("setting", { name = "schema", value = "99" })
      done()
   end)
   local said
   local proc
   proc = require("taut.loop").spawn { argv = { sys.paths.program, "--daemon", "--store", path },
      on_line = function(line) said = json.decode(line) end,
      on_exit = function() loop.stop() end }
   lu.assertNotNil(proc)
   loop.run()
   lu.assertStrContains(said.error, "schema 99, this tautd knows " ..
      require("taut.store.schema").version)
end

function tests.test_old_rows_are_pruned()
   with_store(function(j, done)
      j:add("test", test_row(1, "n0", "n1"))
      local late = test_row(2, "n0", "n1")
      late.time = 1e9
      j:add("test", late)
      j:add("observation", observation {})
      j:add("observation", observation { to = 1e9 })
      j:flush()
      j:prune { test = 1e6, observation = 1e6 }
      ask(j, "tests_of_node", { node = "n0", limit = 10 }, function(rows)
         lu.assertEquals(#rows, 1)
         lu.assertEquals(rows[1].id, 2)
      end)
      ask(j, "observations", { link = "leaf3/17" }, function(rows)
         lu.assertEquals({ #rows, rows[1].time }, { 1, 1e9 })
         done()
      end)
   end)
end

-- The rows of a transaction whose COMMIT failed (a full file system) were taken for written.
function tests.test_a_commit_that_fails_is_an_error_and_the_rows_wait()
   start_argv = { "bash", "-c", "trap '' XFSZ; ulimit -f 1024; exec \"$@\"", "bash",
      sys.paths.program, "--daemon", "--store", path }
   with_store(function(j, done)
      for i = 1, 15 do
         j:add("event", { id = i, time = 100, purpose = "prolog", note = ("x"):rep(100000) })
      end
      ask(j, "events_of_job", { job = 1 }, function()
         lu.assertStrContains(j:state().error, "disk I/O error")
         lu.assertEquals(j:state().waiting, 15)
         done()
      end)
   end)
end

function tests.test_what_is_confirmed_is_in_the_database()
   with_store(function(j, done)
      j:add("setting", { name = "a", value = "1" })
      j:flush() -- under way while the next is asked for
      j:add("setting", { name = "b", value = "2" })
      local confirmed = 0
      for _ = 1, 2 do
         j:confirm(function(ok, err)
            lu.assertTrue(ok, err)
            confirmed = confirmed + 1
         end)
      end
      j:confirm(function()
         lu.assertEquals({ confirmed, j:state().waiting }, { 2, 0 })
         ask(j, "settings", {}, function(rows)
            local seen = {}
            for _, r in ipairs(rows) do
               seen[r.name] = r.value
            end
            lu.assertEquals({ seen.a, seen.b }, { "1", "2" })
            done()
         end)
      end)
   end)
end

function tests.test_what_cannot_be_stored_is_not_confirmed()
   with_store(function(j, done)
      j:add("no such table", {})
      j:confirm(function(ok, err)
         lu.assertNil(ok)
         lu.assertStrContains(err, "no table 'no such table'")
         done()
      end)
   end)
end

-- Somebody made the file, for everybody to read.
function tests.test_an_existing_database_is_for_its_user_and_group_only()
   local f = assert(io.open(path, "w"))
   f:close()
   assert(sys.chmod(path, 420)) -- 0644
   with_store(function(_, done)
      lu.assertEquals(sys.stat(path).mode, 416) -- 0640
      done()
   end)
end

return tests
