-- SPDX-License-Identifier: GPL-2.0-or-later
-- The part of tests/bench/store_scale that writes and asks: scale.lua NODE_JOBS DAYS FOLDER.
local counters = require "taut.events.counters"
local db = require "taut.store.db"
local events_kept = require "taut.events.keep"
local figure = require "figure"
local journal = require "taut.store.journal"
local json = require "taut.json"
local loop = require "taut.loop"
local make_parts = require "lib.parts".new
local queries = require "taut.store.queries"
local schema = require "taut.store.schema"
local servers = require "lib.servers"
local sys = require "taut.sys"
local units = require "kernel.units"
local why_facts = require "taut.why.facts"

local NODE_JOBS, DAYS, FOLDER = tonumber(arg[1]), tonumber(arg[2]), arg[3]
local NODES, DAY = 18688, 86400
local PARTS = 20 -- of a day; one goes through the store, all others are copies of it
local PART_S = DAY / PARTS
local SIZES = { 1, 1, 2, 2, 4, 4, 8, 8, 16, 32, 64, 128 }
local ROUNDS, WHY_ROUNDS = 9, 25

math.randomseed(tonumber(os.getenv "BENCH_SEED" or "") or 1)

local NOW = math.floor(loop.time())
local FIRST_JOB, FIRST_EVENT, FIRST_TEST = 1000000, NOW * 1000, NOW * 1000 -- as tautd begins

local has_failed = false

-- An error ends the benchmark, without figures.
local function guard(fn)
   return function(...)
      local ok, err = xpcall(fn, debug.traceback, ...)
      if not ok then
         print(err)
         has_failed = true
         loop.stop()
      end
   end
end

---------------------------------------------------------------- a day

-- A node with an InfiniBand adapter: three interfaces, all counters that the catalogue has of them.
local PORTS = { { ["if"] = "ib0", source = "netdev" },
   { ["if"] = "mlx5_0:1", source = "ib" }, { ["if"] = "mlx5_0", source = "pcie" } }

