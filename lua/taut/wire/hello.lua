-- SPDX-License-Identifier: GPL-2.0-or-later
--- Checks what a HELLO says before anything is done with it.
local endpoints = require "taut.wire.endpoints"
local readings = require "taut.wire.readings"
local sys = require "taut.sys"
local wire = require "taut.wire"

local hello = {}

local KEY_DIGITS = 2 * wire.KEY_BYTES
local VERSION_MAX = 999

local function is_text(value, most)
   return type(value) == "string" and #value <= most
end

local function is_whole_number(value, least, most)
   return math.type(value) == "integer" and value >= least and value <= most
end

-- field → check; a field that fails is named in the error.
local versions = {
   { "v", function(value) return is_whole_number(value, 1, VERSION_MAX) end, "a protocol version" },
   { "oldest", function(value) return value == nil or is_whole_number(value, 1, VERSION_MAX) end,
      "a protocol version" },
}

local named = {
   { "node", function(value)
      return is_text(value, wire.NAME_MAX) and value ~= ""
   end, "a node name" },
   { "release", function(value)
      return value == nil or is_text(value, 32) and value:match "^[%w.+~-]+$"
   end,
      "a release" },
}

local fields = {
   { "purpose", function(value) return wire.purposes[value] ~= nil end,
      "prolog, epilog, idle, audit or matrix" },
   { "job", function(value) return is_whole_number(value, 0, (1 << 32) - 1) end, "a job id" },
   { "nodes", function(value) return is_text(value, wire.NODES_MAX) end, "a host list" },
   { "endpoint", function(value) return is_text(value, 64) end, "an address and a port" },
   { "endpoints", endpoints.check,
      ("at most %d rails, each with if, tcp, ofi, guid"):format(wire.RAILS_MAX) },
   { "budget_ms", function(value) return is_whole_number(value, 0, wire.BUDGET_MAX_MS) end,
      "0 to " .. wire.BUDGET_MAX_MS },
   { "key", function(value)
      return is_text(value, KEY_DIGITS) and value:match "^%x+$" and #value == KEY_DIGITS
   end,
      KEY_DIGITS .. " hex digits" },
   { "boot", function(value) return value == nil or is_text(value, 64) end, "a boot id" },
   { "restart", function(value)
      return value == nil or is_whole_number(value, 0, 1 << 31)
   end, "a count" },
   { "uid", function(value)
      return value == nil or is_whole_number(value, 0, (1 << 32) - 1)
   end, "a uid" },
   { "ofi_ms", function(value)
      return value == nil or is_whole_number(value, 0, 60000)
   end, "0 to 60000" },
   { "user_port", function(value)
      return value == nil or is_whole_number(value, 0, wire.USER_PORT - 1)
   end, "a port" },
}

-- What a survey's HELLO says besides.
local survey_fields = {
   { "step", function(value) return is_whole_number(value, 0, (1 << 32) - 1) end, "a step id" },
   { "procid", function(value) return is_whole_number(value, 0, (1 << 32) - 1) end, "a rank" },
   { "options", function(value)
      return value == nil or type(value) == "table" and (next(value) == nil
         or type(next(value)) == "string")
   end, "an object" },
}

local function check_readings(greeting)
   local _, why = readings.of(greeting)
   if why then
      return nil, "HELLO: readings: " .. sys.plain(why:sub(1, 80))
   end
   return true
end

local function check_fields(greeting, list)
   for _, f in ipairs(list) do
      if not f[2](greeting[f[1]]) then
         local got = sys.plain(tostring(greeting[f[1]]):sub(1, 40))
         return nil, ("HELLO: %s: expected %s, got %s"):format(f[1], f[3], got)
      end
   end
   return true
end

--- "1", or "1 to 2".
-- @param from the oldest version of the protocol
-- @param to the newest
function hello.range(from, to)
   if from == to then
      return tostring(to)
   end
   return ("%d to %d"):format(from, to)
end

--- The newest version of the protocol that its sender and we speak.
-- @param greeting decoded HELLO
-- @return version; or nil and why there is none
function hello.version(greeting)
   if type(greeting) ~= "table" then
      return nil, "HELLO is not a JSON object"
   end
   local ok, err = check_fields(greeting, versions)
   if not ok then
      return nil, err
   end
   local newest, oldest = greeting.v, greeting.oldest or greeting.v
   if newest < wire.OLDEST or oldest > wire.VERSION or oldest > newest then
      local mend = "upgrade tautd before the nodes"
      if newest < wire.OLDEST then
         mend = "upgrade taut-probe there"
      end
      return nil, ("HELLO: v: expected protocol %s, got %s: %s"):format(
         hello.range(wire.OLDEST, wire.VERSION), hello.range(oldest, newest), mend)
   end
   return math.min(newest, wire.VERSION)
end

--- Does it say of which node it is, in any version?
function hello.is_named(greeting)
   if type(greeting) ~= "table" or not check_fields(greeting, versions) then
      return false
   end
   return (check_fields(greeting, named)) or false
end

--- Is this the purpose of a survey?
function hello.is_survey(purpose)
   return wire.purposes[purpose] == true
end

--- @param greeting decoded HELLO; its `readings` are a text then
-- @return true, or nil and which field is wrong
function hello.check(greeting)
   if type(greeting) ~= "table" then
      return nil, "HELLO is not a JSON object"
   end
   local ok, err = check_fields(greeting, versions)
   if ok then
      ok, err = check_fields(greeting, named)
   end
   if ok then
      ok, err = check_fields(greeting, fields)
   end
   if ok then
      ok, err = check_readings(greeting)
   end
   if ok and wire.purposes[greeting.purpose] then
      return check_fields(greeting, survey_fields)
   end
   return ok, err
end

return hello
