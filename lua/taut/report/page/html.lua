-- SPDX-License-Identifier: GPL-2.0-or-later
--- Writes HTML.  Whatever is given as text is escaped; what is HTML already is said to be.
local json = require "taut.json"
local svg = require "taut.report.svg"

local html = {}

--- A text between tags and in attributes, whatever it holds.
html.text = svg.escape

--- What is HTML already, for a cell.
function html.raw(text)
   return { html = text }
end

local function inner_html(value)
   if type(value) == "table" then
      return value.html
   end
   return html.text(value or "")
end

local function attribute(name, value)
   if value == true then
      return " " .. name
   elseif value then
      return (' %s="%s"'):format(name, html.text(value))
   end
   return ""
end

--- An element.
-- @param attrs array of { name, value } (true: without a value; nil, false: left out), or nil
-- @param content text, or html.raw
function html.tag(name, attrs, content)
   local parts = {}
   for i, a in ipairs(attrs or {}) do
      parts[i] = attribute(a[1], a[2])
   end
   return ("<%s%s>%s</%s>"):format(name, table.concat(parts), inner_html(content), name)
end

--- A button that shows something in the picture: its name.
-- @param kind "link", "node" or "job"
function html.show(kind, name, label)
   return html.raw(html.tag("button", { { "type", "button" }, { "class", "show" },
      { "data-kind", kind }, { "data-name", name } }, label or name))
end

--- The same for a component: of a tx or rx, its node.
-- @param name of a link, or "node/tx0"
function html.show_component(name, is_link)
   if is_link then
      return html.show("link", name, name)
   end
   return html.show("node", (name:gsub("/[tr]x[%d]*$", "")), name)
end

--- A verdict, with a mark besides its colour.
function html.verdict(state, words)
   return html.raw(html.tag("span", { { "class", "verdict " .. state } }, words or state))
end

-- Words longer than this break anywhere, where room is short; others never.
local LONG = ("[^%s<>]"):rep(25)

local function class_of(head, cell)
   if head:find "^>" then
      return "n"
   elseif inner_html(cell):gsub("<[^>]*>", " "):find(LONG) then
      return "long"
   end
   return nil
end

-- A cell of a row; the first is the row's heading.
local function row_cell(i, head, cell)
   local class = { "class", class_of(head, cell) }
   if i == 1 then
      return html.tag("th", { { "scope", "row" }, class }, cell)
   end
   return html.tag("td", { class, { "data-head", (head:gsub("^>", "")) } }, cell)
end

--- A table.
-- @param caption what it is, for everybody who comes upon it
-- @param heads array of headings; ">" before one: numbers
-- @param rows arrays of texts or html.raw; the first is the row's heading; `id` that of the row
function html.table(caption, heads, rows)
   local out = { '<div class="wide" tabindex="0" role="region" aria-label="', html.text(caption),
      '"><table>', html.tag("caption", nil, caption), "<thead><tr>" }
   for _, h in ipairs(heads) do
      out[#out + 1] = html.tag("th", { { "scope", "col" }, { "class", h:find "^>" and "n" } },
         (h:gsub("^>", "")))
   end
   out[#out + 1] = "</tr></thead><tbody>"
   for _, row in ipairs(rows) do
      out[#out + 1] = "<tr" .. attribute("id", row.id) .. ">"
      for i, h in ipairs(heads) do
         out[#out + 1] = row_cell(i, h, row[i])
      end
      out[#out + 1] = "</tr>\n"
   end
   out[#out + 1] = "</tbody></table></div>"
   return table.concat(out)
end

--- What opens.
function html.details(summary, content)
   return "<details>" .. html.tag("summary", nil, summary) .. content .. "</details>"
end

-- What is not UTF-8 becomes U+FFFD, in a copy: JSON has no other texts.
local function clean_text(given)
   if type(given) == "string" and not utf8.len(given) then
      return (given:gsub("[\128-\255]", "\u{fffd}"))
   elseif type(given) ~= "table" then
      return given
   end
   local copy = setmetatable({}, getmetatable(given))
   for key, value in pairs(given) do
      copy[clean_text(key)] = clean_text(value)
   end
   return copy
end

--- Data for the page's program: JSON that no text in it can end.
function html.data(value)
   local text = json.encode(value) or json.encode(clean_text(value))
   text = text:gsub("[<>&]", { ["<"] = "\\u003c", [">"] = "\\u003e", ["&"] = "\\u0026" })
   return (text:gsub("\u{2028}", "\\u2028"):gsub("\u{2029}", "\\u2029"))
end

return html
