-- SPDX-License-Identifier: GPL-2.0-or-later
--- What failed, or slow, links cost: degradation over the share of links, by jobs, motif and size.
--
-- A task is one motif, one number of jobs and one seed, at all shares: so it is what one process
-- does at a time, and what is kept of a study that was interrupted.
local jobs = require "taut.study.jobs"
local load = require "taut.study.load"
local time = require "taut.study.time"
local pattern = require "taut.place.pattern"

local links = {}

--- Shares that are looked at if not given.
links.shares = { 0.05, 0.10, 0.15, 0.20, 0.25, 0.30 }

local NAMED = 3 -- pairs without a way that are kept of a cell

local function make_key(pattern_text, job_count, speed, seed)
   return ("%s|%d|%g|%d"):format(pattern_text, job_count, speed, seed)
end

-- What is drawn at a share depends on it and the seed, not on the other shares.
local function draw_seed(seed, share)
   return seed * 100003 + math.floor(share * 1e6 + 0.5)
end

--- All tasks of a study.
-- @param spec { patterns = texts, jobs = numbers, speeds = of the links that may fail (1),
--   real = jobs as they are, in place of alike ones, or nil, seeds = how many, shares =,
--   left = what a link drawn keeps (0), per_node =, ranks =,
--   shape = or the motif's, known = map component → share left before any is drawn, or nil }
-- @return array of { key =, pattern =, jobs =, speed =, seed = }
function links.tasks(spec)
   local list = {}
   for _, p in ipairs(spec.patterns) do
      for _, n in ipairs(spec.jobs) do
         for _, speed in ipairs(spec.speeds or { 1 }) do
            for seed = 1, spec.seeds do
               list[#list + 1] = { key = make_key(p, n, speed, seed), pattern = p, jobs = n,
                  speed = speed, seed = seed }
            end
         end
      end
   end
   return list
end

-- Layouts are asked for once for each size of one motif.
local function lay_out_jobs(machine, motif, spec, task)
   if spec.real then
      return spec.real
   end
   local o = { count = task.jobs, shape = spec.shape or motif.shape, ranks = spec.ranks,
      per_node = spec.per_node, seed = task.seed }
   local key = ("%d/%s/%d"):format(o.count, o.shape, o.seed)
   if machine.laid_key ~= key then
      local list, err = jobs.lay(machine, o)
      if not list then
         return nil, err
      end
      machine.laid, machine.laid_key = list, key
   end
   return machine.laid
end

-- The overlays of a task; without failures first.
local function draw_overlay(machine, spec, task, may, share)
   return machine:draw { share = share, links = may, left = spec.left, known = spec.known,
      speed = task.speed, seed = draw_seed(task.seed, share) }
end

local function make_cell(one, taken)
   return { lost = one.lost, taken = taken, solved = load.kept_solved(one.solved),
      names = table.move(one.names, 1, math.min(NAMED, #one.names), 1, {}) }
end

-- All shares, together where overlays do not change the machine.
local function solve_cells(machine, spec, task, may, phases)
   local shares, cells, overlays, taken = { 0, table.unpack(spec.shares) }, {}, {}, {}
   for i, share in ipairs(shares) do
      local overlay
      overlay, taken[i] = draw_overlay(machine, spec, task, may, share)
      if not overlay then
         return nil, taken[i]
      end
      overlays[#overlays + 1] = overlay
      if machine.kind == "routes" or i == #shares then
         local solved, err = load.solve_all(machine, phases, overlays, spec.rules)
         for _, one in ipairs(solved or {}) do
            cells[#cells + 1] = make_cell(one, taken[#cells + 1])
         end
         if not solved then
            return nil, err
         end
         overlays = {}
      end
   end
   return cells
end

--- Do one task.
-- @return { cells = array, the first without failures: { solved = of each phase, lost = pairs
--   without a way, names = some of them, taken = cables }, phases = what time.of needs of them };
--   or nil and what is wrong
function links.solve(machine, spec, task, may)
   local M, err = pattern.motif(task.pattern)
   local list, phases
   if M then
      list, err = lay_out_jobs(machine, M, spec, task)
   end
   if list then
      phases, err = load.of(machine, M, list, spec.per_node)
   end
   if not phases then
      return nil, err
   end
   local cells
   cells, err = solve_cells(machine, spec, task, may, phases)
   if not cells then
      return nil, err
   end
   local ranks
   if not spec.real then
      ranks = list[1].ranks
   end
   return { cells = cells, phases = load.kept(phases), compute = M.compute, ranks = ranks }
end

---------------------------------------------------------------- tables

-- Degradation in percent of one cell; nil where something has no way.
local function degradation_of(machine, result, index, constants)
   if result.cells[index].lost > 0 or result.cells[1].lost > 0 then
      return nil
   end
   local function time_of_cell(cell)
      return (time.of(machine, result.phases, result.cells[cell].solved, constants))
   end
   return (time_of_cell(index) / time_of_cell(1) - 1) * 100 * (1 - (result.compute or 0))
end

local function mean_and_spread(values)
   local sum, squares = 0, 0
   for _, v in ipairs(values) do
      sum = sum + v
   end
   local mean = sum / #values
   for _, v in ipairs(values) do
      squares = squares + (v - mean) ^ 2
   end
   if #values <= 1 then
      return mean, 0
   end
   return mean, math.sqrt(squares / (#values - 1))
end

-- One cell over its seeds.
local function sum_cell(machine, results, index, constants)
   local values, lost, names = {}, 0, {}
   for _, r in ipairs(results) do
      local v = degradation_of(machine, r, index, constants)
      values[#values + 1] = v
      if not v then
         lost = lost + 1
      end
      names[1] = names[1] or r.cells[index].names[1]
   end
   local cell = { seeds = #results, unroutable = lost / #results, example = names[1] }
   if #values > 0 then
      cell.mean, cell.sd = mean_and_spread(values)
      cell.least, cell.most = math.min(table.unpack(values)), math.max(table.unpack(values))
   end
   return cell
end

--- Put results together.
-- @param results map key → what links.solve gave
-- @param given constants of time.of, or function(pattern) → constants
-- @return array of { pattern, jobs, speed, ranks = of each job, cells = one for each share: { mean,
--   sd, least, most = degradation in %, of the seeds in which everything has a way; seeds;
--   unroutable = share of them in which not; example = a pair without a way } }
function links.tabulate(machine, spec, results, given)
   local rows = {}
   for _, p in ipairs(spec.patterns) do
      local constants = given
      if type(given) == "function" then
         constants = given(p) or given
      end
      for _, n in ipairs(spec.jobs) do
         for _, speed in ipairs(spec.speeds or { 1 }) do
            local row, of = { pattern = p, jobs = n, speed = speed, cells = {} }, {}
            for seed = 1, spec.seeds do
               of[#of + 1] = results[make_key(p, n, speed, seed)]
            end
            if #of > 0 then
               for i = 1, #spec.shares do
                  row.cells[i] = sum_cell(machine, of, i + 1, constants)
               end
            end
            row.ranks = of[1] and of[1].ranks
            rows[#rows + 1] = row
         end
      end
   end
   return rows
end

return links
