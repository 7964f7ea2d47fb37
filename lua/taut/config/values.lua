-- SPDX-License-Identifier: GPL-2.0-or-later
--- What values may be: each check is a function of a value that returns what to take, or nil and
-- what was expected, and perhaps what is said to stand there instead of the value.
local address = require "taut.store.address"
local hostlist = require "taut.hostlist"
local ingest = require "taut.events.ingest"
local sys = require "taut.sys"
local wire = require "taut.wire"

local values = {}

local NAMES_MAX = 1 << 20

--- From where nodes may speak: what Slurm says, anything, or more addresses as host lists.
function values.node_addresses(value)
   local what = '"slurm", "any" or { ["NODES"] = "ADDRESSES" }, host lists of the same length'
   for nodes, list in pairs(type(value) == "table" and value or {}) do
      local names = type(nodes) == "string" and hostlist.expand(nodes, NAMES_MAX)
      local texts = type(list) == "string" and hostlist.expand(list, NAMES_MAX)
      if not names or not texts or #names ~= #texts then
         return nil, what
      end
   end
   if type(value) == "table" or value == "slurm" or value == "any" then
      return value
   end
   return nil, what
end

--- Networks, as "ADDRESS/BITS".
function values.networks(value)
   local what = 'networks such as { "10.128.0.0/14", "fd00::/16" }'
   for key, text in pairs(type(value) == "table" and value or { value }) do
      local host, bits = tostring(text):match "^(.*)/(%d%d?%d?)$"
      local bytes = host and sys.address_bytes(host)
      if math.type(key) ~= "integer" or not bytes or tonumber(bits) > 8 * #bytes then
         return nil, what
      end
   end
   return type(value) == "table" and value or nil, what
end

--- A number from `least` to `most`.
-- @param whole without fractions
function values.number(least, most, whole)
   return function(value)
      if type(value) == "number" and value >= least and value <= most
         and (not whole or value % 1 == 0) then
         return whole and math.tointeger(value) or value
      end
      return nil, ("a %snumber from %s to %s"):format(whole and "whole " or "", least, most)
   end
end

--- One of some words.
function values.one_of(...)
   local list = { ... }
   return function(value)
      for _, w in ipairs(list) do
         if value == w then
            return value
         end
      end
      return nil, "one of " .. table.concat(list, ", ")
   end
end

--- "observe" or "drain"; in the code, in the database and in JSON the latter is "enable".
function values.mode(value)
   if value == "observe" then
      return value
   elseif value == "drain" then
      return "enable"
   end
   return nil, "one of observe, drain"
end

function values.text(value)
   if type(value) == "string" and value ~= "" then
      return value
   end
   return nil, "a text in quotes"
end

function values.flag(value)
   if type(value) == "boolean" then
      return value
   end
   return nil, "true or false"
end

--- What becomes of a job's AdminComment.
function values.job_comment(value)
   if type(value) == "boolean" or value == "why" then
      return value
   end
   return nil, 'true, false or "why"'
end

-- Tables of the database whose old rows go.
local KEPT = { test = true, event = true, sample = true, growth = true, job = true,
   observation = true, verdict = true, action = true }
local KEPT_DAYS = 3650

--- Days for single tables of the database.
function values.keep(value)
   local what = ("{ TABLE = DAYS }, tables test, event, sample, growth, job, observation, " ..
      "verdict, action, days from 1 to %d"):format(KEPT_DAYS)
   for name, days in pairs(type(value) == "table" and value or { what }) do
      if not KEPT[name] or type(days) ~= "number" or not (days >= 1 and days <= KEPT_DAYS) then
         return nil, what
      end
   end
   return value
end

--- The address of a database's server.
function values.server(value)
   local a, err = nil, "it is not a string"
   local is_text = type(value) == "string"
   if is_text then
      a, err = address.parse(value)
   end
   if a and a.kind ~= "sqlite" then
      return value
   end
   return nil, "postgresql://USER@HOST/DATABASE or mysql://USER@HOST/DATABASE" ..
      (err and " (" .. err .. ")" or ""), is_text and address.shown(value) or nil
end

--- Hosts on which there is a tautd, two or more.
function values.controllers(value)
   local list, seen = type(value) == "table" and value or {}, {}
   for key, name in pairs(list) do
      local is_name = math.type(key) == "integer" and type(name) == "string"
         and name:match "^[%w][%w._-]*$" and not seen[name]
      if not is_name then
         list = {}
         break
      end
      seen[name] = true
   end
   if #list >= 2 then
      return list
   end
   return nil, 'two hosts or more, such as { "ctl1", "ctl2" }'
end

--- What `check` takes, or false for "off".
function values.or_off(check)
   return function(value)
      if value == false then
         return false
      end
      local got, expected = check(value)
      return got, expected and expected .. ", or false"
   end
end

--- Hosts by name or address, as one host list.
function values.hosts(value)
   if type(value) == "string" and value ~= "" and hostlist.expand(value, 1000) then
      return value
   end
   return nil, 'at most 1000 hosts as a host list, such as "admin[1-2],10.0.0.5"'
end

--- "everybody", "administrators", or some users by name (administrators besides).
function values.who(value)
   local is_list = type(value) == "table" and #value > 0
   for key, name in pairs(is_list and value or {}) do
      is_list = is_list and math.type(key) == "integer" and type(name) == "string"
   end
   if is_list or value == "everybody" or value == "administrators" then
      return value
   end
   return nil, '"everybody", "administrators" or a list of users, such as { "alice" }'
end

--- 16 hex digits.
function values.key64(value)
   if type(value) == "string" and value:match "^%x+$" and #value == 16 then
      return value:lower()
   end
   return nil, "16 hex digits in quotes"
end

function values.address(value)
   local port = type(value) == "string" and tonumber(value:match(":(%d+)$"))
   if port and port > 0 and port < 65536 then
      return value
   end
   return nil, ('an address and a port, such as "0.0.0.0:%d"'):format(wire.PORT)
end

--- Logs to follow: { { "netwatch", "/var/log/netwatch" }, { "kernel", PATH, trusted = true }, … }
function values.logs(value)
   local what = '{ { "FORMAT", "/path/of/the/log" }, … }, FORMAT being one of '
      .. table.concat(ingest.names(), ", ")
   local seen = {}
   for i, f in ipairs(type(value) == "table" and value or {}) do
      if type(f) ~= "table" or not ingest.formats[f[1]] or type(f[2]) ~= "string"
         or f[2]:sub(1, 1) ~= "/" or seen[f[2]] or i > 64
         or f.trusted ~= nil and type(f.trusted) ~= "boolean" then
         return nil, what .. ", 64 at most, each path once; trusted = true or false"
      end
      seen[f[2]] = true
   end
   if type(value) == "table" and (next(value) == nil or #value > 0) then
      return value
   end
   return nil, what
end

return values
