-- SPDX-License-Identifier: GPL-2.0-or-later
--- Which sets of links there are, and which links no test can tell from the others of their set: a
-- tree with hashed routes and no `addresses` has sets in place of links.
--
-- Routes are looked at between routers that have nodes: from each to OTHERS, spread evenly.
local pack = require "taut.diagnose.sets.pack"
local task = require "taut.base.task"

local inventory = {}

local OTHERS = 64

-- A node of each router that has one.
local function list_ends(topo)
   local list = {}
   for r = 0, topo.routers - 1 do
      list[#list + 1] = topo:on_router(r)[1]
   end
   return list
end

-- @param seen { alone = set of links that are all of a stage, by = map key → set, done = set of
--   stages }
local function look_at_route(topo, a, b, rail, seen)
   local route = topo:route(a, b, seen.route, rail)
   for i = 2, route and #route - 1 or 0 do
      local stage = route[i]
      if type(stage) ~= "table" then
         seen.alone[stage] = true
      elseif not seen.done[stage] then
         seen.done[stage] = true
         seen.by[pack.key(stage)] = seen.by[pack.key(stage)]
            or table.move(stage, 1, #stage, 1, {})
      end
   end
end

local function walk_routes(topo)
   local seen = { alone = {}, by = {}, done = {}, route = {} }
   local ends = list_ends(topo)
   for i, a in ipairs(ends) do
      task.breathe()
      local others = math.min(OTHERS, #ends - 1)
      for k = 1, others do
         local b = ends[(i - 1 + (k * (#ends - 1) // others)) % #ends + 1]
         for rail = 1, topo.rails or 1 do
            look_at_route(topo, a, b, rail, seen)
         end
      end
   end
   return seen
end

--- @param topo topology
-- @return { sets = array of { key, members } with links that are tested as a set only, links = map
--   link → true of those, count = how many, unnamed = array of links of sets that have no address
--   where others do }
function inventory.of(topo)
   local seen = walk_routes(topo)
   local out = { sets = {}, links = {}, count = 0, unnamed = {} }
   local keys, told = {}, {}
   for key in pairs(seen.by) do
      keys[#keys + 1] = key
   end
   table.sort(keys)
   for _, key in ipairs(keys) do
      local members, is_hidden = seen.by[key], false
      for _, c in ipairs(members) do
         local hidden = not seen.alone[c]
         local is_new = hidden and not told[c]
         told[c] = told[c] or hidden
         is_hidden = is_hidden or hidden
         local at = topo:asked(c)
         if is_new and not at then
            out.links[c], out.count = true, out.count + 1
         elseif is_new and not at.of[c] then
            out.unnamed[#out.unnamed + 1] = c
         end
      end
      if is_hidden and not topo:asked(members[1]) then
         out.sets[#out.sets + 1] = { key = key, members = members }
      end
   end
   table.sort(out.unnamed)
   return out
end

return inventory
