-- SPDX-License-Identifier: GPL-2.0-or-later
-- Files of sampler.c become one picture: flame.lua OUT.svg NAME=FILE…
-- Prints what took most, by itself and with all that it called; OUT.folded has a line
-- "FRAME;FRAME COUNT" for each stack, as other tools for flame graphs read it.
local stack_names = require "profile.names"

local WIDTH, ROW, LEAST = 1200, 16, 0.0008 -- pixels; the least share that is drawn

---------------------------------------------------------------- stacks

local root = { name = "all", n = 0, of = {}, order = {} }
local own, total, folded = {}, {}, {}

local function add(frames, n)
   local at, seen = root, {}
   root.n = root.n + n
   for _, name in ipairs(frames) do
      if not at.of[name] then
         at.of[name] = { name = name, n = 0, of = {}, order = {} }
         at.order[#at.order + 1] = at.of[name]
      end
      at = at.of[name]
      at.n = at.n + n
      if not seen[name] then
         seen[name], total[name] = true, (total[name] or 0) + n
      end
   end
   own[at.name] = (own[at.name] or 0) + n
   folded[#folded + 1] = table.concat(frames, ";") .. " " .. n
end

---------------------------------------------------------------- the picture

local function escape(s)
   return (s:gsub("[&<>]", { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;" }))
end

-- Warm for Lua, cold for C.
local function colour(name)
   local sum = 0
   for i = 1, #name do
      sum = (sum * 31 + name:byte(i)) % 997
   end
   local light = 62 + sum % 18
   local hue = (name:find "%.lua:" and 20 or 195) + sum % 30
   return ("hsl(%d,70%%,%d%%)"):format(hue, light)
end

local function depth_of(node)
   local most = 0
   for _, kid in ipairs(node.order) do
      most = kid.n >= root.n * LEAST and math.max(most, 1 + depth_of(kid)) or most
   end
   return most
end

local function draw(out, node, x, depth, height)
   local width = node.n / root.n * WIDTH
   local y = height - (depth + 1) * ROW
   local text = width > 30 and escape(node.name:sub(1, (width - 6) // 6.6 // 1 | 0)) or ""
   out:write(('<g><title>%s: %.2f%%</title>'):format(escape(node.name), 100 * node.n / root.n),
      ('<rect x="%.1f" y="%d" width="%.1f" height="%d" fill="%s"/>'):format(x, y,
         math.max(0.3, width - 0.5), ROW - 1, colour(node.name)),
      ('<text x="%.1f" y="%d">%s</text></g>\n'):format(x + 3, y + 12, text))
   table.sort(node.order, function(a, b) return a.name < b.name end)
   for _, kid in ipairs(node.order) do
      if kid.n >= root.n * LEAST then
         draw(out, kid, x, depth + 1, height)
      end
      x = x + kid.n / root.n * WIDTH
   end
end

local function picture(path)
   local height = (depth_of(root) + 2) * ROW
   local out = assert(io.open(path, "w"))
   out:write(('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" '):format(WIDTH, height),
      ('width="%d" height="%d" font-family="monospace" font-size="11">\n'):format(WIDTH, height),
      '<rect width="100%" height="100%" fill="#fff"/>\n')
   draw(out, root, 0, 0, height)
   out:write "</svg>\n"
   assert(out:close())
end

---------------------------------------------------------------- the tables

local function top(title, by, most)
   local list = {}
   for name, n in pairs(by) do
      list[#list + 1] = { name, n }
   end
   table.sort(list, function(a, b) return a[2] > b[2] or a[2] == b[2] and a[1] < b[1] end)
   print(title)
   for i = 1, math.min(most, #list) do
      print(("  %5.1f%%  %s"):format(100 * list[i][2] / root.n, list[i][1]))
   end
end

local files = {}
for i = 2, #arg do
   local name, path = arg[i]:match "^([^=]+)=(.*)$"
   files[#files + 1] = { name = name, path = path }
end
for _, stack in ipairs(stack_names.read(files)) do
   add(stack.frames, stack.n)
end
if root.n == 0 then
   io.stderr:write "profile: no sample was taken\n"
   return 1
end
picture(arg[1])
local out = assert(io.open((arg[1]:gsub("%.svg$", "") .. ".folded"), "w"))
out:write(table.concat(folded, "\n"), "\n")
out:close()
print(("%d samples"):format(root.n))
top("by itself", own, 25)
top("with what it called", total, 25)
