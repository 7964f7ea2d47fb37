-- SPDX-License-Identifier: GPL-2.0-or-later
--- Which verdicts stand, and what was decided about each: the measure ("drain", "avoid", "alert",
-- "watch") and, where that needs saying, why.
local policy = require "taut.policy"
local sys = require "taut.sys"

local decision = {}
local Decision = {}
Decision.__index = Decision

--- Note whether a verdict stands on a component.
function Decision:note(component)
   self.standing[component] = self.diagnosis:is_decided(component) or nil
end

-- Clean tests of a drained node's component since its drain.
local function count_clean_tests(self)
   return function(_, name)
      local c = self.site.topo.component_id[name]
      local k = c and self.diagnosis:record(c)
      if k and k.state == "ok" then
         return self.diagnosis:seen(c).good
      end
      return nil
   end
end

local function list_verdicts(self)
   local list = {}
   for c in pairs(self.standing) do
      local k = self.diagnosis:component(c)
      list[#list + 1] = { c = c, state = k.state, left = k.left, since = k.since,
         loss = k.loss and k.loss.share, whole = k.whole,
         may_be_load = self.others:may_fill(c) or nil }
   end
   return list
end

local function log_remarks(self, decided)
   for c, why in pairs(decided.remarks) do
      if self.remarks[c] ~= why then
         sys.log("notice", ("%s: %s: %s"):format(self.site.topo.components[c], decided.measures[c],
            why))
      end
   end
end

--- Decide about all verdicts that stand.
-- @param options { history, mode, now }
-- @return of policy.decide
function Decision:make(options)
   local d = policy.decide { topology = self.site.topo, settings = self.site.conf.policy,
      cluster = self.cluster, history = options.history, now = options.now, mode = options.mode,
      verdicts = list_verdicts(self), machine_wide = self.diagnosis:wide(),
      standby = self.acting:standing_by(self.cluster.standby), clean = count_clean_tests(self) }
   log_remarks(self, d)
   self.measures, self.remarks = d.measures, d.remarks
   return d
end

--- @param options { site, diagnosis, cluster, others, acting }
function decision.new(options)
   return setmetatable({ site = options.site, diagnosis = options.diagnosis,
      cluster = options.cluster, others = options.others, acting = options.acting,
      standing = {}, measures = {}, remarks = {} }, Decision)
end

return decision
