--- The database: tables, and how an older one becomes the present one.
local schema = {}

schema.version = 1

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