local OTHER_DRIVERS = { ib_mlx4 = true, ib_hfi1 = true, ib_others = true }
local names_of = {}
for _, p in ipairs(PORTS) do
   local list = {}
   for _, source in ipairs(counters.node[p.source]) do
      for name, entry in pairs(OTHER_DRIVERS[source] and {} or counters.sources[source].list) do
         list[#list + 1] = not entry.state and { name, entry.class } or nil
      end
   end
   table.sort(list, function(a, b) return a[1] < b[1] end)
   names_of[p.source] = list
end

-- What a node's counters are: traffic grows with each job, what is wrong hardly ever.
local function counters_of(node, job)
   local list = {}
   for i, p in ipairs(PORTS) do
      local port = { ["if"] = p["if"], source = p.source }
      for _, entry in ipairs(names_of[p.source]) do
         local traffic = entry[2] == "traffic"
         port[entry[1]] = traffic and node * 1000003 + job * 7919000017
            or (node * #entry[1]) % 7 + (job % 50 == 0 and 1 or 0)
      end
      list[i] = port
   end
   return list
end

local function route(a, b)
   local hops = { ("n%d/tx"):format(a) }
   for i = 1, 6 do
      hops[#hops + 1] = ("r%d.%d.%d/X+"):format((a + i) % 25, a % 16, b % 24)
   end
   hops[#hops + 1] = ("n%d/rx"):format(b)
   return table.concat(hops, " ")
end

local function add_tests(j, day, job, event, time)
   for i = 0, job.size - 1 do
      local a, b = job.first + i, job.first + (i + 1) % job.size
      day.test = day.test + 1
      local class = day.test % 200 == 0 and "low" or day.test % 50 == 0 and "void" or "good"
      j:add("test", { id = FIRST_TEST + day.test, event = event, time = time, src = "n" .. a,
         dst = "n" .. b, route = route(a, b), kind = "neighbour", phase = 1, streams = 1,
         expected_Bps = 6.7e9, bw_Bps = 6.512345e9, sender_Bps = 6.6123e9, ratio = 0.972,
         rtt_ns = 12345, peak = 1.034, delay_ns = 12345678, foreign_bytes = 1234, class = class,
         why = class == "void" and "foreign traffic on the port" or nil })
   end
end

local function add_samples(j, job, id, time, purpose)
   for i = 0, job.size - 1 do
      local node = job.first + i
      j:add("sample", { job = id, restart = 0, node = "n" .. node, purpose = purpose, time = time,
         mono = time - NOW + 1e6, host_boot = "h", boot = "b", rail_count = 1, jobs = { id },
         counters = counters_of(node, purpose == "epilog" and id or id - 1) })
   end
end

local function observation(day, job, time)
   day.observation = day.observation + 1
   local node = "n" .. job.first
   return { source = "node", what = "port_xmit_wait", class = "congestion", from = time - 60,
      to = time, seconds = 60, node = node, amount = 123456, unit = "ticks", scope = "node",
      text = "port_xmit_wait of mlx5_0:1 grew by 123456 in 60 s", components = { node .. "/tx" },
      jobs = { job.id } }
end

-- What `taut why` keeps of a job, as long as it is on a real machine.
local function facts_of(job)
   local bytes = 1.234e8 * 3000
   local function middle(v, n) return { median = v, spread = v / 100, out = { { n, v * 1.5 } } } end
   local node = "n" .. job.first
   return why_facts.text { nodes = ("n[%d-%d]"):format(job.first, job.first + job.size - 1),
      traffic = { told = job.size, seconds = 2999.123, sent = bytes * job.size,
         received = bytes * job.size, busiest = 1.1 * bytes, bytes = middle(2 * bytes, node),
         times = middle(2999.123, node), cpu = middle(63000.5, node), errors = 0, can_stall = true,
         stalls = { port_xmit_wait = 123456789, tx_dropped = 17, tcp_retransmitted = 1234 } },
      check = { expected = job.size, heard = job.size, tests = job.size, good = job.size, low = 0,
         void = 0 },
      bad = job.id % 20 == 0 and { { name = node .. "/tx", state = "slow", left = 0.251,
         share = 0.1,
         pairs = 9, since = NOW, known = NOW, cleared = NOW } } or nil,
      place = { pattern = "all-to-all", got = 1.234567, best = 1.123456, slurm = 1.345678,
         free = 1234, when = "start" },
      model = { name = "all-to-all", healthy = 1.234567, bad = 1.234567, others = 1.234567,
         all = 1.234567 } }
end

-- One job, from its prolog to its epilog.
local function add_job(j, day, job, time)
   day.job = day.job + 1
   job.id = FIRST_JOB + day.job
   local event = FIRST_EVENT + day.job
   j:add("event", { id = event, time = time, purpose = "prolog", job = job.id, restart = 0, uid = 0,
      nodes = ("n[%d-%d]"):format(job.first, job.first + job.size - 1), expected = job.size,
      heard = job.size, tests = job.size > 1 and job.size or 0 })
   if job.size > 1 then
      add_tests(j, day, job, event, time)
   end
   add_samples(j, job, job.id, time, "prolog")
   add_samples(j, job, job.id, time + 3000, "epilog")
   j:add("job", { id = job.id, restart = 0, time = time + 3000, user = "u" .. day.job % 200,
      name = "run" .. day.job % 40, partition = "batch", nodes = job.size, seconds = 3000,
      wait_s = 77, sent_Bps = 1.234e8, received_Bps = 1.234e8, share = 0.12, uneven = 1.2,
         begin = time,
      result = "completed", run_s = 2999.123 + math.random(), facts = facts_of(job),
      cause = day.job % 20 == 0 and "component" or nil,
      lost_s = day.job % 20 == 0 and 123.45 * job.size or nil })
   if day.job % 12 == 0 then
      j:add("observation", observation(day, job, time))
   end
   if day.job % 40 == 0 then
      local c = "n" .. job.first .. "/tx"
      j:add("verdict", { time = time, component = c, was = "suspect", state = "slow",
         evidence = '{"left":0.25,"tests":[1,2,3]}' })
      j:add("action", { time = time, node = "n" .. job.first, action = "drain", who = "taut",
         reason = "taut: tx at 25%; n1 -> n2, 1.7/6.7 GB/s, 9 of 9 tests", result = "done",
         component = c, evidence = '{"left":0.25,"tests":[1,2,3]}' })
   end
end

-- Jobs of the last part of a day, as tautd writes them.  fn(counts) when they are stored.
local function write_day(j, fn)
   local day = { job = 0, test = 0, observation = 0, node_jobs = 0 }
   local function more()
      for _ = 1, 40 do
         if day.node_jobs >= NODE_JOBS / PARTS then
            return j:confirm(guard(function(ok, err) assert(ok, err) fn(day) end))
         end
         local size = SIZES[math.random(#SIZES)]
         day.node_jobs = day.node_jobs + size
         add_job(j, day, { size = size, first = math.random(0, NODES - size) },
            NOW - PART_S + PART_S * math.min(1, day.node_jobs * PARTS / NODE_JOBS) * 0.95)
      end
      j:confirm(guard(function(ok, err) assert(ok, err) more() end))
   end
   more()
end

---------------------------------------------------------------- the days before

-- Which rows are those that were written, and what is added to a column in their copy of so many
-- parts of a day before.  Numbers of observations go up, all others down.
local function shifts(counts)
   return { event = { "id > " .. FIRST_EVENT, id = -counts.job, job = -counts.job },
      test = { "id > " .. FIRST_TEST, id = -counts.test, event = -counts.job },
      sample = { "job > " .. FIRST_JOB, job = -counts.job },
      growth = { "job > " .. FIRST_JOB, job = -counts.job },
      job = { "id > " .. FIRST_JOB, id = -counts.job },
      observation = { "id <= " .. counts.observation, id = counts.observation },
      observation_job = { "job > " .. FIRST_JOB, job = -counts.job,
         observation = counts.observation },
      observation_place = { "observation <= " .. counts.observation,
         observation = counts.observation },
      verdict = { "time > " .. NOW - PART_S }, action = { "time > " .. NOW - PART_S } }
end

local function copy_table(name, shift, parts)
   local columns, values = {}, {}
   for _, c in ipairs(name == "observation" and { "id", table.unpack(schema.columns[name]) }
      or schema.columns[name]) do
      local add = shift[c] or (c == "time" or c == "begin") and -PART_S
      columns[#columns + 1] = ('"%s"'):format(c)
      values[#values + 1] = add and ('"%s" + %d'):format(c, math.floor(parts * add))
         or ('"%s"'):format(c)
   end
   db.run(("INSERT INTO %s (%s) SELECT %s FROM %s WHERE %s"):format(name,
      table.concat(columns, ", "), table.concat(values, ", "), name, shift[1]))
end

local function copy_days(where, counts)
   assert(db.open(where))
   counts.observation = db.rows_of("SELECT MAX(id) AS n FROM observation")[1].n
   for parts = 1, DAYS * PARTS - 1 do
      db.transaction(function()
         for name, shift in pairs(shifts(counts)) do
            copy_table(name, shift, parts)
         end
      end)
   end
   if db.is_server() then
      db.run "ANALYZE"
   end
end

-- Bytes by table: array of { name, bytes, rows }, and all of them.
local function sizes()
   local list, sum = {}, 0
   for _, row in ipairs(db.rows_of(db.sizes())) do
      if schema.columns[row.name] then
         local n = db.rows_of(("SELECT COUNT(*) AS n FROM %s"):format(row.name))[1].n
         list[#list + 1] = { name = row.name, bytes = row.bytes, rows = n }
         sum = sum + row.bytes
      end
   end
   table.sort(list, function(a, b) return a.bytes > b.bytes end)
   return list, sum
end

---------------------------------------------------------------- questions

local function some_node() return "n" .. math.random(0, NODES - 1) end
local function some_job() return FIRST_JOB - math.random(0, 20 * NODE_JOBS // 30) end
local function dark(o)
   o.since, o.limit = o.since or 0, o.limit or 100
   return o
end

-- What each command asks, with its limits.
local QUESTIONS = {
   { "explain NODE", "tests_of_node", function() return { node = some_node(), limit = 200 } end },
   { "explain NODE", "actions_of", function() return { node = some_node(), limit = 20 } end },
   { "explain NODE", "verdicts_of", function()
      return { component = some_node() .. "/tx", limit = 10 }
   end },
   { "explain NODE", "observations", function() return dark { node = some_node() } end },
   { "explain LINK", "tests_of_component", function()
      return { component = "r7.5.3/X+", since = NOW - DAY, limit = 200 }
   end },
   { "explain LINK", "observations", function()
      return dark { link = some_node() .. "/tx", since = NOW - DAY }
   end },
   { "explain --job", "tests_of_job", function() return { job = some_job(), limit = 10000 } end },
   { "explain --job", "events_of_job", function() return { job = some_job() } end },
   { "explain --job", "growth_of_job", function() return { job = some_job() } end },
   { "explain --job", "observations", function() return dark { job = some_job() } end },
   { "events", "observations", function() return dark { since = NOW - DAY, limit = 1000 } end },
   { "policy log", "log", function()
      return { since = NOW - 7 * DAY, node = "", component = "", limit = 1000 }
   end },
   { "policy log -n", "log", function()
      return { since = NOW - 7 * DAY, node = some_node(), component = "", limit = 1000 }
   end },
   { "policy replay", "verdicts_from", function()
      return { since = NOW - 7 * DAY, after = 0, limit = 500 }
   end },
   { "policy replay", "verdicts_before", function()
      return { since = NOW - 7 * DAY, after = "", limit = 500 }
   end },
   { "policy replay", "actions_from", function()
      return { since = NOW - 7 * DAY, after = 0, limit = 500 }
   end },
   { "doctor", "discarded", function() return { since = NOW - DAY } end },
   { "report, a day", "day", function()
      local d = math.random(1, DAYS)
      return { from = NOW - d * DAY, to = NOW - (d - 1) * DAY }
   end },
   { "profile", "profiles", function() return { user = "u7" } end },
   { "profile, root", "profiles", function() return {} end },
   { "profile --job", "jobs_of_profile", function() return { id = some_job() } end },
   { "why --slow", "jobs_that_lost", function() return { since = NOW - 7 * DAY, limit = 50 } end },
   { "steer", "steered_jobs", function() return { since = NOW - 30 * DAY } end },
   { "steer", "unsteered_like", function() return { since = NOW - 30 * DAY } end },
   { "topology, of audits", "last_audit", function() return {} end },
}

local function ask_all(j, done)
   local results = {}
   local function ask(q, round)
      local question = QUESTIONS[q]
      if not question then
         return done(results)
      end
      local began = loop.now_ns()
      j:query(question[2], question[3](), guard(function(rows, err)
         assert(rows, err)
         local r = results[q] or { rows = 0 }
         r[#r + 1], r.rows = (loop.now_ns() - began) / 1e6, math.max(r.rows, #rows)
         results[q] = r
         ask(round < ROUNDS and q or q + 1, round < ROUNDS and round + 1 or 1)
      end))
   end
   ask(1, 1)
end

-- Whole answers of `taut why`, of a machine as large as the stored one: its own questions to the
-- store, and the flow model.  fn(array of ms, the answers' bytes).
local function ask_why(j, fn)
   local p = make_parts { dims = { 25, 16, 24 }, npr = 2, journal = j, capacity = "6.7e9" }
   local times, bytes = {}, 0
   local function ask()
      local began, id = loop.now_ns(), some_job()
      p.query:answer({ reply = guard(function(_, text)
         local reply = json.decode(text)
         if reply.ok then -- others are gone: jobs have numbers with gaps
            times[#times + 1], bytes = (loop.now_ns() - began) / 1e6, math.max(bytes, #text)
         elseif not reply.error:find "nothing is stored" then
            error(reply.error)
         end
         if #times == WHY_ROUNDS then
            return fn(times, bytes)
         end
         loop.timer(0, guard(ask))
      end) }, json.encode { cmd = "why", args = { job = id } }, 0)
   end
   ask()
end

local function start(where, fn)
   local j
   j = journal.start({ sys.paths.program, "--daemon", "--store", where },
      guard(function() fn(j) end))
end

local function stop(j, fn)
   j.store.on_end = guard(fn)
   j.store:stop()
end

---------------------------------------------------------------- one kind of database

local function show_sizes(list, node_jobs)
   print(("%-20s %10s %12s %8s %14s"):format("TABLE", "ROWS", "BYTES", "A ROW", "A NODE AND JOB"))
   for i = 1, math.min(#list, 9) do
      local t = list[i]
      print(("%-20s %10d %12d %8.0f %14.0f"):format(t.name, t.rows, t.bytes,
         t.bytes / math.max(1, t.rows), t.bytes / node_jobs))
   end
end

local function show_counters()
   print(("\n%-10s %8s %8s"):format("SOURCE", "COUNTERS", "A ROW"))
   for _, p in ipairs(PORTS) do
      local row = db.rows_of("SELECT AVG(LENGTH(counters)) AS n FROM growth WHERE source = ?",
         p.source)[1]
      print(("%-10s %8d %8.0f"):format(p.source, #names_of[p.source], row.n or 0))
   end
end

local function show_answers(results)
   local worst = 0
   print(("\n%-20s %-20s %8s %9s %9s"):format("COMMAND", "QUESTION", "ROWS", "MEDIAN MS",
      "MOST MS"))
   for q, r in ipairs(results) do
      table.sort(r)
      worst = math.max(worst, r[(#r + 1) // 2])
      print(("%-20s %-20s %8d %9.1f %9.1f"):format(QUESTIONS[q][1], QUESTIONS[q][2], r.rows,
         r[(#r + 1) // 2], r[#r]))
   end
   return worst
end

local function measure(kind, where, done)
   print(("---- %s"):format(kind))
   start(where, function(j)
      local began = os.time()
      write_day(j, function(counts)
         print(("%d node-jobs, %d jobs, written by tautd's store in %d s"):format(
            counts.node_jobs, counts.job, os.time() - began))
         stop(j, function()
            copy_days(where, counts)
            local list, sum = sizes()
            show_sizes(list, DAYS * PARTS * counts.node_jobs)
            show_counters()
            db.close()
            start(where, function(again)
               ask_all(again, function(results)
                  local worst = show_answers(results)
                  ask_why(again, function(times, bytes)
                     table.sort(times)
                     local median = times[(#times + 1) // 2]
                     print(("\ntaut why: %d answers of up to %d bytes, median %.1f ms, most " ..
                        "%.1f ms")
                        :format(#times, bytes, median, times[#times]))
                     stop(again, function()
                        done(sum / 1e9, worst, sum / (DAYS * PARTS * counts.node_jobs), median)
                     end)
                  end)
               end)
            end)
         end)
      end)
   end)
end

---------------------------------------------------------------- both

queries.add(events_kept.queries)

local most_gb, most_ms, most_why_ms

local function take(gb, ms, bytes, why_ms)
   print(("\n%.3f GB of %d days, %.0f bytes a node and job; slowest question %.1f ms\n"):format(gb,
      DAYS, bytes, ms))
   most_gb, most_ms = math.max(most_gb or 0, gb), math.max(most_ms or 0, ms)
   most_why_ms = math.max(most_why_ms or 0, why_ms)
end

loop.timer(0, guard(function()
   measure("SQLite", FOLDER .. "/db", function(...)
      take(...)
      local why = servers.missing "postgresql"
      if why then
         print(why)
         most_gb, most_ms, most_why_ms = nil, nil, nil -- half of it is not the figure
         return loop.stop()
      end
      local server = servers.new "postgresql"
      measure("PostgreSQL", server:database(), function(...)
         take(...)
         server:close()
         loop.stop()
      end)
   end)
end))
loop.run()

if has_failed then
   most_gb, most_ms, most_why_ms = nil, nil, nil
end
figure("store_scale_gb", most_gb, "GB", "<=", 2)
units.figure("store_scale_query_ms", most_ms, "ms", "<=", 100)
units.figure("why_ms", most_why_ms, "ms", "<=", 100)
