-- SPDX-License-Identifier: GPL-2.0-or-later
--- What slower links, and slower injection, would cost: lanes, widths, HyperTransport or PCIe.
local load = require "taut.study.load"
local pattern = require "taut.place.pattern"
local time = require "taut.study.time"

local detune = {}

--- Shares that are looked at if not given.
detune.shares = { 0.25, 0.5, 0.75, 1 }

local MOST_STEPS = 60 -- of a bisection

--- Loads of a motif with some links at several shares of their speed.
-- @param machine, motif of pattern.motif, list of jobs
-- @param options { per_node, links = components (nil: all), shares, known = map component → share
--   left }
-- @return { phases, solved = { [share] = of load.solve } }, or nil and what is wrong
function detune.solve(machine, motif, list, options)
   local phases, err = load.of(machine, motif, list, options.per_node)
   if not phases then
      return nil, err
   end
   local out = { phases = phases, solved = {} }
   for _, share in ipairs(options.shares) do
      local overlay = machine:overlay(options.known)
      overlay:slow(options.links, share)
      local solved, lost, names = load.solve(machine, phases, overlay)
      if not solved then
         return nil, lost
      elseif lost > 0 then
         return nil, ("%d pairs without a way, such as %s"):format(lost, names[1])
      end
      out.solved[share] = solved
   end
   return out
end

--- Time at a share of the links and of the injection, relative to all of both.
function detune.ratio(machine, solved, links_share, inject_share, constants)
   local function time_at(links, inject)
      local with = setmetatable({ inject = inject }, { __index = constants })
      return (time.of(machine, solved.phases, solved.solved[links], with))
   end
   return time_at(links_share, inject_share) / time_at(1, 1)
end

--- What a host injects, from how much longer one motif takes with slower links: the larger it is,
-- the more slower links cost.
-- @param share of the links' speed at which `ratio` was measured
-- @return bytes per second, or nil and what is wrong
function detune.fit_inject(machine, solved, share, ratio, constants)
   local was = machine.inject_Bps
   local function time_at(Bps)
      machine.inject_Bps = Bps
      local r = detune.ratio(machine, solved, share, 1, constants)
      machine.inject_Bps = was
      return r
   end
   local low, high = 1, 1e15
   if not (time_at(low) <= ratio and time_at(high) >= ratio) then
      return nil, ("no injection makes it %.3g times as long at %g of the links' speed: it is " ..
         "at most %.3g"):format(ratio, share, time_at(high))
   end
   for _ = 1, MOST_STEPS do
      local middle = math.sqrt(low * high)
      if time_at(middle) < ratio then
         low = middle
      else
         high = middle
      end
   end
   return math.sqrt(low * high)
end

--- One motif (with its message size): what detune.rows makes rows of.
-- @param options as detune.solve; list = jobs
-- @return { phases, solved = one for each of options.shares }, or nil and what is wrong
function detune.task(machine, text, options)
   local M, err = pattern.motif(text)
   local s
   if M then
      s, err = detune.solve(machine, M, options.list, options)
   end
   if not s then
      return nil, err
   end
   local out = { phases = load.kept(s.phases), solved = {} }
   for i, share in ipairs(options.shares) do
      out.solved[i] = load.kept_solved(s.solved[share])
   end
   return out
end

--- Table over motifs: time relative to full speed.
-- @param options as detune.solve; patterns = texts, inject = shares of the injection
-- @param results map text → of detune.task
-- @return rows { pattern, links = share, inject = share, ratio }
function detune.rows(machine, options, results, constants)
   local rows = {}
   for _, text in ipairs(options.patterns) do
      local s = { phases = results[text].phases, solved = {} }
      for i, share in ipairs(options.shares) do
         s.solved[share] = results[text].solved[i]
      end
      for _, share in ipairs(options.shares) do
         for _, inject in ipairs(options.inject) do
            rows[#rows + 1] = { pattern = text, links = share, inject = inject,
               ratio = detune.ratio(machine, s, share, inject, constants) }
         end
      end
   end
   return rows
end

return detune
