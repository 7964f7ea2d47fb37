-- SPDX-License-Identifier: GPL-2.0-or-later
-- What others named goes to a terminal.
local ask = require "taut.base.ask"
local json = require "taut.json"
local lu = require "luaunit"

local tests = {}

function tests.test_others_words_are_made_plain()
   local d = ask.plain { name = "a\27]0;x\7", rows = { { "\u{9b}2J" }, 5, true }, ok = "3×2" }
   lu.assertEquals(d, { name = "a?]0;x?", rows = { { "??2J" }, 5, true }, ok = "3×2" })
end

function tests.test_json_has_the_same_words_and_does_nothing_to_a_terminal()
   local d = { name = "a\27[2J\127", other = "\u{9b}2J\u{80}×" }
   local text = ask.json(d)
   lu.assertNil(text:find "[\27\127]")
   lu.assertNil(text:find "\xc2[\x80-\x9f]")
   lu.assertStrContains(text, [[\u009b2J\u0080×]])
   lu.assertEquals(json.decode(text), d)
end

return tests
