-- SPDX-License-Identifier: GPL-2.0-or-later
--- Turns of tautd's loop for what can wait: questions, and long work in pieces (task.lua).
--
-- Nodes come first: a turn is given when no work for nodes is due. If that never happens, turns
-- take a fifth of the time at most, or half of it if an administrator waits, who comes before all
-- others.  They take turns one after the other, whoever wants how many.
local loop = require "taut.loop"
local sys = require "taut.sys"

local turns = {
   first = "first", -- whose turns come before all others
   own = "tautd",   -- of what nobody asked for
}

-- From one turn to the next, where nodes never rest: times what the last one took, and at most.
local GUARD_MS, REST, REST_MAX_MS = 20, 4, 500
local REST_FIRST, REST_FIRST_MAX_MS = 1, 100

local queues, ring = {}, {} -- key → array of functions with its first index; keys in their order
local current               -- whose turn it is
local armed, guard -- for the next turn
local took_ms, ended_ns = 0, -math.huge -- of the last turn

local function take_next_key()
   if queues[turns.first] then
      return turns.first
   end
   return table.remove(ring, 1)
end

-- The next piece of work; nil where there is none.
local function take_next_work()
   local key = take_next_key()
   if not key then
      return nil
   end
   local q = queues[key]
   local fn = q[q.at]
   q[q.at] = nil
   q.at = q.at + 1
   if q.at > q.last then
      queues[key] = nil
   elseif key ~= turns.first then
      ring[#ring + 1] = key
   end
   return fn, key
end

local arm_next_turn

local function run_next_turn()
   armed = nil
   guard:cancel()
   local fn, key = take_next_work()
   if fn then
      local began_ns = loop.now_ns()
      current = key
      local ok, err = xpcall(fn, debug.traceback)
      current = nil
      if not ok then
         sys.log("err", "a turn of tautd: " .. tostring(err))
      end
      ended_ns = loop.now_ns()
      took_ms = (ended_ns - began_ns) / 1e6
   end
   arm_next_turn()
end

-- Milliseconds from now on that a turn has to wait at most.
local function rest_ms(is_first)
   local rest = is_first and math.min(REST_FIRST_MAX_MS, REST_FIRST * took_ms)
      or math.min(REST_MAX_MS, REST * took_ms)
   return math.max(GUARD_MS, rest - (loop.now_ns() - ended_ns) / 1e6)
end

-- Both the loop's last event and the guard lead to one turn, whichever comes first.  An
-- administrator does not wait for the guard of others.
function arm_next_turn()
   local is_first = queues[turns.first] ~= nil
   if current or not next(queues) or armed and (armed.is_first or not is_first) then
      return
   elseif armed then
      guard:cancel()
   end
   local own = { is_first = is_first }
   local function run_if_armed()
      if armed == own then
         run_next_turn()
      end
   end
   armed = own
   guard = loop.timer(rest_ms(is_first), run_if_armed)
   loop.later(run_if_armed)
end

--- Do fn() in a turn of its own.
-- @param key whose it is: a user id, an address; turns.first, turns.own
function turns.add(key, fn)
   local q = queues[key]
   if not q then
      q = { at = 1, last = 0 }
      queues[key] = q
      if key ~= turns.first then
         ring[#ring + 1] = key
      end
   end
   q.last = q.last + 1
   q[q.last] = fn
   arm_next_turn()
end

--- Whose turn is it?
-- @return key; turns.own outside of any turn
function turns.whose()
   return current or turns.own
end

return turns
