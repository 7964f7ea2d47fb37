-- SPDX-License-Identifier: GPL-2.0-or-later
--- The uses of modules: every include and require, by files and by rooms.
local lua_source = require "lua_source"
local tree = require "tree"

local arrows = {}

---------------------------------------------------------------- what there is

-- "taut.topology.draw" → its file; nil when a module of this name is not Lua of ours.
local function lua_file(name)
   local path = "lua/" .. name:gsub("%.", "/")
   return tree.has[path .. ".lua"] and path .. ".lua"
      or tree.has[path .. "/init.lua"] and path .. "/init.lua" or nil
end

local tokens_by = {}

local function tokens_of(path)
   tokens_by[path] = tokens_by[path] or lua_source.tokens(tree.text(path))
   return tokens_by[path]
end

-- What a registry names and requires later; not itself an arrow that hides.
local function named(list, path, tokens)
   for i, t in ipairs(tokens) do
      local before = tokens[i - 1] and tokens[i - 1].text == "(" and tokens[i - 2] or tokens[i - 1]
      local to = t.kind == "string" and before and before.text ~= "require"
         and t.text:find "^taut%." and lua_file(t.text)
      if to then
         list[#list + 1] = { from = path, line = t.line, depth = 0, name = t.text, to = to }
      end
   end
end

local function lua_arrows(list)
   for _, path in ipairs(tree.files("lua/", "%.lua$")) do
      local tokens = tokens_of(path)
      named(list, path, tokens)
      for _, r in ipairs(lua_source.requires(tokens)) do
         list[#list + 1] = { from = path, line = r.line, depth = r.depth, name = r.name,
            to = r.name and lua_file(r.name), var = r.var, whole = r.whole }
      end
   end
end

local function c_arrows(list)
   for _, path in ipairs(tree.sources "%.[ch]$") do
      for number, line in tree.lines(path) do
         local quoted = line:match '^%s*#%s*include%s*"([^"]+)"'
         local name = quoted or line:match "^%s*#%s*include%s*<([^>]+)>"
         local beside = tree.folder(path) .. (name or "")
         if name then
            list[#list + 1] = { from = path, line = number, depth = 0, name = name,
               c = true, to = quoted and (tree.has[name] and name or tree.has[beside] and beside)
                  or nil }
         end
      end
   end
end

--- All arrows: array of { from = file, line =, to = file of ours or nil, name = as it is written,
-- depth = functions around it, var = the local it is, whole = the module itself is taken, c = }.
function arrows.all()
   if not arrows.list then
      arrows.list = {}
      lua_arrows(arrows.list)
      c_arrows(arrows.list)
   end
   return arrows.list
end

---------------------------------------------------------------- checks

--- Arrows between rooms that the table does not have.
function arrows.wrong()
   local rooms, wrong = tree.rooms(), {}
   for _, a in ipairs(arrows.all()) do
      local room = tree.room_of(rooms, a.from)
      local to = a.to and tree.room_of(rooms, a.to)
      if not room then
         wrong[#wrong + 1] = ("%s:1: its folder has no row in CONTRIBUTING.md, \"Rooms\"")
            :format(a.from)
      elseif a.to and to ~= room and not rooms[room].uses[to] then
         wrong[#wrong + 1] = ("%s:%d: %s may not use %s"):format(a.from, a.line, room, to)
      elseif not a.to and not a.c and a.name and not a.name:find "^taut%."
         and not rooms[room].uses[a.name] then
         wrong[#wrong + 1] = ("%s:%d: %s may not use the library %s"):format(a.from, a.line, room,
            a.name)
      end
   end
   return wrong
end

-- What the table says must be there, and no more than is used.
function arrows.table()
   local rooms, order = tree.rooms()
   local wrong, used = {}, {}
   for _, a in ipairs(arrows.all()) do
      local room = tree.room_of(rooms, a.from)
      if room then
         used[room] = used[room] or {}
         used[room][a.to and tree.room_of(rooms, a.to) or a.name or ""] = true
      end
   end
   for _, folder in ipairs(order) do
      if #tree.files(folder, "") == 0 then
         wrong[#wrong + 1] = ("CONTRIBUTING.md:%d: there is no %s"):format(rooms[folder].line,
            folder)
      end
      for to in pairs(rooms[folder].uses) do
         if not (used[folder] or {})[to] then
            wrong[#wrong + 1] = ("CONTRIBUTING.md:%d: %s does not use %s"):format(
               rooms[folder].line, folder, to)
         end
      end
   end
   return wrong
end

-- Strongly connected parts of a graph (Tarjan): arrays of two nodes and more.
local function circles(nodes, edges)
   local index, low, on, stack, found, count = {}, {}, {}, {}, {}, 0
   local function visit(v)
      count = count + 1
      index[v], low[v], on[v] = count, count, true
      stack[#stack + 1] = v
      for _, w in ipairs(edges[v] or {}) do
         if not index[w] then
            visit(w)
            low[v] = math.min(low[v], low[w])
         elseif on[w] then
            low[v] = math.min(low[v], index[w])
         end
      end
      if low[v] == index[v] then
         local part, w = {}
         repeat
            w = table.remove(stack)
            on[w] = nil
            part[#part + 1] = w
         until w == v
         table.sort(part)
         found[#found + 1] = #part > 1 and part or nil
      end
   end
   for _, v in ipairs(nodes) do
      if not index[v] then
         visit(v)
      end
   end
   return found
end

-- Circles of what `unit` makes of files.
local function circles_of(unit, word)
   local nodes, edges, seen, wrong = {}, {}, {}, {}
   for _, a in ipairs(arrows.all()) do
      local from, to = unit(a.from), a.to and unit(a.to)
      if from and to and from ~= to then
         if not edges[from] then
            edges[from], seen[from] = {}, {}
            nodes[#nodes + 1] = from
         end
         if not seen[from][to] then
            seen[from][to] = true
            table.insert(edges[from], to)
         end
      end
   end
   for _, part in ipairs(circles(nodes, edges)) do
      wrong[#wrong + 1] = ("%s: a circle of %s: %s"):format(part[1], word, table.concat(part, " "))
   end
   return wrong
end

--- Of Lua modules and of headers; the C files of a room may call each other.
function arrows.module_circles()
   return circles_of(function(path) return path end, "modules")
end

function arrows.room_circles()
   local rooms = tree.rooms()
   return circles_of(function(path) return tree.room_of(rooms, path) end, "rooms")
end

--- Requires inside functions: only registries may, by a name that is worked out, and a library
-- of others that may be missing.
function arrows.hidden()
   local wrong = {}
   for _, a in ipairs(arrows.all()) do
      if a.depth > 0 and a.name and a.name:find "^taut" then
         wrong[#wrong + 1] = ("%s:%d: %s is required inside a function"):format(a.from, a.line,
            a.name)
      elseif a.depth > 0 and not a.name and not a.from:find "/init%.lua$" then
         wrong[#wrong + 1] = ("%s:%d: only a registry (init.lua) requires by a name worked out")
            :format(a.from, a.line)
      end
   end
   return wrong
end

--- Where core looks into act or diagnosis, instead of asking.
function arrows.read()
   local wrong = {}
   for _, path in ipairs(tree.files("lua/taut/core/", "%.lua$")) do
      for number, line in tree.lines(path) do
         for before, object, field in line:gmatch "([%w_]+)%.(%a+)%.([%w_]+)" do
            if (object == "act" or object == "diagnosis") and before ~= "conf" then
               wrong[#wrong + 1] = ("%s:%d: reads %s.%s"):format(path, number, object, field)
            end
         end
      end
   end
   return wrong
end

--- Modules whose table another one writes.
function arrows.written()
   local wrong = {}
   for _, a in ipairs(arrows.all()) do
      if not a.c and a.var and a.whole and a.name and a.depth == 0 then
         for _, line in ipairs(lua_source.writes(tokens_of(a.from), a.var)) do
            wrong[#wrong + 1] = ("%s:%d: writes into %s"):format(a.from, line, a.name)
         end
      end
   end
   return wrong
end

--- advisor/lib has no Lua in it.
function arrows.lua_in_lib()
   local wrong = {}
   for _, a in ipairs(arrows.all()) do
      if a.c and a.from:find "^advisor/lib/" and (a.name:find "^lua" or a.name:find "^lauxlib")
      then
         wrong[#wrong + 1] = ("%s:%d: includes %s"):format(a.from, a.line, a.name)
      end
   end
   return wrong
end

-- A C module is its .c and its .h.
local function module_of(path)
   return (path:gsub("%.[ch]$", ""))
end

--- The most used modules: array of "N  file", for a reader to look at.
function arrows.fan_in(most)
   local users, list = {}, {}
   for _, a in ipairs(arrows.all()) do
      local to = a.to and module_of(a.to)
      if to and to ~= module_of(a.from) then
         users[to] = users[to] or { n = 0 }
         if not users[to][a.from] then
            users[to][a.from], users[to].n = true, users[to].n + 1
         end
      end
   end
   for path, u in pairs(users) do
      list[#list + 1] = { path = path, n = u.n }
   end
   table.sort(list, function(a, b) return a.n > b.n or a.n == b.n and a.path < b.path end)
   return table.move(list, 1, math.min(most, #list), 1, {})
end

return arrows
