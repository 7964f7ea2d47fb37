-- SPDX-License-Identifier: GPL-2.0-or-later
--- The database: tables, and how an older one becomes the present one.
local schema = {}

schema.version = 5

-- One list of statements per version; an empty database gets all of them in order.
schema.steps = {
   {
      [[CREATE TABLE event (
           id INTEGER PRIMARY KEY, time REAL NOT NULL, purpose TEXT NOT NULL, job INTEGER,
           restart INTEGER, uid INTEGER, nodes TEXT, expected INTEGER, heard INTEGER,
           tests INTEGER, note TEXT)]],
      [[CREATE INDEX event_job ON event (job)]],
      [[CREATE INDEX event_time ON event (time)]],
      [[CREATE TABLE test (
           id INTEGER PRIMARY KEY, event INTEGER NOT NULL, time REAL NOT NULL,
           src TEXT NOT NULL, dst TEXT NOT NULL, route TEXT NOT NULL, kind TEXT, confirms TEXT,
           phase INTEGER, streams INTEGER, expected_Bps REAL, bw_Bps REAL, sender_Bps REAL,
           ratio REAL, rtt_ns INTEGER, peak REAL, delay_ns INTEGER, foreign_bytes INTEGER,
           class TEXT NOT NULL, why TEXT)]],
      [[CREATE INDEX test_event ON test (event)]],
      [[CREATE INDEX test_src ON test (src, time)]],
      [[CREATE INDEX test_dst ON test (dst, time)]],
      [[CREATE INDEX test_time ON test (time)]],
      [[CREATE TABLE verdict (
           id INTEGER PRIMARY KEY, time REAL NOT NULL, component TEXT NOT NULL,
           was TEXT NOT NULL, state TEXT NOT NULL, evidence TEXT)]],
      [[CREATE INDEX verdict_component ON verdict (component, time)]],
      [[CREATE TABLE action (
           id INTEGER PRIMARY KEY, time REAL NOT NULL, node TEXT NOT NULL, action TEXT NOT NULL,
           who TEXT, reason TEXT, result TEXT)]],
      [[CREATE TABLE component (name TEXT PRIMARY KEY, data TEXT NOT NULL)]],
      [[CREATE TABLE drained (node TEXT PRIMARY KEY, data TEXT NOT NULL)]],
      [[CREATE TABLE setting (name TEXT PRIMARY KEY, value TEXT NOT NULL)]],
      [[CREATE TABLE sample (
           job INTEGER NOT NULL, restart INTEGER NOT NULL, node TEXT NOT NULL,
           purpose TEXT NOT NULL, time REAL NOT NULL, boot TEXT, counters TEXT NOT NULL,
           PRIMARY KEY (job, restart, node, purpose))]],
      [[CREATE INDEX sample_time ON sample (time)]],
      [[CREATE TABLE growth (
           job INTEGER NOT NULL, restart INTEGER NOT NULL, node TEXT NOT NULL,
           interface TEXT NOT NULL, time REAL NOT NULL, seconds REAL, counters TEXT NOT NULL,
           PRIMARY KEY (job, restart, node, interface))]],
   },
   -- 2: observations (what counters, sweeps and logs saw), the places and jobs each concerns, the
   -- last reading of each node, evidence that stands, how far logs were read
   {
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
      [[CREATE TABLE reading (node TEXT PRIMARY KEY, data TEXT NOT NULL)]],
      [[CREATE TABLE evidence (
           component TEXT NOT NULL, origin TEXT NOT NULL, data TEXT NOT NULL,
           PRIMARY KEY (component, origin))]],
      [[CREATE TABLE log_position (path TEXT PRIMARY KEY, data TEXT NOT NULL)]],
      [[CREATE TABLE job_growth (
           job INTEGER NOT NULL, restart INTEGER NOT NULL, node TEXT NOT NULL,
           interface TEXT NOT NULL, source TEXT NOT NULL, time REAL NOT NULL, seconds REAL,
           counters TEXT NOT NULL, note TEXT,
           PRIMARY KEY (job, restart, node, interface, source))]],
      [[INSERT INTO job_growth (job, restart, node, interface, source, time, seconds, counters)
           SELECT job, restart, node, interface, 'netdev', time, seconds, counters FROM growth]],
      [[DROP TABLE growth]],
      [[ALTER TABLE job_growth RENAME TO growth]],
      [[CREATE INDEX growth_time ON growth (time)]],
      [[ALTER TABLE sample ADD COLUMN mono REAL]],
      [[ALTER TABLE sample ADD COLUMN host_boot TEXT]],
      [[ALTER TABLE test ADD COLUMN stalls INTEGER]],
      [[ALTER TABLE test ADD COLUMN stalled_at TEXT]],
   },
   -- 3: what an action was for, and its evidence
   {
      [[ALTER TABLE action ADD COLUMN component TEXT]],
      [[ALTER TABLE action ADD COLUMN evidence TEXT]],
      [[CREATE INDEX action_time ON action (time)]],
      [[CREATE INDEX verdict_time ON verdict (time)]],
   },
   -- 4: what jobs used of the network, and how they were steered
   {
      [[CREATE TABLE job (
           id INTEGER NOT NULL, restart INTEGER NOT NULL, time REAL NOT NULL,
           user TEXT NOT NULL, name TEXT NOT NULL, partition TEXT, nodes INTEGER, seconds REAL,
           wait_s REAL, sent_Bps REAL, received_Bps REAL, share REAL, uneven REAL, comm TEXT,
           steered TEXT, PRIMARY KEY (id, restart))]],
      [[CREATE INDEX job_time ON job (time)]],
      [[CREATE INDEX job_name ON job (user, name, time)]],
   },
   -- 5: how long the node that took longest asked for the ways of its tests
   { [[ALTER TABLE event ADD COLUMN trace_ns INTEGER]] },
}

--- What audits measured last: of each route the best meaningful test alone of the newest audit
-- that had one.  An audit that was stopped, had few nodes or went wrong hides no other.
-- (SQLite takes the other columns from the row that has the one MAX.)
schema.last_audit = [[
   WITH best AS (
      SELECT route, kind, class, time, event, MAX(bw_Bps) AS bw_Bps FROM test
      WHERE event IN (SELECT id FROM event WHERE purpose = 'audit' ORDER BY id DESC LIMIT 8)
         AND class <> 'void' AND kind IN ('audit E', 'audit G')
      GROUP BY route, event)
   SELECT route, kind, class, time, bw_Bps, MAX(event) AS event FROM best GROUP BY route
   ORDER BY event, route]]

return schema
