-- SPDX-License-Identifier: GPL-2.0-or-later
--- Which model of Taut a wiring is written as, and what that model has to be told of each router.
--
-- A model is taken only where its routing finds a way between any two routers, and where nothing
-- is known that it could not say: a wiring with forwarding tables is a graph that goes by them.
local tables = require "taut.base.tables"
local model = {}

local GROUPS = 4096      -- the most that a dragonfly has (advisor/lib/graph/dragonfly/dragonfly.h)
local REACH = 3          -- links from one router of a group to all others: any two of them are
                         -- then within the 6 that ways inside a group may have there
local DIMS, LENGTH = 8, 1024 -- the most of a HyperX (advisor/lib/graph/hyperx/hyperx.h)

-- Bandwidth that all have, or nil.
local function common_value(list)
   local first = list[1]
   for _, v in ipairs(list) do
      if v ~= first then
         return nil
      end
   end
   return first
end

--- What all links and all rails carry, in bytes per second, nil where they differ; and whether
-- some do not say: { link =, rail = }.
function model.bandwidth(wiring)
   local links, rails, open = {}, {}, { link = false, rail = false }
   for _, c in ipairs(wiring.cables) do
      links[#links + 1] = c.Bps or false
      open.link = open.link or not c.Bps
   end
   for _, n in ipairs(wiring.nodes) do
      for _, r in ipairs(n.rails) do
         if r then
            rails[#rails + 1] = r.Bps or false
            open.rail = open.rail or not r.Bps
         end
      end
   end
   return common_value(links), common_value(rails), open
end

local MISSING = 0.02 -- share of the cables that may be out

-- Can a torus or mesh in a few settings say all there is?  One rail, the same nodes everywhere,
-- nothing that did not fit but cables that are out.
local function is_regular(wiring, found)
   local out = #(found.missing or {})
   if out > math.max(1, MISSING * (found.expected or 0)) then
      return false, ("%d of %d cables are missing"):format(out, found.expected)
   elseif #found.dims > 6 or not found.is_whole or
      found.nodes_per_router[1] ~= found.nodes_per_router[2] or found.nodes_per_router[1] < 1 then
      return false
   end
   for d, n in ipairs(found.links) do
      -- several cables, or lengths that the model counts otherwise
      if n ~= 1 or found.dims[d] < 2 then
         return false
      end
   end
   for _, n in ipairs(wiring.nodes) do
      if #n.rails ~= 1 then
         return false
      end
   end
   local link, rail, open = model.bandwidth(wiring)
   return (open.link or link or #wiring.cables == 0) and (open.rail or rail) and
      open.link == open.rail
end

-- near[r][s]: a cable that is not down joins routers r and s.
local function neighbours(wiring)
   local near = tables.fill(1, #wiring.routers, function() return {} end)
   for _, c in ipairs(wiring.cables) do
      if not c.down then
         near[c.a][c.b], near[c.b][c.a] = true, true
      end
   end
   return near
end

-- The same wiring, whose routers have these fields instead of their own; false: no such field.
local function with_hints(wiring, hint)
   local routers = {}
   for r, router in ipairs(wiring.routers) do
      local t = tables.copy(router)
      for k, v in pairs(hint(r)) do
         t[k] = v or nil
      end
      routers[r] = t
   end
   return setmetatable({ routers = routers }, { __index = wiring })
end

---------------------------------------------------------------- dragonfly

-- Links from the first router of a list to the farthest other one of it, over routers of the list;
-- nil where one cannot be reached.
local function reach_of(near, list)
   local inside, steps, queue = {}, { [list[1]] = 0 }, { list[1] }
   for _, r in ipairs(list) do
      inside[r] = true
   end
   for _, r in ipairs(queue) do
      for s in pairs(near[r]) do
         if inside[s] and not steps[s] then
            steps[s] = steps[r] + 1
            queue[#queue + 1] = s
         end
      end
   end
   if #queue == #list then
      return steps[queue[#queue]]
   end
   return nil
end

-- Groups that are joined: by a link, or over a third one.
local function groups_apart(near, found)
   local joined = tables.fill(1, found.groups, function() return {} end)
   for r, others in ipairs(near) do
      for s in pairs(others) do
         joined[found.group[r]][found.group[s]] = true
      end
   end
   local function over_another(group, other)
      for k in pairs(joined[group]) do
         if joined[k][other] then
            return true
         end
      end
   end
   for g = 1, found.groups do
      for h = g + 1, found.groups do
         if not joined[g][h] and not over_another(g, h) then
            return g, h
         end
      end
   end
end

-- Does the file number the groups, and are these the ones that were found?
local function has_groups(wiring, found)
   local number, group = {}, {}
   for r, router in ipairs(wiring.routers) do
      local g, f = router.group, found.group[r]
      if math.type(g) ~= "integer" or g < 0 or g >= GROUPS or (number[f] or g) ~= g or
         (group[g] or f) ~= f then
         return false
      end
      number[f], group[g] = g, f
   end
   return true
end

local function dragonfly(wiring, found)
   local near = neighbours(wiring)
   if found.groups > GROUPS then
      return nil, ("more than %d groups"):format(GROUPS)
   end
   for _, list in ipairs(found.members) do
      local links = reach_of(near, list)
      if not links then
         return nil, ("the group of %s falls apart"):format(wiring.routers[list[1]].name)
      elseif links > REACH then
         return nil, ("the group of %s is more than %d links wide"):format(
            wiring.routers[list[1]].name, REACH)
      end
   end
   local g, h = groups_apart(near, found)
   if g then
      return nil, ("no link, and no third group, joins the groups of %s and %s"):format(
         wiring.routers[found.members[g][1]].name, wiring.routers[found.members[h][1]].name)
   end
   if has_groups(wiring, found) then
      return wiring
   end
   return with_hints(wiring, function(router)
      return { group = found.group[router] - 1, row = false, col = false }
   end)
end

---------------------------------------------------------------- HyperX

-- Routers by place: their coordinates as one number.
local function routers_by_place(found)
   local at, number, count = {}, {}, 0
   for r, coord in ipairs(found.coord) do
      local p = 0
      for d, x in ipairs(coord) do
         p = p * found.dims[d] + x
      end
      if not at[p] then
         count = count + 1
      end
      at[p], number[r] = r, p
   end
   return at, number, count
end

-- The dimension in which two routers differ; nil where that is not exactly one.
local function dimension_between(place, other)
   local found
   for d in ipairs(place) do
      if place[d] ~= other[d] then
         if found then
            return nil
         end
         found = d
      end
   end
   return found
end

-- Can each row be crossed from each of its routers to each other, in one hop or in two?
local function is_stuck(near, found, at, number)
   local stride = 1
   for d = #found.dims, 1, -1 do
      local len = found.dims[d]
      for r, coord in ipairs(found.coord) do
         local row = number[r] - coord[d] * stride
         for j = 0, len - 1 do
            local s = at[row + j * stride]
            local ok, k = s == r or near[r][s], 0
            while not ok and k < len do
               local over = at[row + k * stride]
               ok = near[r][over] and near[over][s]
               k = k + 1
            end
            if not ok then
               return r, s
            end
         end
      end
      stride = stride * len
   end
end

local function hyperx(wiring, found)
   local all = 1
   for _, len in ipairs(found.dims) do
      if len <= LENGTH then
         all = all * len
      else
         all = math.huge
      end
   end
   local at, number, count = routers_by_place(found)
   if #found.dims > DIMS or count ~= all or count ~= #wiring.routers then
      return nil, "its routers do not fill a grid"
   end
   for _, c in ipairs(wiring.cables) do
      if not dimension_between(found.coord[c.a], found.coord[c.b]) then
         return nil, ("%s and %s are joined and not in one row"):format(wiring.routers[c.a].name,
            wiring.routers[c.b].name)
      end
   end
   local r, s = is_stuck(neighbours(wiring), found, at, number)
   if r then
      return nil, ("no two links of their row lead from %s to %s"):format(wiring.routers[r].name,
         wiring.routers[s].name)
   end
   return with_hints(wiring, function(index)
      return { coord = found.coord[index] }
   end)
end

----------------------------------------------------------------

local wired = { dragonfly = dragonfly, hyperx = hyperx }

--- Links of a torus or mesh whose cable is missing, as the model calls them.
function model.down(found)
   local list = {}
   for i, m in ipairs(found.missing or {}) do
      local r, s, d = table.unpack(m)
      local a, b = found.coord[r], found.coord[s]
      local sign = "-"
      if (a[d] + 1) % found.dims[d] == b[d] then
         sign = "+"
      end
      list[i] = ("r%s/%s%s"):format(table.concat(a, "."), ("XYZABC"):sub(d, d), sign)
   end
   return list
end

--- The kind to write a wiring as.
-- @param wiring wiring
-- @param found what import/recognise says of it
-- @return the kind; for a torus or mesh in a few settings nothing more, else the wiring as that
--   kind takes it, and for a graph that was recognised as something else, why it is none (or nil)
function model.choose(wiring, found)
   local kind = found.kind
   if wiring.tables then
      return "graph", wiring, wired[kind] and "there are forwarding tables to go by"
   elseif wired[kind] then
      local told, why = wired[kind](wiring, found)
      if told then
         return kind, told, why
      end
      return "graph", wiring, why
   elseif kind == "fattree" then
      return kind, wiring
   elseif kind == "torus" or kind == "mesh" then
      local fits, reason = is_regular(wiring, found)
      if fits then
         return kind, nil, reason
      end
      return "graph", wiring, reason
   end
   return "graph", wiring
end

return model
