-- SPDX-License-Identifier: GPL-2.0-or-later
--- Batches of rows on their way to the store.
--
-- Rows wait here until the store has confirmed them.  When it cannot write, that is said once,
-- loudly; checks go on, and the newest rows are kept up to ROWS_MAX for when it can again.
local helper = require "taut.base.helper"
local loop = require "taut.loop"
local sys = require "taut.sys"

local journal = {}
local Journal = {}
Journal.__index = Journal

local FLUSH_MS = 100
local RETRY_MS = 2000
local BATCH_ROWS = 5000
local ROWS_MAX = 200000

local function arm(self, ms)
   if not self.timer then
      self.timer = loop.timer(ms, function()
         self.timer = nil
         self:flush()
      end)
   end
end

-- Answer those who wait for what is on disk now; of an error, all.
local function answer(self, err)
   local waiting = self.confirms
   self.confirms = {}
   for _, c in ipairs(waiting) do
      if err then
         c.fn(nil, err)
      elseif c.row <= self.written then
         c.fn(true)
      else
         self.confirms[#self.confirms + 1] = c
      end
   end
end

local function on_written(self, batch, err)
   self.writing = false
   if err then
      if not self.failed then
         sys.log("err", ("cannot write the database: %s; checks go on, rows are kept in memory")
            :format(err))
      end
      self.failed = err
      table.move(self.rows, 1, #self.rows, #batch + 1, batch)
      self.rows = batch
      arm(self, RETRY_MS)
      answer(self, err)
      return
   end
   self.written = self.written + #batch
   self.waits_since = #self.rows > 0 and self.rest_since or nil
   if self.failed then
      sys.log("notice", ("the database can be written again; %d rows were waiting"):format(
         #batch + #self.rows))
      self.failed = nil
   end
   answer(self)
   if #self.confirms > 0 then
      self:flush()
   elseif #self.rows > 0 then
      arm(self, FLUSH_MS)
   end
end

--- Write what waits, one transaction at a time.
function Journal:flush()
   if self.writing or self.stopped or #self.rows == 0 then
      return
   elseif not self.is_open then
      -- What is stored is read before anything is added to it.
      local rows = self.rows
      self.rows = {}
      on_written(self, rows, self.store.down or "it is not open yet")
      return
   end
   local batch, rest = self.rows, {}
   if #batch > BATCH_ROWS then
      table.move(batch, BATCH_ROWS + 1, #batch, 1, rest)
      for i = #batch, BATCH_ROWS + 1, -1 do
         batch[i] = nil
      end
   end
   self.rows, self.writing, self.rest_since = rest, true, loop.time()
   self.store:ask({ op = "write", rows = batch, durable = #self.confirms > 0 or nil },
      function(reply, err)
      on_written(self, batch, err)
      if reply and self.on_observations and #(reply.observations or {}) > 0 then
         self.on_observations(reply.observations)
      end
   end)
end

--- Add a row.
-- @param name table of the database, or a name of events/keep.lua's `special`
-- @param row column → value
function Journal:add(name, row)
   if #self.rows >= ROWS_MAX then
      self.lost = self.lost + 1
      if self.lost == 1 then
         sys.log("err", ("%d rows wait for the database: new ones are dropped"):format(ROWS_MAX))
      end
      return
   end
   self.rows[#self.rows + 1] = { name, row }
   self.added = self.added + 1
   self.waits_since = self.waits_since or loop.time()
   if not self.failed then
      arm(self, FLUSH_MS)
   end
end

--- Let fn know when all that was added until now is on disk: fn(true); or fn(nil, why it is not).
-- What cannot be written now still waits, and is written when it can be.
function Journal:confirm(fn)
   if self.lost > self.lost_said then
      self.lost_said = self.lost
      return fn(nil, ("%d rows wait for the database already"):format(ROWS_MAX))
   end
   -- a row of its own: what was written before is on disk only with the next durable transaction
   self:add("setting", { name = "confirmed", value = ("%.3f"):format(loop.time()) })
   self.confirms[#self.confirms + 1] = { row = self.added, fn = fn }
   self:flush()
end

--- Ask the store; fn(rows) or fn(nil, error).
function Journal:query(name, args, fn)
   self.store:ask({ op = "query", name = name, args = args }, function(reply, err)
      fn(reply and reply.rows, err)
   end)
end

--- Let fn have what samples showed, once that is stored.
function Journal:tell(fn)
   self.on_observations = fn
end

function Journal:prune(before)
   self.store:ask({ op = "prune", before = before }, function() end)
end

function Journal:state()
   return { waiting = #self.rows, lost = self.lost, error = self.failed or self.store.down,
      lag = self.waits_since and math.max(0, loop.time() - self.waits_since) or 0 }
end

--- Write what is left, then end the store.
function Journal:stop(done)
   self.stopped = true
   self.store:ask({ op = "write", rows = self.rows, durable = true }, function(_, err)
      if err and #self.rows > 0 then
         sys.log("err", ("%d rows could not be written at the end: %s"):format(#self.rows, err))
      end
      self.store:stop()
      done()
   end, 5000)
end

--- @param argv command that starts the store
-- @param on_ready called at each of its starts
function journal.start(argv, on_ready)
   local self = setmetatable({ rows = {}, lost = 0, lost_said = 0, writing = false, confirms = {},
      added = 0, written = 0 }, Journal)
   self.store = helper.start { name = "store", argv = argv, on_ready = function()
      self.store.down, self.is_open = nil, true
      on_ready()
   end, on_end = function() self.is_open = false end }
   return self
end

return journal
