-- SPDX-License-Identifier: GPL-2.0-or-later
--- A picture of a machine in the making: cables and routers at their places, coloured by health.
--
-- Places are collected first, in pixels from the upper left corner of the drawing; `finish` adds
-- title, list of what is wrong, and legend.  Cables about which there is nothing to say are drawn
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
-- @param o { title, subtitle, thin = width of a healthy cable, opacity }
function canvas.new(scene, o)
   local self = setmetatable({ scene = scene, topo = scene.topo, o = o, paths = {}, bad = {},
      cables = {}, routers = {}, labels = {}, boxes = {}, dots = {}, count = {}, drawn = {},
      bad_nodes = {}, width = 0, height = 0 }, Canvas)
   find_ends(self)
   return self
end

local function grow(self, x, y)
   self.width, self.height = math.max(self.width, x), math.max(self.height, y)
end

--- Verdict of a component, "-" where nobody was asked.
function Canvas:state(c)
   return self.scene.state[c] or (self.scene.has_health and "unknown") or "-"
end

--- Draw a cable.
-- @param a link from the first point to the last
-- @param b the link back, or nil
-- @param p points { x1, y1, …, xn, yn }; with `curved` three, the second pulls the curve; none: it
--   is only counted
-- @param bundle how many cables the line stands for, or nil; "stroke": only its beginning is drawn
function Canvas:cable(a, b, p, curved, bundle)
   for i = 1, #p, 2 do
      grow(self, p[i], p[i + 1])
   end
   self.cables[#self.cables + 1] = { a = a, b = b, p = p, curved = curved, bundle = bundle }
   local state = self:state(a)
   self.drawn[a], self.drawn[b or a] = true, true
   state = b and look.worse(state, self:state(b)) or state
   if look.is_bad(state) then
      self.bad[#self.bad + 1] = { a = a, b = b, p = p, curved = curved, state = state,
         stroke = bundle == "stroke" }
      return
   end
   if #p > 0 then
      local thick = math.min(tonumber(bundle) or 1, 6)
      self.paths[thick] = self.paths[thick] or {}
      local path = self.paths[thick][state] or {}
      self.paths[thick][state] = path
      path[#path + 1] = look.path(p, curved)
   end
end

--- A box behind everything.
function Canvas:box(x, y, w, h)
   grow(self, x + w, y + h)
   self.boxes[#self.boxes + 1] = { x, y, w, h }
end

--- A node as a dot.
function Canvas:dot(n, x, y)
   grow(self, x + 3, y + 3)
   self.dots[#self.dots + 1] = { x, y, self.ends_of[n], n }
end

--- "r1.0.0/X+ slow, 25% left", "r1.0.0/X+ loses 1.2 %"
function Canvas:words(c)
   local state, left = self:state(c), self.scene.left[c]
   local loss = state == "lossy" and (self.scene.loss or {})[c]
   if loss then
      return ("%s loses %s"):format(self.topo.components[c], report.lost(loss))
   end
   return ("%s %s%s"):format(self.topo.components[c], look.word[state] or state,
      left and state ~= "failed" and (", %d%% left"):format(math.floor(left * 100 + 0.5)) or "")
end

--- Draw a router, marked where a tx or rx of its nodes is bad.
-- @param x, y its middle
-- @param size edge of its square
function Canvas:router(r, x, y, size)
   grow(self, x + size / 2, y + size / 2)
   local state, tips = "-", {}
   for i, c in ipairs(self.ends_at[r] or {}) do
      state, tips[i] = look.worse(state, self:state(c)), self:words(c)
      table.insert(self.bad_nodes, tips[i])
   end
   self.routers[#self.routers + 1] = { r = r, x = x, y = y, size = size, state = state,
      tips = tips, hollow = #self.topo:on_router(r) == 0 }
end

--- Text; attributes as svg's.
function Canvas:label(x, y, text, attrs)
   local w = svg.width(text, attrs.size or 12)
   if attrs.turn then
      grow(self, x + 12, y + (attrs.turn > 0 and w or 0))
   else
      grow(self, attrs.anchor == "middle" and x + w / 2 or attrs.anchor == "end" and x or x + w,
         y + 4)
   end
   self.labels[#self.labels + 1] = { x, y, text, attrs }
end

--- @return the SVG text, and { links = drawn, bad = array of texts }
function Canvas:finish()
   return paint.finish(self)
end

return canvas
