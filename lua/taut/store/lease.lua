-- SPDX-License-Identifier: GPL-2.0-or-later
--- Which of several tautd acts: tautd's end of the lease (leases.lua).
--
-- The holder renews it each second, and is active for HOLD_MS after it asked for the last renewal
-- that was confirmed.  The standby takes it when it saw no renewal for TAKE_MS.  That is longer,
-- and begins later, so both never hold it.  Each measures by its own monotonic clock, and only
-- times of its own: no wall clock counts, the database's neither.
local helper = require "taut.base.helper"
local loop = require "taut.loop"
local seal = require "taut.seal"
local sys = require "taut.sys"
local tables = require "taut.base.tables"

local lease = {}
local Lease = {}
Lease.__index = Lease

local HOLD_MS = 2500
local TAKE_MS = 3000
local RENEW_MS = 1000
local LOOK_MS = 250
local WAIT_MS = 1000    -- between two signs of life of the standby
local WAITS_MS = 4000   -- so long it is then taken to be there
local ASK_MS = 2000     -- until the database is taken for gone
local START_MS = 2500
local AGAIN_MS = 500

local function ms_since(ns)
   return (loop.now_ns() - ns) / 1e6
end

---------------------------------------------------------------- what it knows

--- Until when it may act, in nanoseconds of loop.now_ns(); nil where it may not now.
function Lease:until_ns()
   if self.token and loop.now_ns() < self.till_ns then
      return self.till_ns
   end
   return nil
end

--- Its host, in short, is it that one?
function lease.is_host(one, other)
   return one == other or one:match "^[^.]+" == other:match "^[^.]+"
end

-- Is the row one that somebody keeps up?
local function is_kept_up(self)
   if self.token then
      return self:until_ns() ~= nil
   end
   return self.row ~= nil and self.row.token > 0 and self.row.offered == "" and not self.error
      and ms_since(self.seen_ns) < TAKE_MS
end

--- @return { host = of who acts or nil, token, waiting = host of who stands by or nil, error = why
--   the database does not say, or nil }
function Lease:state()
   local row = self.row
   local state = { token = tables.or_empty(row).token or 0, error = self.error }
   if is_kept_up(self) then
      state.host = row.host
   end
   if self.waits_ns and ms_since(self.waits_ns) < WAITS_MS then
      state.waiting = row.waiting
   end
   return state
end

---------------------------------------------------------------- asking

local ask

local function note_error(self, err)
   if err and not self.error then
      sys.log("err", "the lease: " .. err)
   elseif not err and self.error then
      sys.log("notice", "the database answers for the lease again")
   end
   self.error = err
end

-- What was seen, and since when it has been so.
local function note_row(self, row)
   local was = self.row
   if not was or was.token ~= row.token or was.beat ~= row.beat then
      self.seen_ns = loop.now_ns()
   end
   if was and was.waiting_beat ~= row.waiting_beat then
      self.waits_ns = loop.now_ns()
   end
   self.row = row
end

local function on_mine(self, row, asked_ns)
   self.till_ns = asked_ns + HOLD_MS * 1000000
   if not self.token then
      self.token = row.token
      self.tell.held(row.token)
   end
end

local function on_row(self, row, asked_ns, what)
   note_row(self, row)
   if row.holder == self.id and row.offered == "" and what ~= "look" then
      on_mine(self, row, asked_ns)
   elseif self.token and what ~= "offer" then
      self.token = nil
      self.tell.lost(row)
   end
end

local function may_take(self)
   local row = self.row
   return row.offered == "*" or lease.is_host(row.offered, self.host)
      or ms_since(self.seen_ns) >= TAKE_MS
end

-- What there is to ask now.
local function next_request(self)
   local row = self.row
   if self.token or row and row.holder == self.id then
      return { what = "renew", holder = self.id, token = self.token or row.token }
   elseif row and may_take(self) then
      return { what = "take", holder = self.id, host = self.host, token = row.token,
         beat = row.beat }
   end
   if self.said_ns and ms_since(self.said_ns) < WAIT_MS then
      return { what = "look" }
   end
   self.said_ns = loop.now_ns()
   return { what = "look", waiting = self.host }
end

local function take_turn(self)
   if not self.is_ended then
      ask(self, next_request(self), function() end)
   end
end

function ask(self, request, fn)
   local asked_ns, what = loop.now_ns(), request.what
   request.op = "lease"
   self.helper:ask(request, function(reply, err)
      note_error(self, err)
      if reply then
         on_row(self, reply.row, asked_ns, what)
      end
      fn(reply ~= nil)
      if what ~= "offer" then
         local rest_ms = LOOK_MS
         if self.token and reply then
            rest_ms = RENEW_MS
         end
         loop.timer(rest_ms, function() take_turn(self) end)
      end
   end, ASK_MS)
end

--- Give it up, to a host or to anybody ("*").
-- @param fn fn() afterwards, whether the database heard it or not
function Lease:offer(to, fn)
   self.is_ended = true
   if not self.token then
      return fn()
   end
   ask(self, { what = "offer", holder = self.id, token = self.token, to = to }, fn)
end

--- Begin to want it.
-- @param options { argv = of the process, host = what others are to call this one,
--   held = function(token), lost = function(row) }
function lease.start(options)
   local self = setmetatable({ host = options.host, tell = options, till_ns = 0,
      seen_ns = loop.now_ns(),
      id = seal.hex(seal.random(8)) }, Lease)
   self.helper = helper.start { name = "lease", argv = options.argv, start_ms = START_MS,
      most_ms = AGAIN_MS }
   loop.timer(0, function() take_turn(self) end)
   return self
end

return lease
