-- SPDX-License-Identifier: GPL-2.0-or-later
--- What SQLite, PostgreSQL and MySQL (MariaDB) want differently: one table for each.
--
--   connect(dbi, address) → connection, or nil and why not
--   opening               statements after that
--   begin, commit, rollback: statements
--   table(sql)            a statement of schema.lua as this one wants it
--   put(name, columns, keys)     a row in place of that with the same keys
--   put_new(name, columns, keys) a row, unless there is one with the same keys
--   last_id               the number that the last row got by itself
--   joined(column)        its values with blanks between them
--   tables                names of tables
--   value(v, column)      v as the driver takes it
--   sizes, vacuum         of db.sizes, db.vacuum
--   own                   lock of this database for one process: statement → row with `got`, or nil
--   oust(db), pause       end the connection that has it; a statement that waits a moment
--   hides_null            its driver gives 0 or "" for NULL
--   is_loose              changes of tables cannot be undone
--   is_server             may go away and come back
local address = require "taut.store.address"
local schema = require "taut.store.schema"
local sys = require "taut.sys"

local dialects = {}

local function column_list(columns)
   return '"' .. table.concat(columns, '", "') .. '"'
end

local function insert_text(word, name, columns)
   return ('%s INTO %s (%s) VALUES (%s)'):format(word, name, column_list(columns),
      ("?, "):rep(#columns - 1) .. "?")
end

---------------------------------------------------------------- SQLite

-- Nobody but our user and group reads it: it tells of users and their jobs.  SQLite gives its other
-- files the mode of the first.
local function restrict_file(path)
   for _, tail in ipairs { "", "-wal", "-shm" } do
      local st = sys.stat(path .. tail)
      if st and st.mode & 7 ~= 0 then
         local ok, err = sys.chmod(path .. tail, st.mode & ~7)
         if ok then
            sys.log("notice", path .. tail .. " is for its user and group only now")
         else
            sys.log("warning", "cannot change the mode of " .. err)
         end
      end
   end
end

dialects.sqlite = {
   connect = function(dbi, server)
      restrict_file(server.path)
      return dbi.Connect("SQLite3", server.path)
   end,
   -- the first: a store that is just ending may hold the database a moment longer
   opening = { "PRAGMA busy_timeout = 2000", "PRAGMA journal_mode = WAL",
      "PRAGMA synchronous = NORMAL", "PRAGMA journal_size_limit = 67108864" },
   begin = { "BEGIN IMMEDIATE" }, commit = { "COMMIT" }, rollback = { "ROLLBACK" },
   table = function(sql) return sql end,
   put = function(name, columns) return insert_text("INSERT OR REPLACE", name, columns) end,
   put_new = function(name, columns) return insert_text("INSERT OR IGNORE", name, columns) end,
   last_id = "SELECT last_insert_rowid() AS id",
   joined = function(column) return ("group_concat(%s, ' ')"):format(column) end,
   tables = "SELECT name FROM sqlite_master WHERE type = 'table'",
   value = function(value) return value end,
   sizes = "SELECT m.tbl_name AS name, SUM(s.pgsize) AS bytes FROM dbstat s " ..
      "JOIN sqlite_master m ON m.name = s.name GROUP BY m.tbl_name",
   vacuum = { "VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)" },
}

---------------------------------------------------------------- servers

-- Texts as servers take them: UTF-8 without NUL.
local function text_of(value)
   if not utf8.len(value) then
      value = value:gsub("[\x80-\xff]", "?")
   end
   return (value:gsub("%z", "?"))
end

-- LuaDBI hands out a BIGINT of PostgreSQL cut to 32 bits, NUMERIC as a double: that is exact to
-- 2^53, and rounds what is not whole.
local POSTGRES_TYPES = { INTEGER = "NUMERIC(20)", REAL = "DOUBLE PRECISION",
   TEXT = 'TEXT COLLATE "C"' }

local function postgres_table(sql)
   sql = sql:gsub("%)%s*WITHOUT ROWID$", ")")
   local name = sql:match "^CREATE TABLE (%w+)"
   local sequence = ""
   sql = sql:gsub("INTEGER PRIMARY KEY", function()
      sequence = ("CREATE SEQUENCE %s_id; "):format(name)
      return ("NUMERIC(20) DEFAULT nextval('%s_id') PRIMARY KEY"):format(name)
   end)
   sql = sql:gsub("%f[%w_]%u+%f[^%w_]", POSTGRES_TYPES)
   if sequence == "" then
      return sql
   end
   return { (sequence:gsub("; $", "")), sql }
end

local function on_conflict(columns, keys)
   local is_key, sets = {}, {}
   for _, k in ipairs(keys) do
      is_key[k] = true
   end
   for _, c in ipairs(columns) do
      if not is_key[c] then
         sets[#sets + 1] = ('"%s" = EXCLUDED."%s"'):format(c, c)
      end
   end
   local what = "NOTHING"
   if sets[1] then
      what = "UPDATE SET " .. table.concat(sets, ", ")
   end
   return (" ON CONFLICT (%s) DO "):format(column_list(keys)) .. what
end

-- libpq reads its parameters from one text of name='value'.
local function connection_text(server, password)
   local parts = { connect_timeout = "5", tcp_user_timeout = "10000", keepalives_idle = "10",
      keepalives_interval = "5", keepalives_count = "3", application_name = "tautd",
      client_encoding = "UTF8" }
   for name, value in pairs(server.options) do
      parts[name] = value
   end
   parts.host, parts.port = server.socket or server.host, server.port
   parts.user, parts.dbname, parts.password = server.user, server.database, password
   local text = {}
   for name, value in pairs(parts) do
      text[#text + 1] = ("%s='%s'"):format(name, (tostring(value):gsub("[\\']", "\\%0")))
   end
   return table.concat(text, " ")
end

local function with_password(server, fn)
   local password, err = address.password(server)
   if err then
      return nil, err
   end
   return fn(password)
end

dialects.postgresql = {
   is_server = true,
   connect = function(dbi, server)
      return with_password(server, function(password)
         return dbi.Connect("PostgreSQL", connection_text(server, password))
      end)
   end,
   -- a client that is gone without a word must not keep what it had locked
   opening = { "SET tcp_keepalives_idle = 10", "SET tcp_keepalives_interval = 5",
      "SET tcp_keepalives_count = 3", "SET lock_timeout = 5000", "SET statement_timeout = 25000",
      "SET client_min_messages = error", "SET synchronous_commit = on" },
   begin = { "BEGIN" }, commit = { "COMMIT" }, rollback = { "ROLLBACK" },
   table = postgres_table,
   put = function(name, columns, keys)
      local text = insert_text("INSERT", name, columns)
      if keys[1] then
         text = text .. on_conflict(columns, keys)
      end
      return text
   end,
   put_new = function(name, columns) return insert_text("INSERT", name, columns) ..
      " ON CONFLICT DO NOTHING" end,
   last_id = "SELECT lastval()::numeric AS id",
   joined = function(column) return ("string_agg(%s::text, ' ')"):format(column) end,
   tables = "SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema()",
   value = function(value)
      if type(value) == "string" then
         return text_of(value)
      end
      return value
   end,
   own = "SELECT CASE WHEN pg_try_advisory_lock(1952544116) THEN 1 ELSE 0 END AS got", -- "taut"
   oust = function(db)
      db.rows_of("SELECT COUNT(pg_terminate_backend(pid))::numeric AS n FROM pg_locks WHERE " ..
         "locktype = 'advisory' AND objid = 1952544116 AND database = (SELECT oid FROM " ..
         "pg_database WHERE datname = current_database()) AND pid <> pg_backend_pid()")
   end,
   pause = "SELECT COUNT(pg_sleep(0.05))::numeric AS n",
   sizes = "SELECT tablename AS name, pg_total_relation_size(quote_ident(tablename)::regclass)" ..
      "::numeric AS bytes FROM pg_tables WHERE schemaname = current_schema()",
   vacuum = { "SET statement_timeout = 0", "VACUUM ANALYZE %s" },
}

-- Names that are part of a key are VARCHAR there; as much as a key of three has room for.
local KEY_CHARS = 190
local PATH_CHARS = 700

-- How many characters a column has that MySQL's keys have room for; nil for one of any length.
local function most_chars(column)
   if column == "path" then
      return PATH_CHARS
   elseif schema.names[column or ""] then
      return KEY_CHARS
   end
   return nil
end

local function mysql_type(column, type)
   if type == "INTEGER" then
      return "BIGINT"
   elseif type ~= "TEXT" then
      return "DOUBLE PRECISION"
   end
   local most = most_chars(column)
   if most then
      return ("VARCHAR(%d)"):format(most)
   end
   return "LONGTEXT"
end

local function mysql_table(sql)
   sql = sql:gsub("%)%s*WITHOUT ROWID$", ")")
   sql = sql:gsub("INTEGER PRIMARY KEY", "BIGINT AUTO_INCREMENT PRIMARY KEY")
   for _, type in ipairs { "TEXT", "INTEGER", "REAL" } do
      sql = sql:gsub('"?([%w_]+)"? ' .. type, function(column)
         return ('"%s" %s'):format(column, mysql_type(column, type))
      end)
   end
   if sql:find "^CREATE INDEX" then -- it has no indexes of some rows, nor of long texts
      return (sql:gsub(" WHERE .*$", ""):gsub("comm%)$", "comm(20))"))
   elseif sql:find "^CREATE TABLE" then
      sql = sql .. " ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"
   end
   return sql
end

-- LuaDBI sends whole numbers to MySQL cut to 32 bits, others as doubles: these are exact to 2^53.
local function mysql_value(value, column)
   if type(value) == "string" then
      value = text_of(value)
      local most = most_chars(column)
      local cut = most and #value > most and utf8.offset(value, most + 1)
      if cut then
         return value:sub(1, cut - 1)
      end
      return value
   elseif math.type(value) == "integer" and (value >= 1 << 31 or value < -1 << 31) then
      return value + 0.0
   end
   return value
end

dialects.mysql = {
   is_server = true, is_loose = true, hides_null = true,
   connect = function(dbi, server)
      return with_password(server, function(password)
         return dbi.Connect("MySQL", server.database, server.user, password, server.socket
            or server.host, server.port)
      end)
   end,
   opening = { "SET NAMES utf8mb4", "SET SESSION sql_mode = 'ANSI_QUOTES,PIPES_AS_CONCAT," ..
      "STRICT_ALL_TABLES,NO_BACKSLASH_ESCAPES,NO_ENGINE_SUBSTITUTION'",
      "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
      "SET SESSION group_concat_max_len = 1000000", "SET SESSION innodb_lock_wait_timeout = 5",
      "SET SESSION wait_timeout = 120" },
   begin = { "SET autocommit = 0" }, commit = { "COMMIT", "SET autocommit = 1" },
   rollback = { "ROLLBACK", "SET autocommit = 1" },
   table = mysql_table,
   put = function(name, columns, keys)
      if keys[1] then
         return insert_text("REPLACE", name, columns)
      end
      return insert_text("INSERT", name, columns)
   end,
   put_new = function(name, columns) return insert_text("INSERT IGNORE", name, columns) end,
   last_id = "SELECT LAST_INSERT_ID() AS id",
   joined = function(column) return ("group_concat(%s SEPARATOR ' ')"):format(column) end,
   tables = "SELECT table_name AS name FROM information_schema.tables " ..
      "WHERE table_schema = DATABASE()",
   value = mysql_value,
   own = "SELECT GET_LOCK(CONCAT('taut ', DATABASE()), 0) AS got",
   oust = function(db)
      local row = db.rows_of("SELECT CONCAT('', IS_USED_LOCK(CONCAT('taut ', DATABASE()))) AS id")
      local id = math.tointeger(tonumber(row[1].id))
      if id then
         db.run("KILL CONNECTION " .. id)
      end
   end,
   pause = "SELECT SLEEP(0.05) AS n",
   sizes = "SELECT table_name AS name, (data_length + index_length) * 1e0 AS bytes FROM " ..
      "information_schema.tables WHERE table_schema = DATABASE()",
   vacuum = { "OPTIMIZE TABLE %s" },
}

return dialects
