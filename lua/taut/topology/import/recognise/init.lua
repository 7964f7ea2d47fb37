-- SPDX-License-Identifier: GPL-2.0-or-later
--- Says what kind of fabric a wiring is, where each router is in it, and what did not fit.
local report = require "taut.report"
local tables = require "taut.base.tables"
local dragonfly = require "taut.topology.import.recognise.dragonfly"
local graph = require "taut.topology.import.recognise.graph"
local product = require "taut.topology.import.recognise.product"
local levels = require "taut.topology.import.recognise.levels"

local recognise = {}

local function range_in_words(range)
   if range[1] == range[2] then
      return tostring(range[1])
   end
   return ("%d to %d"):format(range[1], range[2])
end

local function irregular(misfits)
   return { kind = "irregular", misfits = misfits }
end

--- Look at a wiring.
-- @param wiring wiring
-- @return table with kind ("fattree", "torus", "mesh", "hyperx", "dragonfly" or "irregular"),
--   nodes_per_router { least, most }, misfits (array of sentences), and by kind:
--   fattree: levels (switches of each, leaves first), level[router], nodes_per_leaf, uplinks,
--     regular;
--   torus, mesh, hyperx: dims, coord[router] = { x, … } from 0, links (cables per neighbour in each
--     dimension), missing (array of { router, router, dimension } without their cable, of
--     `expected`), is_whole (nothing else does not fit);
--   dragonfly: groups, routers_per_group, local_dims ({ n } all to all, { rows, columns }),
--     group[router], members[group], links_per_pair, global_per_router (each { least, most })
function recognise.kind(wiring)
   local g = graph.of(wiring)
   local found
   if g.routers == 0 then
      return irregular { "there is no router" }
   end
   local _, parts = graph.parts(g)
   if #wiring.cables == 0 and g.routers > 1 then
      found = irregular { ("%d routers and no cable between them"):format(g.routers) }
   elseif parts > 1 then
      -- trees may stand beside each other; of other kinds no model has several parts
      found = levels.find(g) or irregular {
         ("it falls into %d parts that nothing joins"):format(parts) }
   else
      local why = "neither levels, nor rings, nor rows, nor groups explain its links"
      if g.routers < 4 then
         why = ("%d routers are too few to tell"):format(g.routers)
      end
      found = levels.find(g) or product.find(g) or dragonfly.find(g) or irregular { why }
   end
   local busy = {}
   for r = 1, g.routers do
      if g.hosts[r] > 0 or found.kind ~= "fattree" then
         busy[#busy + 1] = g.hosts[r]
      end
   end
   found.routers, found.parts = g.routers, parts
   found.nodes_per_router = { 0, 0 }
   if #busy > 0 then
      found.nodes_per_router = { graph.range(busy) }
   end
   local least, most = table.unpack(found.nodes_per_router)
   if least ~= most and found.kind ~= "fattree" and found.kind ~= "irregular" then
      local usual = graph.mode(busy)
      local odd = tables.count(busy, function(length) return length ~= usual end)
      table.insert(found.misfits, ("%d of %d routers have other than %d nodes (%d to %d)"):format(
         odd, #busy, usual, least, most))
   end
   return found
end

local words = {}

local function of(range, thing)
   return ("%s %s%s"):format(range_in_words(range), thing, report.text_if(range[2] ~= 1, "s"))
end

local LEVELS = 8 -- named; a chain of switches has thousands

local function levels_of(list)
   if #list <= LEVELS then
      return table.concat(list, " + ")
   end
   return table.concat(list, " + ", 1, LEVELS - 1) .. " + … + " .. list[#list]
end

function words.fattree(found)
   if (found.parts or 1) > 1 then
      return ("%d parts that nothing joins, together an irregular tree of %d levels with %s " ..
         "switches (leaves first), %s on a leaf"):format(found.parts, found.top + 1,
         levels_of(found.levels), of(found.nodes_per_leaf, "node"))
   elseif found.top == 0 then
      return "a single switch with " .. of(found.nodes_per_leaf, "node")
   end
   return ("%s tree of %d levels with %s switches (leaves first), %s and %s up on a leaf"):format(
      report.text_if(found.regular, "fat", "irregular fat"), found.top + 1, levels_of(found.levels),
      of(found.nodes_per_leaf, "node"), of(found.uplinks, "link"))
end

local function grid_words(name)
   return function(found)
      return ("%s %s, %s on a router"):format(name, table.concat(found.dims, "x"),
         of(found.nodes_per_router, "node"))
   end
end

words.torus = grid_words "torus"
words.mesh = grid_words "mesh"
words.hyperx = grid_words "HyperX"

function words.dragonfly(found)
   local inside = "all joined"
   if #found.local_dims ~= 1 then
      inside = ("in rows and columns (%s)"):format(table.concat(found.local_dims, "x"))
   end
   return ("dragonfly of %d groups of %d routers %s, %s between two groups, %s on a router"):format(
      found.groups, found.routers_per_group, inside, of(found.links_per_pair, "link"),
      of(found.nodes_per_router, "node"))
end

function words.irregular(found)
   return ("irregular network of %d routers"):format(found.routers or 0)
end

--- What was found, in a line.
function recognise.words(found)
   return words[found.kind](found)
end

return recognise
