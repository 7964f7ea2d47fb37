-- SPDX-License-Identifier: GPL-2.0-or-later
--- What slower links, and slower injection, would cost: lanes, widths, HyperTransport or PCIe.
local load = require "taut.study.load"
local pattern = require "taut.place.pattern"
local time = require "taut.study.time"

local detune = {}

--- Shares that are looked at where nobody says.
detune.shares = { 0.25, 0.5, 0.75, 1 }

local MOST_STEPS = 60 -- of a bisection

--- Loads of a motif with some links at several shares of their speed.
-- @param machine, M of pattern.motif, list of jobs
-- @param o { per_node, links = components (nil: all), shares, known = map component → share left }
-- @return { phases, solved = { [share] = of load.solve } }, or nil and what is wrong
function detune.solve(machine, M, list, o)
   local phases, err = load.of(machine, M, list, o.per_node)
   if not phases then
      return nil, err
   end
   local out = { phases = phases, solved = {} }
   for _, share in ipairs(o.shares) do
      local overlay = machine:overlay(o.known)
      overlay:slow(o.links, share)
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
function detune.ratio(machine, s, links_share, inject_share, c)
   local function at(links, inject)
      local with = setmetatable({ inject = inject }, { __index = c })
      return (time.of(machine, s.phases, s.solved[links], with))
   end
   return at(links_share, inject_share) / at(1, 1)
end

--- What a host injects, from how much longer one motif takes with slower links: the larger it is,
-- the more slower links cost.
-- @param share of the links' speed at which `ratio` was measured
-- @return bytes per second, or nil and what is wrong
function detune.fit_inject(machine, s, share, ratio, c)
   local was = machine.inject_Bps
   local function at(Bps)
      machine.inject_Bps = Bps
      local r = detune.ratio(machine, s, share, 1, c)
      machine.inject_Bps = was
      return r
   end
   local low, high = 1, 1e15
   if not (at(low) <= ratio and at(high) >= ratio) then
      return nil, ("no injection makes it %.3g times as long at %g of the links' speed: it is " ..
         "at most %.3g"):format(ratio, share, at(high))
   end
   for _ = 1, MOST_STEPS do
      local middle = math.sqrt(low * high)
      if at(middle) < ratio then
         low = middle
      else
         high = middle
      end
   end
   return math.sqrt(low * high)
end

--- One motif (with its message size): what detune.rows makes rows of.
-- @param o as detune.solve; list = jobs
-- @return { phases, solved = one for each of o.shares }, or nil and what is wrong
function detune.task(machine, text, o)
   local M, err = pattern.motif(text)
   local s
   if M then
      s, err = detune.solve(machine, M, o.list, o)
   end
   if not s then
      return nil, err
   end
   local out = { phases = load.kept(s.phases), solved = {} }
   for i, share in ipairs(o.shares) do
      out.solved[i] = load.kept_solved(s.solved[share])
   end
   return out
end

--- Table over motifs: time relative to full speed.
-- @param o as detune.solve; patterns = texts, inject = shares of the injection
-- @param results map text → of detune.task
-- @return rows { pattern, links = share, inject = share, ratio }
function detune.rows(machine, o, results, c)
   local rows = {}
   for _, text in ipairs(o.patterns) do
      local s = { phases = results[text].phases, solved = {} }
      for i, share in ipairs(o.shares) do
         s.solved[share] = results[text].solved[i]
      end
      for _, share in ipairs(o.shares) do
         for _, inject in ipairs(o.inject) do
            rows[#rows + 1] = { pattern = text, links = share, inject = inject,
               ratio = detune.ratio(machine, s, share, inject, c) }
         end
      end
   end
   return rows
end

return detune
