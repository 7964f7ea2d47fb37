-- SPDX-License-Identifier: GPL-2.0-or-later
--- Which of several fabrics a job communicates over: the one that somebody names, else one that is
-- its partition's (`partitions`), else the one that the most of its nodes are on, the fastest of
-- these.
local tables = require "taut.base.tables"

local choice = {}

-- Those that a partition's jobs use, as the site says; all where it says nothing.
local function of_partition(list, partition)
   local wanted = tables.filter(list, function(fabric)
      return tables.any(fabric.partitions or {}, function(name)
         return ("," .. (partition or "") .. ","):find("," .. name .. ",", 1, true) ~= nil
      end)
   end)
   return tables.unless_empty(wanted) or list
end

-- What one node sends at most.
local function speed_of(fabric)
   fabric.node_Bps = fabric.node_Bps or tables.sum(fabric.topo:ports(1), function(component)
      if fabric.topo:kind(component) ~= "tx" then
         return 0
      end
      return fabric.topo.capacity[component] or 0
   end)
   return fabric.node_Bps
end

--- All that may be meant, the best first.
-- @param topo topology with `fabrics`
-- @param options { fabric = its name, or nil; partition = its names with commas, or nil; nodes =
--   array of node numbers that the job has or may get; count = how many it wants, or nil: all of
-- these }
-- @return array of entries of `fabrics`; or nil and what was expected
function choice.list(topo, options)
   if options.fabric ~= nil then
      local f = topo.fabric_named[tostring(options.fabric)]
      if f then
         return { f }
      end
      local names = tables.map(topo.fabrics, function(fabric) return fabric.name end)
      return nil, ("--fabric: expected one of %s, got '%s'"):format(table.concat(names, ", "),
         tostring(options.fabric))
   end
   local list, on = table.move(of_partition(topo.fabrics, options.partition), 1, #topo.fabrics, 1,
      {}), {}
   for _, f in ipairs(list) do
      on[f] = tables.count(options.nodes, function(node) return f.number[node] end)
      on[f] = math.min(on[f], options.count or on[f]) -- more than are asked for make no difference
   end
   table.sort(list, function(one, other)
      if on[one] ~= on[other] then
         return on[one] > on[other]
      elseif speed_of(one) ~= speed_of(other) then
         return speed_of(one) > speed_of(other)
      end
      return one.first_rail < other.first_rail
   end)
   return list
end

--- The best of them.
function choice.of(topo, options)
   local list, err = choice.list(topo, options)
   return list and list[1], err
end

return choice
