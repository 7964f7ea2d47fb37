-- SPDX-License-Identifier: GPL-2.0-or-later
-- The measure of names that tests/architecture holds the program to.
local lu = require "luaunit"

package.path = (os.getenv "TAUT_SRCDIR" or ".") .. "/tests/lua/house/?.lua;" .. package.path
local lua_source = require "lua_source"
local naming = require "naming"

local tests = {}

local function functions(text)
   local list = {}
   for i, f in ipairs(lua_source.functions(lua_source.tokens(text))) do
      list[i] = ("%s(%s)"):format(f.name or "?", table.concat(f.parameters, " "))
   end
   return list
end

local function choices(text)
   return lua_source.choices(lua_source.tokens(text))
end

function tests.test_functions_have_the_names_by_which_they_are_called()
   lu.assertEquals(functions [[
      local function plain(a, b) return a + b end
      function module.part.public(first, ...) end
      function Class:method(x) end
      local later = function() end
      Class.field = function(v) return v end
      local t = { key = function(k) end, ["a key"] = function(q) end, function(e) end }
      call(function(o) end)
      local same = a == function(z) end
      for i, n in ipairs(list) do local unused = function(_, ...) end end
   ]], { "plain(a b)", "public(first)", "method(x)", "later()", "field(v)", "key(k)", "?(q)",
      "?(e)", "?(o)", "?(z)", "unused(_)" })
end

function tests.test_functions_in_strings_and_comments_are_none()
   lu.assertEquals(functions [==[
      -- function one(a)
      local text = "function two(b)" .. [[function three(c)]]
      --[[ function four(d) ]]
   ]==], {})
end

function tests.test_a_choice_is_an_and_with_an_or_after_it()
   lu.assertEquals(choices "local x = a and b or c", { 1 })
   lu.assertEquals(choices "f(a and b or c, d and e or f)", { 1, 1 })
   lu.assertEquals(choices "return x == 1 and\n'a' or 'b'", { 2 })
   lu.assertEquals(choices "return (a and b) or c", { 1 })
   lu.assertEquals(choices "x = a and b or c and d or e", { 1, 1 })
   lu.assertEquals(choices "x = { a = b and c or d, [e and f or g] = 1 }", { 1, 1 })
   lu.assertEquals(choices "x = a and function() return b end or c", { 1 })
end

function tests.test_what_chooses_nothing()
   for _, text in ipairs { "x = a or b and c", "x = a and (b or c)", "x = a and b, c or d",
      "x = a and b\ny = c or d", "x = f(a and b) or c", "x = a and b; g(c or d)",
      "x = t[a and b] or c", "return a and function() return b or c end",
      "x = a and b\nlocal y = c or d", "x = a and b\nif c or d then end",
      "x = a and b\nreturn c or d", "x = 'a and b or c' -- a and b or c" } do
      lu.assertEquals(choices(text), {}, text)
   end
end

-- There it is a question with two answers, and no value of three.
function tests.test_a_condition_chooses_nothing()
   lu.assertEquals(choices "if a and b or c then x = d and e or f end", { 1 })
   lu.assertEquals(choices "if x then elseif a and b or c then end", {})
   lu.assertEquals(choices "while a and b or c do end", {})
   lu.assertEquals(choices "repeat x() until a and b or c\ny = d and e or f", { 2 })
   lu.assertEquals(choices "if f(a and b or c) then end", { 1 })
   lu.assertEquals(choices "if x == (a and b or c) then end", { 1 })
end

function tests.test_lines_of_code_are_those_with_code()
   lu.assertEquals(lua_source.code_lines(lua_source.tokens "-- a\n\nx = 1 -- b\n\ny = [[\n\n]]\n"),
      2)
end

function tests.test_figures()
   local f = naming.figures { "local function ab(x, yes, _)\nreturn x and yes or 1\nend",
      "function m.abcd() end\nfunction m:abcdef(n, ...)\nend" }
   lu.assertEquals({ f.functions, f.name_length, f.parameters, f.lines }, { 3, 4, 3, 6 })
   lu.assertAlmostEquals(f.short_parameters, 200 / 3, 1e-9)
   lu.assertAlmostEquals(f.choices, 100 / 6, 1e-9)
   lu.assertEquals(naming.figures({ "function a() end function abc() end" }).name_length, 2)
   lu.assertEquals(naming.figures({}), { functions = 0, name_length = 0, parameters = 0,
      short_parameters = 0, lines = 0, choices = 0 })
end

function tests.test_a_limit_holds_and_says_when_it_could_be_tighter()
   local held = { name_length = 7, short_parameters = 20, choices = 3 }
   local worse, loose = naming.compare({ name_length = 7, short_parameters = 20.04, choices = 3 },
      held)
   lu.assertEquals({ worse, loose }, { {}, {} })
   worse, loose = naming.compare({ name_length = 6, short_parameters = 20.1, choices = 2 }, held)
   lu.assertEquals(#worse, 2)
   lu.assertStrContains(worse[1], "name_length: 6.0 letters")
   lu.assertStrContains(worse[2], "short_parameters: 20.1 %")
   lu.assertEquals(loose, { "choices may be tightened from 3.0 to 2.0" })
   worse, loose = naming.compare({ name_length = 8, short_parameters = 20, choices = 3 }, held)
   lu.assertEquals({ worse, loose }, { {}, { "name_length may be tightened from 7.0 to 8.0" } })
end

return tests
