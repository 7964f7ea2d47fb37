-- SPDX-License-Identifier: GPL-2.0-or-later
--- The files of the tree, and its rooms as CONTRIBUTING.md has them.
local tree = {}

-- Folders of ours; a build tree beside them is not read.
local TOPS = "plugin wire advisor lua tests doc etc m4"

local function lines_of(command)
   local list, pipe = {}, assert(io.popen(command))
   for line in pipe:lines() do
      list[#list + 1] = line
   end
   assert(pipe:close(), command)
   return list
end

-- All files below the folders, and those that lie beside them.
local function find()
   local names = " -type f ! -name '.*' ! -name '*~' "
   local all = lines_of("find " .. TOPS .. names .. "! -path '*/.*/*' | sort")
   for _, path in ipairs(lines_of("find . -maxdepth 1" .. names .. "-printf '%f\n' | sort")) do
      all[#all + 1] = path
   end
   return all
end

--- All files, sorted, and the set of them.
tree.all = find()
tree.has = {}
for _, path in ipairs(tree.all) do
   tree.has[path] = true
end

-- What others wrote, or what autoconf makes.
local GIVEN = { "^tests/data/", "^tests/fuzz/corpus/", "^m4/libtool", "^m4/lt", "^aclocal%.m4$",
   "^configure$", "^Makefile%.in$", "^config%.h%.in$",
   "^tests/bench/campaign%.d/world%.lua$" }

function tree.is_given(path)
   for _, pattern in ipairs(GIVEN) do
      if path:find(pattern) then
         return true
      end
   end
   return false
end

--- Files whose path begins with `top` and matches `pattern`.
function tree.files(top, pattern)
   local list = {}
   for _, path in ipairs(tree.all) do
      if path:sub(1, #top) == top and path:find(pattern) then
         list[#list + 1] = path
      end
   end
   return list
end

--- Sources of the program, in C or Lua.
function tree.sources(pattern)
   local list = {}
   for _, top in ipairs { "plugin/", "wire/", "advisor/", "lua/" } do
      for _, path in ipairs(tree.files(top, pattern)) do
         list[#list + 1] = path
      end
   end
   return list
end

local texts = {}

function tree.text(path)
   if not texts[path] then
      local f = assert(io.open(path))
      texts[path] = f:read "a"
      f:close()
   end
   return texts[path]
end

--- @return function that gives number and text of each line
function tree.lines(path)
   local number, next_line = 0, (tree.text(path) .. "\n"):gmatch "([^\n]*)\n"
   return function()
      local line = next_line()
      number = number + 1
      return line and number, line
   end
end

--- The folder of a path, with its slash.
function tree.folder(path)
   return path:match "^.*/" or ""
end

---------------------------------------------------------------- rooms

-- What a word in the column "may use" means to a room: the nearest room of that name, from the
-- room's own folder upwards; else a library that is not ours.
local function resolve(rooms, room, word)
   local folder = room
   repeat
      if rooms[folder .. word .. "/"] then
         return folder .. word .. "/"
      end
      folder = folder:match "^(.*/)[^/]+/$" or (folder ~= "" and "" or nil)
   until not folder
   return word
end

--- The table "Rooms": rows `| `folder/` | what is in it | `room` `room` |`.
-- @return map folder → { uses = set of folders and libraries, line = }; array of the folders
function tree.rooms()
   local rooms, order = {}, {}
   for number, line in tree.lines "CONTRIBUTING.md" do
      local folder, uses = line:match "^| `([%w_/]+/)` |.*|([^|]*)|%s*$"
      if folder then
         rooms[folder] = { line = number, words = uses, uses = {} }
         order[#order + 1] = folder
      end
   end
   for folder, room in pairs(rooms) do
      for word in room.words:gmatch "`([^`]+)`" do
         room.uses[resolve(rooms, folder, word)] = true
      end
   end
   return rooms, order
end

--- The room of a path: the longest folder that has a row.
function tree.room_of(rooms, path)
   local folder = tree.folder(path)
   while folder and not rooms[folder] do
      folder = folder:match "^(.*/)[^/]+/$"
   end
   return folder
end

return tree
