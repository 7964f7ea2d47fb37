-- SPDX-License-Identifier: GPL-2.0-or-later
--- Cray names and numbers: where a node or a router sits, by its cname.
--
-- c<column>-<row>c<cage>s<slot>: then a0 (Aries) or g0, g1 (Gemini), or n<node>.  An Aries sits on
-- each blade with 4 nodes, 16 blades a chassis; two cabinets of a row are a group of 6 chassis
-- (Edison's dump in the tests shows it).  Two Geminis sit on each blade with 2 nodes each, 8
-- blades a chassis.
local tables = require "taut.base.tables"
local grammar = require "taut.topology.import.grammar"
local lpeg = require "lpeg"
local wiring = require "taut.topology.import.wiring"

local cray = {}

local P, Cg, Ct = lpeg.P, lpeg.Cg, lpeg.Ct
local number = grammar.number

local blade = P "c" * Cg(number, "column") * "-" * Cg(number, "row") * "c" * Cg(number, "cage") *
   "s" * Cg(number, "slot")

--- Pattern of a node's cname; gives { column, row, cage, slot, node }.
cray.node = Ct(blade * "n" * Cg(number, "node"))

--- Pattern of an Aries's cname; gives { column, row, cage, slot }.
cray.aries = Ct(blade * "a0")

--- Name of a blade.
function cray.blade_name(place)
   return ("c%d-%dc%ds%d"):format(place.column, place.row, place.cage, place.slot)
end

-- Are these nodes of an Aries machine (16 slots in a chassis) or of Gemini (8)?
local function is_aries(list)
   return tables.any(list, function(node) return node.place.slot > 7 end)
end

--- What is wrong with a place, in words, or nil.
function cray.trouble(t)
   if t.cage > 2 then
      return ("cage %d, expected 0 to 2"):format(t.cage)
   elseif t.slot > 15 then
      return ("slot %d, expected 0 to 15"):format(t.slot)
   elseif t.node and t.node > 3 then
      return ("node %d, expected 0 to 3"):format(t.node)
   end
end

--- Name of a node by its number, as Cray's systems have them.
function cray.nid_name(nid)
   return ("nid%05d"):format(nid)
end

--- Put nodes on their routers.
-- @param made wiring being made
-- @param list array of { line, name, nid, place = cname table, role, state, coord }
-- @param aries true where the routers are known to be Aries; nil: told by the slots
function cray.place(made, list, aries)
   local lines = {}
   aries = aries or is_aries(list)
   for _, t in ipairs(list) do
      local p = t.place
      local cname = cray.blade_name(p) .. "n" .. p.node
      if lines[cname] then
         made.src:fail(t.line, "%s is here and in line %d, expected one node at a place", cname,
            lines[cname])
      end
      lines[cname] = t.line
      local router = { place = cray.blade_name(p), coord = t.coord }
      if aries then
         router.name = router.place .. "a0"
         router.row, router.col = p.column % 2 * 3 + p.cage, p.slot
      else
         router.name = router.place .. "g" .. p.node // 2
      end
      local r = made.router_at[router.name]
      if not r then
         local _
         _, r = made:router(t.line, router)
      elseif t.coord and table.concat(t.coord, ".") ~= table.concat(r.coord, ".") then
         made.src:fail(t.line, "%s has coordinates %s, its neighbour on %s in line %d has %s",
            t.name, table.concat(t.coord, ","), router.name, made.lines[r],
            table.concat(r.coord, ","))
      end
      made:node(t.line, { name = t.name, nid = t.nid, place = cname, role = t.role, state = t.state,
         coord = t.coord, rails = { { router = r.index, port = "n" .. p.node } } })
   end
end

--- Hang nodes of an inventory onto the routers of a dump (`apply` of the inventories).
-- @param given the wiring that the dump made
-- @param nodes the wiring that the inventory made by itself
function cray.merge(given, src, nodes)
   local at = {}
   for i, r in ipairs(given.routers) do
      at[r.name] = i
   end
   local seen, strangers = {}, 0
   for i, n in ipairs(given.nodes) do
      seen[n.name] = i
   end
   for _, n in ipairs(nodes.nodes) do
      local rail = n.rails[1]
      local theirs = nodes.routers[rail.router]
      local ours = at[theirs.name]
      local line = tables.or_empty(nodes.node_line)[n] or 1
      if not ours then
         src:fail(line,
            "%s sits on %s, which %s does not have", n.name, theirs.name, given.source)
      end
      local r = given.routers[ours]
      if n.coord and r.coord and table.concat(n.coord, ".") ~= table.concat(r.coord, ".") then
         src:fail(line,
            "%s has coordinates %s, its router %s has %s in %s", n.name,
            table.concat(n.coord, ","), r.name, table.concat(r.coord, ","), given.source)
      end
      if seen[n.name] then
         strangers = strangers + 1
         local old = given.nodes[seen[n.name]]
         if old.rails[1].router ~= ours then
            src:fail(line, "%s sits on %s, but on %s before",
               n.name, theirs.name, given.routers[old.rails[1].router].name)
         end
         old.role, old.state = old.role or n.role, old.state or n.state
      else
         rail.router = ours
         given.nodes[#given.nodes + 1] = n
         seen[n.name] = #given.nodes
      end
   end
   table.move(nodes.notes, 1, #nodes.notes, #given.notes + 1, given.notes)
end

--- Make an importer of a file that tells where nodes are and no cables: its read and its apply.
-- @param importer gets both
-- @param list function(src) → nodes
-- @param source as of wiring.new
function cray.inventory(importer, list, source)
   -- nodes at their routers; a dump they are added to is of Aries
   local function place_on_routers(src, aries)
      local nodes = list(src)
      local w = wiring.new(src, source)
      cray.place(w, nodes, aries)
      return w
   end
   -- nodes at their routers, but no cables.
   function importer.read(src, opts)
      local w = place_on_routers(src)
      src:note(1, "the file does not describe cables, expected to be added to an rtr dump")
      w:only(opts.nodes, true)
      return w:finish()
   end
   -- its nodes at a dump's routers
   function importer.apply(given, src)
      local w = place_on_routers(src, true)
      local nodes = w:finish()
      nodes.node_line = w.lines
      cray.merge(given, src, nodes)
   end
end

return cray
