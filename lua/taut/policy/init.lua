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
   return tables.filter(list, function(x) return x.time >= oldest end)
end

--- Take down that an action was carried out.
-- @param h history
-- @param a action of policy.decide
-- @param now seconds
function policy.note(h, a, now)
   if a.action == "drain" then
      h.asked[a.node] = nil
      h.drained[a.node] = { component = a.component, reason = a.reason, time = now,
         forever = a.forever }
      h.drains[#h.drains + 1] = { node = a.node, component = a.component, time = now }
   elseif a.action == "release" then
      h.drained[a.node] = nil
   elseif a.action == "stop" then
      h.stopped = { why = a.why, time = now }
      h.wide = a.wide or h.wide
   elseif a.action == "capped" then
      h.capped[a.cap] = { why = a.why, time = now }
   end
end

--- Somebody says: go on.  Caps count as before; what they stopped is decided anew.
-- @return whether anything had been stopped
function policy.resume(h)
   local any = h.stopped ~= nil or next(h.capped) ~= nil
   h.stopped, h.capped, h.slow = nil, {}, {}
   return any
end

--- Nodes whose history of drains is forgotten: they were repaired.
function policy.forget(h, names)
   local gone, out = {}, {}
   for _, name in ipairs(names) do
      gone[name] = true
   end
   for _, x in ipairs(h.drains) do
      out[#out + 1] = not gone[x.node] and x or nil
   end
   h.drains = out
   for name in pairs(gone) do
      if h.drained[name] then
         h.drained[name].forever = nil
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
local function note_verdicts(o, h)
   local window = o.settings.breaker_h * 3600
   for _, v in ipairs(o.verdicts) do
      local since = v.since or o.now
      if verdicts.is_verdict(v.state) and h.since[v.c] ~= since then
         h.since[v.c] = since
         if since > o.now - window then
            h.slow[#h.slow + 1] = { component = v.c, time = since }
         end
      end
   end
   h.slow = without_old(h.slow, o.now - window)
end

-- What changed everywhere, without its figures of today.
local function wide_of(o)
   return o.machine_wide and select(2, slow_whole.text(o.machine_wide))
end

-- Why to stop acting, if so.
local function trouble(o, h)
   local s = o.settings
   if wide_of(o) ~= h.wide and o.machine_wide then
      return "machine-wide change: " .. slow_whole.text(o.machine_wide)
   end
   local seen, n = {}, 0
   for _, x in ipairs(h.slow) do
      n = n + (seen[x.component] and 0 or 1)
      seen[x.component] = true
   end
   if s.breaker_verdicts and n >= s.breaker_verdicts then
      return ("%d components became slow, lossy or failed within %g h (breaker_verdicts = %d)")
         :format(n, s.breaker_h, s.breaker_verdicts)
   end
   return nil
end

-- One that has been over for a day is news when it comes back.
local function forget_wide(o, h)
   if o.machine_wide or not h.wide_seen then
      h.wide_seen = o.now
   elseif o.now - h.wide_seen > DAY then
      h.wide = nil
   end
end

local function check_breaker(o, h, d)
   note_verdicts(o, h)
   forget_wide(o, h)
   if h.stopped then
      return h.stopped.why
   end
   local why = trouble(o, h)
   if why then
      d.actions[#d.actions + 1] = { action = "stop", why = why,
         wide = wide_of(o) }
   end
   return why
end

---------------------------------------------------------------- drains

--- How often a node was drained for this component within the time that counts.
function policy.times_drained(h, s, node, component, now)
   local n = 0
   for _, x in ipairs(h.drains) do
      n = n + (x.node == node and x.component == component and x.time > now -
         s.repeated_days * DAY and 1 or 0)
   end
   return n
end

-- The worst first: caps may leave room for one only.
local function by_severity(o)
   local list = tables.filter(o.verdicts, function(v)
      return verdicts.is_verdict(v.state)
   end)
   table.sort(list, function(a, b)
      local x, y = measure.severity(a), measure.severity(b)
      if x ~= y then
         return x > y
      end
      return (a.since or 0) < (b.since or 0) or a.since == b.since and a.c < b.c
   end)
   return list
end

local function hold(d, name, v, why, extra)
   if not d.held[name] then
      d.held[name] = { why = why, component = v.name, verdict = v }
      for k, value in pairs(extra or {}) do
         d.held[name][k] = value
      end
   end
end

local function want(o, h, d, name, v, stopped)
   if h.drained[name] or h.asked[name] or d.taken[name] then
      return
   end
   local why, cap, rule = limits.held_back(name, v, d.o, d.taken)
   if why and not cap then
      local node = o.cluster.nodes[name]
      hold(d, name, v, why, { rule = rule,
         theirs = node and (node.drain or node.down or node.fail) })
   elseif stopped then
      hold(d, name, v, stopped, { cause = "stopped", rule = "stopped" })
   elseif why then
      local observed = limits.mode_of(name, o) ~= "enable"
      if not observed and o.settings.at_cap == "stop" and not h.capped[cap] and not d.caps[cap] then
         d.caps[cap] = true
         d.actions[#d.actions + 1] = { action = "capped", cap = cap, why = why }
      end
      hold(d, name, v, why, { cap = cap, rule = rule })
   elseif limits.mode_of(name, o) ~= "enable" then
      hold(d, name, v, "mode is observe", { cause = "observe" })
   else
      local s = o.settings
      local times = policy.times_drained(h, s, name, v.name, o.now) + 1
      d.actions[#d.actions + 1] = { action = "drain", node = name, component = v.name, c = v.c,
         verdict = v, times = times, forever = s.repeated and times >= s.repeated or nil }
      d.taken[name] = true
      d.o.history.asked[name] = true
      limits.took(d.o, name)
   end
end

-- Drained nodes nothing speaks against any more, tested often enough, where the site wants that.
local function releases(o, h, d, wanted)
   local s = o.settings
   if not s.resume_after_clean or not o.clean then
      return
   end
   local names = tables.keys(h.drained)
   for _, name in ipairs(names) do
      local drain, node = h.drained[name], o.cluster.nodes[name]
      local clean = not wanted[name] and not drain.forever and not h.asked[name] and node
         and not node.maint and o.clean(name, drain.component)
      if clean and clean >= s.resume_after_clean and limits.mode_of(name, o) == "enable" then
         d.actions[#d.actions + 1] = { action = "release", node = name,
            component = drain.component, why = ("%d clean tests"):format(clean) }
      end
   end
end

--- Decide.
-- @param o table: topology; settings (the `policy` section); cluster (nodes, partitions, pending,
--   is_usable, nodes_at or nil: cluster.lua's, or policy.cluster); history; now (seconds); mode
--   ("enable" or "observe"); verdicts (array of { c, state, left, since, whole }: all that stand);
--   machine_wide (what changed for all at once: { kind, of, n, total }, or nil); standby (text: why
--   this tautd only watches, or nil); clean (function(node, component) → clean tests of a drained
--   node since its drain, or nil; nil: never release)
-- @return table: actions, in the order in which to carry them out: { action = "drain", node,
--   component (its name), c, verdict, times, forever }, { action = "release", node, component,
--   why }, { action = "stop", why }, { action = "capped", cap, why }; held (node → { why,
--   component, verdict, cause, rule = "stopped", "cap", "capability_hold", "hold" (the site's
--   function failed) or nil }: who would be drained, and what holds it back); measures
--   (component number → word); remarks (component number → why that word)
function policy.decide(o)
   local h = o.history
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
      { __index = o })
   if o.settings.repeated_days then
      h.drains = without_old(h.drains, o.now - math.max(3600, o.settings.repeated_days * DAY))
   end
   local stopped, wanted = check_breaker(o, h, d), {}
   stopped = o.standby and "standing by: " .. o.standby or stopped and "stopped: " .. stopped
   for _, v in ipairs(by_severity(o)) do
      v.name = o.topology.components[v.c]
      local what, nodes, why = measure.of(o.topology, v, o.settings)
      d.measures[v.c], d.remarks[v.c] = what, why
      for _, n in ipairs(nodes) do
         wanted[o.topology.nodes[n]] = true
         want(o, h, d, o.topology.nodes[n], v, stopped)
      end
   end
   if not stopped then
      releases(o, h, d, wanted)
   end
   d.taken, d.caps, d.o = nil, nil, nil
   return d
end

return policy
