-- SPDX-License-Identifier: GPL-2.0-or-later
--- One name a thing: public C functions, tags, the nouns of Lua modules.
local tree = require "tree"

local names = {}

-- Adds a place to what has that name.
local function note(seen, name, place)
   seen[name] = seen[name] or {}
   table.insert(seen[name], place)
end

local function twice(seen, wrong, what)
   for name, places in pairs(seen) do
      if #places > 1 then
         table.sort(places)
         wrong[#wrong + 1] = ("%s: %s %s also at %s"):format(places[1], what, name,
            table.concat(places, ", ", 2))
      end
   end
end

--- Definitions of functions taut_… in two C files, and of struct, enum and union tags.
function names.in_c()
   local functions, tags, wrong = {}, {}, {}
   for _, path in ipairs(tree.sources "%.[ch]$") do
      local is_static
      for number, line in tree.lines(path) do
         local place = ("%s:%d"):format(path, number)
         local tag = line:match "^%s*struct ([%w_]+)%s*{" or line:match "^%s*enum ([%w_]+)%s*{"
            or line:match "^%s*union ([%w_]+)%s*{"
         if tag and tag:find "^taut_" then
            note(tags, tag, place)
         end
         local name = line:match "^[%a].-([%a_][%w_]*)%("
         local opens = name and not line:find ";%s*$"
         is_static = line:find "^static" or (line == "" and nil)
         if opens and path:find "%.c$" and name:find "^taut_" and not is_static
            and not line:find "^%a+%s*%(" then
            note(functions, name, place)
         end
      end
   end
   twice(functions, wrong, "function")
   twice(tags, wrong, "tag")
   return wrong
end

-- Members of a registry are named after what they are for (a format, a kind of fabric), and a
-- command after what its user calls it.
local function is_member(path)
   if path:find "^lua/taut/cli/" then
      return true
   end
   local init = tree.folder(path) .. "init.lua"
   local module = path:gsub("^lua/", ""):gsub("/init%.lua$", ""):gsub("%.lua$", ""):gsub("/", ".")
   local above = tree.folder(path):match "^(.*/)[^/]+/$"
   for _, file in ipairs { init, above .. "init.lua" } do
      if tree.has[file] and file ~= path
         and tree.text(file):find('= ?"' .. module:gsub("%.", "%%.") .. '"') then
         return true
      end
   end
   return false
end

-- Is one folder above the other, or the same?  Folders beside each other (`draw/`, `export/`) are
-- nouns of their own.
local function is_above(a, b)
   a, b = tree.folder(a:gsub("init%.lua$", "")), tree.folder(b:gsub("init%.lua$", ""))
   return b:sub(1, #a) == a or a:sub(1, #b) == b
end

--- Two modules of one room with the same noun, one below the other: `sets/pack` beside `pack`.
function names.in_lua()
   local seen, wrong = {}, {}
   for _, path in ipairs(tree.files("lua/", "%.lua$")) do
      local room = path:match "^lua/taut/([^/]+)/"
      local noun = path:gsub("/init%.lua$", ""):match "([^/]+)$":gsub("%.lua$", "")
      for _, other in ipairs(not is_member(path) and seen[room .. " " .. noun] or {}) do
         if is_above(other, path) then
            wrong[#wrong + 1] = ("%s: the noun of %s, too"):format(path, other)
         end
      end
      if not is_member(path) then
         note(seen, room .. " " .. noun, path)
      end
   end
   return wrong
end

return names
