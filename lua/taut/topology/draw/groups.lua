-- SPDX-License-Identifier: GPL-2.0-or-later
--- Dragonflies: groups on a circle, their routers in rows and columns, cables between groups as
-- chords.
local canvas = require "taut.topology.draw.canvas"
local look = require "taut.topology.draw.look"
local report = require "taut.report"
local svg = require "taut.report.svg"

local groups = {}

local NAMED = 20    -- groups up to which there is room for the word
local RADIUS = 470  -- of the circle of many groups, pixels
local LOCAL_MAX = 8 -- routers of a group up to which all its cables are drawn

-- Routers of each group, and the place of each in the group's box.
local function members_of(topo, at)
   local list, by_name = {}, {}
   for r = 0, topo.routers - 1 do
      local name = at[r][1]
      if not by_name[name] then
         by_name[name] = { name = name, routers = {} }
         list[#list + 1] = by_name[name]
      end
      table.insert(by_name[name].routers, r)
   end
   table.sort(list, function(one, other)
      if math.type(one.name) == "integer" and math.type(other.name) == "integer" then
         return one.name < other.name
      end
      return one.routers[1] < other.routers[1]
   end)
   return list
end

-- Aries groups have rows and columns of their own; others are laid out about twice as wide as high.
local function box_of(list, at)
   local rows, columns, most, own = 0, 0, 0, true
   for _, g in ipairs(list) do
      most = math.max(most, #g.routers)
      for _, r in ipairs(g.routers) do
         own = own and at[r][3] ~= nil
         rows, columns = math.max(rows, (at[r][2] or 0) + 1), math.max(columns, (at[r][3] or 0) + 1)
      end
   end
   if own then
      return rows, columns, true
   end
   local wide = most
   if most > 4 then
      wide = 2 * most
   end
   columns = math.ceil(math.sqrt(wide))
   return -(-most // columns), columns, false
end

local function label_groups(list)
   local widest = 0
   for _, g in ipairs(list) do
      g.label = look.short(tostring(g.name), 20, 12)
      if math.type(g.name) == "integer" and #list <= NAMED then
         g.label = "group " .. g.name
      end
      widest = math.max(widest, svg.width(g.label, 12))
   end
   return widest
end

local function plan_layout(topo, at)
   local list = members_of(topo, at)
   local l = { list = list, xy = {} }
   local margin = label_groups(list) + 26
   l.rows, l.columns, l.own = box_of(list, at)
   local radius = math.min(RADIUS, 110 + 45 * #list)
   local room = 600
   if #list > 1 then
      room = 2 * math.pi * radius / #list
   end
   l.cell = math.max(3.5, math.min(40, (0.93 * room - 26) / l.columns, 0.9 * room / l.rows))
   l.radius = 0
   if #list > 1 then
      l.radius = math.max(radius, #list * (l.columns * l.cell + 10) / (2 * math.pi))
   end
   local half_w, half_h = l.columns * l.cell / 2, l.rows * l.cell / 2
   l.cx, l.cy = l.radius + half_w + margin, l.radius + half_h + 30
   for i, g in ipairs(list) do
      local a = 2 * math.pi * (i - 1) / #list - math.pi / 2
      g.x, g.y = l.cx + l.radius * math.cos(a), l.cy + l.radius * math.sin(a)
      g.out_x, g.out_y = math.cos(a), math.sin(a)
      for k, r in ipairs(g.routers) do
         local row, column = (k - 1) // l.columns, (k - 1) % l.columns
         if l.own then
            row, column = at[r][2], at[r][3]
         end
         l.xy[r] = { g.x - half_w + (column + 0.5) * l.cell, g.y - half_h + (row + 0.5) * l.cell,
            g, row, column }
      end
   end
   return l
end

local function draw_boxes(picture, plan)
   local w, h = plan.columns * plan.cell + 8, plan.rows * plan.cell + 8
   for _, g in ipairs(plan.list) do
      picture:box(g.x - w / 2, g.y - h / 2, w, h)
      -- where a ray from the middle leaves the box
      local out = math.min(w / 2 / math.max(1e-6, math.abs(g.out_x)),
         h / 2 / math.max(1e-6, math.abs(g.out_y)))
      local anchor = "middle"
      if g.out_x > 0.5 then
         anchor = "start"
      elseif g.out_x < -0.5 then
         anchor = "end"
      end
      picture:label(g.x + g.out_x * (out + 15), g.y + g.out_y * (out + 13) + 4, g.label,
         { anchor = anchor, size = 12, bold = true })
      for _, r in ipairs(g.routers) do
         picture:router(r, plan.xy[r][1], plan.xy[r][2],
            math.max(2.2, math.min(11, plan.cell * 0.5)))
      end
   end
end

-- Inside of a group; of larger groups only cables between neighbours, which stand for the rest.
local function draw_local(picture, plan, link, back, from, to)
   local bad = look.is_bad(picture:state(link)) or look.is_bad(picture:state(back or link))
   local near = math.abs(from[4] - to[4]) + math.abs(from[5] - to[5]) == 1
   local few = plan.rows * plan.columns <= LOCAL_MAX
   if bad and not near then
      local mx, my = (from[1] + to[1]) / 2, (from[2] + to[2]) / 2
      local bend = plan.cell * 0.8
      if from[5] == to[5] then
         mx = mx + bend
      else
         my = my - bend
      end
      picture:cable(link, back, { from[1], from[2], mx, my, to[1], to[2] }, true)
   elseif bad or few or near and plan.cell >= 7 then
      picture:cable(link, back, { from[1], from[2], to[1], to[2] })
   end
end

-- A chord, pulled towards the middle.
local function draw_global(picture, plan, link, back, from, to)
   local mx, my = (from[1] + to[1]) / 2, (from[2] + to[2]) / 2
   picture:cable(link, back, { from[1], from[2], plan.cx + (mx - plan.cx) * 0.35,
      plan.cy + (my - plan.cy) * 0.35, to[1], to[2] }, true)
end

--- @param scene see taut.draw.canvas
-- @param options { title, subtitle, at = { [router] = { group, row, column } or { group, number } }
--   }
-- @return canvas
function groups.draw(scene, options)
   local topo = scene.topo
   local at = options.at
   local l = plan_layout(topo, at)
   local thin, opacity = 0.8, 0.8
   if #topo.components > 3000 then
      thin, opacity = 0.45, 0.55
   end
   local c = canvas.new(scene, { title = options.title, subtitle = options.subtitle ..
      report.text_if(l.rows * l.columns > LOCAL_MAX,
      "; inside a group only bad cables and those between neighbours are drawn"),
      thin = thin, opacity = opacity })
   draw_boxes(c, l)
   for link = 1, #topo.components do
      if topo:is_link(link) then
         local back = topo:opposite(link)
         if not back or link < back then
            local a, b = l.xy[topo:from(link)], l.xy[topo:to(link)]
            if a[3] == b[3] then
               draw_local(c, l, link, back, a, b)
            else
               draw_global(c, l, link, back, a, b)
            end
         end
      end
   end
   return c
end

return groups
