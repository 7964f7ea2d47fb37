-- SPDX-License-Identifier: GPL-2.0-or-later
--- What each repair would bring to the jobs that run, in order; and when a maintenance pays.
local load = require "taut.study.load"
local time = require "taut.study.time"

local repair = {}

local MOST = 200 -- links out that are tried one by one

--- What the jobs take under an overlay, in seconds, weighted by the nodes they have.
-- @param works array of { phases = of load.of, nodes = how many, machine's jobs of one motif }
-- @return node-seconds of one iteration, pairs without a way; or nil and what is wrong
local function cost(machine, works, overlay, c)
   local sum, lost = 0, 0
   for _, w in ipairs(works) do
      local solved, missing = load.solve(machine, w.phases, overlay)
      if not solved then
         return nil, missing
      end
      sum, lost = sum + w.nodes * time.of(machine, w.phases, solved, c), lost + missing
   end
   return sum, lost
end

-- Both directions of a cable count as one repair.
local function cables_of(machine, left)
   local bad, list, seen = {}, {}, {}
   for c, share in pairs(left) do
      bad[#bad + 1] = share < 1 and machine.topo:is_link(c) and c or nil
   end
   table.sort(bad)
   for _, c in ipairs(bad) do
      local back = machine.topo:opposite(c)
      back = back and (left[back] or 1) < 1 and back or nil
      if not seen[c] then
         list[#list + 1] = { c = c, back = back,
            left = math.min(left[c], back and left[back] or 1) }
         seen[back or c] = true
      end
   end
   return list
end

local function without(left, cable)
   local out = {}
   for c, share in pairs(left) do
      out[c] = c ~= cable.c and c ~= cable.back and share or nil
   end
   return out
end

--- Repairs, the one that brings most first; each after those before it.
-- @param left map component → share left, as it is today
-- @return { healthy, now = node-seconds of an iteration, lost = pairs without a way now, steps = {
--   { component, back, left, gain = share of the time now } }, tried = cables }; or nil, err
function repair.order(machine, works, left, c)
   local cables = cables_of(machine, left)
   if #cables > MOST then
      return nil, ("%d cables are not whole, expected at most %d"):format(#cables, MOST)
   end
   local healthy, err = cost(machine, works, machine:overlay {}, c)
   if not healthy then
      return nil, err
   end
   local now, lost = cost(machine, works, machine:overlay(left), c)
   local out = { healthy = healthy, now = now, lost = lost, steps = {}, tried = #cables }
   while #cables > 0 do
      local best
      for i, cable in ipairs(cables) do
         local t, missing = cost(machine, works, machine:overlay(without(left, cable)), c)
         if not best or missing < best.lost or missing == best.lost and t < best.t then
            best = { i = i, t = t, lost = missing }
         end
      end
      local cable = table.remove(cables, best.i)
      left = without(left, cable)
      out.steps[#out.steps + 1] = { component = cable.c, back = cable.back, left = cable.left,
         gain = (out.now - best.t) / out.now, lost = best.lost }
   end
   return out
end

--- After how many more failed cables the loss until the next planned maintenance is more than one
-- now would cost.
-- @param o { links = that may fail, seeds, nodes = that are busy, cost = node-hours, days = until
--   the next one, most = failures to look at }
-- @return { { failed, degradation = of the jobs' time, lost_per_day = node-hours }, … }, the first
--   that pays or nil; or nil, err
function repair.when(machine, works, left, c, o)
   local healthy, err = cost(machine, works, machine:overlay {}, c)
   if not healthy then
      return nil, err
   end
   local list, pays, cables = {}, nil, #o.links / 2
   local k = 0
   while k <= math.min(o.most, cables) do
      local sum = 0
      for seed = 1, o.seeds do
         local out = machine:draw { share = k / cables, seed = seed, links = o.links }:left()
         for comp, share in pairs(left) do
            out[comp] = math.min(out[comp] or 1, share)
         end
         local t
         t, err = cost(machine, works, machine:overlay(out), c)
         if not t then
            return nil, err
         end
         sum = sum + math.max(0, t / healthy - 1)
      end
      local d = sum / o.seeds
      list[#list + 1] = { failed = k, degradation = d, lost_per_day = d * o.nodes * 24 }
      if d * o.nodes * 24 * o.days >= o.cost then
         pays = list[#list]
         break
      end
      k = k == 0 and 1 or k * 2
   end
   return list, pays
end

repair.cost = cost

return repair
