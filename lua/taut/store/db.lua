-- SPDX-License-Identifier: GPL-2.0-or-later
--- The connection to the database, and statements on it; an error raises its text.
local address = require "taut.store.address"
local dialects = require "taut.store.dialects"
local json = require "taut.json"
local leases = require "taut.store.leases"
local schema = require "taut.store.schema"
local tables = require "taut.base.tables"

local db = {}

local conn, dialect
local prepared = {} -- statement by its text: each is prepared once
local texts = {}    -- statements that put rows, by kind and table

local function prepare_statement(sql)
   local stmt = prepared[sql]
   if stmt then
      return stmt
   end
   local err
   stmt, err = conn:prepare(sql)
   if not stmt then
      error(tostring(err), 0)
   end
   prepared[sql] = stmt
   return stmt
end

-- One that failed, or was not read to its end, would hold SQLite's database.
local function forget_statement(sql, stmt)
   prepared[sql] = nil
   stmt:close()
end

local function execute_statement(sql, ...)
   local stmt = prepare_statement(sql)
   local ok, why = stmt:execute(...)
   if not ok then
      forget_statement(sql, stmt)
      error(tostring(why), 0)
   end
   return stmt
end

local function bound_values(...)
   local values, n = { ... }, select("#", ...)
   for i = 1, n do
      values[i] = dialect.value(values[i])
   end
   return table.unpack(values, 1, n)
end

--- Run a statement with these values for its question marks.
function db.run(sql, ...)
   local stmt = execute_statement(sql, bound_values(...))
   if not dialect.is_server then
      forget_statement(sql, stmt)
   end
end

-- Servers' drivers give whole numbers as doubles, MySQL's a sum of them as a text.
local function whole_number(name, value)
   if math.type(value) == "float" and not schema.reals[name] then
      return math.tointeger(value) or value
   end
   if type(value) == "string" and schema.whole[name] then
      return math.tointeger(tonumber(value)) or value
   end
   return value
end

local function row_of(row)
   local copy = tables.copy(row)
   if dialect.is_server then
      for name, v in pairs(copy) do
         copy[name] = whole_number(name, v)
      end
   end
   return copy
end

-- LuaDBI's driver of MySQL gives 0 or "" for NULL.  So a question is asked with a column more, one
-- character for each of its own: 1 where that is NULL.  The LIMIT keeps the order of the inner one.
local masked = {} -- by the text of a question: { sql, names }

local function mask_texts(sql, ...)
   local m = masked[sql]
   if not m then
      local inner = sql
      if not sql:find "LIMIT[^)]*$" then
         inner = sql .. " LIMIT 18446744073709551615"
      end
      local names = execute_statement(("SELECT * FROM (%s) q LIMIT 0"):format(inner), ...):columns()
      local parts = tables.map(names, function(name) return ('q."%s" IS NULL'):format(name) end)
      m = { sql = ("SELECT q.*, CONCAT(%s) AS masked FROM (%s) q"):format(
         table.concat(parts, ", "), inner), names = names }
      masked[sql] = m
   end
   return m
end

local function unmask_texts(row, names)
   for i, name in ipairs(names) do
      if row.masked:sub(i, i) == "1" then
         row[name] = nil
      end
   end
   row.masked = nil
   return row
end

