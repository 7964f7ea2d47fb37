-- SPDX-License-Identifier: GPL-2.0-or-later
-- How tests/architecture reads prose: sentences, turns of phrase, names that are gone.
local lu = require "luaunit"

package.path = (os.getenv "TAUT_SRCDIR" or ".") .. "/tests/lua/house/?.lua;" .. package.path
local prose = require "prose"

local tests = {}

-- Numbers and lines of a text.
local function each_line(text)
   local number, next_line = 0, (text .. "\n"):gmatch "([^\n]*)\n"
   return function()
      local line = next_line()
      number = number + 1
      return line and number, line
   end
end

-- "LINE:WORDS" of each sentence.
local function describe(paragraphs)
   local list = {}
   for _, paragraph in ipairs(paragraphs) do
      for _, sentence in ipairs(prose.sentences(paragraph)) do
         list[#list + 1] = ("%d:%d"):format(sentence.line, sentence.words)
      end
   end
   return list
end

function tests.test_sentences_end_with_a_stop()
   local list = prose.sentences { { number = 3, text = "One, e.g. a node, is 0.5." },
      { number = 4, text = "Two goes" }, { number = 5, text = "on - here? Three." } }
   lu.assertEquals({ list[1].line, list[1].words, list[2].line, list[2].words, list[3].text },
      { 3, 6, 4, 4, "Three." })
end

function tests.test_entries_of_a_list_are_read_one_by_one()
   local line = { number = 1, text = "`a(x)` does this; `b(x)`: that; and more." }
   lu.assertEquals(describe { { line } }, { "1:3", "1:4" })
end

function tests.test_markdown_has_paragraphs_items_and_cells()
   lu.assertEquals(describe(prose.of_markdown(each_line [[
# A heading

A paragraph of
two lines.

* an item
* another one
  goes on

| a cell | two words |

```
some code is left out
```]])), { "1:2", "3:5", "6:2", "7:4", "10:2", "10:2" })
end

function tests.test_manuals_have_sentences_over_macros()
   lu.assertEquals(describe(prose.of_manual(each_line [[
.Sh NAME
It asks
.Xr tautd 8
for nodes.
.Pp
Another one.
.Bd -literal
code here
.Ed]])), { "2:6", "6:2" })
end

function tests.test_comments_of_lua_and_c()
   lu.assertEquals(describe(prose.of_comments("a.lua", each_line [[
--- A comment of
-- two lines.
-- @param x a thing
local x = "-- no comment" -- beside code
-- The last.]])), { "1:5", "3:4", "4:2", "5:2" })
   lu.assertEquals(describe(prose.of_comments("a.c", each_line [[
/* One line. */
/* Two
 * lines. */
char *glob = "/proc/*";
int x; /* beside code
        * goes on. */]])), { "1:2", "2:2", "5:4" })
end

function tests.test_tables_and_fields_are_no_sentences()
   lu.assertEquals(describe(prose.of_comments("a.lua", each_line [[
-- A record has
--    name   what it is called
--    kind   which one
-- @return { name = a text, kind = another }, or nil]])), { "1:3", "2:5", "3:3", "4:3" })
end

function tests.test_turns_of_phrase()
   for _, text in ipairs { "'x' is no node of it.", "A name that is none.", "It drains nobody.",
      "Who stands by looks.", "The log says so.", "It knows of what is left." } do
      lu.assertEquals(prose.count_turns(text), 1, text)
   end
   for _, text in ipairs { "There is no node.", "It is no longer there.", "Who may ask?",
      "There is none.", "Node 'x' is not in the topology." } do
      lu.assertEquals(prose.count_turns(text), 0, text)
   end
end

function tests.test_a_limit_holds_and_says_when_it_could_be_tighter()
   local worse, loose = prose.compare({ ["long lua"] = 3, ["long c"] = 1, ["turns c"] = 2 },
      { ["long lua"] = 2, ["long c"] = 2, ["turns c"] = 2 })
   lu.assertEquals({ worse, loose }, {
      { "tests/lua/house/prose_limits.lua: long lua: 3, the limit is 2" },
      { "long c may be tightened from 2 to 1" } })
   lu.assertEquals(#prose.compare({ ["long lua"] = 1 }, {}), 1)
end

return tests
