-- SPDX-License-Identifier: GPL-2.0-or-later
--- A picture of a machine in the making: cables and routers at their places, coloured by health.
--
-- Places are collected first, in pixels from the upper left corner of the drawing; `finish` adds
-- title, list of errors, and legend.  Cables about which there is nothing to say are drawn
-- together, a hundred of them in one path; each bad one is an element of its own, drawn last and
-- numbered, and its number stands in the list.
local look = require "taut.topology.draw.look"
local paint = require "taut.topology.draw.paint"
local report = require "taut.report"
local svg = require "taut.report.svg"

local canvas = {}
local Canvas = {}
Canvas.__index = Canvas

-- Bad tx and rx, by router and by node.
local function find_ends(self)
   local topo, list = self.topo, {}
   self.ends_at, self.ends_of = {}, {}
   for c, state in pairs(self.scene.state) do
      if look.is_bad(state) and not topo:is_link(c) then
         list[#list + 1] = c
      end
   end
   table.sort(list)
   for _, c in ipairs(list) do
      local r, n = topo:from(c), topo:ends(c)[1]
      self.ends_at[r] = self.ends_at[r] or {}
      table.insert(self.ends_at[r], c)
      self.ends_of[n] = self.ends_of[n] or c
   end
end

--- @param scene { topo =, state =, left =, has_health = … }, see taut.cli.scene
-- @param options { title, subtitle, thin = width of a healthy cable, opacity }
function canvas.new(scene, options)
   local self = setmetatable({ scene = scene, topo = scene.topo, o = options, paths = {}, bad = {},
      cables = {}, routers = {}, labels = {}, boxes = {}, dots = {}, count = {}, drawn = {},
      bad_nodes = {}, width = 0, height = 0 }, Canvas)
   find_ends(self)
   return self
end

local function grow_to(self, x, y)
   self.width, self.height = math.max(self.width, x), math.max(self.height, y)
end

--- Verdict of a component, "-" if it was not asked for.
function Canvas:state(component)
   return self.scene.state[component] or report.text_if(self.scene.has_health, "unknown", "-")
end

--- Draw a cable.
-- @param there link from the first point to the last
-- @param back the link back, or nil
-- @param points points { x1, y1, …, xn, yn }; with `curved` three, the second pulls the curve;
--   none: it is only counted
-- @param bundle how many cables the line stands for, or nil; "stroke": only its beginning is drawn
function Canvas:cable(there, back, points, curved, bundle)
   for i = 1, #points, 2 do
      grow_to(self, points[i], points[i + 1])
   end
   self.cables[#self.cables + 1] = { a = there, b = back, p = points, curved = curved,
      bundle = bundle }
   local state = self:state(there)
   self.drawn[there], self.drawn[back or there] = true, true
   if back then
      state = look.worse(state, self:state(back))
   end
   if look.is_bad(state) then
      self.bad[#self.bad + 1] = { a = there, b = back, p = points, curved = curved, state = state,
         stroke = bundle == "stroke" }
      return
   end
   if #points > 0 then
      local thick = math.min(tonumber(bundle) or 1, 6)
      self.paths[thick] = self.paths[thick] or {}
      local path = self.paths[thick][state] or {}
      self.paths[thick][state] = path
      path[#path + 1] = look.path(points, curved)
   end
end

--- A box behind everything.
function Canvas:box(x, y, width, height)
   grow_to(self, x + width, y + height)
   self.boxes[#self.boxes + 1] = { x, y, width, height }
end

--- A node as a dot.
function Canvas:dot(node, x, y)
   grow_to(self, x + 3, y + 3)
   self.dots[#self.dots + 1] = { x, y, self.ends_of[node], node }
end

--- "r1.0.0/X+ slow, 25% left", "r1.0.0/X+ loses 1.2 %"
function Canvas:words(component)
   local state, left = self:state(component), self.scene.left[component]
   local loss = state == "lossy" and (self.scene.loss or {})[component]
   if loss then
      return ("%s loses %s"):format(self.topo.components[component], report.lost(loss))
   end
   local text = ("%s %s"):format(self.topo.components[component], look.word[state] or state)
   if left and state ~= "failed" then
      text = ("%s, %d%% left"):format(text, math.floor(left * 100 + 0.5))
   end
   return text
end

--- Draw a router, marked where a tx or rx of its nodes is bad.
-- @param x, y its middle
-- @param size edge of its square
function Canvas:router(router, x, y, size)
   grow_to(self, x + size / 2, y + size / 2)
   local state, tips = "-", {}
   for i, c in ipairs(self.ends_at[router] or {}) do
      state, tips[i] = look.worse(state, self:state(c)), self:words(c)
      table.insert(self.bad_nodes, tips[i])
   end
   self.routers[#self.routers + 1] = { r = router, x = x, y = y, size = size, state = state,
      tips = tips, hollow = #self.topo:on_router(router) == 0 }
end

--- Text; attributes as svg's.
function Canvas:label(x, y, text, attrs)
   local w = svg.width(text, attrs.size or 12)
   if attrs.turn and attrs.turn > 0 then
      grow_to(self, x + 12, y + w)
   elseif attrs.turn then
      grow_to(self, x + 12, y)
   elseif attrs.anchor == "middle" then
      grow_to(self, x + w / 2, y + 4)
   elseif attrs.anchor == "end" then
      grow_to(self, x, y + 4)
   else
      grow_to(self, x + w, y + 4)
   end
   self.labels[#self.labels + 1] = { x, y, text, attrs }
end

--- @return the SVG text, and { links = drawn, bad = array of texts }
function Canvas:finish()
   return paint.finish(self)
end

return canvas
