-- SPDX-License-Identifier: GPL-2.0-or-later
--- The store: the one process that opens the database (`tautd --store WHERE`; a file of SQLite, or
-- the address of a server).  Of several tautd only the one that acts has it (`--token N`); each has
-- another one for the lease (`--lease WHERE`).
--
-- Requests are JSON lines on stdin, replies JSON lines on stdout, in order:
--   { id, op = "write", rows = { { table, { column = value, … } }, … }, durable = true or nil,
--     place = of writes.lua or nil }: one transaction; a durable one is answered when it is on disk
--   { id, op = "is_done", place, count = rows of a batch whose answer was lost } → done
--   { id, op = "query", name = one of `queries`, args = { … } } → rows
--   { id, op = "lease", … } → row: see leases.lua
--   { id, op = "prune", before = { table = seconds since 1970 } } → more; { id, op = "ping" }
-- A long answer comes in several lines (base/helper.lua).  An error ends no process: it is the
-- reply, and nothing of a failed batch is kept.  Only a server that is gone does: a new process
-- looks for it again.
local db = require "taut.store.db"
local json = require "taut.json"
local leases = require "taut.store.leases"
local migrate = require "taut.store.migrate"
local queries = require "taut.store.queries"
local schema = require "taut.store.schema"
local sys = require "taut.sys"
local writes = require "taut.store.writes"

local store = {}

local PART_BYTES, PART_ROWS = 1 << 20, 16

local observations -- what is done with them, of store.main

local ops = {}

-- A durable transaction is on disk when it is answered, and with it all before it: the same
-- journal has them.  Servers do so with each.
function ops.write(request)
   if not request.durable or db.is_server() then
      return writes.take(request, observations)
   end
   db.run "PRAGMA synchronous = FULL"
   local ok, result = pcall(writes.take, request, observations)
   db.run "PRAGMA synchronous = NORMAL"
   if not ok then
      error(result, 0)
   end
   return result
end

function ops.is_done(request)
   return { done = writes.is_done(request.place, request.count) }
end

function ops.prune(request)
   return { more = db.transaction(writes.prune, request.before, observations) or nil }
end

function ops.query(request)
   local query = queries.list[request.name] or
      error("no query '" .. tostring(request.name) .. "'", 0)
   return { rows = json.array(query(request.args or {})) }
end

function ops.lease(request)
   return { row = leases.ask(db, request) }
end

-- A server ends a connection on which nothing is said for long.
function ops.ping()
   db.rows_of "SELECT 1 AS one"
   return {}
end

---------------------------------------------------------------- the process

local function answer_line(line)
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

-- One line after the other of an array's rows, all but the last ones.
local function put_parts(id, name, rows)
   local texts, bytes, from = {}, 0, 1
   for i, row in ipairs(rows) do
      if bytes > PART_BYTES then
         sys.put(('{"id":%d,"part":true,"%s":[%s]}\n'):format(id, name,
            table.concat(texts, ",")))
         texts, bytes, from = {}, 0, i
      end
      local text = json.encode(row)
      texts[#texts + 1], bytes = text, bytes + #text
   end
   return json.array(table.move(rows, from, #rows, 1, {}))
end

-- No line of an answer is longer than who reads it takes.
local function put_line(reply)
   for _, name in ipairs { "observations", "refused", "rows" } do
      if type(reply[name]) == "table" and #reply[name] > PART_ROWS then
         reply[name] = put_parts(reply.id, name, reply[name])
      end
   end
   sys.put(json.encode(reply) .. "\n")
end

-- What libraries of servers say has several lines.
local function end_with(err)
   local line = err:gsub("%s+", " ")
   sys.put(json.encode { ok = false, fatal = true, error = line } .. "\n")
   return 1
end

-- A database without tables is made fit first, by one of those who want the lease.
local function prepare_database(as)
   if not as.is_guest then
      db.transaction(migrate.run)
   elseif migrate.is_needed() then
      db.own()
      db.transaction(migrate.run)
      error("its tables are made; once more", 0)
   end
   if as.is_guest then
      leases.begin(db)
   end
end

local function open_database(where, as)
   local a, err = db.open(where, as)
   if not a then
      return nil, err
   end
   sys.put(json.encode { ok = true, connected = true } .. "\n")
   local ok, why = pcall(prepare_database, as)
   if not ok then
      return false, ("%s: %s"):format(a.text, tostring(why))
   end
   return a
end

--- Serve requests until stdin ends, or the server is gone.
-- @param where path of the database file, or address of a server
-- @param options what is done with observations and readings (events/keep.lua): special, sample,
--   settle, forget, prune, queries
-- @param as nil, or { is_guest = for the lease, token = under which it is opened }
-- @return exit status
function store.main(where, options, as)
   collectgarbage("incremental", 300, 400) -- little is kept from one batch to the next
   observations = options
   queries.add(options.queries)
   local a, err = open_database(where, as or {})
   if not a then
      return end_with(err)
   end
   sys.put(json.encode { ok = true, ready = true, schema = schema.version } .. "\n")
   for line in sys.lines() do
      local reply = answer_line(line)
      if not reply.ok and db.is_gone() then
         return end_with(("%s: %s"):format(a.text, reply.error))
      end
      put_line(reply)
   end
   db.close()
   return 0
end

return store
