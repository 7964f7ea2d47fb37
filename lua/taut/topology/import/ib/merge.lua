-- SPDX-License-Identifier: GPL-2.0-or-later
--- Elements of a fabric with planes, put together: which are one says planes.lua.
--
-- A cable of two switches that are put together is that of the same ports in each plane; where
-- boxes number theirs differently, the first that is left of each plane, and so on.
local source = require "taut.topology.import.source"
local tables = require "taut.base.tables"

local merge = {}

local quote = source.quote

-- The switch that stands for all of a group: that of its first plane.
local function head_of(group)
   return group.members[tables.keys(group.members)[1]]
end

-- New elements for old; each has `used`, the port numbers that are taken.
local function make_elements(planes)
   local out, of = {}, {}
   for _, e in ipairs(planes.elements) do
      local head = e
      if planes.group[e] then
         head = head_of(planes.group[e]) or e
      end
      if head == e then
         local t = { ports = {} }
         for k, v in pairs(e) do
            t[k] = t[k] or v
         end
         out[#out + 1], of[e] = t, t
      end
   end
   for e, g in pairs(planes.group) do
      of[e] = of[head_of(g)]
   end
   for e, t in pairs(of) do -- planes of a box may have ports that its first has not
      t.nports = math.max(t.nports or 0, e.nports or 0)
   end
   return out, of
end

-- The port's own number, or the next that its switch has not.
local function free_port(element, number)
   if not element.ports[number] then
      return number
   end
   element.next_free = math.max(element.next_free or 0, element.nports) + 1
   element.nports = element.next_free
   return element.next_free
end

-- Join two new elements by what was a port, and its other end, before.
local function join_ports(one, number, other, back, fields)
   local n, k = free_port(one, number), free_port(other, back)
   local here, there = {}, {}
   for name, v in pairs(fields.here) do
      here[name] = v
   end
   for name, v in pairs(fields.there) do
      there[name] = v
   end
   here.peer, here.peer_port, here.peer_lid = other.guid, k, other.lid or there.lid
   there.peer, there.peer_port, there.peer_lid = one.guid, n, one.lid or here.lid
   here.planes, here.up, there.planes, there.up = fields.planes, fields.up, fields.planes, fields.up
   one.ports[n], other.ports[k] = here, there
   return n, k
end

local function back_of(planes, port)
   return planes.at[port.peer], planes.at[port.peer] and planes.at[port.peer].ports[port.peer_port]
end

---------------------------------------------------------------- between switches

local function sort_cables(list)
   table.sort(list, function(one, other)
      return one.a_port < other.a_port or one.a_port == other.a_port and one.b_port < other.b_port
   end)
end

-- Cables of all planes between two groups: { [plane] = { { a_port, b_port, here, there }, … } }.
local function cables_between(planes)
   local order, at = {}, {}
   for i, e in ipairs(planes.elements) do
      e.order = i
   end
   for _, e in ipairs(planes.elements) do
      local g = e.type == "switch" and planes.group[e]
      for _, n in ipairs(tables.or_empty(g and tables.keys(e.ports))) do
         local other, back = back_of(planes, e.ports[n])
         local h = other and planes.group[other]
         if h and h ~= g and planes.plane[e] == planes.plane[other]
            and head_of(g).order < head_of(h).order then
            at[g] = at[g] or {}
            local pair = at[g][h]
            if not pair then
               pair = { a = g, b = h, planes = {} }
               at[g][h], order[#order + 1] = pair, pair
            end
            local list = pair.planes[planes.plane[e]] or {}
            pair.planes[planes.plane[e]] = list
            list[#list + 1] = { a_port = n, b_port = e.ports[n].peer_port, here = e.ports[n],
               there = back }
         end
      end
   end
   return order
end

-- The plane with most cables: those of the others are put with its own.
local function fullest_plane(pair)
   local best
   for _, p in ipairs(tables.keys(pair.planes)) do
      sort_cables(pair.planes[p])
      if not best or #pair.planes[best] < #pair.planes[p] then
         best = p
      end
   end
   return best
end

-- Where boxes number their ports alike, a cable that the list has not is one more; else they go
-- with it in their order.
local function put_with(list, at, own)
   local taken, rest = {}, {}
   for _, c in ipairs(own) do
      local t = at[c.a_port .. " " .. c.b_port]
      if t then
         taken[t] = true
         table.insert(t.with, c)
      else
         rest[#rest + 1] = c
      end
   end
   local is_alike, i = next(taken) ~= nil, 0
   for _, c in ipairs(rest) do
      repeat
         i = i + 1
      until is_alike or not list[i] or not taken[list[i]]
      if is_alike or not list[i] then
         c.with = { c }
         list[#list + 1], at[c.a_port .. " " .. c.b_port] = c, c
      else
         table.insert(list[i].with, c)
      end
   end
end

-- The cables of two groups; `with`, those of all planes that each is.
local function unite_cables(pair)
   local of, at = fullest_plane(pair), {}
   local list = pair.planes[of]
   for _, c in ipairs(list) do
      c.with, at[c.a_port .. " " .. c.b_port] = { c }, c
   end
   for _, p in ipairs(tables.keys(pair.planes)) do
      if p ~= of then
         put_with(list, at, pair.planes[p])
      end
   end
   return list
end

-- @return set of the GUIDs of switches whose cables have other ports now
local function join_switches(src, fabric, of)
   local moved = {}
   for _, pair in ipairs(cables_between(fabric)) do
      local planes = math.max(tables.size(pair.a.members), tables.size(pair.b.members))
      for _, c in ipairs(unite_cables(pair)) do
         local up = #c.with
         local n, k = join_ports(of[head_of(pair.a)], c.a_port, of[head_of(pair.b)], c.b_port,
            { here = c.here, there = c.there, planes = planes, up = up })
         for _, one in ipairs(c.with) do
            moved[one.there.peer] = moved[one.there.peer] or one.a_port ~= n
            moved[one.here.peer] = moved[one.here.peer] or one.b_port ~= k
         end
         if up < planes then
            src:note(c.here.line, "the cable from port %d of %s to %s has %d of %d planes",
               c.a_port, quote(head_of(pair.a).desc), quote(head_of(pair.b).desc), up, planes)
         end
      end
   end
   return moved
end

---------------------------------------------------------------- adapters

-- The switch, put together, that most planes of an adapter's port are on.
local function leaf_of(planes, of, rail)
   local count, best = {}, nil
   for _, n in ipairs(rail.ports) do
      local other = back_of(planes, rail.adapter.ports[n])
      local leaf = other and other.type == "switch" and of[other]
      if leaf then
         count[leaf] = (count[leaf] or 0) + 1
         if not best or count[leaf] > count[best] then
            best = leaf
         end
      end
   end
   return best
end

local function join_rail(src, planes, of, rail, done)
   local leaf, first, up = leaf_of(planes, of, rail), nil, 0
   for _, n in ipairs(tables.or_empty(leaf and rail.ports)) do
      local port = rail.adapter.ports[n]
      local other, back = back_of(planes, port)
      done[port], done[back] = true, true
      if of[other] == leaf then
         up = up + 1
         first = first or { n = n, k = port.peer_port, here = port, there = back }
      else
         src:note(port.line, "port %d of %s is on %s, its other planes are on %s; left out", n,
            quote(rail.adapter.desc), quote(other.desc), quote(leaf.desc))
      end
   end
   if first then
      join_ports(of[rail.adapter], first.n, leaf, first.k, { here = first.here, there = first.there,
         planes = planes.count, up = up })
      if up < planes.count then
         src:note(first.here.line, "%s has %d of %d planes", quote(rail.adapter.desc), up,
            planes.count)
      end
   end
end

---------------------------------------------------------------- the rest

-- Whatever is in no plane: its cables are as they were.
local function join_others(src, planes, of, done)
   for _, e in ipairs(planes.elements) do
      for _, n in ipairs(tables.keys(e.ports)) do
         local port = e.ports[n]
         local other, back = back_of(planes, port)
         if back and not done[port] and of[e] ~= of[other] then
            done[port], done[back] = true, true
            join_ports(of[e], n, of[other], port.peer_port, { here = port, there = back })
         elseif back and not done[port] and e ~= other then
            done[port], done[back] = true, true
            src:note(port.line, "a cable joins planes of %s; left out", quote(e.desc))
         end
      end
   end
end

-- What join_switches has put together.
local function mark_joined(planes, done)
   for _, e in ipairs(planes.elements) do
      local g = e.type == "switch" and planes.group[e]
      for _, port in pairs(tables.or_empty(g and e.ports)) do
         local other = back_of(planes, port)
         local h = other and planes.group[other]
         if h and h ~= g and planes.plane[e] == planes.plane[other] then
            done[port] = true
         end
      end
   end
end

--- The elements, put together.
-- @param src what is read, for notes
-- @param planes of planes.lua: elements, at, rails, count, group (of a switch: { members }), plane
-- @return array of new elements
function merge.elements(src, planes)
   local out, of = make_elements(planes)
   local done = {}
   local moved = join_switches(src, planes, of)
   mark_joined(planes, done)
   for _, rail in ipairs(planes.rails) do
      join_rail(src, planes, of, rail, done)
   end
   join_others(src, planes, of, done)
   for e, t in pairs(of) do
      if t.guid ~= e.guid then
         t.others = t.others or {}
         table.insert(t.others, e.guid)
      end
      if moved[e.guid] and t.guid ~= e.guid then
         t.renumbered = t.renumbered or {}
         table.insert(t.renumbered, e.guid)
      end
   end
   for _, t in ipairs(out) do
      table.sort(t.others or {})
      table.sort(t.renumbered or {})
   end
   return out
end

return merge
