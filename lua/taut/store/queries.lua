-- SPDX-License-Identifier: GPL-2.0-or-later
--- What may be asked of the database: name → function(args) that returns rows.
local days = require "taut.store.days"
local db = require "taut.store.db"
local jobs = require "taut.store.jobs"
local schema = require "taut.store.schema"

local TEST = "SELECT test.*, event.job AS job, event.purpose AS purpose FROM test " ..
   "LEFT JOIN event ON event.id = test.event "

local queries = {}

queries.list = {
   components = function() return db.rows_of("SELECT name, data FROM component") end,
   drained = function() return db.rows_of("SELECT node, data FROM drained") end,
   seen = function() return db.rows_of("SELECT part, seq, data FROM seen") end,
   settings = function() return db.rows_of("SELECT name, value FROM setting") end,
   last_ids = function()
      return db.rows_of("SELECT (SELECT COALESCE(MAX(id), 0) FROM event) AS event, " ..
         "(SELECT COALESCE(MAX(id), 0) FROM test) AS test")
   end,
   tests_of_node = function(args)
      return db.rows_of(TEST .. "WHERE test.src = ? OR test.dst = ? ORDER BY test.id DESC LIMIT ?",
         args.node, args.node, args.limit)
   end,
   tests_of_component = function(args)
      return db.rows_of(TEST .. "WHERE test.time >= ? AND ' ' || test.route || ' ' LIKE ? " ..
         "ORDER BY test.time DESC, test.id DESC LIMIT ?", -- by time: there is an index
         args.since, "% " .. args.component .. " %", args.limit)
   end,
   -- Why tests mean nothing, and the nodes of one of each.
   discarded = function(args)
      return db.rows_of("SELECT kinds.why, kinds.seen AS count, test.src, test.dst FROM " ..
         "(SELECT why, COUNT(*) AS seen, MIN(id) AS first FROM test WHERE time >= ? AND " ..
         "class = 'void' GROUP BY why) AS kinds JOIN test ON test.id = kinds.first " ..
         "ORDER BY 2 DESC LIMIT 1000", args.since)
   end,
   last_audit = function() return db.rows_of(schema.last_audit) end,
   tests_of_job = function(args)
      return db.rows_of(TEST .. "WHERE event.job = ? ORDER BY test.id LIMIT ?", args.job,
         args.limit)
   end,
   events_of_job = function(args)
      return db.rows_of("SELECT * FROM event WHERE job = ? ORDER BY id", args.job)
   end,
   verdicts_of = function(args)
      return db.rows_of("SELECT * FROM verdict WHERE component = ? ORDER BY id DESC LIMIT ?",
         args.component, args.limit)
   end,
   actions_of = function(args)
      return db.rows_of("SELECT * FROM action WHERE node = ? ORDER BY id DESC LIMIT ?", args.node,
         args.limit)
   end,
   -- What counts against a node that is drained again and again, the latest first.
   drains = function(args)
      return db.rows_of("SELECT node, time, action, component, result FROM action " ..
         "WHERE action IN ('drain', 'repaired') AND time >= ? ORDER BY id DESC LIMIT 10000",
         args.since)
   end,
   log = function(args)
      return db.rows_of("SELECT * FROM action WHERE time >= ? AND (? = '' OR node = ?) AND " ..
         "(? = '' OR component = ?) ORDER BY id DESC LIMIT ?", args.since, args.node, args.node,
         args.component, args.component, args.limit)
   end,
   -- For a replay: pages by id, and what stood when it begins.
   verdicts_from = function(args)
      return db.rows_of("SELECT id, time, component, was, state, evidence FROM verdict " ..
         "WHERE time >= ? AND id > ? ORDER BY id LIMIT ?", args.since, args.after, args.limit)
   end,
   verdicts_before = function(args)
      return db.rows_of("SELECT v.id, v.time, v.component, v.was, v.state, v.evidence FROM " ..
         "verdict v JOIN (SELECT MAX(id) AS id FROM verdict WHERE time < ? AND component > ? " ..
         "GROUP BY component ORDER BY component LIMIT ?) m ON m.id = v.id ORDER BY v.component",
         args.since, args.after, args.limit)
   end,
   actions_from = function(args)
      return db.rows_of("SELECT id, time, node, action, component, who, result FROM action " ..
         "WHERE time >= ? AND id > ? ORDER BY id LIMIT ?", args.since, args.after, args.limit)
   end,
}

--- More of them.
-- @param list name → fn(db, args)
function queries.add(list)
   for name, fn in pairs(list) do
      queries.list[name] = function(args) return fn(db, args) end
   end
end
queries.add(days.queries)
queries.add(jobs.queries)

return queries
