-- SPDX-License-Identifier: GPL-2.0-or-later
--- May a slow link be one that somebody's job fills? Traffic with its own pace looks like a
-- ceiling, and yields to no number of streams. So before nodes are drained for a link, one of these
-- must exclude it: the count of the link's port, the profiles of running jobs, or hard evidence.
-- None of them is looked at later than the low test that it is about.
local running = require "taut.events.jobs"
local tables = require "taut.base.tables"

local others = {}
local Others = {}
Others.__index = Others

local FRESH_S = 15 -- a low test is of now
local NEAR = 0.2 -- a test this near to a link's ceiling shows the ceiling again

-- Bytes per second of others that the ports' counters allow for, at most; nil where they say
-- nothing.
local function bytes_counted(self, component)
   local fabric = self.followers and self.followers.fabric
   if not fabric or not fabric:counts_all() then
      return nil
   end
   local name, topo = self.site.topo.components[component], self.site.topo
   local l = tables.find(fabric:loads(), function(load) return load.component == name end)
   return l and l.Bps or fabric.LEAST * topo.capacity[component]
end

-- The same by the profiles of running jobs; nil where a job's is not known, or one was over the
-- link all the time, whatever it sent before.
-- @param excepted_job whose check made the last test: it has not begun
local function bytes_profiled(self, component, first, excepted_job)
   for _, job in ipairs(running.over(self.cluster, self.site.topo, component, 0, math.huge)) do
      if job.id ~= excepted_job and (job.since <= first or not self.profiles:knows(job.id)) then
         return nil
      end
   end
   return (self.profiles:background(excepted_job))[component] or 0
end

-- Is it certain that no other traffic filled it?
local function are_excluded(self, component, record, run)
   if record.hard then
      return true
   end
   local first, last = run[1], run[#run]
   local Bps = bytes_counted(self, component) or bytes_profiled(self, component, first.time,
      last.job)
   local good = self.site.conf.diagnosis.good
   local missing = good - math.min(good, record.left or 0)
   return Bps ~= nil and Bps < missing * self.site.topo.capacity[component]
end

-- The link whose ceiling a test shows: the only one on its way that is called slow.
local function find_seen_again(self, test)
   if test.class ~= "low" then
      return nil
   end
   local slow = tables.filter(test.route or {}, function(component)
      return type(component) == "number" and self.diagnosis:is_decided(component)
   end)
   local c = #slow == 1 and slow[1]
   local ceiling = c and (self.diagnosis:component(c).left or 0) * self.site.topo.capacity[c]
   if ceiling and math.abs(test.bw_Bps - ceiling) <= NEAR * ceiling then
      return c
   end
   return nil
end

-- A link that is called slow, and it is not known yet whether by itself.
local function is_unexplained(self, component)
   return self.site.topo:is_link(component) and self.diagnosis:is_decided(component)
      and not self.excluded[component]
end

-- A low test showed such a link: was anybody about?
-- @param run its low tests, of which the first and the last count
-- @return whether it is known to be slow by itself now
local function judge_link(self, component, run)
   self.excluded[component] = are_excluded(self, component, self.diagnosis:component(component),
      run) or nil
   return self.excluded[component] ~= nil
end

--- Tests of components were looked at: where the newest is a low one, see who was about.  A link
-- that is called slow has no new tests in its run, since low ones are as expected: one that shows
-- its ceiling again when nobody is about any more says as much as those of its run did.
-- @param touched set of components
-- @param tests judged ones of now, or nil
-- @return whether a link is known to be slow by itself that was not
function Others:look(touched, now, tests)
   local news = false
   for _, t in ipairs(tests or {}) do
      local c = find_seen_again(self, t)
      if c and is_unexplained(self, c) then
         news = judge_link(self, c, { self.diagnosis:against(c)[1] or t, t }) or news
      end
   end
   for c in pairs(touched) do
      local run = is_unexplained(self, c) and self.diagnosis:run(c)
      if not self.diagnosis:is_decided(c) then
         self.excluded[c] = nil
      elseif run and #run > 0 and now - run[#run].time < FRESH_S then
         news = judge_link(self, c, run) or news
      end
   end
   return news
end

--- May it be load, for all that is known?
function Others:may_fill(component)
   return self.site.topo:is_link(component) and not self.excluded[component]
end

--- @param options { site, diagnosis, cluster, followers, profiles }
function others.new(options)
   options.excluded = {}
   return setmetatable(options, Others)
end

return others
