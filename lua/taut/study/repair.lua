-- SPDX-License-Identifier: GPL-2.0-or-later
--- What each repair would bring to the jobs that run, in order; and when a maintenance pays.
local load = require "taut.study.load"
local time = require "taut.study.time"

local repair = {}

local MOST = 200 -- links out that are tried one by one

--- What the jobs take under an overlay, in seconds, weighted by the nodes they have.
-- @param works array of { phases = of load.of, nodes = how many, machine's jobs of one motif }
-- @return node-seconds of one iteration, pairs without a way; or nil and what is wrong
local function node_seconds(machine, works, overlay, constants)
   local sum, lost = 0, 0
   for _, w in ipairs(works) do
      local solved, missing = load.solve(machine, w.phases, overlay)
      if not solved then
         return nil, missing
      end
      sum, lost = sum + w.nodes * time.of(machine, w.phases, solved, constants), lost + missing
   end
   return sum, lost
end

-- Both directions of a cable count as one repair.
local function list_cables(machine, left)
   local bad, list, seen = {}, {}, {}
   for c, share in pairs(left) do
      if share < 1 and machine.topo:is_link(c) then
         bad[#bad + 1] = c
      end
   end
   table.sort(bad)
   for _, c in ipairs(bad) do
      local back = machine.topo:opposite(c)
      if back and (left[back] or 1) >= 1 then
         back = nil
      end
      if not seen[c] then
         list[#list + 1] = { c = c, back = back, left = math.min(left[c], left[back or 0] or 1) }
         seen[back or c] = true
      end
   end
   return list
end

local function leave_out_cable(left, cable)
   local out = {}
   for c, share in pairs(left) do
      if c ~= cable.c and c ~= cable.back then
         out[c] = share
      end
   end
   return out
end

--- Repairs, the one that brings most first; each after those before it.
-- @param left map component → share left, as it is today
-- @return { healthy, now = node-seconds of an iteration, lost = pairs without a way now, steps = {
--   { component, back, left, gain = share of the time now, alone = the same of this repair without
--   those before it } }, tried = cables }; or nil, err
function repair.order(machine, works, left, constants)
   local cables = list_cables(machine, left)
   if #cables > MOST then
      return nil, ("%d cables are not whole, expected at most %d"):format(#cables, MOST)
   end
   local healthy, err = node_seconds(machine, works, machine:overlay {}, constants)
   if not healthy then
      return nil, err
   end
   local now, lost = node_seconds(machine, works, machine:overlay(left), constants)
   local out = { healthy = healthy, now = now, lost = lost, steps = {}, tried = #cables }
   while #cables > 0 do
      local best
      for i, cable in ipairs(cables) do
         local overlay = machine:overlay(leave_out_cable(left, cable))
         local t, missing = node_seconds(machine, works, overlay, constants)
         cable.alone = cable.alone or (out.now - t) / out.now
         if not best or missing < best.lost or missing == best.lost and t < best.t then
            best = { i = i, t = t, lost = missing }
         end
      end
      local cable = table.remove(cables, best.i)
      left = leave_out_cable(left, cable)
      out.steps[#out.steps + 1] = { component = cable.c, back = cable.back, left = cable.left,
         gain = (out.now - best.t) / out.now, alone = cable.alone,
         lost = best.lost }
   end
   return out
end

--- Sets of further failed cables to look at: 0, 1, 2, 4, … of them, each with every seed.
-- @param options { links = that may fail, seeds, most = failures to look at }
-- @return tasks { key, failed, seed }
function repair.tasks(options)
   local list, k = {}, 0
   while k <= math.min(options.most, #options.links / 2) do
      local seeds, next_k = options.seeds, k * 2
      if k == 0 then
         seeds, next_k = 1, 1
      end
      for seed = 1, seeds do
         list[#list + 1] = { key = ("%d|%d"):format(k, seed), failed = k, seed = seed }
      end
      k = next_k
   end
   return list
end

--- One of them.
-- @return { longer = share of the healthy time }, or nil and what is wrong
function repair.task(machine, works, left, constants, options, task)
   local t, err
   if not options.healthy then
      options.healthy, err = node_seconds(machine, works, machine:overlay {}, constants)
   end
   if not options.healthy then
      return nil, err
   end
   local out = machine:draw { share = task.failed / (#options.links / 2), seed = task.seed,
      links = options.links }:left()
   for comp, share in pairs(left) do
      out[comp] = math.min(out[comp] or 1, share)
   end
   t, err = node_seconds(machine, works, machine:overlay(out), constants)
   return t and { longer = math.max(0, t / options.healthy - 1) }, err
end

--- After how many more failed cables the loss until the next planned maintenance is more than one
-- now would cost.
-- @param tasks of repair.tasks; results map key → of repair.task
-- @param options { nodes = that are busy, cost = node-hours, days = until the next one }
-- @return array of { failed, degradation = of the jobs' time, least, most, lost_per_day =
--   node-hours }, the first that pays or nil
function repair.when(tasks, results, options)
   local list, pays = {}, nil
   for _, task in ipairs(tasks) do
      local p, v = list[#list], results[task.key].longer
      if not p or p.failed ~= task.failed then
         p = { failed = task.failed, n = 0, degradation = 0, least = v, most = v }
         list[#list + 1] = p
      end
      p.degradation, p.n = (p.degradation * p.n + v) / (p.n + 1), p.n + 1
      p.least, p.most = math.min(p.least, v), math.max(p.most, v)
   end
   for _, p in ipairs(list) do
      p.n, p.lost_per_day = nil, p.degradation * options.nodes * 24
      if p.lost_per_day * options.days >= options.cost then
         pays = pays or p
      end
   end
   return list, pays
end

repair.cost = node_seconds

return repair
