-- SPDX-License-Identifier: GPL-2.0-or-later
--- The process that looks after the database beside the store's (`tautd --db WHERE`): it may take
-- minutes, while the store goes on.
--
-- Requests are JSON lines on stdin, replies JSON lines on stdout, in order:
--   { id, op = "check" } → wrong, array of texts, empty where nothing is
--   { id, op = "size" } → tables { { name, rows, bytes or nil } }, bytes (nil: not known), free
--   { id, op = "used" } → bytes that rows take (of a server: by their number), oldest: the time of
--     the first of all details
--   { id, op = "backup", path }: SQLite's file as it is now, at a path where nothing is yet
--   { id, op = "vacuum" } → before, after: bytes
local answering = require "taut.base.answering"
local db = require "taut.store.db"
local json = require "taut.json"
local schema = require "taut.store.schema"
local sys = require "taut.sys"
local tables = require "taut.base.tables"

local upkeep = {}

local MOST_WRONG = 20 -- texts of one check

local where, opened

local function table_names()
   return tables.keys(schema.columns)
end

-- SQLite looks through all pages and indexes; of a server every row is read.
local function check_tables(wrong)
   for _, name in ipairs(table_names()) do
      local ok, err = pcall(db.rows_of, ("SELECT COUNT(*) AS n FROM %s"):format(name))
      if not ok and #wrong < MOST_WRONG then
         wrong[#wrong + 1] = ("table %s: %s"):format(name, err)
      end
   end
end

local function check_file(wrong)
   local rows = db.rows_of(("PRAGMA integrity_check(%d)"):format(MOST_WRONG))
   for _, row in ipairs(rows) do
      if row.integrity_check ~= "ok" then
         wrong[#wrong + 1] = row.integrity_check
      end
   end
end

local function file_bytes()
   local page = db.rows_of("PRAGMA page_size")[1].page_size
   return page * db.rows_of("PRAGMA page_count")[1].page_count,
      page * db.rows_of("PRAGMA freelist_count")[1].freelist_count
end

-- Bytes by table, its indexes with it; nothing where the database does not tell.
local function bytes_of()
   local ok, rows = pcall(db.rows_of, db.sizes())
   local map = {}
   for _, row in ipairs(tables.or_empty(ok and rows)) do
      map[row.name] = math.tointeger(tonumber(row.bytes))
   end
   return map
end

local function total_of(map)
   local sum = 0
   for _, name in ipairs(table_names()) do
      if not map[name] then
         return nil
      end
      sum = sum + map[name]
   end
   return sum
end

local function whole_bytes()
   if db.is_server() then
      return total_of(bytes_of())
   end
   return file_bytes()
end

local ops = {}

function ops.check()
   local wrong, look = json.array {}, check_file
   if db.is_server() then
      look = check_tables
   end
   local ok, err = pcall(look, wrong)
   if not ok then
      wrong[#wrong + 1] = tostring(err)
   end
   return { wrong = wrong }
end

function ops.size()
   local map, list = bytes_of(), json.array {}
   for _, name in ipairs(table_names()) do
      list[#list + 1] = { name = name, bytes = map[name],
         rows = db.rows_of(("SELECT COUNT(*) AS n FROM %s"):format(name))[1].n }
   end
   local bytes, free = whole_bytes()
   return { tables = list, bytes = bytes, free = free, where = opened.text }
end

-- A server gives room back when it likes, so its rows are counted: bytes of one, with indexes.
local ROW_BYTES = { event = 300, test = 500, sample = 1700, growth = 500, observation = 900,
   job = 300 }

function ops.used()
   local bytes, oldest = 0, nil
   for name, each in pairs(ROW_BYTES) do
      local first = db.rows_of(("SELECT MIN(time) AS time FROM %s"):format(name))[1].time
      if first then
         oldest = math.min(first, oldest or first)
      end
      if db.is_server() then
         bytes = bytes + each * db.rows_of(("SELECT COUNT(*) AS n FROM %s"):format(name))[1].n
      end
   end
   if not db.is_server() then
      local all, free = file_bytes()
      bytes = all - free
   end
   return { bytes = bytes, oldest = oldest }
end

function ops.backup(request)
   if db.is_server() then
      return nil, "the server's own tools do that: pg_dump, mariadb-dump"
   elseif request.path:sub(1, 1) ~= "/" then
      return nil, ("'%s': expected a path from /"):format(request.path)
   elseif sys.stat(request.path) then
      return nil, request.path .. " is there already"
   end
   db.run("VACUUM INTO ?", request.path)
   local st, err = sys.stat(request.path)
   return st and { path = request.path, bytes = st.size }, err
end

function ops.vacuum()
   local before = whole_bytes()
   for _, sql in ipairs(db.vacuum()) do
      if sql:find "%%s" then
         for _, name in ipairs(table_names()) do
            db.run(sql:format(name))
         end
      else
         db.run(sql)
      end
   end
   return { before = before, after = (whole_bytes()) }
end

-- Where its first pages are damaged, SQLite opens nothing.
local function is_damage(err)
   return err:find "malformed" ~= nil or err:find "not a database" ~= nil
end

-- What the database says is an answer, not an error of ours.
local function said_of(op)
   return function(request)
      if not opened then
         local err
         opened, err = db.open(where, { is_guest = true })
         if not opened then
            if op == ops.check and is_damage(err) then
               return { wrong = json.array { err } }
            end
            return nil, err
         end
      end
      local ok, result, why = pcall(op, request)
      if not ok then
         return nil, tostring(result)
      end
      return result, why
   end
end

--- Serve requests until stdin ends.
-- @param path_or_address as the store's process has it
-- @return exit status
function upkeep.main(path_or_address)
   where = path_or_address
   local given = {}
   for name, op in pairs(ops) do
      given[name] = said_of(op)
   end
   return answering.serve { name = "db", ops = given, is_ready = function() return true end }
end

return upkeep
