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

local function text(s)
   return (("%q"):format(s):gsub("\\\n", "\\n"))
end

local record

local function value(v)
   if type(v) == "string" then
      return text(v)
   elseif math.type(v) == "float" then
      return v == math.floor(v) and v < 1e15 and ("%d"):format(v) or ("%.17g"):format(v)
   elseif type(v) == "table" then
      local list = tables.map(v, function(x)
         return type(x) == "table" and record(x, RAIL) or value(x)
      end)
      return "{ " .. table.concat(list, ", ") .. " }"
   end
   return tostring(v)
end

-- One table of fields in their order.
function record(t, fields)
   local list = {}
   for _, name in ipairs(fields) do
      if t[name] ~= nil then
         list[#list + 1] = name .. " = " .. value(t[name])
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
local function capacity_lines(w, opts, needed)
   local link, rail, open = model.bandwidth(w)
   if needed and not open.link and not open.rail then
      return ("   capacity = { tx = %s, rx = %s, link = %s },\n"):format(value(rail), value(rail),
         value(link or rail))
   elseif not open.link and not open.rail then
      return ""
   end
   local c = opts.capacity and value(opts.capacity)
   local fields = open.rail and open.link and "%s" or open.rail and "{ tx = %s, rx = %s }" or
      "{ link = %s }"
   if c then
      return ("   capacity = " .. fields .. ",\n"):format(c, c)
   end
   local what = open.rail and (open.link and "links and nodes" or "nodes") or "links"
   return ("   -- bytes per second; %s does not say what %s carry: %s\n" ..
      "   -- (without it that is learned)\n   capacity = nil,\n"):format(w.format, what,
      (fields:gsub("%%s", "...")))
end

-- Nodes in the order of the model: by coordinates of their router, first one slowest.
local function model_nodes(w, found)
   local on, order = {}, {}
   for r = 1, #w.routers do
      on[r], order[r] = {}, r
   end
   for _, n in ipairs(w.nodes) do
      table.insert(on[n.rails[1].router], n)
   end
   table.sort(order, function(a, b)
      local x, y = found.coord[a], found.coord[b]
      for d = 1, #x do
         if x[d] ~= y[d] then
            return x[d] < y[d]
         end
      end
      return false
   end)
   local names = {}
   for _, r in ipairs(order) do
      table.sort(on[r], function(a, b)
         local p, q = a.rails[1].port, b.rails[1].port
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

local function model_text(w, found, opts)
   local down = tables.map(model.down(found), text)
   return ("topology = %s {\n   dims = { %s },\n   nodes_per_router = %d,\n%s   nodes = %s,\n%s}\n")
      :format(found.kind, table.concat(found.dims, ", "), found.nodes_per_router[1],
         capacity_lines(w, opts, true), text(in_order(model_nodes(w, found))),
         #down > 0 and ("   -- cables that are missing\n   down = { %s },\n"):format(
            table.concat(down, ", ")) or "")
end

local function list_of(name, list, fields, out)
   out[#out + 1] = ("      %s = {\n"):format(name)
   for _, t in ipairs(list) do
      out[#out + 1] = "         " .. record(t, fields) .. ",\n"
   end
   out[#out + 1] = "      },\n"
end

local function forwarding(w, out)
   out[#out + 1] = "      lids = {\n"
   for _, lid in ipairs(tables.keys(w.lids)) do
      out[#out + 1] = ("         [%d] = %s,\n"):format(lid, record(w.lids[lid], LID))
   end
   out[#out + 1] = "      },\n      tables = {\n"
   for _, r in ipairs(tables.keys(w.tables)) do
      local list = tables.map(tables.keys(w.tables[r]), function(lid)
         return ("[%d] = %d"):format(lid, w.tables[r][lid])
      end)
      out[#out + 1] = ("         [%d] = { %s },\n"):format(r, table.concat(list, ", "))
   end
   out[#out + 1] = "      },\n"
end

-- Who answers for the way, where flows keep to a cable by a hash: of the other models cables
-- between two routers are one link.
local HASHED = { fattree = true, graph = true }

local function address_lines(w, kind)
   if not w.addresses or not HASHED[kind] then
      return ""
   end
   local out = { kind == "fattree" and w.routing and
      ("   routing = %s, -- its ports have addresses\n"):format(text(w.routing)) or "",
      "   addresses = {\n" }
   for _, a in ipairs(w.addresses) do
      out[#out + 1] = ("      [%s] = %s,\n"):format(text(a.name), text(a.address))
   end
   out[#out + 1] = "   },\n"
   return table.concat(out)
end

local function wiring_text(w, kind, opts)
   local out = { ("topology = %s {\n"):format(kind), capacity_lines(w, opts, false),
      address_lines(w, kind),
      "   wiring = {\n",
      ("      source = %s,\n      format = %s,\n"):format(text(w.source), text(w.format)) }
   list_of("routers", w.routers, ROUTER, out)
   list_of("nodes", w.nodes, NODE, out)
   list_of("cables", w.cables, CABLE, out)
   if w.tables then
      forwarding(w, out)
   end
   out[#out + 1] = "   },\n}\n"
   return table.concat(out)
end

local function remarks(w, found, why)
   local out = { ("-- From %s (%s): %s.\n"):format(source.quote(w.source), w.format,
      recognise.words(found)) }
   for _, m in ipairs(found.misfits) do
      out[#out + 1] = ("-- What does not fit: %s\n"):format((m:gsub("%c", " ")))
   end
   if why then
      out[#out + 1] = ("-- Written as a graph: %s\n"):format((why:gsub("%c", " ")))
   end
   for _, n in ipairs(w.notes or {}) do
      out[#out + 1] = ("-- Line %d: %s\n"):format(n.line, (n.text:gsub("%c", " ")))
   end
   return table.concat(out)
end

--- Lua text that taut.lua can use.
-- @param w wiring
-- @param found what import/recognise says of it
-- @param opts { as = "graph": write all of the wiring even where a model would do, capacity =
--   bytes per second of what the file does not say }
-- @return the text: comments, then `topology = …`; the kind it is written as, and, where that is
--   not the one that was recognised, why
function write.text(w, found, opts)
   opts = opts or {}
   local kind, wiring, why = "graph", w, nil
   if opts.as ~= "graph" then
      kind, wiring, why = model.choose(w, found)
   end
   return remarks(w, found, why) .. (wiring and wiring_text(wiring, kind, opts) or
      model_text(w, found, opts)), kind, why
end

return write
