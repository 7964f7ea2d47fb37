-- SPDX-License-Identifier: GPL-2.0-or-later
--- Turns a canvas into SVG: its layers, then title, list of errors, and legend around them.
local colour = require "taut.report.colour"
local look = require "taut.topology.draw.look"
local svg = require "taut.report.svg"

local paint = {}

local LISTED = 28     -- bad cables with a number and a line in the list
local LIST_WIDTH = 330
local EDGE = 24       -- empty space around everything
local PIECE = 100     -- lines or squares of one path

-- Many pieces that look the same.  What draws an SVG takes time of the square of a path's length,
-- so they are many paths; in one group, so that a lucent line is no darker where pieces cross.
local function draw_pieces(doc, list, attrs)
   doc:open(attrs)
   for i = 1, #list, PIECE do
      doc:path(table.concat(list, "", i, math.min(i + PIECE - 1, #list)))
   end
   doc:close()
end

local function draw_paths(self, doc)
   for _, b in ipairs(self.boxes) do
      doc:rect(b[1], b[2], b[3], b[4], { fill = "#f3f5f7", stroke = "#c3cbd3", rx = 3 })
   end
   for thick = 1, 6 do
      for _, state in ipairs(look.states) do
         local path = self.paths[thick] and self.paths[thick][state]
         if path then
            draw_pieces(doc, path, { fill = "none", stroke = look.line[state],
               stroke_width = (self.o.thin or 1.2) * (1 + (thick - 1) * 0.5),
               opacity = self.o.opacity })
         end
      end
   end
end

local function draw_dots(self, doc)
   local plain = {}
   for _, d in ipairs(self.dots) do
      if d[3] then
         doc:circle(d[1], d[2], 2.6, { fill = look.line[self:state(d[3])], stroke = "#1c1c1c",
            stroke_width = 0.5, tip = self:words(d[3]) })
      else
         plain[#plain + 1] = ("M%s %sh3v3h-3z"):format(look.coordinate(d[1] - 1.5),
            look.coordinate(d[2] - 1.5))
      end
   end
   if #plain > 0 then
      draw_pieces(doc, plain, { fill = "#8a97a3" })
   end
end

-- Plain squares are batched by look.
local function draw_routers(self, doc)
   local plain = {}
   for _, q in ipairs(self.routers) do
      local h = q.size / 2
      if #q.tips > 0 then
         doc:rect(q.x - h, q.y - h, q.size, q.size, { fill = look.line[q.state], stroke = "#1c1c1c",
            tip = self.topo.router_name[q.r] .. ": " .. table.concat(q.tips, "; ") })
      else
         local key = "#3f5468"
         if self.scene.marked and self.scene.marked[q.r] then
            key = look.marked
         elseif q.hollow then
            key = "#ffffff"
         end
         plain[key] = plain[key] or {}
         local size = look.coordinate(q.size)
         table.insert(plain[key], ("M%s %sh%sv%sh-%sz"):format(look.coordinate(q.x - h),
            look.coordinate(q.y - h), size, size, size))
      end
   end
   for _, fill in ipairs { "#3f5468", "#ffffff", look.marked } do
      if plain[fill] then
         draw_pieces(doc, plain[fill], { fill = fill, stroke = "#3f5468", stroke_width = 0.8 })
      end
   end
end

local function draw_line(self, doc, cable, points, curved, shift)
   local state, q = self:state(cable), {}
   local dx, dy = points[#points - 1] - points[1], points[#points] - points[2]
   local len = math.max(1e-9, math.sqrt(dx * dx + dy * dy))
   for i = 1, #points, 2 do
      q[i], q[i + 1] = points[i] - dy / len * shift, points[i + 1] + dx / len * shift
   end
   doc:path(look.path(q, curved), { fill = "none", stroke = look.line[state],
      stroke_width = look.width[state] or self.o.thin or 1.2,
      stroke_dasharray = look.dashes[state], tip = self:words(cable) })
end

-- Where the number may stand, the best place first: on a long line, beside a short one, at the end
-- of one that leaves the plane.
local ON = { { 0, 0 }, { 0, -16 }, { 16, 0 }, { 0, 16 }, { -16, 0 }, { 16, -16 }, { -16, 16 } }
local BESIDE = { { 0, -11 }, { 11, 0 }, { 0, 11 }, { -11, 0 }, { 11, -11 }, { -11, -11 },
   { 14, 14 }, { -14, 14 } }
local LONG = 70

local function mark_at(bad)
   local p = bad.p
   local dx, dy = p[#p - 1] - p[1], p[#p] - p[2]
   local len = math.max(1, math.sqrt(dx * dx + dy * dy))
   if bad.stroke then
      return p[#p - 1] + dx / len * 7, p[#p] + dy / len * 7, ON
   end
   local where = BESIDE
   if len > LONG then
      where = ON
   end
   if bad.curved then
      return (p[1] + 2 * p[3] + p[5]) / 4, (p[2] + 2 * p[4] + p[6]) / 4, where
   end
   return (p[1] + p[#p - 1]) / 2, (p[2] + p[#p]) / 2, where
end

local function draw_mark(doc, x, y, number, state)
   local r = 7
   if number > 9 then
      r = 8.5
   end
   doc:circle(x, y, r, { fill = look.line[state], stroke = "#ffffff", stroke_width = 1.5 })
   doc:text(x, y + 3.5, number, { anchor = "middle", size = 10, bold = true,
      fill = colour.ink(look.line[state]) })
end

-- Cables of which several pieces are drawn (a wrap-around, a change of plane) have one number.
local function number_cables(self)
   local of, list = {}, {}
   table.sort(self.bad, function(one, other)
      if one.state ~= other.state then
         return look.rank[one.state] > look.rank[other.state]
      end
      return math.min(one.a, one.b or one.a) < math.min(other.a, other.b or other.a)
   end)
   for _, b in ipairs(self.bad) do
      local key = math.min(b.a, b.b or b.a)
      if not of[key] then
         list[#list + 1] = b
         of[key] = #list
      end
      b.number = of[key]
   end
   return list
end

-- Both directions side by side, unless both are the same.
local function draw_bad(self, doc)
   for i = #self.bad, 1, -1 do
      local b = self.bad[i]
      if b.b and self:state(b.a) ~= self:state(b.b) then
         draw_line(self, doc, b.b, b.p, b.curved, -2)
         draw_line(self, doc, b.a, b.p, b.curved, 2)
      else
         draw_line(self, doc, b.a, b.p, b.curved, 0)
      end
   end
end

local function is_free(taken, x, y)
   for _, t in ipairs(taken) do
      if math.abs(t[1] - x) < 15 and math.abs(t[2] - y) < 15 then
         return false
      end
   end
   return true
end

local function draw_marks(self, doc)
   local taken = {}
   for _, b in ipairs(self.bad) do
      if b.number <= LISTED then
         local x, y, places = mark_at(b)
         local best = places[1]
         for _, d in ipairs(places) do
            if is_free(taken, x + d[1], y + d[2]) then
               best = d
               break
            end
         end
         taken[#taken + 1] = { x + best[1], y + best[2] }
         draw_mark(doc, x + best[1], y + best[2], b.number, b.state)
      end
   end
end

-- White around letters that stand on lines.
local function draw_labels(self, doc)
   for _, l in ipairs(self.labels) do
      if l[4].halo then
         l[4].halo = nil
         l[4].stroke, l[4].stroke_width, l[4].paint_order = "#ffffff", 3, "stroke"
      end
      doc:text(table.unpack(l, 1, 4))
   end
end

---------------------------------------------------------------- around the drawing

local function shorten_text(text, most)
   local n = utf8.len(text)
   if n and n > most then
      return text:sub(1, utf8.offset(text, most) - 1) .. "…"
   end
   return text
end

local function list_lines(self, list)
   local lines = {}
   for i = 1, math.min(#list, LISTED) do
      local b = list[i]
      local bad_b = b.b and look.is_bad(self:state(b.b))
      local first = b.b
      if look.is_bad(self:state(b.a)) then
         first = b.a
      end
      lines[#lines + 1] = { number = i, state = b.state, text = self:words(first) }
      if bad_b and first ~= b.b then
         lines[#lines + 1] = { text = self:words(b.b) }
      end
   end
   if #list > LISTED then
      lines[#lines + 1] = { text = ("and %d more cables"):format(#list - LISTED) }
   end
   for i, t in ipairs(self.bad_nodes) do
      if i > 10 then
         lines[#lines + 1] = { text = ("and %d more tx and rx"):format(#self.bad_nodes - 10) }
         break
      end
      lines[#lines + 1] = { text = t }
   end
   return lines
end

local function draw_list(doc, x, y, lines)
   for _, l in ipairs(lines) do
      if l.number then
         draw_mark(doc, x + 8, y - 4, l.number, l.state)
      end
      doc:text(x + 24, y, shorten_text(l.text, 44), { size = 12 })
      y = y + 19
   end
end

local function draw_legend(self, doc, x, y)
   for _, state in ipairs(look.states) do
      local n = self.count[state]
      if n then
         doc:line(x, y, x + 26, y, { stroke = look.line[state],
            stroke_width = look.width[state] or 2, stroke_dasharray = look.dashes[state] })
         local text = ("%s: %d"):format(look.word[state] or state, n)
         doc:text(x + 32, y + 4, text, { size = 12 })
         x = x + 32 + svg.width(text, 12) + 18
      end
   end
   return x
end

-- Links of the machine by verdict, drawn or not.
local function count_links(self)
   for c = 1, #self.topo.components do
      if self.topo:is_link(c) then
         local s = self:state(c)
         self.count[s] = (self.count[s] or 0) + 1
      end
   end
end

local function legend_width(self)
   local x = 0
   for state, n in pairs(self.count) do
      x = x + 50 + svg.width(("%s: %d"):format(look.word[state] or state, n), 12)
   end
   return x
end

--- @return the SVG text, and { links = drawn, bad = array of texts }
function paint.finish(self)
   count_links(self)
   local list = number_cables(self)
   local lines = list_lines(self, list)
   local o, top = self.o, EDGE + 46
   local side = 0
   if #lines > 0 then
      side = LIST_WIDTH
   end
   local inner = math.max(self.width + side, legend_width(self), svg.width(o.title, 17),
      svg.width(o.subtitle, 12))
   local height = math.max(self.height, #lines * 19 + 8)
   local doc = svg.new { width = math.ceil(inner + 2 * EDGE),
      height = math.ceil(top + height + 50), title = o.title, description = o.subtitle }
   doc:text(EDGE, EDGE + 8, o.title, { size = 17, bold = true })
   doc:text(EDGE, EDGE + 28, o.subtitle, { size = 12, fill = "#5a5a5a" })
   doc:open { transform = ("translate(%d %d)"):format(EDGE, top) }
   draw_paths(self, doc)
   draw_dots(self, doc)
   draw_routers(self, doc)
   draw_labels(self, doc)
   draw_bad(self, doc)
   draw_marks(self, doc)
   draw_list(doc, self.width + 24, 12, lines)
   draw_legend(self, doc, 0, height + 26)
   doc:close()
   local n, texts = 0, {}
   for _ in pairs(self.drawn) do
      n = n + 1
   end
   for i, l in ipairs(lines) do
      texts[i] = l.text
   end
   return doc:finish(), { links = n, bad = texts }
end

return paint
