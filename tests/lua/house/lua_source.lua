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

return lua_source
