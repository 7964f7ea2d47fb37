-- SPDX-License-Identifier: GPL-2.0-or-later
--- May a slow link be one that somebody's job fills?  What sends at its own pace looks like a
-- ceiling, and yields to no number of streams; so before others lose their nodes for a link, one of
-- these has to exclude it: what the link's port counted, what running jobs send by their profiles,
-- or hard evidence.  None of them is looked at later than the low test that it is about.
local running = require "taut.events.jobs"
local tables = require "taut.base.tables"

local others = {}
local Others = {}
Others.__index = Others

local FRESH_S = 15 -- a low test is of now

-- Bytes per second of others that the ports' counters allow for, at most; nil where they say
-- nothing.
local function counted(self, c)
   local fabric = self.followers and self.followers.fabric
   if not fabric or not fabric:counts_all() then
      return nil
   end
   local name, topo = self.site.topo.components[c], self.site.topo
   local l = tables.find(fabric:loads(), function(x) return x.component == name end)
   return l and l.Bps or fabric.LEAST * topo.capacity[c]
end

-- The same by the profiles of running jobs; nil where a job's is not known, or one was over the
-- link all the time, whatever it sent before.
-- @param but the job whose check made the last test: it has not begun
local function profiled(self, c, first, but)
   for _, job in ipairs(running.over(self.cluster, self.site.topo, c, 0, math.huge)) do
      if job.id ~= but and (job.since <= first or not self.profiles:knows(job.id)) then
         return nil
      end
   end
   return (self.profiles:background(but))[c] or 0
end

-- Can nobody else have filled it?
local function is_excluded(self, c, k, run)
   if k.hard then
      return true
   end
   local first, last = run[1], run[#run]
   local Bps = counted(self, c) or profiled(self, c, first.time, last.job)
   local good = self.site.conf.diagnosis.good
   return Bps ~= nil and Bps < (good - math.min(good, k.left or 0)) * self.site.topo.capacity[c]
end

--- Tests of components were looked at: where the newest is a low one, see who was about.
-- @param touched set of components
-- @return whether a link is known to be slow by itself that was not
function Others:look(touched, now)
   local news = false
   for c in pairs(touched) do
      if not self.diagnosis:is_decided(c) then
         self.excluded[c] = nil
      elseif self.site.topo:is_link(c) and not self.excluded[c] then
         local run = self.diagnosis:run(c)
         local last = run[#run]
         if last and now - last.time < FRESH_S
            and is_excluded(self, c, self.diagnosis:component(c), run) then
            self.excluded[c], news = true, true
         end
      end
   end
   return news
end

--- May it be load, for all that is known?
function Others:may_fill(c)
   return self.site.topo:is_link(c) and not self.excluded[c]
end

--- @param o { site, diagnosis, cluster, followers, profiles }
function others.new(o)
   o.excluded = {}
   return setmetatable(o, Others)
end

return others
