-- SPDX-License-Identifier: GPL-2.0-or-later
--- Writes what was imported as a topology of taut.lua.
--
-- A torus or mesh without misfits becomes a few lines of its model; everything else is written
-- out as wiring, of which `fattree` (where there are levels), `dragonfly`, `hyperx` or `graph`
-- builds routes (taut.import.model says which).
local model = require "taut.topology.import.model"
local recognise = require "taut.topology.import.recognise"
local source = require "taut.topology.import.source"
local tables = require "taut.base.tables"

local write = {}

local ROUTER = { "name", "guid", "ports", "lid", "level", "group", "row", "col", "coord", "place",
   "others", "renumbered" }
local NODE = { "name", "guid", "nid", "place", "role", "state", "coord", "rails" }
local RAIL = { "router", "port", "lid", "lmc", "guid", "width", "speed", "Bps", "planes", "left" }
local CABLE = { "a", "a_port", "b", "b_port", "width", "speed", "Bps", "kind", "down", "planes",
   "left" }
local LID = { "router", "node", "rail" }

local function text_of(text)
   return (("%q"):format(text):gsub("\\\n", "\\n"))
end

local record

local function value_text(value)
   if type(value) == "string" then
      return text_of(value)
   elseif math.type(value) == "float" and value == math.floor(value) and value < 1e15 then
      return ("%d"):format(value)
   elseif math.type(value) == "float" then
      return ("%.17g"):format(value)
   elseif type(value) == "table" then
      local list = tables.map(value, function(item)
         if type(item) == "table" then
            return record(item, RAIL)
         end
         return value_text(item)
      end)
      return "{ " .. table.concat(list, ", ") .. " }"
   end
   return tostring(value)
end

