-- SPDX-License-Identifier: GPL-2.0-or-later
--- What jobs send in each phase of a motif, and what that is for the network.
local engine = require "taut.study"
local motifs = require "taut.place.pattern.motif"

local load = {}

local MOST_RANKS = 1 << 22 -- of all jobs; a rank takes some 100 bytes here

local function add_traffic(demand, phase, place)
   if phase.all then
      return demand:all { place = place, bytes = phase.bytes }
   elseif phase.src then
      return demand:pairs { src = phase.src, dst = phase.dst, bytes = phase.bytes, place = place }
   end
   return demand:stencil { grid = phase.grid, offsets = phase.offsets, bytes = phase.bytes,
      periodic = phase.periodic, place = place }
end

local function new_phase(phase)
   local bytes, messages = motifs.most(phase)
   local times = phase.times or 1
   local stages = phase.stages or times
   return { times = times, stages = stages, active = math.min(1, times / stages),
      flops = phase.flops or 0, messages = messages, inject_bytes = bytes, waits = phase.waits }
end

-- Several ranks on a node: what they say to each other leaves it by no link.
local function inject_of_nodes(machine, phase, list, at)
   local d = engine.demand(#machine.topo.nodes)
   for i, job in ipairs(list) do
      local ok, err = add_traffic(d, phase[i], job.node)
      if not ok then
         return nil, err
      end
   end
   at.inject_bytes = d:busiest()
   return true
end

-- One phase of every job.
local function add_phase(machine, of, list, per_node)
   local out = new_phase(of[1])
   out.demand = engine.demand(machine.places)
   for i, job in ipairs(list) do
      local ok, err = add_traffic(out.demand, of[i], job.place)
      if not ok then
         return nil, err
      end
   end
   if per_node > 1 then
      local ok, err = inject_of_nodes(machine, of, list, out)
      if not ok then
         return nil, err
      end
   end
   return out
end

-- Phases of every job, those of one kind together.
local function list_phases(motif, list)
   local out, known = {}, {}
   for j, job in ipairs(list) do
      local err
      if not known[job.ranks] then
         known[job.ranks], err = motif.phases(job.ranks)
      end
      if not known[job.ranks] then
         return nil, err
      end
      for i, phase in ipairs(known[job.ranks]) do
         out[i] = out[i] or {}
         out[i][j] = phase
      end
   end
   return out
end

--- The traffic of jobs that all run the same motif.
-- @param machine of taut.study.machine
-- @param motif of pattern.motif
-- @param list of jobs.lay
-- @param per_node ranks on a node
-- @return array of phases { demand =, times =, stages =, active = share of the ranks at it at once,
--   flops = of a rank each time, messages = of a rank each time, inject_bytes = what a node
--   sends or gets each time, at most, waits = see motif.lua }; or nil and what is wrong
function load.of(machine, motif, list, per_node)
   local ranks = 0
   for _, job in ipairs(list) do
      ranks = ranks + job.ranks
   end
   if ranks > MOST_RANKS then
      return nil, ("%d ranks, expected at most %d"):format(ranks, MOST_RANKS)
   end
   local phases, err = list_phases(motif, list)
   if not phases then
      return phases, err
   end
   local out = {}
   for i = 1, #phases do
      out[i], err = add_phase(machine, phases[i], list, per_node or 1)
      if not out[i] then
         return nil, err
      end
   end
   return out, err
end

-- The equilibrium's constants for a phase: what a node injects is a load of 1.
local function make_rules(machine, phase, rules)
   local r = { unit_s = math.max(1e-12, phase.inject_bytes / machine.inject_Bps) }
   for k, v in pairs(rules or {}) do
      r[k] = v
   end
   return r
end

-- What the engine found of all phases under one overlay.
local function sum_solved(machine, phases, results, first)
   local out = { solved = {}, lost = 0, names = {} }
   for i, phase in ipairs(phases) do
      local result = results[first + i]
      local mean_s = result.all_s * phase.active
      if phase.waits == "all" then
         mean_s = result.most_s
      end
      local load_s = mean_s
      if machine.waits then
         load_s = result.most_s
      end
      out.solved[i] = { load_s = load_s, hottest_s = result.most_s, mean_s = mean_s,
         result = result }
      out.lost = out.lost + result.lost_pairs
      for _, pair in ipairs(result.lost) do
         table.insert(out.names, machine:place_name(pair[1]) .. " to " ..
            machine:place_name(pair[2]))
      end
   end
   return out
end

--- Solve each phase under several overlays, on all processors (machine.threads: on so many).  Of a
-- machine whose own routes follow what failed, only the overlay that was made last can be solved.
-- @param rules of the equilibrium, see advisor/lib/study/study.h; nil: the usual ones
-- @return array of { solved = array of { load_s = of one time: mean over messages of the hottest
--   link of their ways, or the hottest of all where everybody waits (machine.waits: in every
--   phase), mean_s, hottest_s = the one and the other; result = all of it }, lost = pairs without a
--   way, names of some }; or nil and what is wrong
function load.solve_all(machine, phases, overlays, rules)
   local cells = {}
   for _, overlay in ipairs(overlays) do
      for _, phase in ipairs(phases) do
         cells[#cells + 1] = { demand = phase.demand, overlay = overlay,
            rules = make_rules(machine, phase, rules) }
      end
   end
   local results, err = machine.study:batch(cells, machine.threads)
   if not results then
      return nil, err
   end
   local out = {}
   for i = 1, #overlays do
      out[i] = sum_solved(machine, phases, results, (i - 1) * #phases)
   end
   return out
end

--- The same under one overlay.
-- @return solved, lost, names; or nil and what is wrong
function load.solve(machine, phases, overlay, rules)
   local out, err = load.solve_all(machine, phases, { overlay }, rules)
   if not out then
      return nil, err
   end
   return out[1].solved, out[1].lost, out[1].names
end

--- What time.of needs of phases, and of what load.solve gave: as JSON can hold it.
function load.kept(phases)
   local out = {}
   for i, p in ipairs(phases) do
      out[i] = { stages = p.stages, flops = p.flops, messages = p.messages,
         inject_bytes = p.inject_bytes }
   end
   return out
end

function load.kept_solved(solved)
   local out = {}
   for i, s in ipairs(solved) do
      out[i] = { load_s = s.load_s }
   end
   return out
end

return load
