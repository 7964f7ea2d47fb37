-- SPDX-License-Identifier: GPL-2.0-or-later
--- Planes: a fabric whose adapters have several ports of one GUID, each on a network of its own.
--
-- A sweep shows each plane: an adapter with a port for each, and a switch for each ASIC of a box
-- (libibumad of rdma-core tells such ports in the same way: umad_get_smi_gsi_pairs).  A node's data
-- over such an adapter uses all planes at once, so the planes are joined again here.  Switches that
-- are one box, or have the same place in each plane, become one switch, their cables one cable, the
-- ports one port. `planes` of a port is how many it should have, `up` how many it has.
local merge = require "taut.topology.import.ib.merge"
local source = require "taut.topology.import.source"
local tables = require "taut.base.tables"

local planes = {}

local quote = source.quote

---------------------------------------------------------------- adapters

-- Ports of an adapter by GUID: those with one GUID, in their order.
local function by_guid(element)
   local list, at = {}, {}
   for _, n in ipairs(tables.keys(element.ports)) do
      local guid = element.ports[n].guid
      local same = guid and at[guid]
      if same then
         same.ports[#same.ports + 1] = n
      elseif guid then
         at[guid] = { adapter = element, guid = guid, ports = { n } }
         list[#list + 1] = at[guid]
      end
   end
   return list
end

-- The rails that have planes, and how many planes there are.
local function rails_of(cas)
   local all, count = {}, 1
   for _, e in ipairs(cas) do
      local own = by_guid(e)
      for _, rail in ipairs(own) do
         all[#all + 1], rail.of = rail, #own
         count = math.max(count, #rail.ports)
      end
   end
   -- one of which all but one are down has as many ports as its adapter says; an adapter with two
   -- ports, each of a GUID of its own, has no planes
   return tables.filter(all, function(rail)
      return #rail.ports > 1 or count > 1 and (rail.adapter.nports or 0) >= count * rail.of
   end), count
end

---------------------------------------------------------------- which switch is in which plane

-- Ports are counted through the planes: with four, port 6 is plane 2 of the second rail.
local function plane_of_port(number, count)
   return (number - 1) % count + 1
end

local function switch_at(at, port)
   local other = at[port.peer]
   if other and other.type == "switch" then
      return other
   end
   return nil
end

-- Planes of switches: of those with adapters by the port that these are on with, of others by
-- their neighbours; false where it is in several.
local function planes_of_switches(rails, count, at)
   local plane, queue, head = {}, {}, 1
   local function put_in_plane(element, wanted)
      if plane[element] == nil then
         plane[element] = wanted
         queue[#queue + 1] = element
      elseif plane[element] ~= wanted then
         plane[element] = false
      end
   end
   for _, rail in ipairs(rails) do
      for _, n in ipairs(rail.ports) do
         local s = switch_at(at, rail.adapter.ports[n])
         if s then
            put_in_plane(s, plane_of_port(n, count))
         end
      end
   end
   while queue[head] do
      local e = queue[head]
      head = head + 1
      for _, n in ipairs(tables.or_empty(plane[e] and tables.keys(e.ports))) do
         local s = switch_at(at, e.ports[n])
         if s then
            put_in_plane(s, plane[e])
         end
      end
   end
   return plane
end

---------------------------------------------------------------- which switches are one

local function unite_groups(group, members)
   local g = { members = members }
   for _, e in pairs(members) do
      group[e] = g
   end
end

-- ASICs of one box have its system image's GUID, which stands above each; at most one is in a
-- plane.
local function group_by_box(switches, plane, group)
   local boxes, order = {}, {}
   for _, e in ipairs(switches) do
      if plane[e] and e.system then
         if not boxes[e.system] then
            boxes[e.system] = {}
            order[#order + 1] = e.system
         end
         local box = boxes[e.system]
         box.is_odd = box.is_odd or box[plane[e]] ~= nil
         box[plane[e]] = e
      end
   end
   for _, system in ipairs(order) do
      local box = boxes[system]
      local is_odd = box.is_odd
      box.is_odd = nil
      if not is_odd and tables.size(box) > 1 then
         unite_groups(group, box)
      end
   end
end

-- Of the adapters on a switch of the first plane, the switch of another plane that most are on.
local function by_adapters(rails, count, at, plane, group)
   local votes, order = {}, {}
   for _, rail in ipairs(rails) do
      local on = {}
      for _, n in ipairs(rail.ports) do
         local s = switch_at(at, rail.adapter.ports[n])
         if s and plane[s] and not group[s] then
            on[plane[s]] = s
         end
      end
      local first = on[1]
      if first and not votes[first] then
         votes[first] = {}
         order[#order + 1] = first
      end
      for p = 2, count do
         local s = on[p]
         if first and s then
            votes[first][p] = votes[first][p] or {}
            votes[first][p][s] = (votes[first][p][s] or 0) + 1
         end
      end
   end
   for _, first in ipairs(order) do
      local members = { first }
      for p = 2, count do
         for s, v in pairs(votes[first][p] or {}) do
            local best, most = members[p], 0
            if best then
               most = votes[first][p][best] or 0
            end
            if not group[s] and (v > most or v == most and s.guid < best.guid) then
               members[p] = s
            end
         end
      end
      if tables.size(members) > 1 then
         unite_groups(group, members)
      end
   end
end

-- What a switch is joined to: cables by group.
local function joined_to(element, at, group)
   local count = {}
   for _, n in ipairs(tables.keys(element.ports)) do
      local s = switch_at(at, element.ports[n])
      local g = s and group[s]
      if g then
         count[g] = (count[g] or 0) + 1
      end
   end
   return count
end

local function do_overlap(set, other)
   local n = 0
   for g, cables in pairs(set) do
      n = n + math.min(cables, other[g] or 0)
   end
   return n
end

-- Groups that may have a switch more: { members, joined }.
local function unfinished(switches, count, at, group)
   local list, seen = {}, {}
   for _, e in ipairs(switches) do
      local g = group[e]
      if g and not seen[g] and tables.size(g.members) < count then
         g.joined = joined_to(e, at, group)
         list[#list + 1] = g
      end
      seen[g or 0] = true
   end
   return list
end

-- Those of a level: each goes with the first of those of other planes that it has most cables in
-- common with.
local function match_level(level, groups, plane, group)
   for _, s in ipairs(level) do
      local best, most = nil, 0
      for _, g in ipairs(groups) do
         local n = 0
         if not g.members[plane[s.e]] then
            n = do_overlap(g.joined, s.joined) or 0
         end
         if n > most then
            best, most = g, n
         end
      end
      if best then
         best.members[plane[s.e]] = s.e
      else
         best = { members = { [plane[s.e]] = s.e }, joined = s.joined }
         groups[#groups + 1] = best
      end
      group[s.e] = best
   end
end

-- Those further up, level by level: by GUID, the planes after each other.
local function by_place(switches, count, at, plane, group)
   local level
   repeat
      level = {}
      for _, e in ipairs(switches) do
         local joined = plane[e] and not group[e] and joined_to(e, at, group)
         if joined and next(joined) then
            level[#level + 1] = { e = e, joined = joined }
         end
      end
      table.sort(level, function(one, other)
         local p, q = plane[one.e], plane[other.e]
         return p < q or p == q and one.e.guid < other.e.guid
      end)
      match_level(level, unfinished(switches, count, at, group), plane, group)
   until not level[1]
end

-- @param plane the number of the one that a switch is in; nil for none, false for several
local function planes_in_words(plane)
   if plane == nil then
      return "no"
   elseif plane then
      return "one"
   end
   return "more than one"
end

--- Put the planes of a fabric together.
-- @param src what is read, for notes
-- @param elements as in init.lua; whether their ports lead back is checked already
-- @return the elements, with one switch, cable and port where there was one in each plane, and how
--   many planes there are: 1 where there are none, and the elements as they were
function planes.join(src, elements)
   local at, switches, cas = {}, {}, {}
   for _, e in ipairs(elements) do
      at[e.guid] = e
      if e.type == "switch" then
         switches[#switches + 1] = e
      elseif e.type == "ca" then
         cas[#cas + 1] = e
      end
   end
   local rails, count = rails_of(cas)
   if count == 1 then
      return elements, 1
   end
   local plane, group = planes_of_switches(rails, count, at), {}
   group_by_box(switches, plane, group)
   by_adapters(rails, count, at, plane, group)
   by_place(switches, count, at, plane, group)
   for _, e in ipairs(switches) do
      if not group[e] then
         src:note(e.line, "%s is in %s plane and stays a switch of its own", quote(e.desc),
            planes_in_words(plane[e]))
      end
   end
   return merge.elements(src, { elements = elements, at = at, rails = rails, count = count,
      group = group, plane = plane }), count
end

return planes
