-- SPDX-License-Identifier: GPL-2.0-or-later
--- What keeps the database small and whole: old rows go, it is looked through at the start, each
-- night, and when it refuses something, and administrators may ask for more (`taut db`).
local helper = require "taut.base.helper"
local loop = require "taut.loop"
local sys = require "taut.sys"

local housekeeping = {}
local Housekeeping = {}
Housekeeping.__index = Housekeeping

local PRUNE_MS = 3600 * 1000
local STEP_MS = 200          -- between two steps of it
local LOOK_MS = 600 * 1000
local NIGHT_H = 3            -- o'clock, local time
local NIGHT_S = 20 * 3600    -- from one look to the next, at least
local SUSPECT_S = 3600       -- from one look for what it refused to the next, at least
local LIMIT_MS = 2 * 3600 * 1000
local DAY_S = 86400
local DETAILS = { "test", "event", "sample", "growth", "job", "observation" }
local STEP, KEPT_S = 1 / 20, 3600 -- of the time that they span; the last hour stays
local FULL, LOW = 1 << 30, 0.95   -- bytes of a GB; below this part of the limit is room again

-- Of journald, as tautd(8) lists them (policy/notice.lua has the others').
local FIELDS = { MESSAGE_ID = "f69c4e1abdb84b0db706e43dede4fc9a", TAUT_EVENT = "database" }

---------------------------------------------------------------- old rows

-- Until when rows of each table go: what `keep` does not name is kept for keep_days, verdicts and
-- actions for good.
local function limits_of(conf)
   local before, now = {}, loop.time()
   for _, name in ipairs(DETAILS) do
      before[name] = now - (conf.keep[name] or conf.keep_days) * DAY_S
   end
   for _, name in ipairs { "verdict", "action" } do
      before[name] = conf.keep[name] and now - conf.keep[name] * DAY_S
   end
   return before
end

-- In steps, until none is left.
local function drop_rows(self, before, fn)
   self.journal:prune(before, function(reply, err)
      if reply and reply.more then
         loop.timer(STEP_MS, function() drop_rows(self, before, fn) end)
      else
         fn(reply and true, err)
      end
   end)
end

---------------------------------------------------------------- what takes long

-- One thing at a time, in a process of its own that ends with it.
local function run_upkeep(self, request, fn)
   if self.running then
      return fn(nil, ("busy: %s is under way"):format(self.running))
   end
   self.running = request.op
   local process = helper.start { name = "db", argv = self.argv }
   process:ask(request, function(reply, err)
      self.running = nil
      process:stop()
      fn(reply, err)
   end, LIMIT_MS)
end

local function on_checked(self, reply, err)
   self.checked_at, self.check_error = loop.time(), err
   local was = self.damage
   self.damage = reply and reply.wrong[1]
   if err then
      sys.log("warning", "the database was not checked: " .. err)
   elseif self.damage then
      sys.log("err", "the database is damaged: " .. self.damage ..
         "; doc/store.md says what can be done", FIELDS)
      self.teller:tell { event = "database", state = "damaged", reason = self.damage }
   elseif was then
      sys.log("notice", "the database is whole again", FIELDS)
      self.teller:tell { event = "database", state = "whole" }
   end
end

--- Old rows go, in steps.
-- @param fn nil, or fn(true) when none is left; fn(nil, why) when they could not
function Housekeeping:prune(fn)
   drop_rows(self, limits_of(self.site.conf), fn or function() end)
end

local function say_cut(self)
   local text = ("the database has more than keep_gb = %g: details of before %s were dropped")
      :format(self.site.conf.keep_gb, os.date("%F %R", math.floor(self.cut.before)))
   sys.log("warning", text, FIELDS)
   self.teller:tell { event = "database", state = "full", reason = text }
end

-- Details go, the oldest of all tables first, until there is room again.
local function cut_details(self, used, fn)
   local now, limit = loop.time(), self.site.conf.keep_gb * FULL
   if self.is_cutting then
      limit = LOW * limit
   end
   if used.bytes <= limit then
      if self.is_cutting then
         self.is_cutting = nil
         say_cut(self)
      end
      return fn(true)
   end
   local till = used.oldest and used.oldest + math.max(STEP * (now - used.oldest), 1)
   if not till or till > now - KEPT_S then
      self.is_cutting = nil
      return fn(nil, ("%.1f GB and nothing left to drop"):format(used.bytes / FULL))
   end
   local before = {}
   for _, name in ipairs(DETAILS) do
      before[name] = till
   end
   self.is_cutting, self.cut = true, { at = now, before = till, bytes = used.bytes }
   drop_rows(self, before, function(ok, err)
      if not ok then
         return fn(nil, err)
      end
      self:bound(fn)
   end)
end

--- Where the database has become larger than keep_gb, its oldest details go.
-- @param fn nil, or fn(true) when it is small enough; fn(nil, why) when it is not
function Housekeeping:bound(fn)
   fn = fn or function(_, err)
      if err and not err:find "^busy" then
         sys.log("warning", "the database cannot be made smaller: " .. err)
      end
   end
   run_upkeep(self, { op = "used" }, function(used, err)
      if not used then
         return fn(nil, err)
      end
      cut_details(self, used, fn)
   end)
end

--- Look the database through.
-- @param fn nil, or fn({ wrong }), fn(nil, why)
function Housekeeping:check(fn)
   run_upkeep(self, { op = "check" }, function(reply, err)
      if reply or not (err or ""):find "^busy" then
         on_checked(self, reply, err)
      end
      if fn then
         fn(reply, err)
      end
   end)
end

local function run_nightly(self)
   local hour = tonumber(os.date "%H")
   if hour == NIGHT_H and loop.time() - (self.checked_at or 0) > NIGHT_S then
      self:check()
   end
end

-- It refused something: is it damaged?
local function look_for_damage(self)
   local now = loop.time()
   if not (self.running or self.damage) and now - (self.suspected_at or 0) > SUSPECT_S then
      self.suspected_at = now
      self:check()
   end
end

local asked = {
   check = function(self, _, reply)
      self:check(function(answer, err) reply(answer and { wrong = answer.wrong }, err) end)
   end,
   size = function(self, _, reply) run_upkeep(self, { op = "size" }, reply) end,
   vacuum = function(self, _, reply) run_upkeep(self, { op = "vacuum" }, reply) end,
   backup = function(self, args, reply)
      run_upkeep(self, { op = "backup", path = tostring(args.path) }, reply)
   end,
   prune = function(self, _, reply)
      self:prune(function(ok, err) reply(ok and { pruned = true }, err) end)
   end,
}

--- Answer `taut db`.
-- @param args { what, path }
-- @param reply fn(data) or fn(nil, why)
function Housekeeping:answer(args, reply)
   local fn = asked[args.what]
   if not fn then
      return reply(nil, "expected check, backup, prune, size or vacuum")
   end
   fn(self, args, reply)
end

--- @return { checked_at, damage, error, cut }: when it was looked through last, seconds since 1970,
--   the first thing that is wrong, why it could not be; what went since it was too large: { at,
--   before = seconds since 1970, bytes }
function Housekeeping:state()
   return { checked_at = self.checked_at, damage = self.damage, error = self.check_error,
      cut = self.cut }
end

--- The database is open: begin.
function Housekeeping:start()
   if not self.is_started then
      self.is_started = true
      self:check()
      self.journal:watch(function() look_for_damage(self) end)
      loop.every(PRUNE_MS, function() self:prune() end)
      loop.every(LOOK_MS, function()
         run_nightly(self)
         self:bound()
      end)
   end
end

--- @param options { site, journal, teller, argv = of the process (upkeep.lua) }
function housekeeping.new(options)
   return setmetatable({ site = options.site, journal = options.journal, teller = options.teller,
      argv = options.argv }, Housekeeping)
end

return housekeeping