local function fetch_rows(stmt, fn)
   local list = {}
   for row in stmt:rows(true) do
      list[#list + 1] = fn(row_of(row))
   end
   return list
end

local function same_row(row)
   return row
end

--- @return array of rows, column → value
function db.rows_of(sql, ...)
   if not dialect.hides_null then
      return fetch_rows(execute_statement(sql, bound_values(...)), same_row)
   end
   local m = mask_texts(sql, bound_values(...))
   return fetch_rows(execute_statement(m.sql, bound_values(...)), function(row)
      return unmask_texts(row, m.names)
   end)
end

-- A row into a table by `kind` of the dialect: put, put_new.
local function store_row(kind, name, row)
   local columns = schema.columns[name] or error("no table '" .. tostring(name) .. "'", 0)
   local key = kind .. " " .. name
   texts[key] = texts[key] or dialect[kind](name, columns, schema.keys[name])
   local values = {}
   for i, column in ipairs(columns) do
      local v = row[column]
      if v ~= json.null then
         values[i] = dialect.value(v, column) or nil
      end
   end
   execute_statement(texts[key], table.unpack(values, 1, #columns))
end

--- A row, in place of that with the same keys.
-- @param name one of schema.columns
function db.put(name, row)
   store_row("put", name, row)
end

--- A row, unless there is one with the same keys.
function db.put_new(name, row)
   store_row("put_new", name, row)
end

--- The number that the row before got by itself.
function db.last_id()
   return db.rows_of(dialect.last_id)[1].id
end

--- An expression: the values of a column with blanks between them.
function db.joined(column)
   return dialect.joined(column)
end

--- Run fn(…) in a transaction; an error leaves nothing of it.  Begin and end are statements,
-- because the drivers' own do not say why they failed, a full file system for instance.
function db.transaction(fn, ...)
   if dialect.is_server then
      prepare_statement(dialect.rollback[1]) -- PostgreSQL prepares nothing after an error
   end
   db.run(dialect.begin[1])
   local ok, result = pcall(fn, ...)
   if ok then
      local done, why = pcall(db.run, dialect.commit[1])
      if not done then
         ok, result = false, why
      end
   end
   if not ok then
      pcall(db.run, dialect.rollback[1]) -- the database may have done so itself
   end
   if dialect.commit[2] then
      pcall(db.run, dialect.commit[2])
   end
   if not ok then
      error(result, 0)
   end
   return result
end

--- Is that which failed a server that does not answer?
function db.is_gone()
   if not dialect.is_server then
      return false
   end
   local ok, alive = pcall(conn.ping, conn)
   return not (ok and alive)
end

--- @return true where the database is a server
function db.is_server()
   return dialect.is_server == true
end

--- @return true where changes of tables cannot be undone
function db.is_loose()
   return dialect.is_loose == true
end

--- Names of all tables: name → true.
function db.tables()
   local set = {}
   for _, row in ipairs(db.rows_of(dialect.tables)) do
      set[row.name] = true
   end
   return set
end

--- Run a statement of the schema.
function db.define(sql)
   local list = dialect.table(sql)
   if type(list) ~= "table" then
      list = { list }
   end
   for _, text in ipairs(list) do
      db.run(text)
   end
end

--- The statement that gives bytes by table: name, bytes.
function db.sizes()
   return dialect.sizes
end

--- Statements that give back what is free, with %s once for each table.
function db.vacuum()
   return dialect.vacuum
end

local OUST_TRIES = 40 -- a connection that was ended takes a moment

local function is_owned()
   return fetch_rows(execute_statement(dialect.own), same_row)[1].got == 1
end

-- Have the database for this process alone.  Whoever has the lease ends the connection of whoever
-- had it before, and with it what that one had not finished.
local function own_database(token)
   local tries = 1
   if token then
      tries = OUST_TRIES
   end
   for _ = 1, tries do
      if is_owned() then
         return
      elseif token then
         leases.in_force(db, token)
         dialect.oust(db)
         db.rows_of(dialect.pause)
      end
   end
   error("another tautd has it", 0)
end

--- Have it for this process alone, once it is open.
function db.own()
   own_database()
end

local function open_all(server, options)
   conn:autocommit(true)
   for _, sql in ipairs(dialect.opening) do
      if dialect.is_server then
         db.run(sql)
      else
         db.rows_of(sql)
      end
   end
   if not (options and options.is_guest) and dialect.own then
      own_database(options and options.token)
   end
   return server
end

--- @param where path of SQLite's file, or the address of a server
-- @param options nil, or { is_guest = beside the store's process: without the lock of a server's
--   database, token = of the lease under which it is opened }
-- @return what was opened (address.lua); or nil and why not
function db.open(where, options)
   local a, err = address.parse(where)
   if not a then
      return nil, err
   end
   dialect = dialects[a.kind]
   local dbi = require "DBI"
   local loaded
   loaded, conn, err = pcall(dialect.connect, dbi, a)
   if not loaded then
      return nil, ("cannot open %s: %s"):format(a.text, tostring(conn))
   elseif not conn then
      return nil, ("cannot open %s: %s"):format(a.text, tostring(err))
   end
   local ok, why = pcall(open_all, a, options)
   if not ok then
      return false, ("%s: %s"):format(a.text, tostring(why))
   end
   return a
end

function db.close()
   prepared, texts = {}, {}
   conn:close()
end

return db
