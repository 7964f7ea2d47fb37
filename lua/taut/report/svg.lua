-- SPDX-License-Identifier: GPL-2.0-or-later
--- Writes SVG pictures: elements, text that may hold anything, a colour bar.
--
-- Every element takes a table of SVG attributes; "_" in a name stands for "-" (stroke_width), and
-- `tip` becomes the text that a viewer shows when the pointer rests there.  Colours are in
-- taut.report.colour.
local svg = {}
local Doc = {}
Doc.__index = Doc

local FONT = "'DejaVu Sans', 'Liberation Sans', Arial, sans-serif"

local ENTITY = { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;",
   ["'"] = "&#39;" }
local LOST = utf8.char(0xFFFD)

-- XML has no way at all to write these, not even as an entity.
local function is_xml(code)
   return code == 9 or code == 10 or code == 13 or code >= 32 and code < 0xD800
      or code >= 0xE000 and code < 0xFFFE or code >= 0x10000
end

local function character_of(code)
   if is_xml(code) then
      return utf8.char(code)
   end
   return LOST
end

-- What is not UTF-8, or no character of XML, becomes U+FFFD.
local function clean_text(text)
   local parts, at = {}, 1
   while at <= #text do
      local ok, bad = utf8.len(text, at)
      local last = #text
      if not ok then
         last = bad - 1
      end
      for _, code in utf8.codes(text:sub(at, last)) do
         parts[#parts + 1] = character_of(code)
      end
      if not ok then
         parts[#parts + 1] = LOST
      end
      at = last + 2
   end
   return table.concat(parts)
end

--- Text as it may stand between tags and in attributes, whatever it holds.
function svg.escape(text)
   text = tostring(text)
   if text:find "[^\32-\126]" then
      text = clean_text(text)
   end
   return (text:gsub("[&<>\"']", ENTITY))
end

-- Numbers without needless digits: 12, 12.5, never 1e-05, never "nan".
local function format_number(value)
   if math.type(value) == "integer" then
      return tostring(value)
   elseif value ~= value or value == math.huge or value == -math.huge then
      error("svg: a coordinate is not a number", 4)
   end
   local text = ("%.2f"):format(value):gsub("0+$", ""):gsub("%.$", "")
   if text == "-0" then
      return "0"
   end
   return text
end

local function format_value(value)
   if type(value) == "number" then
      return format_number(value)
   end
   return svg.escape(value)
end

-- Sorted, so that the same picture is the same file.
local function attributes(attrs)
   local names, parts = {}, {}
   for k in pairs(attrs) do
      if k ~= "tip" then
         names[#names + 1] = k
      end
   end
   table.sort(names)
   for i, k in ipairs(names) do
      parts[i] = (' %s="%s"'):format(k:gsub("_", "-"), format_value(attrs[k]))
   end
   return table.concat(parts)
end

local function merge_attrs(attrs, own)
   for k, v in pairs(attrs or {}) do
      own[k] = v
   end
   return own
end

--- Begin a picture.
-- @param options { width, height (pixels), title, description (for those who cannot see it) }
-- @return the document; its methods add elements, in the order in which they are drawn
function svg.new(options)
   local w, h = format_number(options.width), format_number(options.height)
   local self = setmetatable({ depth = 0, n = 0 }, Doc)
   self:raw(('<svg xmlns="http://www.w3.org/2000/svg" width="%s" height="%s" ' ..
      'viewBox="0 0 %s %s" role="img" font-family="%s" font-size="12" fill="#1c1c1c">')
      :format(w, h, w, h, FONT))
   if options.title then
      self:raw("<title>" .. svg.escape(options.title) .. "</title>")
   end
   if options.description then
      self:raw("<desc>" .. svg.escape(options.description) .. "</desc>")
   end
   self:rect(0, 0, options.width, options.height, { fill = "#ffffff" })
   return self
end

--- Text of the document as it is, for what has no method here; the caller escapes.
function Doc:raw(text)
   self.n = self.n + 1
   self[self.n] = text
end

--- An element.
-- @param name of the tag
-- @param attrs attributes; `tip` is the text at the pointer
-- @param content escaped text inside, or nil
function Doc:element(name, attrs, content)
   local inner = content or ""
   if attrs.tip then
      inner = "<title>" .. svg.escape(attrs.tip) .. "</title>" .. inner
   end
   if inner == "" then
      self:raw(("<%s%s/>"):format(name, attributes(attrs)))
   else
      self:raw(("<%s%s>%s</%s>"):format(name, attributes(attrs), inner, name))
   end
end

function Doc:rect(x, y, width, height, attrs)
   self:element("rect", merge_attrs(attrs, { x = x, y = y, width = width, height = height }))
end

function Doc:line(x1, y1, x2, y2, attrs)
   self:element("line", merge_attrs(attrs, { x1 = x1, y1 = y1, x2 = x2, y2 = y2,
      stroke = "#1c1c1c" }))
end

function Doc:circle(x, y, radius, attrs)
   self:element("circle", merge_attrs(attrs, { cx = x, cy = y, r = radius }))
end

--- `data` as SVG has it; only numbers and letters of commands belong there.
function Doc:path(data, attrs)
   self:element("path", merge_attrs(attrs, { d = data }))
end

--- Text at a point.
-- @param attrs besides SVG's: `anchor` "start", "middle", "end"; `size`; `bold`; `turn` degrees
function Doc:text(x, y, text, attrs)
   local a = merge_attrs(attrs, { x = x, y = y })
   if a.anchor ~= "start" then
      a.text_anchor = a.anchor
   end
   if a.bold then
      a.font_weight = "bold"
   end
   a.font_size = a.size
   a.anchor, a.bold, a.size = nil, nil, nil
   if a.turn then
      a.transform = ("rotate(%s %s %s)"):format(format_number(a.turn), format_number(x),
         format_number(y))
      a.turn = nil
   end
   self:element("text", a, svg.escape(text))
end

--- Begin a group whose attributes hold for all that follows, until `close`.
function Doc:open(attrs)
   self.depth = self.depth + 1
   self:raw("<g" .. attributes(attrs or {}) .. ">")
end

function Doc:close()
   if self.depth == 0 then
      error("svg: no group is open", 2)
   end
   self.depth = self.depth - 1
   self:raw "</g>"
end

--- Stripes, as a fill (`fill = doc:hatch(...)`) that no colour of a scale can be taken for.
function Doc:hatch(background, stroke)
   self.hatches = (self.hatches or 0) + 1
   local id = "hatch" .. self.hatches
   self:raw(('<defs><pattern id="%s" width="6" height="6" patternUnits="userSpaceOnUse" ' ..
      'patternTransform="rotate(45)"><rect width="6" height="6" fill="%s"/>' ..
      '<rect width="2" height="6" fill="%s"/></pattern></defs>'):format(id,
         svg.escape(background), svg.escape(stroke)))
   return "url(#" .. id .. ")"
end

--- A colour bar with its labels below, the scale's 0 on the left.
-- @param scale function 0 … 1 → colour
-- @param labels array of { at (0 … 1), text }
function Doc:bar(x, y, width, height, scale, labels)
   local steps = 64
   for i = 0, steps - 1 do
      local own = width / steps
      if i < steps - 1 then
         own = own + 0.5 -- a little wider, or the seams show
      end
      self:rect(x + width * i / steps, y, own, height, { fill = scale((i + 0.5) / steps) })
   end
   self:rect(x, y, width, height, { fill = "none", stroke = "#5a5a5a", stroke_width = 0.75 })
   for _, l in ipairs(labels) do
      local at = x + width * l[1]
      self:line(at, y + height, at, y + height + 4, { stroke = "#5a5a5a" })
      self:text(at, y + height + 16, l[2], { anchor = "middle", size = 11 })
   end
end

--- About how wide a text is, in pixels: there is no font here to ask.
function svg.width(text, size)
   return (utf8.len(text) or #text) * size * 0.62
end

--- @return the whole document as text
function Doc:finish()
   if self.depth > 0 then
      error(("svg: %d groups are still open"):format(self.depth), 2)
   end
   return table.concat(self, "\n") .. "\n</svg>\n"
end

return svg
