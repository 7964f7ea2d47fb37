-- SPDX-License-Identifier: GPL-2.0-or-later
--- The database: tables, and how an older one becomes the present one.  As SQLite has it; the
-- other servers' words for it are in dialects.lua.  A name that is not all lower case, or a
-- keyword somewhere (user, partition), stands in quotes.
local schema = {}

-- One list of statements per version; an empty database gets all of them in order.
schema.steps = {
   {
      [[CREATE TABLE setting (name TEXT PRIMARY KEY, value TEXT NOT NULL)]],

      -- checks and their tests; trace_ns: how long the node that took longest asked for the ways
      [[CREATE TABLE event (
           id INTEGER PRIMARY KEY, time REAL NOT NULL, purpose TEXT NOT NULL, job INTEGER,
           restart INTEGER, uid INTEGER, nodes TEXT, expected INTEGER, heard INTEGER,
           tests INTEGER, note TEXT, trace_ns INTEGER)]],
      [[CREATE INDEX event_job ON event (job)]],
      [[CREATE INDEX event_time ON event (time)]],
      [[CREATE TABLE test (
           id INTEGER PRIMARY KEY, event INTEGER NOT NULL, time REAL NOT NULL,
           src TEXT NOT NULL, dst TEXT NOT NULL, route TEXT NOT NULL, kind TEXT, confirms TEXT,
           phase INTEGER, streams INTEGER, "expected_Bps" REAL, "bw_Bps" REAL, "sender_Bps" REAL,
           ratio REAL, rtt_ns INTEGER, peak REAL, delay_ns INTEGER, foreign_bytes INTEGER,
           class TEXT NOT NULL, why TEXT, stalls INTEGER, stalled_at TEXT)]],
      [[CREATE INDEX test_event ON test (event)]],
      [[CREATE INDEX test_src ON test (src, time)]],
      [[CREATE INDEX test_dst ON test (dst, time)]],
      [[CREATE INDEX test_time ON test (time)]],

      -- what is known of components: verdicts, each one's record, evidence that stands, and what
      -- tests saw of all of them, in slices (snapshot.lua)
      [[CREATE TABLE verdict (
           id INTEGER PRIMARY KEY, time REAL NOT NULL, component TEXT NOT NULL,
           was TEXT NOT NULL, state TEXT NOT NULL, evidence TEXT)]],
      [[CREATE INDEX verdict_component ON verdict (component, time)]],
      [[CREATE INDEX verdict_time ON verdict (time)]],
      [[CREATE TABLE component (name TEXT PRIMARY KEY, data TEXT NOT NULL)]],
      [[CREATE TABLE evidence (
           component TEXT NOT NULL, origin TEXT NOT NULL, data TEXT NOT NULL,
           PRIMARY KEY (component, origin))]],
      [[CREATE TABLE seen (part TEXT PRIMARY KEY, seq INTEGER NOT NULL, data TEXT NOT NULL)]],

      -- what was done, for what, and by which of several tautd (leases.lua)
      [[CREATE TABLE action (
           id INTEGER PRIMARY KEY, time REAL NOT NULL, node TEXT NOT NULL, action TEXT NOT NULL,
           who TEXT, reason TEXT, result TEXT, component TEXT, evidence TEXT, token INTEGER)]],
      [[CREATE INDEX action_time ON action (time)]],
      [[CREATE TABLE drained (node TEXT PRIMARY KEY, data TEXT NOT NULL)]],
      [[CREATE TABLE lease (
           name TEXT PRIMARY KEY, token INTEGER NOT NULL, beat INTEGER NOT NULL,
           holder TEXT NOT NULL, host TEXT NOT NULL, offered TEXT NOT NULL,
           waiting TEXT NOT NULL, waiting_beat INTEGER NOT NULL)]],

      -- counters: at a job's begin, what they grew by, and the last that each node told
      [[CREATE TABLE sample (
           job INTEGER NOT NULL, restart INTEGER NOT NULL, node TEXT NOT NULL,
           purpose TEXT NOT NULL, time REAL NOT NULL, boot TEXT, counters TEXT NOT NULL,
           mono REAL, host_boot TEXT, PRIMARY KEY (job, restart, node, purpose))]],
      [[CREATE INDEX sample_time ON sample (time)]],
      [[CREATE TABLE growth (
           job INTEGER NOT NULL, restart INTEGER NOT NULL, node TEXT NOT NULL,
           interface TEXT NOT NULL, source TEXT NOT NULL, time REAL NOT NULL, seconds REAL,
           counters TEXT NOT NULL, note TEXT,
           PRIMARY KEY (job, restart, node, interface, source))]],
      [[CREATE INDEX growth_time ON growth (time)]],
      [[CREATE TABLE reading (node TEXT PRIMARY KEY, data TEXT NOT NULL)]],

      -- what counters, sweeps and logs saw, the places and jobs each concerns, and how far logs
      -- were read
      [[CREATE TABLE observation (
           id INTEGER PRIMARY KEY, source TEXT NOT NULL, begin REAL, time REAL NOT NULL,
           seconds REAL, jump REAL, scope TEXT, node TEXT, what TEXT NOT NULL,
           class TEXT NOT NULL, amount INTEGER, unit TEXT, capacity_left REAL, during TEXT,
           text TEXT NOT NULL, more TEXT)]],
      [[CREATE INDEX observation_time ON observation (time)]],
      [[CREATE TABLE observation_place (
           place TEXT NOT NULL, observation INTEGER NOT NULL,
           PRIMARY KEY (place, observation)) WITHOUT ROWID]],
      [[CREATE INDEX observation_place_of ON observation_place (observation)]],
      [[CREATE TABLE observation_job (
           job INTEGER NOT NULL, observation INTEGER NOT NULL,
           PRIMARY KEY (job, observation)) WITHOUT ROWID]],
      [[CREATE INDEX observation_job_of ON observation_job (observation)]],
      [[CREATE TABLE log_position (path TEXT PRIMARY KEY, data TEXT NOT NULL)]],

      -- what jobs used of the network, how they were steered, how they ended, and what `taut why`
      -- needs of them (why/facts.lua); profiles of all users are read from one index, steered jobs
      -- and those that lost time from few rows
      [[CREATE TABLE job (
           id INTEGER NOT NULL, restart INTEGER NOT NULL, time REAL NOT NULL,
           "user" TEXT NOT NULL, name TEXT NOT NULL, "partition" TEXT, nodes INTEGER, seconds REAL,
           wait_s REAL, "sent_Bps" REAL, "received_Bps" REAL, share REAL, uneven REAL, comm TEXT,
           steered TEXT, begin REAL, label TEXT, result TEXT, run_s REAL, cause TEXT, lost_s REAL,
           facts TEXT, PRIMARY KEY (id, restart))]],
      [[CREATE INDEX job_time ON job (time)]],
      [[CREATE INDEX job_name ON job ("user", name, time)]],
      [[CREATE INDEX job_profile ON job ("user", name, share, time, nodes, seconds, "sent_Bps",
           "received_Bps", uneven, comm)]],
      [[CREATE INDEX job_steered ON job (time) WHERE steered IS NOT NULL]],
      [[CREATE INDEX job_label ON job (label)]],
      [[CREATE INDEX job_user ON job ("user", time)]],
      [[CREATE INDEX job_span ON job (time, begin, share, id)]],
      [[CREATE INDEX job_lost ON job (time) WHERE lost_s IS NOT NULL]],
   },
}

