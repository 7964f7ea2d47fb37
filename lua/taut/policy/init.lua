-- SPDX-License-Identifier: GPL-2.0-or-later
--- What follows from verdicts: drain, avoid, watch; what holds it back, and when to stop.
--
-- Decisions only: nothing here acts, asks or knows what time it is.  What was decided before is in
-- a history, a plain table that its owner keeps: act.lua in tautd, replay.lua and the campaign in
-- a time of their own.
--
--   local d = policy.decide { topology =, settings =, cluster =, history = h, now =, mode =,
--      verdicts = all that stand }
--   for _, a in ipairs(d.actions) do … policy.note(h, a, now) end
local limits = require "taut.policy.limits"
local measure = require "taut.policy.measure"
local tables = require "taut.base.tables"
local slow_whole = require "taut.report.slow_whole"
local verdicts = require "taut.report.verdicts"

local policy = {}

local DAY = 86400

---------------------------------------------------------------- history

--- An empty history.
-- @return table: drained (node → { component, reason, time, forever }, drains of ours that stand),
--   asked (node → the same, on the way to Slurm), drains (array of { node, component, time }, also
--   those released since), slow (array of { component, time }, verdicts that began), capped (name
--   of a cap → { why, time }), stopped ({ why, time } or nil), wide (what changed everywhere and
--   was dealt with, or nil), wide_seen (when that was last so)
function policy.history()
   return { drained = {}, asked = {}, drains = {}, slow = {}, since = {}, capped = {} }
end

local function without_old(list, oldest)
   return tables.filter(list, function(drain) return drain.time >= oldest end)
end

--- Take down that an action was carried out.
-- @param history history
-- @param action action of policy.decide
-- @param now seconds
function policy.note(history, action, now)
   if action.action == "drain" then
      history.asked[action.node] = nil
      history.drained[action.node] = { component = action.component, reason = action.reason,
         time = now,
         forever = action.forever }
      history.drains[#history.drains + 1] = { node = action.node, component = action.component,
         time = now }
   elseif action.action == "release" then
      history.drained[action.node] = nil
   elseif action.action == "stop" then
      history.stopped = { why = action.why, time = now }
      history.wide = action.wide or history.wide
   elseif action.action == "capped" then
      history.capped[action.cap] = { why = action.why, time = now }
   end
end

--- Somebody says: go on.  Caps count as before; what they stopped is decided anew.
-- @return whether anything had been stopped
function policy.resume(history)
   local any = history.stopped ~= nil or next(history.capped) ~= nil
   history.stopped, history.capped, history.slow = nil, {}, {}
   return any
end

--- Nodes whose history of drains is forgotten: they were repaired.
function policy.forget(history, names)
   local gone = tables.set(names)
   history.drains = tables.filter(history.drains, function(drain) return not gone[drain.node] end)
   for name in pairs(gone) do
      if history.drained[name] then
         history.drained[name].forever = nil
      end
   end
end

--- A cluster without Slurm: all nodes up, in one partition "all", nothing pending.
function policy.cluster(topo)
   local cl = { nodes = {}, partitions = { all = topo.nodes }, pending = {} }
   for _, name in ipairs(topo.nodes) do
      cl.nodes[name] = { name = name, state = "idle", partitions = { "all" }, reason = "" }
   end
   function cl:is_usable(name)
      local n = self.nodes[name]
      return n ~= nil and not n.drain and not n.down and not n.fail
   end
   return cl
end

---------------------------------------------------------------- the circuit breaker

