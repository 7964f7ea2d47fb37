-- SPDX-License-Identifier: GPL-2.0-or-later
--- What should be alike on a healthy machine.
local component_classes = {}

--- Components that should be alike: of one class and one capacity.
-- @return array by component: number of its class
function component_classes.of(topo)
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

return component_classes