-- One table of fields in their order.
function record(t, fields)
   local list = {}
   for _, name in ipairs(fields) do
      if t[name] ~= nil then
         list[#list + 1] = name .. " = " .. value_text(t[name])
      end
   end
   return "{ " .. table.concat(list, ", ") .. " }"
end

-- Names as a host list that keeps their order: "n[0-3],n9,m[1-2]".
local function in_order(names)
   local out, i = {}, 1
   while i <= #names do
      local prefix, digits = names[i]:match "^(.-)(%d+)$"
      local j = i
      if digits and #digits <= 9 then
         local number = tonumber(digits)
         while names[j + 1] == prefix .. ("%0" .. #digits .. "d"):format(number + j + 1 - i) do
            j = j + 1
         end
      end
      if j > i then
         out[#out + 1] = ("%s[%s-%s]"):format(prefix, digits, names[j]:sub(#prefix + 1))
      else
         out[#out + 1] = names[i]
      end
      i = j + 1
   end
   return table.concat(out, ",")
end
write.in_order = in_order

-- What stands under `capacity`: what the file does not say, and for a model the rest as well.
local function capacity_lines(wiring, opts, needed)
   local link, rail, open = model.bandwidth(wiring)
   if needed and not open.link and not open.rail then
      return ("   capacity = { tx = %s, rx = %s, link = %s },\n"):format(value_text(rail),
         value_text(rail), value_text(link or rail))
   elseif not open.link and not open.rail then
      return ""
   end
   local c = opts.capacity and value_text(opts.capacity)
   local fields, what = "{ link = %s }", "links"
   if open.rail and open.link then
      fields, what = "%s", "links and nodes"
   elseif open.rail then
      fields, what = "{ tx = %s, rx = %s }", "nodes"
   end
   if c then
      return ("   capacity = " .. fields .. ",\n"):format(c, c)
   end
   return ("   -- bytes per second; %s does not say what %s carry: %s\n" ..
      "   -- (without it that is learned)\n   capacity = nil,\n"):format(wiring.format, what,
      (fields:gsub("%%s", "...")))
end

-- Nodes in the order of the model: by coordinates of their router, first one slowest.
local function model_nodes(wiring, found)
   local on, order = {}, {}
   for r = 1, #wiring.routers do
      on[r], order[r] = {}, r
   end
   for _, n in ipairs(wiring.nodes) do
      table.insert(on[n.rails[1].router], n)
   end
   table.sort(order, function(one, other)
      local x, y = found.coord[one], found.coord[other]
      for d = 1, #x do
         if x[d] ~= y[d] then
            return x[d] < y[d]
         end
      end
      return false
   end)
   local names = {}
   for _, r in ipairs(order) do
      table.sort(on[r], function(one, other)
         local p, q = one.rails[1].port, other.rails[1].port
         local m, n = tonumber(p), tonumber(q)
         if m and n then
            return m < n
         end
         return p < q
      end)
      for _, n in ipairs(on[r]) do
         names[#names + 1] = n.name
      end
   end
   return names
end

local function model_text(wiring, found, opts)
   local down, down_line = tables.map(model.down(found), text_of), ""
   if #down > 0 then
      down_line = ("   -- cables that are missing\n   down = { %s },\n"):format(
         table.concat(down, ", "))
   end
   return ("topology = %s {\n   dims = { %s },\n   nodes_per_router = %d,\n%s   nodes = %s,\n%s}\n")
      :format(found.kind, table.concat(found.dims, ", "), found.nodes_per_router[1],
         capacity_lines(wiring, opts, true), text_of(in_order(model_nodes(wiring, found))),
         down_line)
end

local function list_of(name, list, fields, out)
   out[#out + 1] = ("      %s = {\n"):format(name)
   for _, t in ipairs(list) do
      out[#out + 1] = "         " .. record(t, fields) .. ",\n"
   end
   out[#out + 1] = "      },\n"
end

local function forwarding(wiring, out)
   out[#out + 1] = "      lids = {\n"
   for _, lid in ipairs(tables.keys(wiring.lids)) do
      out[#out + 1] = ("         [%d] = %s,\n"):format(lid, record(wiring.lids[lid], LID))
   end
   out[#out + 1] = "      },\n      tables = {\n"
   for _, r in ipairs(tables.keys(wiring.tables)) do
      local list = tables.map(tables.keys(wiring.tables[r]), function(lid)
         return ("[%d] = %d"):format(lid, wiring.tables[r][lid])
      end)
      out[#out + 1] = ("         [%d] = { %s },\n"):format(r, table.concat(list, ", "))
   end
   out[#out + 1] = "      },\n"
end

-- Addresses for traces, if flows keep to a cable by a hash: of the other models cables between two
-- routers are one link.
local HASHED = { fattree = true, graph = true }

local function address_lines(wiring, kind)
   if not wiring.addresses or not HASHED[kind] then
      return ""
   end
   local out = {}
   if kind == "fattree" and wiring.routing then
      out[1] = ("   routing = %s, -- its ports have addresses\n"):format(text_of(wiring.routing))
   end
   out[#out + 1] = "   addresses = {\n"
   for _, a in ipairs(wiring.addresses) do
      out[#out + 1] = ("      [%s] = %s,\n"):format(text_of(a.name), text_of(a.address))
   end
   out[#out + 1] = "   },\n"
   return table.concat(out)
end

local function wiring_text(wiring, kind, opts)
   local out = { ("topology = %s {\n"):format(kind), capacity_lines(wiring, opts, false),
      address_lines(wiring, kind),
      "   wiring = {\n",
      ("      source = %s,\n      format = %s,\n"):format(text_of(wiring.source),
      text_of(wiring.format)) }
   list_of("routers", wiring.routers, ROUTER, out)
   list_of("nodes", wiring.nodes, NODE, out)
   list_of("cables", wiring.cables, CABLE, out)
   if wiring.tables then
      forwarding(wiring, out)
   end
   out[#out + 1] = "   },\n}\n"
   return table.concat(out)
end

local function remark_lines(wiring, found, why)
   local out = { ("-- From %s (%s): %s.\n"):format(source.quote(wiring.source), wiring.format,
      recognise.words(found)) }
   for _, m in ipairs(found.misfits) do
      out[#out + 1] = ("-- What does not fit: %s\n"):format((m:gsub("%c", " ")))
   end
   if why then
      out[#out + 1] = ("-- Written as a graph: %s\n"):format((why:gsub("%c", " ")))
   end
   for _, n in ipairs(wiring.notes or {}) do
      out[#out + 1] = ("-- Line %d: %s\n"):format(n.line, (n.text:gsub("%c", " ")))
   end
   return table.concat(out)
end

--- Lua text that taut.lua can use.
-- @param given wiring
-- @param found what import/recognise says of it
-- @param opts { as = "graph": write all of the wiring even where a model would do, capacity =
--   bytes per second if the file has no value }
-- @return the text: comments, then `topology = …`; the kind it is written as, and, where that is
--   not the one that was recognised, why
function write.text(given, found, opts)
   opts = opts or {}
   local kind, wiring, why = "graph", given, nil
   if opts.as ~= "graph" then
      kind, wiring, why = model.choose(given, found)
   end
   local text
   if wiring then
      text = wiring_text(wiring, kind, opts)
   else
      text = model_text(given, found, opts)
   end
   return remark_lines(given, found, why) .. text, kind, why
end

return write
