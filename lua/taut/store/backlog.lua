-- SPDX-License-Identifier: GPL-2.0-or-later
--- Batches on their way to a server: straight to it, or onto disk while it is away and from there
-- to it, in order (queue.lua).  tautd's end of both.
--
-- Each batch has its place { line, id, seq }: `line` is this host, `id` this process; a batch whose
-- answer was lost goes again, and the database takes it once.  Of several tautd it has the `token`
-- of the lease, too (leases.lua).
local helper = require "taut.base.helper"
local loop = require "taut.loop"
local seal = require "taut.seal"
local sys = require "taut.sys"

local backlog = {}
local Backlog = {}
Backlog.__index = Backlog

local MOST_BYTES = 1 << 30 -- on disk
local WRITE_MS = 10000     -- for one batch, then the server is taken for gone
local RETRY_MS = 2000

--- Does nothing wait on disk, as far as is known?
function Backlog:is_empty()
   return self.known and self.known.batches == 0
end

local function learn_state(self, reply)
   self.known = { batches = reply.batches, rows = reply.rows, bytes = reply.bytes,
      since = reply.since, refused = reply.refused, left_out = reply.left_out }
end

local function ask_queue(self, request, fn)
   self.queue:ask(request, function(reply, err)
      if reply then
         learn_state(self, reply)
      end
      fn(reply, err)
   end)
end

-- What the server does not take, though it takes other rows.
local function set_aside(self, reply)
   local rows = reply.refused or {}
   if #rows > 0 then
      sys.log("err", ("the database refuses %d rows, the first of table %s: %s; they are in %s/%s")
         :format(#rows, rows[1][1], rows[1][3], self.folder, "refused.rows"))
      ask_queue(self, { op = "refuse", rows = rows }, function(_, err)
         if err then
            sys.log("err", "cannot keep them: " .. err)
         end
      end)
   end
end

local function send_batch(self, batch, fn)
   self.store:ask({ op = "write", rows = batch.rows, place = batch.place }, function(reply, err)
      if not err then
         self.error = nil
         set_aside(self, reply)
      end
      fn(reply, err)
   end, self.write_ms)
end

---------------------------------------------------------------- from disk

local function try_again(self)
   self.is_draining = false
   loop.timer(self.retry_ms, function() self:drain() end)
end

local function on_sent(self, reply, err)
   if err then
      self.error = err
      return try_again(self)
   end
   if self.on_observations and #(reply.observations or {}) > 0 then
      self.on_observations(reply.observations)
   end
   ask_queue(self, { op = "drop" }, function(_, why)
      self.is_draining = false
      if why then
         return try_again(self)
      end
      self:drain()
   end)
end

local function on_empty(self)
   local fn = self.when_empty
   self.when_empty = nil
   if self.was_away then
      sys.log("notice", "the database has all rows that waited on disk")
      self.was_away = false
   end
   if fn then
      fn()
   end
end

--- Send what waits, while the server takes it.
function Backlog:drain()
   if self.is_draining or not self.is_up then
      return
   elseif self:is_empty() then
      return on_empty(self)
   end
   self.is_draining = true
   ask_queue(self, { op = "head" }, function(reply, err)
      if err or not reply.batch then
         self.error = err or self.error
         return try_again(self)
      end
      send_batch(self, reply.batch, function(...) on_sent(self, ...) end)
   end)
end

---------------------------------------------------------------- onto disk

local function put_batch(self, batch, durable, fn)
   ask_queue(self, { op = "append", batch = batch, durable = durable }, function(_, err)
      if err then
         fn(nil, err)
      else
         fn { queued = true }
      end
      self:drain()
   end)
end

local function say_away(self, err)
   self.error = err
   if not self.was_away then
      sys.log("err", ("%s; rows wait on disk, in %s"):format(err, self.folder))
      self.was_away = true
   end
end

--- The next batch.
-- @param durable is it to be on disk when it is answered?
-- @param fn(reply) when the database or, with `queued`, the disk has it; fn(nil, why) where
--   neither: it has to be given again
function Backlog:write(batch, durable, fn)
   if not batch.place then
      self.seq = self.seq + 1
      batch.place = { line = self.line, id = self.id, seq = self.seq, token = self.token }
      batch.time = loop.time()
   end
   if not (self.is_open and self:is_empty()) then
      return put_batch(self, batch, durable, fn)
   end
   send_batch(self, batch, function(reply, err)
      if not err then
         return fn(reply)
      end
      say_away(self, err)
      put_batch(self, batch, durable, fn)
   end)
end

--- The store's process has the server.  fn() when all that waited is there.
function Backlog:up(fn)
   self.is_up, self.error = true, nil
   self.when_empty = function()
      self.is_open = true
      fn()
   end
   if self.known then
      self:drain()
   end
end

--- It has not.
function Backlog:down()
   self.is_up, self.is_open = false, false
end

--- @return { rows, bytes, since, refused, left_out } on disk, why the server does not take them
function Backlog:state()
   return self.known, self.error or self.queue.down
end

function Backlog:stop()
   self.queue:stop()
end

-- What waits already, of an earlier tautd.
local function open_queue(self)
   if self.is_opening then
      return
   end
   self.is_opening = true
   ask_queue(self, { op = "conf", folder = self.folder, most = self.most }, function(_, err)
      self.is_opening = false
      if err then
         sys.log("err", "rows cannot wait on disk: " .. err)
         self.error = err
      end
      self:drain()
   end)
end

--- @param options { store = helper, queue = argv of the queue's process, folder, on_observations;
--   or nil: token = of the lease, most = bytes on disk, write_ms, retry_ms }
function backlog.new(options)
   local self = setmetatable({ store = options.store, folder = options.folder,
      token = options.token, seq = 0,
      most = options.most or MOST_BYTES, write_ms = options.write_ms or WRITE_MS,
      retry_ms = options.retry_ms or RETRY_MS,
      line = sys.hostname(), id = seal.hex(seal.random(8)),
         on_observations = options.on_observations },
      Backlog)
   self.queue = helper.start { name = "queue", argv = options.queue, most_ms = RETRY_MS,
      on_ready = function()
         self.queue.down = nil
         if not self.known then
            open_queue(self)
         end
      end, on_end = function() self.known, self.is_opening = nil, false end }
   open_queue(self) -- before anything else is asked
   return self
end

return backlog
