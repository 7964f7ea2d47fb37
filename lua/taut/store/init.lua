-- SPDX-License-Identifier: GPL-2.0-or-later
--- The store: the one process that opens the database (`tautd --store FILE`).
--
-- Requests are JSON lines on stdin, replies JSON lines on stdout, in order:
--   { id, op = "write", rows = { { table, { column = value, … } }, … }, durable = true or nil }:
--     one transaction; a durable one is answered when it is on disk
--   { id, op = "query", name = one of `queries`, args = { … } } → rows
-- An error ends no process: it is the reply, and nothing of a failed batch is kept.
local json = require "taut.json"
local days = require "taut.store.days"
local jobs = require "taut.store.jobs"
local schema = require "taut.store.schema"
local sys = require "taut.sys"
local tables = require "taut.base.tables"

local store = {}

local db
local observations -- what is done with them, of store.main

local function exec(sql, ...)
   local stmt, err = db:prepare(sql)
   if not stmt then
      error(err, 0)
   end
   local ok, why = stmt:execute(...)
   if not ok then
      stmt:close()
      error(why, 0)
   end
   return stmt
end

local function run(statement, ...)
   exec(statement, ...):close()
end

local function rows_of(statement, ...)
   local stmt, list = exec(statement, ...), json.array {}
   for row in stmt:rows(true) do
      local copy = tables.copy(row)
      list[#list + 1] = copy
   end
   stmt:close()
   return list
end

-- Run fn(…) in a transaction; an error leaves nothing of it.  COMMIT is a statement here, because
-- the driver's own commit does not say why it failed, a full file system for instance.
local function transaction(fn, ...)
   run "BEGIN IMMEDIATE"
   local ok, result = pcall(fn, ...)
   if ok then
      ok, result = pcall(function(...)
         run "COMMIT"
         return ...
      end, result)
   end
   if not ok then
      pcall(run, "ROLLBACK") -- SQLite may have done so itself
      error(result, 0)
   end
   return result
end

---------------------------------------------------------------- opening

local function has_table(name)
   return #rows_of("SELECT name FROM sqlite_master WHERE type = 'table' AND name = ?", name) > 0
end

local function migrate()
   local version = 0
   if has_table "setting" then
      local row = rows_of("SELECT value FROM setting WHERE name = 'schema'")[1]
      version = row and math.tointeger(tonumber(row.value)) or 0
   end
   if version > schema.version then
      error(("database has schema %d, this tautd knows %d"):format(version, schema.version), 0)
   end
   for v = version + 1, schema.version do
      for _, sql in ipairs(schema.steps[v]) do
         run(sql)
      end
      run("INSERT OR REPLACE INTO setting (name, value) VALUES ('schema', ?)", tostring(v))
   end
end

local function open(path)
   local dbi = require "DBI"
   local conn, err = dbi.Connect("SQLite3", path)
   if not conn then
      return nil, ("cannot open database %s: %s"):format(path, tostring(err))
   end
   db = conn
   local ok, why = pcall(function()
      db:autocommit(true)
      -- first: a store that is just ending may hold the database a moment longer
      rows_of("PRAGMA busy_timeout = 2000")
      rows_of("PRAGMA journal_mode = WAL")
      run("PRAGMA synchronous = NORMAL")
      transaction(migrate)
   end)
   if not ok then
      return nil, ("database %s: %s"):format(path, tostring(why))
   end
   return true
end

---------------------------------------------------------------- writing

-- Tables that may be written, with their columns; anything else is refused.
local columns = {
   event = { "id", "time", "purpose", "job", "restart", "uid", "nodes", "expected", "heard",
      "tests", "note", "trace_ns" },
   test = { "id", "event", "time", "src", "dst", "route", "kind", "confirms", "phase", "streams",
      "expected_Bps", "bw_Bps", "sender_Bps", "ratio", "rtt_ns", "peak", "delay_ns",
      "foreign_bytes", "class", "why", "stalls",
      "stalled_at" },
   verdict = { "time", "component", "was", "state", "evidence" },
   action = { "time", "node", "action", "who", "reason", "result", "component", "evidence" },
   component = { "name", "data" },
   drained = { "node", "data" },
   setting = { "name", "value" },
   sample = { "job", "restart", "node", "purpose", "time", "boot", "counters", "mono",
      "host_boot" },
   evidence = { "component", "origin", "data" },
   log_position = { "path", "data" },
   job = jobs.columns,
}

local inserts = {}
for name, list in pairs(columns) do
   inserts[name] = ("INSERT OR REPLACE INTO %s (%s) VALUES (%s)"):format(name,
      table.concat(list, ", "), ("?, "):rep(#list - 1) .. "?")
end

local function insert(name, row)
   local values = {}
   for i, column in ipairs(columns[name] or error("no table '" .. tostring(name) .. "'", 0)) do
      local v = row[column]
      values[i] = v ~= json.null and v or nil
   end
   run(inserts[name], table.unpack(values, 1, #columns[name]))
end

local sql = { run = run, rows_of = rows_of }

-- Observations that come out of samples go back to tautd, which knows what follows from them.
local function write_rows(rows)
   local seen = json.array {}
   for _, r in ipairs(rows) do
      local name, row = r[1], r[2]
      if observations.special[name] then
         observations.special[name](sql, row)
      elseif name == "sample" then
         if row.purpose ~= "idle" then
            insert(name, row)
         end
         for _, o in ipairs(observations.sample(sql, row)) do
            seen[#seen + 1] = o
         end
      else
         insert(name, row)
      end
   end
   return seen
end

local ops = {}

-- A durable transaction is on disk when it is answered, and with it all before it: the same
-- journal has them.
function ops.write(request)
   if not request.durable then
      return { count = #request.rows, observations = transaction(write_rows, request.rows) }
   end
   run "PRAGMA synchronous = FULL"
   local ok, result = pcall(transaction, write_rows, request.rows)
   run "PRAGMA synchronous = NORMAL"
   if not ok then
      error(result, 0)
   end
   return { count = #request.rows, observations = result }
end

-- Old rows go, in small steps, so that no batch waits long.
local function prune_rows(before)
   for _, name in ipairs { "test", "event", "sample", "growth", "job" } do
      run(("DELETE FROM %s WHERE rowid IN (SELECT rowid FROM %s WHERE time < ? LIMIT 5000)")
         :format(name, name), before)
   end
   observations.prune(sql, before)
end

function ops.prune(request)
   transaction(prune_rows, request.before)
   return {}
end

---------------------------------------------------------------- reading

local TEST = "SELECT test.*, event.job AS job, event.purpose AS purpose FROM test " ..
   "LEFT JOIN event ON event.id = test.event "

local queries = {
   components = function() return rows_of("SELECT name, data FROM component") end,
   drained = function() return rows_of("SELECT node, data FROM drained") end,
   settings = function() return rows_of("SELECT name, value FROM setting") end,
   last_ids = function()
      return rows_of("SELECT (SELECT COALESCE(MAX(id), 0) FROM event) AS event, " ..
         "(SELECT COALESCE(MAX(id), 0) FROM test) AS test")
   end,
   tests_of_node = function(a)
      return rows_of(TEST .. "WHERE test.src = ? OR test.dst = ? ORDER BY test.id DESC LIMIT ?",
         a.node, a.node, a.limit)
   end,
   tests_of_component = function(a)
      return rows_of(TEST .. "WHERE test.time >= ? AND ' ' || test.route || ' ' LIKE ? " ..
         "ORDER BY test.id DESC LIMIT ?", a.since, "% " .. a.component .. " %", a.limit)
   end,
   -- Why tests mean nothing, and the nodes of one of each.
   discarded = function(a)
      return rows_of("SELECT why, COUNT(*) AS count, MIN(src) AS src, MIN(dst) AS dst FROM test " ..
         "WHERE time >= ? AND class = 'void' GROUP BY why ORDER BY count DESC LIMIT 100", a.since)
   end,
   last_audit = function() return rows_of(schema.last_audit) end,
   tests_of_job = function(a)
      return rows_of(TEST .. "WHERE event.job = ? ORDER BY test.id LIMIT ?", a.job, a.limit)
   end,
   events_of_job = function(a)
      return rows_of("SELECT * FROM event WHERE job = ? ORDER BY id", a.job)
   end,
   verdicts_of = function(a)
      return rows_of("SELECT * FROM verdict WHERE component = ? ORDER BY id DESC LIMIT ?",
         a.component, a.limit)
   end,
   actions_of = function(a)
      return rows_of("SELECT * FROM action WHERE node = ? ORDER BY id DESC LIMIT ?", a.node,
         a.limit)
   end,
   -- What counts against a node that is drained again and again, the latest first.
   drains = function(a)
      return rows_of("SELECT node, time, action, component, result FROM action " ..
         "WHERE action IN ('drain', 'repaired') AND time >= ? ORDER BY id DESC LIMIT 10000",
         a.since)
   end,
   log = function(a)
      return rows_of("SELECT * FROM action WHERE time >= ? AND (? = '' OR node = ?) AND " ..
         "(? = '' OR component = ?) ORDER BY id DESC LIMIT ?", a.since, a.node, a.node,
         a.component, a.component, a.limit)
   end,
   -- For a replay: pages by id, and what stood when it begins.
   verdicts_from = function(a)
      return rows_of("SELECT id, time, component, was, state, evidence FROM verdict " ..
         "WHERE time >= ? AND id > ? ORDER BY id LIMIT ?", a.since, a.after, a.limit)
   end,
   verdicts_before = function(a)
      return rows_of("SELECT MAX(id) AS id, time, component, was, state, evidence FROM verdict " ..
         "WHERE time < ? AND component > ? GROUP BY component ORDER BY component LIMIT ?",
         a.since, a.after, a.limit)
   end,
   actions_from = function(a)
      return rows_of("SELECT id, time, node, action, component, who, result FROM action " ..
         "WHERE time >= ? AND id > ? ORDER BY id LIMIT ?", a.since, a.after, a.limit)
   end,
}

local function add_queries(list)
   for name, fn in pairs(list) do
      queries[name] = function(a) return fn(sql, a) end
   end
end
add_queries(days.queries)
add_queries(jobs.queries)

function ops.query(request)
   local query = queries[request.name] or error("no query '" .. tostring(request.name) .. "'", 0)
   return { rows = query(request.args or {}) }
end

---------------------------------------------------------------- the process

local function answer(line)
   local request, why = json.decode(line)
   if not request then
      return { ok = false, error = why }
   end
   local op = ops[request.op]
   local ok, result = pcall(op or function() error("no operation '" .. tostring(request.op) ..
      "'", 0) end, request)
   if not ok then
      return { id = request.id, ok = false, error = tostring(result) }
   end
   result.id, result.ok = request.id, true
   return result
end

--- Serve requests until stdin ends.
-- @param path of the database file
-- @param o what is done with observations and readings (events/keep.lua): special, sample, prune,
--   queries
-- @return exit status
function store.main(path, o)
   observations = o
   add_queries(o.queries)
   local ok, err = open(path)
   if not ok then
      sys.put(json.encode { ok = false, fatal = true, error = err } .. "\n")
      return 1
   end
   sys.put(json.encode { ok = true, ready = true, schema = schema.version } .. "\n")
   for line in sys.lines() do
      sys.put(json.encode(answer(line)) .. "\n")
   end
   db:close()
   return 0
end

return store
