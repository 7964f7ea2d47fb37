-- SPDX-License-Identifier: GPL-2.0-or-later
-- SECURITY.md has a row for each field of a message that lua/taut/wire reads: who says it, who
-- vouches for it, what it costs, for how long it decides anything.  A field that somebody adds
-- fails here until it has one.
local hello = require "taut.wire.hello"
local lu = require "luaunit"
local result = require "taut.wire.result"
local sys = require "taut.sys"
local wire = require "taut.wire"

local tests = {}

local SRC = os.getenv "TAUT_SRCDIR" or "."

-- The readers, and what they call a message or a part of one.  node_lists, reports: what they take
-- is a HELLO's `nodes` and tautd's own.
local READERS = {
   ["hello.lua"] = { "HELLO", { "greeting" } }, ["endpoints.lua"] = { "HELLO", { "e", "hello" } },
   ["node_lists.lua"] = { "HELLO", { "hello" } },
   ["readings.lua"] = { "HELLO", { "message", "c" } },
   ["result.lua"] = { "RESULT", { "message", "test", "t", "l" } },
   ["ticket.lua"] = { "ticket", { "credential", "t", "h" } },
   ["reports.lua"] = { "REPORT", {} },
}
-- Not of a message: what is added to it once it is read.
local OWN = { version = true, id_of = true }

local function text_of(path)
   local f = assert(io.open(SRC .. "/" .. path))
   local text = f:read "a"
   f:close()
   return text
end

-- Fields by message: the first cell of each row, after "MESSAGE:".
local function rows()
   local list = {}
   for line in text_of "SECURITY.md":gmatch "[^\n]+" do
      local message, cell = line:match "^| (%a+): ([^|]*)|"
      if message then
         list[message] = list[message] or {}
         for name in cell:gmatch "`([%w_]+)`" do
            list[message][name] = true
         end
         local _, bars = line:gsub("|", "")
         lu.assertEquals(bars, 6, line) -- five cells, none of them left out
         for other in line:gmatch "|([^|]+)" do
            lu.assertStrContains(other, " ")
            lu.assertNotNil(other:find "%S", line)
         end
      end
   end
   return list
end

-- What the source reads of these variables, and the words of its lists of fields.
local function read_in(name, variables)
   local source = text_of("lua/taut/wire/" .. name):gsub("%-%-[^\n]*", "")
   local found = {}
   for _, v in ipairs(variables) do
      for field in source:gmatch("%f[%w_]" .. v .. "%.([%a_][%w_]*)%f[^%w_(]") do
         found[field] = true
      end
      for field in source:gmatch("%f[%w_]" .. v .. '%["([%w_]+)"%]') do
         found[field] = true
      end
   end
   for field in source:gmatch '\n   { "([%w_]+)", ' do -- checks of hello.lua
      found[field] = true
   end
   for _, list in ipairs { "NUMBERS = tables.set {(.-)}", "BOUND = {(.-)}" } do
      for field in (source:match(list) or ""):gmatch '"([%w_]+)"' do
         found[field] = true
      end
   end
   return found
end

function tests.test_each_field_that_a_reader_takes_has_a_row()
   local have, missing = rows(), {}
   for name, r in pairs(READERS) do
      for field in pairs(read_in(name, r[2])) do
         if not OWN[field] and not (have[r[1]] or {})[field] and not (have.HELLO or {})[field]
            and not (have.RESULT or {})[field] then
            missing[#missing + 1] = ("%s: %s of %s"):format(name, field, r[1])
         end
      end
   end
   table.sort(missing)
   lu.assertEquals(missing, {})
end

function tests.test_each_reader_is_walked()
   for _, name in ipairs(assert(sys.names(SRC .. "/lua/taut/wire"))) do
      if name:find "%.lua$" then
         lu.assertNotNil(READERS[name], name .. " reads what nodes say: add it here, and its " ..
            "fields to SECURITY.md")
      end
   end
end

-- A message that notes what is asked of it: the readers as they run, not as they are written.
local function noting(fields, seen)
   return setmetatable({}, { __index = function(_, name)
      seen[name] = true
      return fields[name]
   end })
end

function tests.test_what_is_read_of_a_hello_has_a_row()
   local seen = {}
   local h = noting({ v = wire.VERSION, purpose = "audit", job = 1, step = 0, procid = 0,
      node = "n1", nodes = "n1", endpoint = "", budget_ms = 1, key = ("a"):rep(64),
      readings = "" }, seen)
   lu.assertTrue(hello.check(h))
   hello.version(h)
   local have = rows().HELLO
   for name in pairs(seen) do
      lu.assertTrue(have[name] or false, name)
   end
   lu.assertTrue(seen.endpoints and seen.user_port and seen.readings)
end

function tests.test_what_is_read_of_a_result_has_a_row()
   local seen, have = {}, rows().RESULT
   assert(result.read(noting({ v = wire.VERSION, tests = {} }, seen)))
   for name in pairs(seen) do
      lu.assertTrue(have[name] or name == "counters" or name == "readings", name)
   end
end

return tests
