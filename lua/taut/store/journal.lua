-- SPDX-License-Identifier: GPL-2.0-or-later
--- Batches of rows on their way to the store.
--
-- Rows wait here (waiting.lua) until the store has confirmed them.  When it cannot write, that is
-- said once, loudly; checks go on, and rows wait for when it can again, as far as there is room.
-- Where the database is a server they wait on disk meanwhile (backlog.lua).  Of several tautd only
-- the one that acts has a store; in the others nothing waits.
local backlog = require "taut.store.backlog"
local batches = require "taut.store.batches"
local helper = require "taut.base.helper"
local loop = require "taut.loop"
local seal = require "taut.seal"
local sys = require "taut.sys"
local tables = require "taut.base.tables"
local waiting = require "taut.store.waiting"

local journal = {}
local Journal = {}
Journal.__index = Journal

local FLUSH_MS = 100
local RETRY_MS = 2000
local PING_MS = 20000
local SERVER_START_MS, SERVER_AGAIN_MS = 15000, 5000
local STOP_MS = 5000
local STANDS_BY = "this tautd is on standby"

local function arm_timer(self, ms)
   if not self.timer then
      self.timer = loop.timer(ms, function()
         self.timer = nil
         self:flush()
      end)
   end
end

-- Answer those who wait for what is on disk now; of an error, all.
local function answer_waiting(self, err)
   local asked = self.confirms
   self.confirms = {}
   for _, c in ipairs(asked) do
      if err then
         c.fn(nil, err)
      elseif c.row <= self.written then
         c.fn(true)
      else
         self.confirms[#self.confirms + 1] = c
      end
   end
end

-- A database that is open has refused something.
local function note_trouble(self)
   if self.is_open and self.on_trouble then
      self.on_trouble()
   end
end

-- What waits on this host's disk is not stored where another host's tautd may act next.
local function on_written(self, batch, reply, err, answered)
   self.writing = nil
   if err then
      if not self.failed then
         sys.log("err", ("cannot write the database: %s; checks go on, rows are kept in memory")
            :format(err))
      end
      self.failed = err
      batches.failed(self, batch, err, answered)
      arm_timer(self, RETRY_MS)
      answer_waiting(self, err)
      note_trouble(self)
      return
   end
   self.written = self.written + #batch.rows
   self.waits_since = nil
   if self.waiting.count > 0 then
      self.waits_since = self.rest_since
   end
   self.most_rows = math.min(batches.ROWS, 2 * self.most_rows)
   if self.failed then
      sys.log("notice", ("the database can be written again; %d rows were waiting"):format(
         #batch.rows + self.waiting.count))
      self.failed = nil
   end
   local away
   if reply.queued and self.backlog.token then
      away = "the database is away: "
         .. (self.backlog.error or self.store.down or "it does not answer")
   end
   answer_waiting(self, away)
   if #self.confirms > 0 or #self.held > 0 then
      self:flush()
   elseif self.waiting.count > 0 then
      arm_timer(self, FLUSH_MS)
   end
end

local function ask_store(self, question)
   self.store:ask({ op = "query", name = question.name, args = question.args }, function(reply, err)
      question.fn(reply and reply.rows, err)
      if err then
         note_trouble(self)
      end
   end)
end

-- Questions that came while rows before them were not written yet; after a failure, all of them.
local function ask_held(self, is_failed)
   local held = self.held
   self.held = {}
   for _, q in ipairs(held) do
      if is_failed or q.row <= self.written then
         ask_store(self, q)
      else
         self.held[#self.held + 1] = q
      end
   end
end

--- Write what waits, one transaction at a time; what is asked after that finds it.
function Journal:flush()
   self.asked = self.added
   if self.writing or self.stopped or not self.store
      or self.waiting.count == 0 and not self.batch then
      return
   end
   local batch = batches.next(self)
   self.writing = batch
   batches.write(self, batch, #self.confirms > 0, function(reply, err, answered)
      if reply then
         err = nil
      end
      on_written(self, batch, reply, err, answered)
      ask_held(self, not reply)
      if reply and self.on_observations and #(reply.observations or {}) > 0 then
         self.on_observations(reply.observations)
      end
   end)
end

--- Add a row.
-- @param name table of the database, or a name of events/keep.lua's `special`
-- @param row column → value
function Journal:add(name, row)
   if self.gathered then
      self.gathered[#self.gathered + 1] = { name, row }
      return
   end
   local ok, why = self.waiting:add { name, row }
   if not ok then
      self.lost = self.lost + 1
      if name ~= "sample" then
         self.no_room = why or self.no_room
      end
      if self.lost == 1 then
         sys.log("err", why .. ": new ones are dropped")
      end
      return
   end
   self.added = self.added + 1
   self.waits_since = self.waits_since or loop.time()
   if not self.failed then
      arm_timer(self, FLUSH_MS)
   end
end

--- What fn() adds is written whole or not at all.
function Journal:together(fn)
   self.gathered = {}
   fn()
   local rows = self.gathered
   self.gathered = nil
   self:add("together", { rows = rows })
end

--- Let fn know when all that was added until now is on disk: fn(true); or fn(nil, why it is not).
-- What cannot be written now still waits, and is written when it can be.
function Journal:confirm(fn)
   -- a row of its own: what was written before is on disk only with the next durable transaction
   self:add("setting", { name = "confirmed", value = ("%.3f"):format(loop.time()) })
   local why = self.no_room -- of any row since the last one who asked
   if why then
      self.no_room = nil
      return fn(nil, why .. " already")
   end
   self.confirms[#self.confirms + 1] = { row = self.added, fn = fn }
   self:flush()
end

local function rows_in(batch)
   if not batch then
      return 0
   end
   return #batch.rows
end

--- Ask the store; fn(rows) or fn(nil, error).
function Journal:query(name, args, fn)
   if not self.store then
      return fn(nil, STANDS_BY)
   end
   local q = { name = name, args = args, fn = fn, row = self.asked }
   -- what is being written is found: the store answers in order
   if self.written + rows_in(self.writing) < q.row and not self.failed then
      self.held[#self.held + 1] = q
   else
      ask_store(self, q)
   end
end

--- Let fn know when the database, though it is open, refuses to be read or written.
function Journal:watch(fn)
   self.on_trouble = fn
end

--- Let fn have what samples showed, once that is stored.
function Journal:tell(fn)
   self.on_observations = fn
end

--- Some of the old rows go.
-- @param before table → seconds since 1970
-- @param fn fn({ more }) or fn(nil, why)
function Journal:prune(before, fn)
   self.store:ask({ op = "prune", before = before }, fn or function() end)
end

--- @return { waiting = rows in memory, lost = rows, error = why they cannot be written or nil,
--   lag = seconds, of a server: away = why it does not take them or nil, queued = { rows, bytes,
--   since, refused, left_out } on disk }
function Journal:state()
   local queued, away
   if not self.store then
      return { waiting = 0, lost = 0, lag = 0 }
   elseif self.backlog then
      queued, away = self.backlog:state()
      away = away or self.store.down
   end
   local since, lag, err = tables.or_empty(queued).since or self.waits_since, 0, self.failed
   if since then
      lag = math.max(0, loop.time() - since)
   end
   if not self.backlog then
      err = err or self.store.down
   end
   -- what could not be written waits also while it is tried again
   local tried = self.batch or self.failed and self.writing
   return { waiting = self.waiting.count + rows_in(tried), lost = self.lost,
      error = err or nil, away = away, queued = queued, lag = lag }
end

-- One after the other until none waits, or one cannot be written.
local function write_rest(self, fn)
   if self.waiting.count == 0 and not self.batch then
      return fn()
   end
   local batch = batches.next(self)
   batches.write(self, batch, true, function(reply, err)
      if not reply then
         return fn(err, #batch.rows + self.waiting.count)
      end
      write_rest(self, fn)
   end)
end

--- Write what is left, then end the store.
function Journal:stop(done)
   self.stopped = true
   if not self.store then
      return done()
   end
   local function end_store(err, rows)
      if done then
         if err then
            sys.log("err", ("%d rows could not be written at the end: %s"):format(rows, err))
         end
         self.store:stop()
         if self.backlog then
            self.backlog:stop()
         end
         local fn = done
         done = nil
         fn()
      end
   end
   loop.timer(STOP_MS, function() end_store("it took too long", self.waiting.count) end)
   write_rest(self, end_store)
end

local function observations_of(self)
   return function(list)
      if self.on_observations then
         self.on_observations(list)
      end
   end
end

--- Without a store, until begin().
function journal.new()
   return setmetatable({ waiting = waiting.new(), lost = 0, confirms = {}, held = {},
      added = 0, asked = 0, written = 0, seq = 0, id = seal.hex(seal.random(8)),
      most_rows = batches.ROWS }, Journal)
end

--- Start the store.
-- @param argv its command
-- @param on_ready called at each of its starts, of a server when all that waited is there
-- @param queue nil for a file of SQLite; for a server { argv, folder, and, or nil,
--   token, most, write_ms, retry_ms, again_ms } (backlog.lua)
-- @return itself
function Journal:begin(argv, on_ready, queue)
   local function when_ready()
      self.store.down, self.is_open = nil, true
      on_ready()
   end
   self.store = helper.start { name = "store", argv = argv, on_ready = function()
      if self.backlog then
         self.store.down = nil
         self.backlog:up(when_ready)
      else
         when_ready()
      end
   end, on_end = function()
      self.is_open = false
      if self.backlog then
         self.backlog:down()
      end
   end, start_ms = queue and SERVER_START_MS,
      most_ms = queue and (queue.again_ms or SERVER_AGAIN_MS) }
   if queue then
      self.backlog = backlog.new { store = self.store, queue = queue.argv, folder = queue.folder,
         token = queue.token, most = queue.most, write_ms = queue.write_ms,
         retry_ms = queue.retry_ms,
         on_observations = observations_of(self) }
      loop.every(PING_MS, function()
         self.store:ask({ op = "ping" }, function() end)
      end)
   end
   return self
end

--- Both at once.
function journal.start(argv, on_ready, queue)
   return journal.new():begin(argv, on_ready, queue)
end

return journal
