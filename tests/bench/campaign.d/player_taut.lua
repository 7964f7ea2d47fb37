-- SPDX-License-Identifier: GPL-2.0-or-later
--- Taut itself: what tautd runs, on the world's clock (tautd.lua).
local plan = require "taut.plan"
local probes = require "probes"
local tautd = require "tautd"

local taut = {}
local Taut = {}
Taut.__index = Taut

local START = 20000 * 86400 -- a day on which the world begins
local LOOK_S = 3600         -- how often an administrator looks

local make, is_due = plan.make, plan.is_due
local DIAGNOSIS = { "observe", "wanted", "watched", "forget", "verdicts" }

local function names_of(self, nodes)
   local names, all = {}, self.topo.nodes
   for i, n in ipairs(nodes) do
      names[i] = all[n]
   end
   return names
end

-- Everybody is asked with a new look at Slurm, as every refresh_s in tautd.
local function look(self, now)
   self.tautd:refresh()
   if now >= self.looked + LOOK_S then
      self.looked = now
      self.held = self.held + (self.tautd:go_on() > 0 and 1 or 0)
   end
end

function Taut:plan(ask)
   local d = self.tautd
   d:at(START + ask.time)
   if ask.purpose == "idle" then
      look(self, ask.time)
      self.session = d:idle()
   else
      self.jobs[ask.job] = names_of(self, ask.nodes)
      self.session = d:job(ask.job, self.jobs[ask.job])[1]
   end
   return self.session and d:plan(self.session) or {}
end

function Taut:ended(job, time)
   self.tautd:at(START + time)
   self.tautd:ended(job, self.jobs[job])
   self.jobs[job] = nil
end

function Taut:ways(tests, trace, most)
   self.told = self.probes:ask(tests, trace, most)
end

local function changes_of(self)
   local changes, sets = self.tautd:take_changes()
   table.move(sets, 1, #sets, #self.set_changes + 1, self.set_changes)
   return changes
end

function Taut:observe(_, _, values, counts)
   local best = {}
   for i, v in ipairs(values) do
      best[i] = v[1]
   end
   self.tautd:over(self.session, best, self.told, counts)
   return changes_of(self)
end

function Taut:repaired(c, now)
   self.tautd:at(START + now)
   self.tautd:repaired(c)
   return changes_of(self)
end

--- Verdicts on sets since this was asked last.
function Taut:take_set_changes()
   local list = self.set_changes
   self.set_changes = {}
   return list
end

--- How often somebody found nodes held back, and how often the policy stopped.
function Taut:stops()
   local counts = self.tautd.parts.act.counts
   return self.held, (counts.stop or 0) + (counts.capped or 0)
end

local function fields(t)
   local list = {}
   for name, value in pairs(t) do
      if type(value) == "number" then
         list[#list + 1] = ("%s %.4g"):format(name, value)
      elseif type(value) == "string" or type(value) == "boolean" then
         list[#list + 1] = ("%s %s"):format(name, value)
      end
   end
   table.sort(list)
   return table.concat(list, ", ")
end

--- What is known about a component, for --trace.
function Taut:explain(c, time)
   local d, now = self.tautd.parts.diagnosis, START + time
   local names = d.topo.components
   local k, case, seen, run = d:component(c), d.evidence:case(c), d:seen(c), d:run(c)
   local lines = { ("%s; confirmed %d; tests %d, last %.2f h ago, cleared %.2f h ago"):format(
      fields(k), #k.confirmed, seen.tests, (now - (seen.last or -math.huge)) / 3600,
      (now - (seen.cleared_at or -math.huge)) / 3600) }
   if case then
      lines[#lines + 1] = "case: " .. fields(case)
   end
   local lost = d.evidence:loss_case(c)
   if lost then
      lines[#lines + 1] = "losses: " .. fields(lost)
      for i, t in ipairs(d.evidence:loss_run(c)) do
         lines[#lines + 1] = i > 100 and nil or "   lost " .. fields(t)
      end
   end
   local bouts = d.evidence:recurrence(c)
   if bouts then
      lines[#lines + 1] = "bouts: " .. fields(bouts)
   end
   for _, b in ipairs(d.evidence:bouts(c) or {}) do
      lines[#lines + 1] = ("   bout %.2f h ago %.4f tested %d%s%s%s %d links %d > %d"):format(
         (now - b.time) / 3600, b.share, b.tested, b.is_single and " single" or "",
         b.is_wide and " wide" or b.wide_spells > 0 and " (wide)" or "",
         b.has_grown and " grown" or "", b.links, b.src, b.dst)
   end
   if k.flows then
      lines[#lines + 1] = "flows over sets: " .. fields(k.flows)
   end
   if k.missing then
      lines[#lines + 1] = "missing: " .. fields(k.missing)
   end
   for _, r in ipairs(k.tied or {}) do
      lines[#lines + 1] = ("tied with %s: %s"):format(names[r.component], fields(r))
   end
   for i, t in ipairs(run) do
      if i > #run - 30 then
         lines[#lines + 1] = "   " .. fields(t)
      end
   end
   return table.concat(lines, "\n      ")
end

--- @param machine of machine.load
-- @param site { meter = function(function, "plan" or "diagnosis") → the same, its processor time
--   counted; drain = function(node) }
function taut.new(machine, site)
   local topo = machine.topo
   local self = setmetatable({ topo = topo, probes = probes.new(topo), jobs = {}, set_changes = {},
      looked = 0, held = 0 }, Taut)
   plan.make, plan.is_due = site.meter(make, "plan"), site.meter(is_due, "plan")
   self.tautd = tautd.new(machine.conf, { time = START, drain = function(name)
      site.drain(topo.node_id[name])
   end, is_rdma = machine.is_rdma, segment_bytes = machine.segment_bytes })
   local diagnosis = self.tautd.parts.diagnosis
   for _, name in ipairs(DIAGNOSIS) do
      diagnosis[name] = site.meter(diagnosis[name], "diagnosis")
   end
   return self
end

return taut
