-- SPDX-License-Identifier: GPL-2.0-or-later
--- Which links get busy together: where one of them is seen well, the network around it was not
-- busy at that moment, and a low test of another speaks against that link itself.
--
-- Traffic that fills a router fills several of its links; a broken cable does not.
local around = {}

-- Links that leave the same router; of a dragonfly or a tree only those of the same class, since
-- local and global links fill up for different reasons.
local function key_of(topo, c)
   local r = topo:from(c)
   if topo.kind_name == "torus" or topo.kind_name == "mesh" then
      return r
   end
   return r .. "/" .. tostring(topo:class(c))
end

--- @param topo topology
-- @return array by component: number of its group, or false
function around.groups(topo)
   local list, number, n = {}, {}, 0
   for c = 1, #topo.components do
      local key = topo:is_link(c) and key_of(topo, c)
      if key and not number[key] then
         n = n + 1
         number[key] = n
      end
      list[c] = key and number[key] or false
   end
   return list
end

--- Components that should be alike: of one class and one capacity.
-- @return array by component: number of its class
function around.classes(topo)
   local list, number, n = {}, {}, 0
   for c = 1, #topo.components do
      local key = ("%s %g"):format(topo:class(c), topo.capacity[c])
      if not number[key] then
         n = n + 1
         number[key] = n
      end
      list[c] = number[key]
   end
   return list
end

return around