schema.version = #schema.steps

--- Tables that may be written, with their columns; anything else is refused.
schema.columns = {
   event = { "id", "time", "purpose", "job", "restart", "uid", "nodes", "expected", "heard",
      "tests", "note", "trace_ns" },
   test = { "id", "event", "time", "src", "dst", "route", "kind", "confirms", "phase", "streams",
      "expected_Bps", "bw_Bps", "sender_Bps", "ratio", "rtt_ns", "peak", "delay_ns",
      "foreign_bytes", "class", "why", "stalls", "stalled_at" },
   verdict = { "time", "component", "was", "state", "evidence" },
   action = { "time", "node", "action", "who", "reason", "result", "component", "evidence",
      "token" },
   lease = { "name", "token", "beat", "holder", "host", "offered", "waiting", "waiting_beat" },
   component = { "name", "data" },
   drained = { "node", "data" },
   setting = { "name", "value" },
   sample = { "job", "restart", "node", "purpose", "time", "boot", "counters", "mono",
      "host_boot" },
   growth = { "job", "restart", "node", "interface", "source", "time", "seconds", "counters",
      "note" },
   reading = { "node", "data" },
   observation = { "source", "begin", "time", "seconds", "jump", "scope", "node", "what", "class",
      "amount", "unit", "capacity_left", "during", "text", "more" },
   observation_place = { "place", "observation" },
   observation_job = { "job", "observation" },
   evidence = { "component", "origin", "data" },
   log_position = { "path", "data" }, seen = { "part", "seq", "data" },
   job = { "id", "restart", "time", "user", "name", "partition", "nodes", "seconds", "wait_s",
      "sent_Bps", "received_Bps", "share", "uneven", "comm", "steered", "begin", "label", "result",
      "run_s", "cause", "lost_s", "facts" },
}

--- What a row takes the place of; a table without keys only grows.
schema.keys = {
   event = { "id" }, test = { "id" }, verdict = {}, action = {}, component = { "name" },
   drained = { "node" }, setting = { "name" },
   sample = { "job", "restart", "node", "purpose" },
   growth = { "job", "restart", "node", "interface", "source" }, reading = { "node" },
   observation = {}, observation_place = { "place", "observation" },
   observation_job = { "job", "observation" }, evidence = { "component", "origin" },
   log_position = { "path" }, job = { "id", "restart" }, seen = { "part" }, lease = { "name" },
}

local function set_of(words)
   local t = {}
   for word in words:gmatch "%S+" do
      t[word] = true
   end
   return t
end

--- Texts that are part of a key or an index, so of some length only on some servers.
schema.names = set_of("node name component src dst place origin interface source purpose user " ..
   "part label")

local function columns_of(type)
   local t = {}
   for _, step in ipairs(schema.steps) do
      for _, sql in ipairs(step) do
         for column in sql:gmatch('([%w_]+)"? ' .. type) do
            t[column] = true
         end
      end
   end
   return t
end

--- Columns with fractions.
schema.reals = columns_of "REAL"

--- Columns that are whole numbers in every table that has them.
schema.whole = columns_of "INTEGER"
for column in pairs(columns_of "TEXT") do
   schema.whole[column] = nil
end

--- What audits measured last: of each route the best meaningful test alone of the newest audit
-- that had one.  An audit that was stopped, had few nodes or went wrong hides no other.
schema.last_audit = [[
   WITH newest AS (
      SELECT id FROM event WHERE purpose = 'audit' ORDER BY id DESC LIMIT 8),
   best AS (
      SELECT t.route, t.kind, t.class, t.time, t.event, t."bw_Bps", ROW_NUMBER() OVER (
            PARTITION BY t.route ORDER BY t.event DESC, COALESCE(t."bw_Bps", -1) DESC) AS place
      FROM test t JOIN newest n ON n.id = t.event
      WHERE t.class <> 'void' AND t.kind IN ('audit E', 'audit G'))
   SELECT route, kind, class, time, "bw_Bps", event FROM best WHERE place = 1
   ORDER BY event, route]]

return schema
