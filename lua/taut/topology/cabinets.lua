-- SPDX-License-Identifier: GPL-2.0-or-later
--- Cray's Gemini: cabinets, names, node ids and kinds of links.
--
-- A cabinet has 3 chassis (cages) of 8 modules (slots) of 2 Geminis of 2 nodes.  Large systems: X
-- along the rows of cabinets, Y along the columns, both folded; Z inside the cabinet.  Systems of
-- one cabinet: X from chassis to chassis, Y inside the module, Z inside the chassis.
-- Source: M. Ezell, CUG 2013, for the geometry, the names, and the bandwidths of the kinds.  What
-- it leaves open is said where it is assumed.
local cabinets = {}

local SLOTS, CAGES = 8, 3
local NODES = 2 * 2 * SLOTS -- of a chassis

-- Payload in bytes per second: what a kind of link carries, and one node injects.
local CAPACITY = { mezzanine = 6e9, backplane = 9.75e9, ["X cable"] = 6e9, ["Y cable"] = 3e9,
   ["Z cable"] = 6e9, tx = 6.7e9, rx = 6.7e9 }

--- Physical position (0 … length - 1) along a folded ring: every other one, and back.
function cabinets.unfold(coordinate, length)
   local half = (length + 1) // 2
   if coordinate < half then
      return 2 * coordinate
   end
   return 2 * (length - coordinate) - 1
end

--- Coordinate of a physical position.
function cabinets.fold(position, length)
   if position % 2 == 0 then
      return position // 2
   end
   return length - (position + 1) // 2
end

--- Name of a Gemini, or with `node` (0, 1) of a node on it.
-- @param place { column, row, cage, slot, gemini }
function cabinets.cname(place, node)
   local blade = ("c%d-%dc%ds%d"):format(place.column, place.row, place.cage, place.slot)
   if node then
      return ("%sn%d"):format(blade, 2 * place.gemini + node)
   end
   return ("%sg%d"):format(blade, place.gemini)
end

--- Place of a node or a Gemini by its name.
-- @return { column, row, cage, slot, gemini }, and of a node k (0, 1); nil if it is no such name
function cabinets.parse(name)
   local c, r, k, s, what, n = tostring(name):match "^c(%d+)%-(%d+)c(%d+)s(%d+)([gn])(%d+)"
   if not c then
      return nil
   end
   local p = { column = tonumber(c), row = tonumber(r), cage = tonumber(k), slot = tonumber(s) }
   n = tonumber(n)
   local node
   p.gemini = n
   if what == "n" then
      p.gemini, node = n // 2, n % 2
   end
   if p.cage >= CAGES or p.slot >= SLOTS or p.gemini > 1 then
      return nil
   end
   return p, node
end

-- The slot at a place of a chassis' ids, and the other way round: on the way back from the end.
local function slot_in_turn(turn, slot)
   if turn == 0 then
      return slot
   end
   return SLOTS - 1 - slot
end

-- Node ids go up one side of a chassis and back on the other; the next chassis begins on the side
-- where this one ended.  Assumed: each cabinet begins anew, cabinets count along the rows (as they
-- do in the Aries machines whose lists are public).
local function nid_in_cabinet(place, node)
   local turn = (place.gemini + place.cage) % 2 -- second half of the chassis' ids: the way back
   local slot = slot_in_turn(turn, place.slot)
   return place.cage * NODES + turn * NODES // 2 + 2 * slot + node
end

