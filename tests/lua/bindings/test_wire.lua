-- SPDX-License-Identifier: GPL-2.0-or-later
-- The protocol's numbers as Lua sees them, against what doc/protocol.md says.
local lu = require "luaunit"
local wire = require "taut.wire"

local tests = {}

local function document()
   local dir = os.getenv "TAUT_SRCDIR" or "."
   local f = assert(io.open(dir .. "/doc/protocol.md"))
   local text = f:read "a"
   f:close()
   return text
end

function tests.test_the_document_says_the_same()
   local text = document()
   for _, line in ipairs {
      ("The version is %d, "):format(wire.VERSION),
      ("default port %d"):format(wire.PORT),
      ("1 … %d MiB"):format(wire.FRAME_MAX >> 20), ("At most %d tests"):format(wire.TESTS_MAX),
      ("`dur_ms` %d … %d"):format(wire.TEST_MIN_MS, wire.TEST_MAX_MS),
      ("`start_ms` 0 … %d"):format(wire.START_MAX_MS),
      ("`streams` is 1 … %d"):format(wire.STREAMS_MAX),
   } do
      lu.assertStrContains(text, line)
   end
   for _, name in ipairs { "HELLO", "PLAN", "RESULT", "REPORT", "STOP", "ASK", "ANSWER",
      "REFUSED" } do
      lu.assertStrContains(text, name)
      lu.assertEquals(math.type(wire[name]), "integer")
   end
end

function tests.test_purposes_say_whether_they_are_surveys()
   lu.assertEquals(wire.purposes, { prolog = false, epilog = false, idle = false, audit = true,
      matrix = true })
end

return tests
