-- SPDX-License-Identifier: GPL-2.0-or-later
--- Checks what a RESULT says before any of it is used.
local readings = require "taut.wire.readings"
local sys = require "taut.sys"
local tables = require "taut.base.tables"
local wire = require "taut.wire"

local result = {}

local NUMBERS = tables.set { "id", "bytes", "window_ns", "total_bytes", "delay_ns", "foreign_bytes",
   "port_ns", "port_data_bytes", "port_with_bytes", "port_back_bytes", "rtt_ns",
   "mean_rtt_ns", "min_rtt_ns", "busy_ns", "looks", "strangers", "full", "aimed", "trace_ns",
   "segments", "resent", "resent_bytes", "spurious", "reordered", "marked", "unacked", "disordered",
   "pruned", "port_lost", "port_discards", "port_packets" }
local CONGESTION_MAX = 15 -- bytes of a congestion control's name, as the kernel has it

local PARTS_MAX = 64 -- of a test's window

local function is_count(value)
   return math.type(value) == "integer" and value >= 0
end

local function check_latency(test)
   local l = test.lat_ns
   if l == nil then
      return true
   elseif type(l) ~= "table" or not is_count(l.n) then
      return nil, ("test %d: lat_ns: expected n, median and p99"):format(test.id)
   end
   for _, name in ipairs { "median", "p99" } do
      if l.n > 0 and not is_count(l[name]) then
         return nil, ("test %d: lat_ns: %s: expected a whole number"):format(test.id, name)
      end
   end
   return true
end

-- Addresses of the routers on a test's way, "" of those that did not answer.
local function check_way(test)
   local ok = test.way == nil or type(test.way) == "table" and #test.way >= 1
      and #test.way <= wire.HOPS_MAX
   for _, a in ipairs(tables.or_empty(ok and test.way)) do
      ok = ok and type(a) == "string" and #a <= 45 and not a:find "[^%x.:]"
   end
   if not ok then
      return nil, ("test %d: way: expected 1 to %d addresses"):format(test.id, wire.HOPS_MAX)
   end
   return true
end

-- The congestion control of a sender's streams.
local function check_congestion(test)
   local name = test.congestion
   if name == nil or type(name) == "string" and #name >= 1 and #name <= CONGESTION_MAX
      and not name:find "[^%w_-]" then
      return true
   end
   return nil, ("test %d: congestion: expected a name of at most %d letters and digits"):format(
      test.id, CONGESTION_MAX)
end

local function check_test(test)
   if type(test) ~= "table" or not is_count(test.id) then
      return nil, "a test without an id"
   elseif test.role ~= "send" and test.role ~= "recv" then
      return nil, ("test %d: role: expected send or recv"):format(test.id)
   elseif test.error ~= nil and type(test.error) ~= "string" then
      return nil, ("test %d: error: expected a text"):format(test.id)
   end
   test.error = test.error and sys.plain(test.error:sub(1, 200))
   for _, name in ipairs((wire.odd(test, NUMBERS))) do -- its role is one in any case
      if NUMBERS[name] then
         return nil, ("test %d: %s: expected a whole number"):format(test.id, name)
      end
   end
   if not test.error and not (is_count(test.bytes) and is_count(test.window_ns)) then
      return nil, ("test %d: bytes and window_ns are missing"):format(test.id)
   end
   for _, check in ipairs { check_latency, check_way, check_congestion } do
      local ok, err = check(test)
      if not ok then
         return nil, err
      end
   end
   if type(test.sub_bytes) == "table" and #test.sub_bytes > PARTS_MAX then
      return nil, ("test %d: sub_bytes: more than %d numbers"):format(test.id, PARTS_MAX)
   end
   for _, bytes in ipairs(tables.or_empty(test.sub_bytes)) do
      if not is_count(bytes) then
         return nil, ("test %d: sub_bytes: expected whole numbers"):format(test.id)
      end
   end
   return true
end

--- @param message decoded RESULT
-- @param version of the protocol that was agreed on (the newest)
-- @return map "send:id" or "recv:id" → test, the number of refused streams, the readings as a text
--   (or nil, where they are not as they should be); or nil and what is wrong: then nothing of it is
--   taken
function result.read(message, version)
   version = version or wire.VERSION
   if type(message) ~= "table" or message.v ~= version or type(message.tests) ~= "table" then
      return nil, ("RESULT: expected v = %d and tests"):format(version)
   elseif #message.tests > wire.TESTS_MAX then
      return nil, ("RESULT: %d tests, at most %d"):format(#message.tests, wire.TESTS_MAX)
   end
   local by = {}
   for _, t in ipairs(message.tests) do
      local ok, err = check_test(t)
      if not ok then
         return nil, "RESULT: " .. err
      end
      by[t.role .. ":" .. t.id] = t
   end
   local refused = 0
   if is_count(message.refused) then
      refused = message.refused
   end
   return by, refused, (readings.of(message))
end

return result