-- Verdicts that began since the last look, within the window.
local function note_verdicts(situation, history)
   local window = situation.settings.breaker_h * 3600
   for _, v in ipairs(situation.verdicts) do
      local since = v.since or situation.now
      if verdicts.is_verdict(v.state) and history.since[v.c] ~= since then
         history.since[v.c] = since
         if since > situation.now - window then
            history.slow[#history.slow + 1] = { component = v.c, time = since }
         end
      end
   end
   history.slow = without_old(history.slow, situation.now - window)
end

-- What changed everywhere, without its figures of today.
local function wide_of(situation)
   return situation.machine_wide and select(2, slow_whole.text(situation.machine_wide))
end

-- Why to stop acting, if so.
local function why_to_stop(situation, history)
   local s = situation.settings
   if wide_of(situation) ~= history.wide and situation.machine_wide then
      return "machine-wide change: " .. slow_whole.text(situation.machine_wide)
   end
   local seen, n = {}, 0
   for _, x in ipairs(history.slow) do
      if not seen[x.component] then
         n = n + 1
      end
      seen[x.component] = true
   end
   if s.breaker_verdicts and n >= s.breaker_verdicts then
      return ("%d components became slow, lossy or failed within %g h (breaker_verdicts = %d)")
         :format(n, s.breaker_h, s.breaker_verdicts)
   end
   return nil
end

-- One that has been over for a day is news when it comes back.
local function forget_wide(situation, history)
   if situation.machine_wide or not history.wide_seen then
      history.wide_seen = situation.now
   elseif situation.now - history.wide_seen > DAY then
      history.wide = nil
   end
end

local function check_breaker(situation, history, decided)
   note_verdicts(situation, history)
   forget_wide(situation, history)
   if history.stopped then
      return history.stopped.why
   end
   local why = why_to_stop(situation, history)
   if why then
      decided.actions[#decided.actions + 1] = { action = "stop", why = why,
         wide = wide_of(situation) }
   end
   return why
end

---------------------------------------------------------------- drains

--- How often a node was drained for this component within the time that counts.
function policy.times_drained(history, settings, node, component, now)
   return tables.count(history.drains, function(drain)
      return drain.node == node and drain.component == component
         and drain.time > now - settings.repeated_days * DAY
   end)
end

-- The worst first: caps may leave room for one only.
local function by_severity(situation)
   local list = tables.filter(situation.verdicts, function(verdict)
      return verdicts.is_verdict(verdict.state)
   end)
   table.sort(list, function(one, other)
      local x, y = measure.severity(one), measure.severity(other)
      if x ~= y then
         return x > y
      end
      return (one.since or 0) < (other.since or 0) or one.since == other.since and one.c < other.c
   end)
   return list
end

local function hold_node(decided, name, verdict, why, extra)
   if not decided.held[name] then
      decided.held[name] = { why = why, component = verdict.name, verdict = verdict }
      for k, value in pairs(extra or {}) do
         decided.held[name][k] = value
      end
   end
end

local function want_drain(situation, history, decided, name, verdict, stopped)
   if history.drained[name] or history.asked[name] or decided.taken[name] then
      return
   end
   local why, cap, rule = limits.held_back(name, verdict, decided.o, decided.taken)
   if why and not cap then
      local node = situation.cluster.nodes[name]
      hold_node(decided, name, verdict, why, { rule = rule,
         theirs = node and (node.drain or node.down or node.fail) })
   elseif stopped then
      hold_node(decided, name, verdict, stopped, { cause = "stopped", rule = "stopped" })
   elseif why then
      local observed = limits.mode_of(name, situation) ~= "enable"
      if not observed and situation.settings.at_cap == "stop" and not history.capped[cap]
         and not decided.caps[cap] then
         decided.caps[cap] = true
         decided.actions[#decided.actions + 1] = { action = "capped", cap = cap, why = why }
      end
      hold_node(decided, name, verdict, why, { cap = cap, rule = rule })
   elseif limits.mode_of(name, situation) ~= "enable" then
      hold_node(decided, name, verdict, "mode is observe", { cause = "observe" })
   else
      local s = situation.settings
      local times = policy.times_drained(history, s, name, verdict.name, situation.now) + 1
      local is_for_good = s.repeated and times >= s.repeated
      decided.actions[#decided.actions + 1] = { action = "drain", node = name,
         component = verdict.name, c = verdict.c,
         verdict = verdict, times = times, forever = is_for_good or nil }
      decided.taken[name] = true
      decided.o.history.asked[name] = true
      limits.took(decided.o, name)
   end
end

-- Drained nodes nothing speaks against any more, tested often enough, where the site wants that.
local function add_releases(situation, history, decided, wanted)
   local s = situation.settings
   if not s.resume_after_clean or not situation.clean then
      return
   end
   local names = tables.keys(history.drained)
   for _, name in ipairs(names) do
      local drain, node = history.drained[name], situation.cluster.nodes[name]
      local clean = not wanted[name] and not drain.forever and not history.asked[name] and node
         and not node.maint and situation.clean(name, drain.component)
      if clean and clean >= s.resume_after_clean and limits.mode_of(name,
         situation) == "enable" then
         decided.actions[#decided.actions + 1] = { action = "release", node = name,
            component = drain.component, why = ("%d clean tests"):format(clean) }
      end
   end
end

--- Decide.
-- @param situation table: topology; settings (the `policy` section); cluster (nodes, partitions,
--   pending, is_usable, nodes_at or nil: cluster.lua's, or policy.cluster); history; now (seconds);
--   mode ("enable" or "observe"); verdicts (array of { c, state, left, since, whole }: all that
--   stand); machine_wide (what changed for all at once: { kind, of, n, total }, or nil); standby
--   (text: why this tautd only watches, or nil); clean (function(node, component) → clean tests of
--   a drained node since its drain, or nil; nil: never release)
-- @return table: actions, in the order in which to carry them out: { action = "drain", node,
--   component (its name), c, verdict, times, forever }, { action = "release", node, component,
--   why }, { action = "stop", why }, { action = "capped", cap, why }; held (node → { why,
--   component, verdict, cause, rule = "stopped", "cap", "capability_hold", "hold" (the site's
--   function failed) or nil }: who would be drained, and what holds it back); measures
--   (component number → word); remarks (component number → why that word)
function policy.decide(situation)
   local h = situation.history
   local d = { actions = {}, held = {}, measures = {}, remarks = {}, taken = {}, caps = {} }
   for _, from in ipairs { h.drained, h.asked } do
      for name in pairs(from) do
         d.taken[name] = true
      end
   end
   local asked = setmetatable({}, { __index = h.asked })
   for name in pairs(h.asked) do
      asked[name] = true
   end
   d.o = setmetatable({ usable = {}, history = setmetatable({ asked = asked }, { __index = h }) },
      { __index = situation })
   if situation.settings.repeated_days then
      h.drains = without_old(h.drains, situation.now - math.max(3600,
         situation.settings.repeated_days * DAY))
   end
   local stopped, wanted = check_breaker(situation, h, d), {}
   if situation.standby then
      stopped = "standing by: " .. situation.standby
   elseif stopped then
      stopped = "stopped: " .. stopped
   end
   for _, v in ipairs(by_severity(situation)) do
      v.name = situation.topology.components[v.c]
      local what, nodes, why = measure.of(situation.topology, v, situation.settings)
      d.measures[v.c], d.remarks[v.c] = what, why
      for _, n in ipairs(nodes) do
         wanted[situation.topology.nodes[n]] = true
         want_drain(situation, h, d, situation.topology.nodes[n], v, stopped)
      end
   end
   if not stopped then
      add_releases(situation, h, d, wanted)
   end
   d.taken, d.caps, d.o = nil, nil, nil
   return d
end

return policy
