-- SPDX-License-Identifier: GPL-2.0-or-later
--- What administrators said of mode, checks and steering, as text: the file `brakes` beside the
-- database and the row `brakes` in it.  Both carry a generation, which grows with each word said.
-- With several tautd each host has a file, and all have one database. A tautd that takes over
-- writes the token of its lease into both. A setting of an older token that never reached the
-- database is then ignored.
--
--   token 3              of several tautd only
--   generation 7
--   mode observe         enable, observe, or - where the configuration decides
--   switch off           on, off or - (on)
--   steering -           on, off or - where the configuration decides
--   checksum 0123456789abcdef
local sys = require "taut.sys"

local brakes = {}

brakes.names = { "mode", "switch", "steering" }

-- From lenient to strict; an unset value lies between.
local STRICT = {
   mode = { enable = 1, observe = 3 },
   switch = { on = 1, off = 3 },
   steering = { on = 1, off = 3 },
}
local UNSAID = 2

local ENOENT = 2 -- of errno
local MAX_BYTES = 4096

-- FNV-1a, 64 bits: detects errors of a disk or an editor, not malice.
local function checksum_of(text)
   local h = 0xcbf29ce484222325
   for i = 1, #text do
      h = (h ~ text:byte(i)) * 0x100000001b3
   end
   return ("%016x"):format(h)
end

--- @param said { token or nil, generation, mode, switch, steering }
function brakes.text(said)
   local lines = {}
   if said.token then
      lines[1] = ("token %d\n"):format(said.token)
   end
   lines[#lines + 1] = ("generation %d\n"):format(said.generation)
   for _, name in ipairs(brakes.names) do
      lines[#lines + 1] = ("%s %s\n"):format(name, said[name] or "-")
   end
   local body = table.concat(lines)
   return ("%schecksum %s\n"):format(body, checksum_of(body))
end

--- @return { token, generation, mode, switch, steering }; or nil and what is wrong
function brakes.parse(text)
   local body, sum = text:match "^(.-\n)checksum (%x+)\n$"
   if not body then
      return nil, "it ends early or goes on: no checksum in the last line"
   elseif sum ~= checksum_of(body) then
      return nil, ("the checksum is %s, that of its lines %s"):format(sum, checksum_of(body))
   end
   local token, rest = body:match "^token (%d+)\n(.*)$"
   local generation, mode, switch, steering = (rest or body):match(
      "^generation (%d+)\nmode (%S+)\nswitch (%S+)\nsteering (%S+)\n$")
   local b = { token = math.tointeger(tonumber(token)), mode = mode, switch = switch,
      generation = math.tointeger(tonumber(generation)), steering = steering }
   if not b.generation then
      return nil, "expected the lines generation, mode, switch, steering and checksum"
   end
   for _, name in ipairs(brakes.names) do
      local value = b[name]
      if value ~= "-" and not STRICT[name][value] then
         return nil, ("%s: '%s' is unknown"):format(name, value)
      end
      if value == "-" then
         b[name] = nil
      end
   end
   return b
end

--- @return what the file says; or nil, what is wrong with it, and whether it exists at all
function brakes.read(path)
   local file, err, code = io.open(path, "rb")
   if not file then
      return nil, err, code ~= ENOENT
   end
   local text, why = file:read(MAX_BYTES)
   file:close()
   local b
   if not text and why then
      return nil, ("%s: %s"):format(path, why), true
   end
   b, why = brakes.parse(text or "")
   if not b then
      return nil, ("%s: %s"):format(path, why), true
   end
   return b, nil, true
end

--- @return true, or nil and why it is not on disk
function brakes.write(path, said)
   return sys.write_durably(path, brakes.text(said))
end

-- The one of `name` that holds more back.
local function stricter_of(name, one, other)
   local rank = STRICT[name]
   if (rank[one] or UNSAID) >= (rank[other] or UNSAID) then
      return one
   end
   return other
end

-- Below 0 where one is older than the other, above where it is newer.
local function compare_age(one, other)
   if (one.token or 0) ~= (other.token or 0) then
      return (one.token or 0) - (other.token or 0)
   end
   return one.generation - other.generation
end

--- Of two, either may be nil: the one of the higher token; of the same, of the higher generation;
-- of the same, the stricter of each.
-- @return a new table, or nil of two nil
function brakes.newest(one, other)
   if not (one and other) or compare_age(one, other) ~= 0 then
      local w = other
      if not other or one and compare_age(one, other) > 0 then
         w = one or other
      end
      return w and { token = w.token, generation = w.generation, mode = w.mode, switch = w.switch,
         steering = w.steering }
   end
   local w = { token = one.token, generation = one.generation }
   for _, name in ipairs(brakes.names) do
      w[name] = stricter_of(name, one[name], other[name])
   end
   return w
end

return brakes
