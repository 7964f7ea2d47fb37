-- SPDX-License-Identifier: GPL-2.0-or-later
--- Batches of rows into the database, and old rows out of it.
--
-- A batch that may come twice, since its answer was lost, has a `line` (whose batches) and a place
-- in it, { id, seq }: the row `queue LINE` of `setting` says which was the last.  A row that the
-- database refuses while it takes others is set aside: it must not hold up all that follow.  Of a
-- batch for SQLite's file nothing is set aside here: there tautd takes it apart (journal.lua).
--
-- Where one of several tautd acts, the place has the `token` of the lease under which the rows were
-- made.  Once there is a newer one they say what was seen and done, and nothing of how things
-- stand: only FACTS are taken of them.
local db = require "taut.store.db"
local json = require "taut.json"
local leases = require "taut.store.leases"
local tables = require "taut.base.tables"

local writes = {}

local OLD_ROWS = 5000 -- of a table, in one go
local FACTS = { event = true, test = true, verdict = true, action = true, observation = true }

-- Observations that come out of samples go back to tautd, which knows what follows from them.
local function write_rows(rows, observations, token)
   local seen = json.array {}
   local is_old = token and leases.is_old(db, token)
   for _, r in ipairs(rows) do
      local name, row = r[1], r[2]
      row.token = nil
      if name == "action" then
         row.token = token
      end
      if name == "together" then
         for _, o in ipairs(write_rows(row.rows, observations, token)) do
            seen[#seen + 1] = o
         end
      elseif is_old and not FACTS[name] then
         goto continue
      elseif observations.special[name] then
         observations.special[name](db, row)
      elseif name == "sample" then
         for _, o in ipairs(observations.sample(db, row)) do
            seen[#seen + 1] = o
         end
      else
         db.put(name, row)
      end
      ::continue::
   end
   return seen
end

---------------------------------------------------------------- batches that may come twice

-- How far the line is: rows of this batch that are done; math.huge for all of them.
local function done_of(place)
   local row = db.rows_of("SELECT value FROM setting WHERE name = ?", "queue " .. place.line)[1]
   local id, seq, rows = (tables.or_empty(row).value or ""):match "^(%x+) (%d+) (%d+)$"
   seq = math.tointeger(tonumber(seq))
   if id ~= place.id or seq < place.seq then
      return 0
   end
   if seq > place.seq then
      return math.huge
   end
   return math.tointeger(tonumber(rows))
end

local function note_place(place, rows)
   db.put("setting", { name = "queue " .. place.line,
      value = ("%s %d %d"):format(place.id, place.seq, rows) })
end

local function note_settled(observations, fn, ...)
   local result = fn(...)
   observations.settle(db)
   return result
end

local function transaction(observations, fn, ...)
   local ok, result = pcall(db.transaction, note_settled, observations, fn, ...)
   if not ok then
      observations.forget()
      error(result, 0)
   end
   return result
end

local function write_once(rows, observations, place)
   if done_of(place) >= #rows then
      return json.array {}
   end
   local seen = write_rows(rows, observations, place.token)
   note_place(place, #rows)
   return seen
end

local function write_one(rows, i, observations, place)
   local seen = write_rows({ rows[i] }, observations, place.token)
   note_place(place, i)
   return seen
end

-- Row by row: those that the database refuses, though it takes a note of having got so far.
local function write_each(rows, observations, place)
   local seen, refused = json.array {}, json.array {}
   for i = math.min(#rows, db.transaction(done_of, place)) + 1, #rows do
      local ok, result = pcall(transaction, observations, write_one, rows, i, observations, place)
      if ok then
         table.move(result, 1, #result, #seen + 1, seen)
      else
         db.transaction(note_place, place, i)
         refused[#refused + 1] = { rows[i][1], rows[i][2], tostring(result) }
      end
   end
   return seen, refused
end

--- Write a batch.
-- @param request { rows, place or nil, durable }
-- @param observations what is done with them (events/keep.lua): special, sample, settle, forget,
--   prune
-- @return reply
function writes.take(request, observations)
   local rows, place = request.rows, request.place
   if not place then
      return { count = #rows, observations = transaction(observations, write_rows, rows,
         observations) }
   end
   local ok, result = pcall(transaction, observations, write_once, rows, observations, place)
   if not ok and not db.is_server() then
      error(result, 0)
   elseif ok then
      return { count = #rows, observations = result }
   elseif db.is_gone() then
      error(result, 0)
   end
   local seen, refused = write_each(rows, observations, place)
   return { count = #rows - #refused, observations = seen, refused = refused }
end

--- Was this batch written?
-- @param count rows in it
function writes.is_done(place, count)
   return db.transaction(done_of, place) >= count
end

---------------------------------------------------------------- old rows

-- Until when rows may go now, so that no batch waits long, nil where none is old; and whether there
-- are more.
local function cut_at(name, before)
   if not before then
      return nil
   end
   local row = db.rows_of(("SELECT time FROM %s WHERE time < ? ORDER BY time LIMIT 1 OFFSET %d")
      :format(name, OLD_ROWS - 1), before)[1]
   local is_part = row ~= nil
   row = row or db.rows_of(("SELECT MAX(time) AS time FROM %s WHERE time < ?"):format(name),
      before)[1]
   return row and row.time, is_part
end

--- Some of the old rows go.
-- @param before table → time, seconds since 1970
-- @return true when there may be more of them
function writes.prune(before, observations)
   local more = false
   for _, name in ipairs { "test", "event", "sample", "growth", "job", "observation", "verdict",
      "action" } do
      local till, is_part = cut_at(name, before[name])
      if till and name == "observation" then
         observations.prune(db, till)
      elseif till then
         db.run(("DELETE FROM %s WHERE time <= ?"):format(name), till)
      end
      more = more or is_part
   end
   return more
end

return writes
