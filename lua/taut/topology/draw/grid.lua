-- SPDX-License-Identifier: GPL-2.0-or-later
--- Torus, mesh and HyperX: planes of two dimensions, side by side.
--
-- Cables inside a plane are lines between the routers; one that closes a ring is a stub at both
-- edges. One that leaves the plane is a short stroke at the router, up and right for "+", down and
-- left for "-" in the third dimension.
local report = require "taut.report"
local tables = require "taut.base.tables"
local canvas = require "taut.topology.draw.canvas"
local look = require "taut.topology.draw.look"

local grid = {}

local LETTERS = { "X", "Y", "Z", "A", "B", "C", "D", "E" }
-- Angles of strokes for dimensions that leave the plane, in turn; "-" is opposite.
local ANGLES = { -45, -135, -70, -110, -20, -160 }
local ARCS = 6    -- routers in a row of a HyperX up to which each of its cables is drawn
local WIDE = 1500 -- pixels that several planes may take side by side

---------------------------------------------------------------- which planes

-- The two dimensions of a plane, and the others.
local function choose_axes(dims, fixed)
   local free, others = {}, {}
   for d = 1, #dims do
      if not fixed[d] and #free < 2 then
         free[#free + 1] = d
      else
         others[#others + 1] = d
      end
   end
   return free[1] or 1, free[2], others
end

-- All combinations of coordinates of the other dimensions.
local function planes_of(dims, others, fixed)
   local list = { {} }
   for _, d in ipairs(others) do
      local longer = {}
      for _, at in ipairs(list) do
         for v = fixed[d] or 0, fixed[d] or dims[d] - 1 do
            local copy = { table.unpack(at) }
            copy[#copy + 1] = v
            longer[#longer + 1] = copy
         end
      end
      list = longer
   end
   return list
end

local function plane_name(others, at)
   local parts = tables.map(others, function(dim, index)
      return ("%s=%d"):format(LETTERS[dim], at[index])
   end)
   return table.concat(parts, " ")
end

-- Reads "Z=3" or "Z=3,A=0".
-- @return { [dimension] = coordinate }, or nil and what was expected
local function fixed_by(topo, text)
   local fixed = {}
   for part in (text or ""):gmatch "[^,]+" do
      local letter, v = part:upper():match "^([A-Z])=(%d+)$"
      local d
      for i, l in ipairs(LETTERS) do
         if l == letter then
            d = i
         end
      end
      v = math.tointeger(tonumber(v))
      if not d or not topo.dims[d] or not v or v >= topo.dims[d] then
         local k = math.min(3, #topo.dims)
         return nil, ("--plane: expected such as %s=%d, got '%s'"):format(LETTERS[k],
            topo.dims[k] - 1, part)
      end
      fixed[d] = v
   end
   return fixed
end

---------------------------------------------------------------- places

local function plan_layout(topo, options)
   local fixed, err = fixed_by(topo, options.plane)
   if not fixed then
      return nil, err
   end
   local h, v, others = choose_axes(topo.dims, fixed)
   local l = { h = h, v = v, others = others, planes = planes_of(topo.dims, others, fixed),
      columns = topo.dims[h], rows = topo.dims[v or 0] or 1 }
   local n, most = #l.planes, 46
   -- as wide as the screen, about twice as wide as high
   l.across = math.max(1, math.min(n,
      math.floor(math.sqrt(n * 1.5 * (l.rows + 3) / (l.columns + 3)) + 0.5)))
   if n == 1 and topo.kind_name == "hyperx" then
      most = 80
   end
   l.cell = math.max(9, math.min(most, WIDE / (l.across * (l.columns + 3))))
   l.pad = math.max(16, l.cell)
   l.step_x = l.cell * (l.columns - 1) + 2 * l.pad + 18
   l.step_y = l.cell * (l.rows - 1) + 2 * l.pad + 34
   l.size = math.max(3, math.min(14, l.cell * 0.34))
   return l
end

-- Where a router is drawn; nil when its plane is not.
local function place_router(drawn, plane_at, at)
   local key = tables.map(drawn.others, function(dim) return at[dim] end)
   local plane = plane_at[table.concat(key, ".")]
   if not plane then
      return nil
   end
   local px, py = plane % drawn.across * drawn.step_x, plane // drawn.across * drawn.step_y
   local row = 0
   if drawn.v then
      row = drawn.rows - 1 - at[drawn.v]
   end
   return px + drawn.pad + 18 + at[drawn.h] * drawn.cell,
      py + drawn.pad + 20 + row * drawn.cell, plane
end

local function label_plane(picture, plan, index, name)
   local px, py = index % plan.across * plan.step_x, index // plan.across * plan.step_y
   local every = 5
   if plan.cell >= 14 then
      every = 1
   end
   if name ~= "" then
      picture:label(px + 18 + plan.pad + (plan.columns - 1) * plan.cell / 2, py + 9, name,
         { anchor = "middle",
         size = 12, bold = true })
   end
   local bottom = py + plan.pad + 20 + (plan.rows - 1) * plan.cell + plan.pad * 0.7 + 10
   for x = 0, plan.columns - 1, every do
      picture:label(px + plan.pad + 18 + x * plan.cell, bottom, tostring(x),
         { anchor = "middle", size = 9,
         fill = "#5a5a5a" })
   end
   if index == 0 then
      picture:label(px + 18 + plan.pad + (plan.columns - 1) * plan.cell + 12, bottom,
         LETTERS[plan.h],
         { size = 10,
         bold = true, fill = "#5a5a5a" })
      if plan.v then
         picture:label(px + 18 + plan.pad * 0.25, py + plan.pad + 8, LETTERS[plan.v],
            { anchor = "end", size = 10,
            bold = true, fill = "#5a5a5a" })
      end
   end
   local last = -1
   if plan.v then
      last = plan.rows - 1
   end
   for y = 0, last, every do
      picture:label(px + 18 + plan.pad * 0.25, py + plan.pad + 23 + (plan.rows - 1 - y) * plan.cell,
         tostring(y),
         { anchor = "end", size = 9, fill = "#5a5a5a" })
   end
end

---------------------------------------------------------------- cables

-- The dimension in which the ends of a link differ, and by how much.
local function step_of(topo, from, to)
   for d, len in ipairs(topo.dims) do
      if from[d] ~= to[d] then
         return d, to[d] - from[d], len
      end
   end
end

local function draw_stroke(picture, plan, link, back, x, y, dim, sign)
   local index = 1
   for i, other in ipairs(plan.others) do
      if other == dim then
         index = i
      end
   end
   local angle = math.rad(ANGLES[(index - 1) % #ANGLES + 1])
   local len = plan.cell * 0.38
   local dx, dy = math.cos(angle) * len * sign, math.sin(angle) * len * sign
   picture:cable(link, back, { x, y, x + dx, y + dy }, false, "stroke")
end

-- A cable between neighbours, or round the ring as two stubs.
local function in_plane(picture, plan, link, back, from, to, wraps, horizontal, delta)
   local x1, y1, x2, y2 = from[1], from[2], to[1], to[2]
   if not wraps then
      picture:cable(link, back, { x1, y1, x2, y2 })
      return
   end
   local stub = math.min(plan.pad * 0.62, plan.cell * 0.7)
   if delta >= 0 then
      stub = -stub
   end
   local sx, sy = 0, -stub
   if horizontal then
      sx, sy = stub, 0
   end
   picture:cable(link, back, { x1, y1, x1 + sx, y1 + sy })
   picture:cable(link, back, { x2 - sx, y2 - sy, x2, y2 })
end

-- A row of a HyperX: every router is linked to every other; those that are not next to each other
-- by an arc.  Long rows would be a black bar: there only a line stands for all that is well.
local function in_row(picture, plan, link, back, from, to, horizontal, delta)
   local far, length = math.abs(delta), plan.rows
   if horizontal then
      length = plan.columns
   end
   local bad = look.is_bad(picture:state(link)) or look.is_bad(picture:state(back))
   if far == 1 then
      picture:cable(link, back, { from[1], from[2], to[1], to[2] })
   elseif bad or length <= ARCS then
      local bulge = plan.cell * (0.18 + 0.16 * far)
      local mx, my = (from[1] + to[1]) / 2, (from[2] + to[2]) / 2
      if horizontal then
         my = my - bulge
      else
         mx = mx - bulge
      end
      picture:cable(link, back, { from[1], from[2], mx, my, to[1], to[2] }, true)
   end
end

local function draw_link(picture, plan, at, xy, link, back)
   local topo = picture.topo
   local r, s = topo:from(link), topo:to(link)
   local d, delta, len = step_of(topo, at[r], at[s])
   if not d then
      return
   end
   if d ~= plan.h and d ~= plan.v then
      local bad = look.is_bad(picture:state(link))
      -- in a ring of two the one cable is "+" at both ends
      local sign = -1
      if delta == 1 or delta == 1 - len or len == 2 then
         sign = 1
      end
      if xy[r] and (bad or plan.cell >= 14 and topo.kind_name ~= "hyperx") then
         draw_stroke(picture, plan, link, back, xy[r][1], xy[r][2], d, sign)
      end
      if xy[s] and (bad and topo.kind_name == "hyperx") then
         draw_stroke(picture, plan, link, back, xy[s][1], xy[s][2], d, -sign)
      end
   elseif xy[r] and xy[s] and (link < back or not picture.topo.opposite) then
      local horizontal = d == plan.h
      if topo.kind_name == "hyperx" then
         in_row(picture, plan, link, back, xy[r], xy[s], horizontal, delta)
      else
         in_plane(picture, plan, link, back, xy[r], xy[s], math.abs(delta) > 1, horizontal, delta)
      end
   end
end

--- @param scene see taut.draw.canvas
-- @param options { plane = "Z=3" or nil, title = or nil }
-- @return canvas, or nil and what is wrong
function grid.draw(scene, options)
   local topo = scene.topo
   local l, err = plan_layout(topo, options)
   if not l then
      return nil, err
   end
   local strokes = #l.others > 0 and l.cell >= 14 and topo.kind_name ~= "hyperx"
   local long_rows = topo.kind_name == "hyperx" and math.max(l.columns, l.rows) > ARCS
   local subtitle, thin = options.subtitle, 1.3
   if topo.kind_name == "torus" then
      subtitle = subtitle .. "; stubs at the edges go round"
   elseif long_rows then
      subtitle = subtitle .. "; a line through a row stands for all its cables"
   end
   if #l.others > 0 then
      subtitle = subtitle .. report.text_if(strokes, "; strokes at routers leave the plane",
         "; of cables that leave the plane only bad ones are drawn")
   end
   if l.cell < 14 then
      thin = 0.9
   end
   local c = canvas.new(scene, { title = options.title, subtitle = subtitle, thin = thin })
   local plane_at, at, xy = {}, {}, {}
   for i, p in ipairs(l.planes) do
      plane_at[table.concat(p, ".")] = i - 1
      label_plane(c, l, i - 1, plane_name(l.others, p))
   end
   for r = 0, topo.routers - 1 do
      at[r] = topo:coordinates(r)
      local x, y = place_router(l, plane_at, at[r])
      if x then
         xy[r] = { x, y }
         c:router(r, x, y, l.size)
      end
   end
   for link = 1, #topo.components do
      if topo:is_link(link) then
         draw_link(c, l, at, xy, link, topo:opposite(link))
      end
   end
   return c
end

return grid