local function place_in_cabinet(id)
   local cage, rest = id // NODES, id % NODES
   local turn = rest // (NODES // 2)
   local slot = rest % (NODES // 2) // 2
   return { cage = cage, slot = slot_in_turn(turn, slot),
      gemini = (turn + cage) % 2 }, rest % 2
end

-- The two ways of cabling: how many cabinets, and coordinates ↔ place.
local WIRING = {}

WIRING.gemini = {
   what = "{ columns, 2 * rows, 24 }",
   new = function(dims)
      if dims[2] % 2 ~= 0 or dims[3] ~= SLOTS * CAGES then
         return nil
      end
      return { columns = dims[1], rows = dims[2] // 2, cages = CAGES }
   end,
   -- Assumed: the even one of a module's two Y coordinates is g0, also where the ring comes back.
   place = function(room, x, y, z)
      return { column = cabinets.unfold(x, room.columns), row = cabinets.unfold(y // 2, room.rows),
         cage = z // SLOTS, slot = z % SLOTS, gemini = y % 2 }
   end,
   at = function(room, place)
      return cabinets.fold(place.column, room.columns), 2 * cabinets.fold(place.row,
         room.rows) + place.gemini, place.cage * SLOTS + place.slot
   end,
   class = function(letter, from) -- of the link from that coordinate on
      if letter == "Y" and from % 2 == 0 then
         return "mezzanine"
      elseif letter == "Z" and from % SLOTS < SLOTS - 1 then
         return "backplane"
      end
      return "cable"
   end,
}

WIRING["gemini-chassis"] = {
   what = "{ 1 to 3 chassis, 2, 8 }",
   new = function(dims)
      if dims[1] > CAGES or dims[2] ~= 2 or dims[3] ~= SLOTS then
         return nil
      end
      return { columns = 1, rows = 1, cages = dims[1] }
   end,
   place = function(_, x, y, z)
      return { column = 0, row = 0, cage = x, slot = z, gemini = y }
   end,
   at = function(_, place)
      return place.cage, place.gemini, place.slot
   end,
   class = WIRING.gemini.class,
}

local function ports_in_words(layout, class, from, to)
   local a, b = layout.cname(from), layout.cname(to)
   if class == "mezzanine" then
      return "mezzanine of " .. a:gsub("g%d$", "")
   elseif class == "backplane" then
      return ("backplane of %s, %s to %s"):format(a:gsub("s.*", ""), a:match "s%d+g%d",
         b:match "s%d+g%d")
   end
   return ("cable %s to %s"):format(a, b)
end

--- A layout: what the torus asks of it.
-- @param name "gemini" or "gemini-chassis"
-- @return table of functions, or nil and what was expected:
--   cname(router [, k]); place(router); router_of(place) → router; nid(router, k);
--   router_of_nid(nid) → router, k; class(letter, coordinate it leaves in "+");
--   capacity(class, letter); words(class, from router, to router)
function cabinets.layout(name, dims, nodes_per_router)
   local wiring = WIRING[name]
   if not wiring then
      return nil, ("topology.layout: '%s' is not known (known: gemini, gemini-chassis)"):format(
         tostring(name))
   end
   local w = #dims == 3 and wiring.new(dims)
   if not w or nodes_per_router ~= 2 then
      return nil, ("topology.layout: %s needs dims = %s and 2 nodes per router"):format(name,
         wiring.what)
   end
   local per_cabinet = w.cages * NODES
   local layout = { class = wiring.class }
   function layout.place(router)
      return wiring.place(w, router // (dims[2] * dims[3]), router // dims[3] % dims[2],
         router % dims[3])
   end
   function layout.router_of(place)
      local x, y, z = wiring.at(w, place)
      return (x * dims[2] + y) * dims[3] + z
   end
   function layout.cname(router, node)
      return cabinets.cname(layout.place(router), node)
   end
   function layout.nid(router, node)
      local p = layout.place(router)
      return (p.row * w.columns + p.column) * per_cabinet + nid_in_cabinet(p, node)
   end
   function layout.router_of_nid(nid)
      local p, k = place_in_cabinet(nid % per_cabinet)
      local cabinet = nid // per_cabinet
      p.column, p.row = cabinet % w.columns, cabinet // w.columns
      return layout.router_of(p), k
   end
   function layout.capacity(class, letter)
      if class == "cable" then
         return CAPACITY[letter .. " cable"]
      end
      return CAPACITY[class]
   end
   function layout.words(class, from, to)
      return ports_in_words(layout, class, from, to)
   end
   return layout
end

return cabinets
