-- SPDX-License-Identifier: GPL-2.0-or-later
--- Whether jobs are better off without the nodes exposed to a slow component.
--
-- A node is exposed when many of its routes use the component.  Whether that costs a job anything
-- depends on what else its traffic waits for; and nodes left out make a hole that the rest of the
-- job lies around.  So the score is asked: an all-to-all, which asks most of a network, on sets
-- with the exposed nodes, and on the same sets with others in their place.  Where the component
-- makes none of them slower, or others do no better, nothing is excluded.  The sets do not depend
-- on which nodes are busy now, so that what is advised does not change with every job.
local pattern = require "taut.place.pattern"
local score = require "taut.place.score"
local tables = require "taut.base.tables"

local gain = {}

gain.LEAST = 1.05 -- a lower gain does not count

local SIZES = { 2, 8 } -- of the sets, in numbers of exposed nodes
local LEAST_NODES, MOST_NODES = 4, 256

-- The first run of exposed nodes in the line: where it begins and ends.
local function run_of(line, is_exposed)
   local first, last
   for i, n in ipairs(line) do
      if is_exposed[n] then
         first, last = first or i, i
      elseif first then
         break
      end
   end
   return first, last
end

-- `count` nodes of the line around exposed ones, as a job would get them; and none of these.
local function window_around(line, is_exposed, count)
   local from, to = run_of(line, is_exposed)
   local first = (from + to - count) // 2 + 1
   first = math.max(1, math.min(first, #line - count + 1))
   local with, without = table.move(line, first, first + count - 1, 1, {}), {}
   for i = 0, #line - 1 do
      local n = line[(first - 1 + i) % #line + 1]
      if #without < count and not is_exposed[n] then
         without[#without + 1] = n
      end
   end
   return with, without
end

-- All exposed nodes (or `count / 2` of them) and others from all over the line; and only others.
local function scattered(others, exposed, count)
   local with, without = {}, {}
   local taken = math.min(#exposed, count // 2)
   for i = 1, taken do
      with[i] = exposed[1 + (i - 1) * #exposed // taken]
   end
   for i = 0, count - 1 do
      without[#without + 1] = others[1 + i * #others // count]
      if i >= taken then
         with[#with + 1] = without[#without]
      end
   end
   return with, without
end

-- What a set's communication takes with the component as it is, over what it would take with that
-- one well, or what it takes on the other set: whichever is less.
local function compare_sets(topo, left, with, without)
   local P = assert(pattern.make("all-to-all", #with))
   local now = score.evaluate(topo, with, P, { left = left }).ratio
   local well = score.evaluate(topo, with, P).ratio
   if now < well * gain.LEAST then
      return 1
   end
   local other = score.evaluate(topo, without, P, { left = left }).ratio
   if now < math.huge then
      return math.min(now / well, now / other)
   elseif well < now and other < now then
      return now
   end
   return 1
end

--- How many times as long communication takes because of the component, where other nodes would do
-- that much better; in the set where that is most.
-- @param topo topology
-- @param line array of nodes in the order of Slurm's table
-- @param component component, left share of its capacity that is left
-- @param exposed array of nodes; those that are not of the line do not count
-- @return number, 1 or less for nothing; infinite where there is no way but over what has failed
function gain.of(topo, line, component, left, exposed)
   local is_exposed, others, most = {}, {}, 1
   if topo.fabrics then -- the one that the component is in
      local f, own = topo:part_of(component)
      local function nodes_in_part(list)
         return tables.map(tables.filter(list, function(node) return f.number[node] ~= nil end),
            function(node) return f.number[node] end)
      end
      topo, component, line, exposed = f.topo, own, nodes_in_part(line), nodes_in_part(exposed)
   end
   for _, n in ipairs(exposed) do
      is_exposed[n] = true
   end
   exposed = {}
   for _, n in ipairs(line) do
      if is_exposed[n] then
         exposed[#exposed + 1] = n
      else
         others[#others + 1] = n
      end
   end
   for _, size in ipairs(SIZES) do
      local count = math.min(math.max(size * #exposed, LEAST_NODES), MOST_NODES,
         #others * 10 // 11)
      if count >= 2 and #exposed > 0 then
         local near = compare_sets(topo, { [component] = left },
            window_around(line, is_exposed, count))
         local far = compare_sets(topo, { [component] = left }, scattered(others, exposed, count))
         most = math.max(most, near, far)
      end
   end
   return most
end

return gain
