-- SPDX-License-Identifier: GPL-2.0-or-later
--- Reads Lua as far as these tests need it: words with their lines, and how deep in functions.
local lua_source = {}

-- Position after a long bracket that opens at `at`, or nil.
local function after_long(text, at)
   local level = text:match("^%[(=*)%[", at)
   if not level then
      return nil
   end
   local _, last = text:find("]" .. level .. "]", at, true)
   return (last or #text) + 1
end

local function after_quoted(text, at)
   local quote, i = text:sub(at, at), at + 1
   while text:sub(i, i) ~= quote and i <= #text do
      i = i + (text:sub(i, i) == "\\" and 2 or 1)
   end
   return i + 1
end

-- The next token at or after `at`: kind ("name", "string", "other"), its text, where the next
-- begins; nil at the end.
local function token(text, at)
   at = text:match("^%s*()", at)
   while text:sub(at, at + 1) == "--" do
      at = after_long(text, at + 2) or text:match("^[^\n]*()", at)
      at = text:match("^%s*()", at)
   end
   local first = text:sub(at, at)
   if first == "" then
      return nil
   elseif first == '"' or first == "'" then
      local to = after_quoted(text, at)
      return "string", text:sub(at + 1, to - 2), to, at
   elseif text:find("^%[=*%[", at) then
      local to = after_long(text, at)
      return "string", text:sub(at, to - 1), to, at
   end
   local name = text:match("^[%a_][%w_]*", at)
   if name then
      return "name", name, at + #name, at
   end
   local number = text:match("^%d[%w.]*", at)
   return "other", number or first, at + #(number or first), at
end

local OPENS = { ["function"] = "function", ["if"] = "if", ["do"] = "do", ["repeat"] = "repeat" }
local CLOSES = { ["end"] = true, ["until"] = true }

--- All tokens of a text: array of { kind =, text =, line =, depth = functions around it }.
function lua_source.tokens(text)
   local list, stack, depth, line, at = {}, {}, 0, 1, 1
   while true do
      local kind, word, to, from = token(text, at)
      if not kind then
         return list
      end
      line = line + select(2, text:sub(at, from - 1):gsub("\n", ""))
      if kind == "name" and CLOSES[word] then
         depth = depth - (table.remove(stack) == "function" and 1 or 0)
      end
      list[#list + 1] = { kind = kind, text = word, line = line, depth = depth }
      if kind == "name" and OPENS[word] then
         stack[#stack + 1] = OPENS[word]
         depth = depth + (word == "function" and 1 or 0)
      end
      line = line + select(2, text:sub(from, to - 1):gsub("\n", ""))
      at = to
   end
end

--- What a file requires: array of { name = or nil when it is worked out, line =, depth =,
-- var = local that takes it }.
function lua_source.requires(tokens)
   local list = {}
   for i, t in ipairs(tokens) do
      local before = tokens[i - 1]
      if t.text == "require" and t.kind == "name" and not (before and before.text == ".") then
         local arg = tokens[i + 1].text == "(" and tokens[i + 2] or tokens[i + 1]
         local after = tokens[i + 1].text == "(" and tokens[i + 3] or tokens[i + 2]
         local plain = arg.kind == "string" and not (after and after.text == ".")
         list[#list + 1] = { name = plain and arg.text or nil, line = t.line, depth = t.depth,
            var = before and before.text == "=" and tokens[i - 3]
               and tokens[i - 3].text == "local" and tokens[i - 2].text or nil,
            whole = not (after and (after.text == "." or after.text == "(")) }
      end
   end
   return list
end

-- Where the access `X.a[…].b` that begins at token i ends: the token after it, or nil when
-- something in it is called.
local function after_access(tokens, i)
   local k = i + 1
   while tokens[k] do
      if tokens[k].text == "." then
         k = k + 2
      elseif tokens[k].text == "[" then
         local open = 1
         repeat
            k = k + 1
            open = open + (tokens[k].text == "[" and 1 or tokens[k].text == "]" and -1 or 0)
         until open == 0
         k = k + 1
      else
         return k
      end
   end
end

--- Assignments to fields of a local: array of lines.
function lua_source.writes(tokens, var)
   local list = {}
   for i, t in ipairs(tokens) do
      local before, follow = (tokens[i - 1] or t).text, (tokens[i + 1] or t).text
      if t.kind == "name" and t.text == var and (follow == "." or follow == "[")
         and before ~= "." and before ~= ":" then
         local k = after_access(tokens, i)
         local defines = before == "function"
         if defines or k and tokens[k].text == "=" and tokens[k + 1].text ~= "=" then
            list[#list + 1] = t.line
         end
      end
   end
   return list
end

-- Is the token at i a single `=`, which assigns, and no part of ==, ~=, <= or >=?
local COMPARES = { ["="] = true, ["~"] = true, ["<"] = true, [">"] = true }

local function assigns(tokens, i)
   return tokens[i] ~= nil and tokens[i].text == "=" and tokens[i].kind == "other"
      and not (COMPARES[tokens[i - 1].text] and tokens[i - 1].kind == "other")
      and not (tokens[i + 1] and tokens[i + 1].text == "=" and tokens[i + 1].kind == "other")
end

-- The name that the `function` at token i gets: of a definition the last of its path, otherwise
-- what it is assigned to, if that has a name.  And the token of its parameters' "(".
local function name_of_function(tokens, i)
   local open = i + 1
   while tokens[open].text ~= "(" do
      open = open + 1
   end
   local target = assigns(tokens, i - 1) and tokens[i - 2] or nil
   if open > i + 1 then
      target = tokens[open - 1]
   end
   return target and target.kind == "name" and target.text or nil, open
end

--- The functions of a file: array of { name = or nil where it has none, line =, parameters =
-- array of names, without `...` and without a method's `self` }.
function lua_source.functions(tokens)
   local list = {}
   for i, t in ipairs(tokens) do
      if t.text == "function" and t.kind == "name" then
         local name, k = name_of_function(tokens, i)
         local parameters = {}
         repeat
            k = k + 1
            if tokens[k].kind == "name" then
               parameters[#parameters + 1] = tokens[k].text
            end
         until tokens[k].text == ")"
         list[#list + 1] = { name = name, line = t.line, parameters = parameters }
      end
   end
   return list
end

local BRACKETS = { ["("] = ")", ["{"] = "}", ["["] = "]" }
local CLOSING = { [")"] = true, ["}"] = true, ["]"] = true }
local BEGINS_CONDITION = { ["if"] = true, ["elseif"] = true, ["while"] = true, ["until"] = true }
-- Words that end an expression, or stand before one.
local BETWEEN = {}
for word in ("break do else for goto in local repeat return then"):gmatch "%a+" do
   BETWEEN[word] = true
end

-- What an expression has had so far: an `and` that a later `or` would follow; is it the condition
-- of an if, a while or an until?
local function expression(is_condition)
   return { has_and = false, is_condition = is_condition or false }
end

-- Is the "(" at token i one around an expression, and no call?
local function is_group(tokens, i)
   local before = tokens[i - 1]
   return tokens[i].text == "(" and not (before and (before.kind == "string"
      or CLOSING[before.text] or before.kind == "name" and not BETWEEN[before.text]
      and not BEGINS_CONDITION[before.text] and before.text ~= "and" and before.text ~= "or"
      and before.text ~= "not"))
end

--- Where a value is chosen by `a and b or c`, and not by an if: array of lines.  A condition that
-- has both words chooses nothing.
function lua_source.choices(tokens)
   local lines, stack = {}, {}
   local here = expression()
   for i, t in ipairs(tokens) do
      local is_word, is_sign = t.kind == "name", t.kind == "other"
      if is_sign and BRACKETS[t.text] or is_word and OPENS[t.text] then
         here.is_group = is_sign and is_group(tokens, i)
         stack[#stack + 1] = here
         here = expression(is_word and BEGINS_CONDITION[t.text])
      elseif is_sign and CLOSING[t.text] or is_word and CLOSES[t.text] then
         local inner = here
         here = table.remove(stack)
         if here.is_group and inner.has_and then
            here.has_and = true
         elseif t.text == "until" then
            here = expression(true)
         end
      elseif is_word and BEGINS_CONDITION[t.text] then
         here = expression(true)
      elseif is_word and BETWEEN[t.text] or is_sign and (t.text == "," or t.text == ";")
         or assigns(tokens, i) then
         here = expression()
      elseif is_word and t.text == "and" then
         here.has_and = true
      elseif is_word and t.text == "or" then
         if here.has_and and not here.is_condition then
            lines[#lines + 1] = t.line
         end
         here.has_and = false
      end
   end
   return lines
end

--- How many lines have code on them.
function lua_source.code_lines(tokens)
   local count, last = 0, 0
   for _, t in ipairs(tokens) do
      if t.line ~= last then
         count, last = count + 1, t.line
      end
   end
   return count
end

return lua_source
