-- SPDX-License-Identifier: GPL-2.0-or-later
--- Rows of Cray's processor table as `xtdb2proc -f FILE` writes them: name=value pairs with
-- commas, one node a line; coordinates are a torus's (Gemini), or group, chassis, slot (Aries).
local cray = require "taut.topology.import.cray"
local grammar = require "taut.topology.import.grammar"
local grid = require "taut.topology.import.grid"
local lpeg = require "lpeg"
local source = require "taut.topology.import.source"
local wiring = require "taut.topology.import.wiring"

local cray_xtdb2proc = {
   summary = "Cray xtdb2proc: nodes with coordinates; by itself or added to rtr",
}

local P, R, C, Ct, S = lpeg.P, lpeg.R, lpeg.C, lpeg.Ct, lpeg.S
local ws, eol = grammar.ws, grammar.eol
local quote = source.quote

local key = C((R("az", "AZ", "09") + "_") ^ 1)
local value = P "'" * grammar.upto "'" * "'" + C((1 - S ",'") ^ 0)
local pair = Ct(ws * key * "=" * value * ws)
local row = Ct(pair * (P "," * pair) ^ 0 * eol)
local ignored = eol + ws * "#"

local NEEDED = { "slot", "cage", "cab_position", "cab_row", "x_coord", "y_coord", "z_coord",
   "processor_id", "cpu", "processor_type", "processor_status" }
local NUMBERS = { slot = 15, cage = 2, cab_position = 4095, cab_row = 4095, x_coord = 4095,
   y_coord = 4095, z_coord = 4095, processor_id = 1 << 24, cpu = 3 }

local function fields_of(src, line, pairs_)
   local f = {}
   for _, p in ipairs(pairs_) do
      if f[p[1]] then
         src:fail(line, "%s is given twice", quote(p[1]))
      end
      f[p[1]] = p[2]
   end
   for _, name in ipairs(NEEDED) do
      if not f[name] then
         src:fail(line, "no %s, expected one", name)
      end
      local most = NUMBERS[name]
      if most then
         local v = f[name]:match "^%d%d?%d?%d?%d?%d?%d?%d?$" and math.tointeger(tonumber(f[name]))
         if not v or v > most then
            src:fail(line, "%s=%s, expected a whole number 0 to %d", name, quote(f[name]), most)
         end
         f[name] = v
      end
   end
   return f
end

local function read_nodes(src)
   local list, nid_line, place_line = {}, {}, {}
   for n, line in src:lines(4096) do
      if not ignored:match(line) then
         local pairs_ = row:match(line)
         if not pairs_ then
            src:fail(n, "%s, expected pairs such as 'cpu=0,slot=2,cage=0,...'", quote(line))
         end
         local f = fields_of(src, n, pairs_)
         local nid = f.processor_id
         if nid_line[nid] then
            src:fail(n, "processor_id %d is here and in line %d, expected it once", nid,
               nid_line[nid])
         end
         nid_line[nid] = n
         local cname = ("c%d-%dc%ds%dn%d"):format(f.cab_position, f.cab_row, f.cage, f.slot, f.cpu)
         if place_line[cname] then
            src:fail(n, "%s is here and in line %d, expected one node at a place", cname,
               place_line[cname])
         end
         place_line[cname] = n
         list[#list + 1] = { line = n, nid = nid, name = cray.nid_name(nid),
            place = { column = f.cab_position, row = f.cab_row, cage = f.cage, slot = f.slot,
               node = f.cpu },
            role = f.processor_type, state = f.processor_status,
            coord = { f.x_coord, f.y_coord, f.z_coord } }
      end
   end
   if #list == 0 then
      src:fail(nil, "the file ends without a node")
   end
   return list
end

-- On Aries, y and z are chassis and slot.
local function is_dragonfly(list)
   for _, t in ipairs(list) do
      local p = t.place
      if t.coord[3] ~= p.slot or t.coord[2] ~= p.column % 2 * 3 + p.cage then
         return false
      end
   end
   return true
end

local function at_routers(src, list)
   local w = wiring.new(src, "xtdb2proc")
   cray.place(w, list, true)
   return w
end

-- Gemini: nodes of one coordinate share a router, and a torus has a cable between neighbours.
local function make_torus(src, list)
   local w, dims, taken = wiring.new(src, "xtdb2proc"), { 1, 1, 1 }, {}
   for _, t in ipairs(list) do
      for d = 1, 3 do
         dims[d] = math.max(dims[d], t.coord[d] + 1)
      end
   end
   local router_at = grid.torus(w, 1, dims, "r", source.limits.names)
   if not router_at then
      src:fail(1, "coordinates up to %d,%d,%d make more than %d routers", dims[1] - 1, dims[2] - 1,
         dims[3] - 1, source.limits.names)
   end
   for _, t in ipairs(list) do
      local r = router_at(t.coord)
      taken[r] = (taken[r] or 0) + 1
      w:node(t.line, { name = t.name, nid = t.nid, role = t.role, state = t.state, coord = t.coord,
         place = cray.blade_name(t.place) .. "n" .. t.place.node,
         rails = { { router = r, port = "n" .. taken[r] - 1 } } })
   end
   src:note(1, "the file does not describe cables: a torus of %dx%dx%d is assumed", dims[1],
      dims[2], dims[3])
   return w
end

--- Read it.
function cray_xtdb2proc.read(src, opts)
   local list = read_nodes(src)
   local w
   if is_dragonfly(list) then
      w = at_routers(src, list)
      for _, r in ipairs(w.routers) do
         r.group, r.row, r.col = table.unpack(r.coord)
      end
      src:note(1, "the file does not describe cables, expected to be added to an rtr dump")
   else
      w = make_torus(src, list)
   end
   w:only(opts.nodes, true)
   return w:finish()
end

--- Add its nodes to a dump's routers; coordinates must agree.
function cray_xtdb2proc.apply(given, src)
   local w = at_routers(src, read_nodes(src))
   local nodes = w:finish()
   nodes.node_line = w.lines
   cray.merge(given, src, nodes)
end

return cray_xtdb2proc
