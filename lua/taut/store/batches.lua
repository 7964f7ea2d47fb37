-- SPDX-License-Identifier: GPL-2.0-or-later
--- Which rows of a journal go to the store together, and what becomes of those that fail.
--
-- A batch for SQLite's file has its place { line, id, seq } there: whether it was written, although
-- its answer was lost, the database itself says, and then it is not written again.  One that fails
-- is tried again in parts; a row that the database refuses, while nothing else is wrong, goes.
local loop = require "taut.loop"
local sys = require "taut.sys"

local batches = { ROWS = 5000 }

local BYTES = 1 << 20
local SERVER_ROWS = 500 -- of a batch for a server: each row is a way there and back
local FILE = "file" -- the line of its batches

-- What is wrong with the disk, or with the store's process, is wrong for each row.
local HARD = { "full", "I/O", "locked", "busy", "only", "open", "space", "memory", "not answer",
   "ended", "another tautd", "newer", "answer was lost" }

local LOST_MOST = 5 -- answers about one row, whose request ends the store's process each time

-- Was the request about this row, alone, lost so often that the row is what ends the process?
local function is_lost_for_ever(self, row, err)
   if not err:find("answer was lost", 1, true) then
      return false
   elseif self.lost_row ~= row then
      self.lost_row, self.lost_times = row, 0
   end
   self.lost_times = self.lost_times + 1
   return self.lost_times >= LOST_MOST
end

local function is_of_row(err)
   for _, word in ipairs(HARD) do
      if err:find(word, 1, true) then
         return false
      end
   end
   return true
end

-- A row that the database refuses must not hold up all that follow.
local function leave_out(self, row, err)
   self.lost, self.written = self.lost + 1, self.written + 1
   sys.log("err", ("the database refuses a row of table %s, which is left out: %s"):format(row[1],
      err))
end

--- One was not written.  A batch for a server keeps its place.  Of one for a file it is known that
-- nothing was written: it goes in front of what was added since, and is tried in smaller parts.
-- Where its answer was lost (`answered` is false), the database is asked first (write).
-- @param self journal
function batches.failed(self, batch, err, answered)
   if answered then
      self.most_rows = math.max(1, #batch.rows // 2)
   end
   if self.backlog or not answered then
      self.batch = batch
   elseif #batch.rows == 1
      and (is_of_row(err) or is_lost_for_ever(self, batch.rows[1], err)) then
      leave_out(self, batch.rows[1], err)
   else
      self.waiting:give_back(batch.rows)
   end
end

--- The next rows that wait.
-- @param self journal
function batches.next(self)
   if self.batch then
      local batch = self.batch
      self.batch = nil
      return batch
   end
   local most = batches.ROWS
   if self.backlog then
      most = SERVER_ROWS
   end
   most = math.min(self.most_rows, most)
   local batch = { rows = self.waiting:take(most, BYTES) }
   self.rest_since = loop.time()
   return batch
end

-- Into a file: with a place.  A batch that has one already was sent before, and what became of it
-- is not known: fn(reply) where it was written after all, else it is taken apart.
local function write_file(self, batch, durable, fn)
   if batch.place then
      self.store:ask({ op = "is_done", place = batch.place, count = #batch.rows },
         function(reply, err)
            if reply and reply.done then
               fn(reply, err or "its answer was lost", true)
            else
               fn(nil, err or "its answer was lost", reply ~= nil)
            end
         end)
      return
   end
   self.seq = self.seq + 1
   batch.place = { line = FILE, id = self.id, seq = self.seq }
   self.store:ask({ op = "write", rows = batch.rows, place = batch.place,
      durable = durable or nil }, function(reply, err, said)
         if said then -- an error, and nothing of it was written
            batch.place = nil
         end
         fn(reply, err, said ~= nil)
      end)
end

--- Write it.
-- @param self journal
-- @param durable is it on disk then?
-- @param fn fn(reply); or fn(nil, why, answered): did the database say so?
function batches.write(self, batch, durable, fn)
   if self.backlog then
      self.backlog:write(batch, durable, fn)
   elseif self.is_open then
      write_file(self, batch, durable, fn)
   else -- what is stored is read before anything is added to it
      fn(nil, self.store.down or "it is not open yet")
   end
end

return batches
