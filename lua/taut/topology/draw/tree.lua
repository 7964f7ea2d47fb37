-- SPDX-License-Identifier: GPL-2.0-or-later
--- Fat trees and other fabrics with routers that have no nodes: leaves in a row, their nodes below
-- them, the other routers above in rows of their own.
local order = require "taut.topology.order"
local keys = require "taut.topology.order.keys"

local canvas = require "taut.topology.draw.canvas"
local look = require "taut.topology.draw.look"
local svg = require "taut.report.svg"

local tree = {}

local WIDE = 1500
local function shorten_name(name)
   return look.short(name, 18, 12)
end

-- Leaves in the order in which they hang together; routers of the other levels by name.
local function rows_of(topo, level)
   local rows, top = {}, 0
   for r = 0, topo.routers - 1 do
      local l = level[r] or 0
      top = math.max(top, l)
      rows[l] = rows[l] or {}
      if l > 0 then
         table.insert(rows[l], r)
      end
   end
   rows[0] = {}
   local all, seen = order.candidates(topo), {}
   for _, r in ipairs(all[#all].routers or {}) do
      if (level[r] or 0) == 0 then
         table.insert(rows[0], r)
         seen[r] = true
      end
   end
   for r = 0, topo.routers - 1 do
      if (level[r] or 0) == 0 and not seen[r] then
         table.insert(rows[0], r)
      end
   end
   return rows, top
end

-- Each router of a row above the middle of what it is linked to further down, then spread evenly.
local function spread_row(topo, row, x, level, width)
   local at = {}
   for i, r in ipairs(row) do
      local sum, n = 0, 0
      for _, c in ipairs(topo:links_of(r)) do
         local s = topo:to(c)
         if (level[s] or 0) < level[r] and x[s] then
            sum, n = sum + x[s], n + 1
         end
      end
      at[r] = { width / 2, i }
      if n > 0 then
         at[r][1] = math.floor(sum / n + 0.5)
      end
   end
   table.sort(row, function(one, other)
      if at[one][1] ~= at[other][1] then
         return at[one][1] < at[other][1]
      end
      return at[one][2] < at[other][2]
   end)
   for i, r in ipairs(row) do
      x[r] = width * (i - 0.5) / #row
   end
end

local function longest_name(topo, row)
   local most = 0
   for _, r in ipairs(row) do
      most = math.max(most, svg.width(shorten_name(topo.router_name[r]), 10))
   end
   return most
end

-- Names that do not fit beside each other are turned.
local function is_wide(topo, row, space)
   return longest_name(topo, row) > space - 6
end

-- The nodes of a leaf, as a block of dots under it.
local function draw_nodes(picture, router, x, y, width)
   local list = picture.topo:on_router(router)
   local columns = math.max(1, math.min(math.floor(width * 0.8 / 6), 8))
   for i, n in ipairs(list) do
      local column, row = (i - 1) % columns, (i - 1) // columns
      local across = math.min(columns, #list)
      picture:dot(n, x + (column - (across - 1) / 2) * 6, y + 14 + row * 6)
   end
   return -(-#list // columns) * 6
end

local function draw_leaves(picture, row, x, y, width)
   local deepest = 0
   for _, r in ipairs(row) do
      picture:router(r, x[r], y, math.min(12, width * 0.6))
      deepest = math.max(deepest, draw_nodes(picture, r, x[r], y, width))
   end
   local wide = is_wide(picture.topo, row, width)
   -- turned names need 11 pixels each; of more than fit, every so many is named
   local every = math.max(1, math.ceil(11 / width))
   for i, r in ipairs(row) do
      if not wide then
         picture:label(x[r], y + 26 + deepest, shorten_name(picture.topo.router_name[r]),
            { anchor = "middle",
            size = 10 })
      elseif (i - 1) % every == 0 then
         picture:label(x[r] - 3, y + 18 + deepest, shorten_name(picture.topo.router_name[r]),
            { turn = 90,
            size = 10 })
      end
   end
end

local function draw_upper(picture, row, x, y, width)
   local space = width / #row
   local wide = is_wide(picture.topo, row, space)
   local every = math.max(1, math.ceil(11 / space))
   for i, r in ipairs(row) do
      picture:router(r, x[r], y, math.min(14, space * 0.6))
      if not wide then
         picture:label(x[r], y - 12, shorten_name(picture.topo.router_name[r]),
            { anchor = "middle", size = 10,
            halo = true })
      elseif (i - 1) % every == 0 then
         picture:label(x[r] + 3, y - 11, shorten_name(picture.topo.router_name[r]),
            { turn = -90, size = 10,
            halo = true })
      end
   end
end

-- Parallel cables between two routers, those that are well as one line, thicker.
local function draw_bundle(picture, bundle, x, y)
   local well = {}
   for _, p in ipairs(bundle) do
      local r, s = picture.topo:from(p[1]), picture.topo:to(p[1])
      local points = { x[r], y[r], x[s], y[s] }
      local curved = y[r] == y[s]
      if curved then -- side by side in one row
         points = { x[r], y[r], (x[r] + x[s]) / 2, y[r] - 30 - math.abs(x[r] - x[s]) * 0.15,
            x[s], y[s] }
      end
      if look.is_bad(picture:state(p[1])) or p[2] and look.is_bad(picture:state(p[2])) then
         picture:cable(p[1], p[2], points, curved)
      else
         well[#well + 1] = { p, points, curved }
      end
   end
   for i, w in ipairs(well) do
      -- only the first leaves a line, the others are counted
      local points = {}
      if i == 1 then
         points = w[2]
      end
      picture:cable(w[1][1], w[1][2], points, w[3], #well)
   end
end

local function draw_cables(picture, x, y)
   local topo, bundles, at = picture.topo, {}, {}
   for link = 1, #topo.components do
      if topo:is_link(link) then
         local back = topo:opposite(link)
         if not back or link < back then
            local r, s = topo:from(link), topo:to(link)
            local key = math.min(r, s) << 32 | math.max(r, s)
            if not at[key] then
               at[key] = {}
               bundles[#bundles + 1] = at[key]
            end
            table.insert(at[key], { link, back })
         end
      end
   end
   for _, bundle in ipairs(bundles) do
      draw_bundle(picture, bundle, x, y)
   end
end

--- @param scene see taut.draw.canvas
-- @param options { title, subtitle }
-- @return canvas
function tree.draw(scene, options)
   local topo = scene.topo
   local level = keys.levels(topo)
   local rows, top = rows_of(topo, level)
   local most = 1
   for l = 0, top do
      most = math.max(most, #(rows[l] or {}))
   end
   local space = math.max(9, math.min(90, WIDE / most))
   local width = space * most
   local thin, opacity = 0.9, nil
   if #topo.components > 4000 then
      thin, opacity = 0.5, 0.6
   end
   local c = canvas.new(scene, { title = options.title, subtitle = options.subtitle ..
      "; parallel cables are one thicker line", thin = thin, opacity = opacity })
   local x, y = {}, {}
   for i, r in ipairs(rows[0]) do
      x[r] = width * (i - 0.5) / #rows[0]
   end
   local gap = math.max(130, math.min(300, width / 5))
   local head = 24
   for l = 1, top do
      if rows[l] then
         spread_row(topo, rows[l], x, level, width)
         if l == top and is_wide(topo, rows[l], width / #rows[l]) then
            head = math.max(head, longest_name(topo, rows[l]) + 16)
         end
      end
   end
   for l = 0, top do
      for _, r in ipairs(rows[l] or {}) do
         y[r] = head + (top - l) * gap
      end
   end
   draw_cables(c, x, y)
   draw_leaves(c, rows[0], x, head + top * gap, width / #rows[0])
   for l = 1, top do
      if rows[l] then
         draw_upper(c, rows[l], x, head + (top - l) * gap, width)
      end
   end
   return c
end

return tree
