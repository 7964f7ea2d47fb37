-- SPDX-License-Identifier: GPL-2.0-or-later
--- Which of several fabrics a job communicates over: the one that somebody names, else one that is
-- its partition's (`partitions`), else the one that the most of its nodes are on, the fastest of
-- these.
local tables = require "taut.base.tables"

local choice = {}

-- Those that a partition's jobs use, as the site says; all where it says nothing.
local function of_partition(list, partition)
   local wanted = tables.filter(list, function(f)
      return tables.any(f.partitions or {}, function(name)
         return ("," .. (partition or "") .. ","):find("," .. name .. ",", 1, true) ~= nil
      end)
   end)
   return #wanted > 0 and wanted or list
end

-- What one node sends at most.
local function speed(f)
   f.node_Bps = f.node_Bps or tables.sum(f.topo:ports(1), function(c)
      return f.topo:kind(c) == "tx" and f.topo.capacity[c] or 0
   end)
   return f.node_Bps
end

--- All that may be meant, the best first.
-- @param topo topology with `fabrics`
-- @param o { fabric = its name, or nil; partition = its names with commas, or nil; nodes = array of
--   node numbers that the job has or may get; count = how many it wants, or nil: all of these }
-- @return array of entries of `fabrics`; or nil and what was expected
function choice.list(topo, o)
   if o.fabric ~= nil then
      local f = topo.fabric_named[tostring(o.fabric)]
      return f and { f }, not f and ("--fabric: expected one of %s, got '%s'"):format(table.concat(
         tables.map(topo.fabrics, function(k) return k.name end), ", "), tostring(o.fabric)) or nil
   end
   local list, on = table.move(of_partition(topo.fabrics, o.partition), 1, #topo.fabrics, 1, {}), {}
   for _, f in ipairs(list) do
      on[f] = tables.sum(o.nodes, function(n) return f.number[n] and 1 or 0 end)
      on[f] = math.min(on[f], o.count or on[f]) -- more than are asked for make no difference
   end
   table.sort(list, function(a, b)
      if on[a] ~= on[b] then
         return on[a] > on[b]
      elseif speed(a) ~= speed(b) then
         return speed(a) > speed(b)
      end
      return a.first_rail < b.first_rail
   end)
   return list
end

--- The best of them.
function choice.of(topo, o)
   local list, err = choice.list(topo, o)
   return list and list[1], err
end

return choice
