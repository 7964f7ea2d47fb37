-- SPDX-License-Identifier: GPL-2.0-or-later
--- Carries out what policy.lua decides, through taut-slurm, and keeps its history.
--
-- In `observe` the list of what would have been drained is kept as well.  An administrator's own
-- drain or resume always wins: it is noticed at the next look at Slurm and taken as it is.
local json = require "taut.json"
local loop = require "taut.loop"
local memory = require "taut.policy.memory"
local notice = require "taut.policy.notice"
local policy = require "taut.policy"
local reason = require "taut.policy.reason"
local report = require "taut.report"
local sys = require "taut.sys"
local tables = require "taut.base.tables"

local act = {}
local Act = {}
Act.__index = Act

local ALERTS = 100 -- kept for `taut status`
local SAID_MAX = 16 -- nodes held back that are said one by one at once
local INTENT_S = 20 -- a drain that was begun shows in Slurm by then, or was never made
local ANSWER_MS = 4000 -- so long whoever gives a node back waits for slurmctld

-- What may stand in the log of actions.
local ACTIONS = { "ack", "alert", "capped", "drain", "drain failed", "left alone", "mode enable",
   "mode observe", "release", "relearn", "repaired", "resume", "resumed", "steer", "stop",
   "taken over", "would drain" }

---------------------------------------------------------------- records

--- Write into the log of actions (`taut policy log`).
-- @param row table: action, and what is known of node, component, who, reason, result, evidence
-- @param is_known true: it is of a component that is known to be bad, and told to nobody
function Act:record(row, is_known)
   row.time, row.node, row.who = row.time or loop.time(), row.node or "", row.who or "taut"
   self.journal:add("action", row)
   self.counts[row.action] = (self.counts[row.action] or 0) + 1
   if is_known then
      return
   end
   self.teller:tell { event = row.action, node = tables.unless_blank(row.node),
      component = row.component, about = row.about, who = row.who, reason = row.reason,
      result = row.result }
end

local function keep_drain(self, node)
   self.journal:add("drained", { node = node, data = json.encode(self.history.drained[node]) })
end

local function drop_drain(self, node)
   self.history.drained[node] = nil
   self.journal:add("forget_drained", { node = node })
end

local function nil_if_empty(map)
   if next(map) then
      return map
   end
   return nil
end

-- What stopped us outlives a restart.
local function keep_stops(self)
   self.journal:add("setting", { name = "policy_stops", value = json.encode {
      stopped = self.history.stopped, capped = nil_if_empty(self.history.capped),
      wide = self.history.wide } })
end

--- Say something loudly: the log, and the alerts of `taut status`.
-- @param event what it is about, for journald's fields (notice.lua)
function Act:say(text, event)
   self.said = self.said + 1
   sys.log("warning", text, event and notice.fields(event))
   self.alerts[#self.alerts + 1] = { time = loop.time(), text = text }
   if #self.alerts > ALERTS then
      table.remove(self.alerts, 1)
   end
   if self.remembers then
      self.journal:add("setting", { name = "alerts", value = json.encode { alerts = self.alerts,
         alerted = nil_if_empty(self.alerted) } })
   end
end

-- Once per node and cause; figures in the text go on changing.
local function is_news(self, node, cause)
   local news = self.alerted[node] ~= cause
   self.alerted[node] = cause
   return news
end

---------------------------------------------------------------- draining

local function slurm_refused(self, action, why, is_error)
   local v = action.verdict
   self.held[action.node] = { why = why, reason = action.reason, component = action.component,
      verdict = v }
   if is_news(self, action.node, why) then
      local what, text = "left alone", ("left %s alone: %s"):format(action.node, why)
      if is_error then
         what, text = "drain failed", ("cannot drain %s: %s; trying again"):format(action.node, why)
      end
      self:say(text, { event = what, node = action.node, component = action.component })
      self:record { action = what, node = action.node,
         component = action.component, reason = action.reason, result = why,
         evidence = self.case:reasoned(v.c) }
   end
end

local function note_drained(self, action)
   policy.note(self.history, action, loop.time())
   self.held[action.node], self.alerted[action.node] = nil, nil
   keep_drain(self, action.node)
   self:record { action = "drain", node = action.node, component = action.component,
      reason = action.reason,
      result = "done", evidence = self.case:reasoned(action.verdict.c) }
   self:say(("drained %s: %s"):format(action.node, action.reason),
      { event = "drain", node = action.node,
      component = action.component })
   self.cluster:refresh()
end

local function ask_drain(self, action)
   self.slurm:ask({ op = "drain", node = action.node, reason = action.reason }, function(reply, err)
      self.history.asked[action.node] = nil
      if reply and reply.done then
         note_drained(self, action)
      else
         if self.acting:is_shared() then
            self.journal:add("forget_drained", { node = action.node })
         end
         slurm_refused(self, action, err or reply.why, err ~= nil)
      end
   end)
end

-- Whoever takes over has to know what was begun: of several tautd the one that acts has it in the
-- database first.
local function send_drain(self, action)
   action.reason = self.case:reason(action.verdict, action)
   local begun = { component = action.component, reason = action.reason, time = loop.time() }
   self.history.asked[action.node] = begun
   if not self.acting:is_shared() then
      return ask_drain(self, action)
   end
   self.journal:add("drained", { node = action.node, data =
      json.encode { component = begun.component,
      reason = begun.reason, time = begun.time, forever = action.forever, begun = true } })
   self.journal:confirm(function(ok, why)
      if ok then
         return ask_drain(self, action)
      end
      self.history.asked[action.node] = nil
      slurm_refused(self, action, why, true)
   end)
end

local function stop_draining(self, action)
   policy.note(self.history, action, loop.time())
   keep_stops(self)
   local what = report.text_if(action.action == "stop", "stopped draining",
      "at a cap, no more nodes are drained")
   self:say(("%s: %s; `taut policy continue` goes on"):format(what, action.why),
      { event = action.action })
   self:record { action = action.action, result = action.why }
end

local function carry_out(self, action)
   if action.action == "drain" then
      send_drain(self, action)
   elseif action.action == "release" then
      self:release(action.node, "taut, after " .. action.why, function(ok, err)
         if not ok and is_news(self, action.node, err) then
            sys.log("warning", ("cannot resume %s: %s"):format(action.node, err))
         end
      end)
   else
      stop_draining(self, action)
   end
end

-- Who would be drained, and what holds it back: said and recorded once for each cause.
local function take_held(self, held, actions)
   local concerned = {}
   for _, a in ipairs(actions) do
      concerned[a.node or ""] = true
   end
   for name in pairs(self.alerted) do
      if not held[name] and not self.history.asked[name] and not concerned[name] then
         self.alerted[name] = nil
      end
   end
   self.held = held
   local said = 0
   for name, e in pairs(held) do
      e.reason, e.time = self.case:reason(e.verdict), loop.time()
      if is_news(self, name, e.component .. (e.cause or e.cap or e.why)) then
         local is_known = self.acks:get(e.component, loop.time()) ~= nil
         if not is_known then
            said = said + 1
         end
         if said <= SAID_MAX and not is_known then
            local text = ("would drain %s (%s), but %s"):format(name, e.reason, e.why)
            if e.cause == "observe" then
               text = ("would drain %s: %s (mode is observe)"):format(name, e.reason)
            end
            self:say(text, { event = "would drain", node = name, component = e.component })
         end
         self:record({ action = "would drain", node = name, component = e.component,
            reason = e.reason, result = e.why, evidence = self.case:reasoned(e.verdict.c) },
            is_known)
      end
   end
   if said > SAID_MAX then
      self:say(("would drain %d more nodes; `taut policy log` lists them"):format(said - SAID_MAX))
   end
end

---------------------------------------------------------------- what others ask

--- What was decided before, for policy.decide: see policy.history.
function Act:past()
   return self.history
end

--- Drains of ours that stand: node → { component, reason, time, forever }.  To look at.
function Act:standing()
   return self.history.drained
end

--- Who would be drained, and what holds it back: node → { why, reason, component }.  To look at.
function Act:held_back()
   return self.held
end

--- What holds the drain of one node back, or nil.
function Act:why_held(name)
   return self.held[name] and self.held[name].why
end

--- Our drains of late, also those given back since: array of { node, component, time }.
function Act:lately()
   return self.history.drains
end

--- How many of them within the last hour.
function Act:last_hour()
   local since = loop.time() - 3600
   return tables.count(self.history.drains, function(drain) return drain.time > since end)
end

--- What has stopped draining: { why, time } of the circuit breaker or nil; of caps that wait for
-- somebody to say go on, name → the same.
function Act:stops()
   return self.history.stopped, self.history.capped
end

--- Alerts, the newest last: array of { time, text }; how many there were since tautd started.
function Act:alerted_of_late()
   return self.alerts, self.said
end

--- Kind of action → how many since tautd started.
function Act:counted()
   return self.counts
end

--- Is it known what was drained before this tautd started?
function Act:knows_its_past()
   return self.remembers == true
end

--- What is said where it is not; or nil.
function Act:forgotten()
   if self.remembers then
      return nil
   end
   return "what was drained is not known, the database cannot be read: nothing is drained"
end

---------------------------------------------------------------- doing

--- In which mode: without the list of drains that stand no cap holds.
function Act:mode()
   if not self.remembers then
      return "observe"
   end
   return self.switches:mode() or "observe"
end

--- Do what was decided.  One of several that does not act at the moment says nothing of it either:
-- another one may.
-- @param decided of policy.decide
function Act:carry_out(decided)
   if self.acting:is_shared() and not self.acting:may() then
      return
   end
   take_held(self, decided.held, decided.actions)
   for _, a in ipairs(decided.actions) do
      carry_out(self, a)
   end
end

--- Another mode was chosen: what is held back is said anew.
function Act:mode_changed(mode, who)
   self:record { action = "mode " .. mode, who = who }
   self.alerted = {}
end

--- Nothing speaks against a node any more: it leaves the would-have-drained list.
function Act:unwant(name)
   self.held[name] = nil
   self.alerted[name] = nil
end

--- Take what the store kept; see policy/memory.lua.
-- @param alerts value of the setting of that name, or nil
-- @param names { node, name }: what nodes and components are called now (before/same.lua); nil:
--   as they are
function Act:restore(standing, actions, stops, alerts, names)
   memory.restore(self.history, standing, actions, stops, names)
   self.alerts = memory.alerts(self.alerts, self.alerted, alerts, names)
   for _, row in ipairs(standing) do
      local node = row.node
      if names then
         node = names.node(row.node) or row.node
      end
      if node ~= row.node then
         self.journal:add("forget_drained", { node = row.node })
         keep_drain(self, node)
      end
   end
   self.remembers = true
end

--- Go on where a cap or the circuit breaker stopped us.
-- @return whether anything had been stopped
function Act:resume(who)
   local any = policy.resume(self.history)
   self.alerted = {}
   keep_stops(self)
   if any then
      self:record { action = "resume", who = who }
   end
   return any
end

--- There are new settings: what the old ones stopped is decided anew.
function Act:settings_changed()
   if next(self.history.capped) then
      self.history.capped = {}
      keep_stops(self)
   end
end

--- Nodes that were repaired: how often they were drained is forgotten.
function Act:repaired(names, component, who)
   policy.forget(self.history, names)
   for _, name in ipairs(names) do
      if self.history.drained[name] then
         keep_drain(self, name)
      end
      self:record { action = "repaired", node = name, component = component, who = who }
   end
   if #names == 0 then
      self:record { action = "repaired", component = component, who = who }
   end
end

---------------------------------------------------------------- giving back

-- What slurmctld says later is in the log only.
local function answer_in_time(self, name, fn)
   local is_late
   local timer = loop.timer(self.answer_ms, function()
      is_late = true
      fn(nil, ("%s stays drained: slurmctld does not answer. Should it within half a minute, %s " ..
         "is resumed all the same, else ask again once it answers"):format(name, name))
   end)
   return function(ok, err)
      timer:cancel()
      if not is_late then
         fn(ok, err)
      elseif err then
         sys.log("warning", ("%s is not resumed: %s"):format(name, err))
      end
   end
end

--- Give a node back.
-- @param name node
-- @param who for the record
-- @param fn called with true, or nil and why not; in time, whether slurmctld answers or not
function Act:release(name, who, fn)
   fn = answer_in_time(self, name, fn)
   self.history.asked[name] = self.history.drained[name]
   self.slurm:ask({ op = "resume", node = name }, function(reply, err)
      self.history.asked[name] = nil
      local d = self.history.drained[name]
      -- slurmctld, just started, gives a node back and calls that an error
      local is_back = d and reply and reply.drained == false
      if err then
         if d then
            d.asked_by = who -- should slurmctld have done it all the same
         end
         return fn(nil, err)
      elseif not reply.done and not is_back then
         return fn(nil, ("%s: %s"):format(name, reply.why))
      end
      drop_drain(self, name)
      self:unwant(name)
      self:record { action = "release", node = name, component = d and d.component, who = who,
         reason = d and d.reason, result = "done" }
      self.on_back(name, d)
      sys.log("notice", ("resumed %s (%s)"):format(name, who), notice.fields { event = "release",
         node = name, component = d and d.component, who = who })
      self.cluster:refresh(function() fn(true) end)
   end)
end

local function note_given_back(self, name, drain, back)
   local who = drain.asked_by or "administrator"
   local what, text = "resumed", name .. " was resumed by an administrator"
   if drain.asked_by then
      what, text = "release", ("resumed %s (%s)"):format(name, who)
   end
   self:unwant(name)
   self:record { action = what, node = name,
      component = drain.component, who = who, reason = drain.reason, result = "seen" }
   sys.log("notice", text, notice.fields { event = "resumed",
      node = name, component = drain.component, who = who })
   back[#back + 1] = { node = name, drain = drain }
end

-- Slurm over ALPS forgets reasons when it starts, and when it reads slurm.conf again.
local function drain_again(self, name, drain)
   self.history.asked[name] = drain
   self.slurm:ask({ op = "drain", node = name, reason = drain.reason, again = true },
      function(reply)
         self.history.asked[name] = nil
         if reply and reply.done then
            sys.log("notice", ("%s: Slurm had lost the drain reason; set it again"):format(name))
            self.cluster:refresh()
         end
      end)
end

-- `scontrol reboot` gives a node back by itself.  That repairs nothing: it is drained once more.
local function drain_rebooted(self, name, drain)
   self.history.asked[name] = drain
   self.slurm:ask({ op = "drain", node = name, reason = drain.reason }, function(reply, err)
      self.history.asked[name] = nil
      if reply and reply.done then
         drain.rebooted, drain.time = nil, loop.time()
         keep_drain(self, name)
         self:record { action = "drain", node = name, component = drain.component,
            reason = drain.reason,
            result = "again after a reboot" }
         self:say(("%s was rebooted, not repaired: drained again: %s"):format(name, drain.reason))
         self.cluster:refresh()
      elseif not err then -- somebody else has it
         drop_drain(self, name)
         sys.log("notice", ("%s was rebooted, and is not drained again: %s"):format(name,
            reply.why))
      end
   end)
end

-- Slurm keeps a node drained through a reboot only where it was asked for that.
local function note_reboot(self, name, drain)
   if not drain.rebooted then
      drain.rebooted = true
      keep_drain(self, name)
   end
end

-- A drain that another tautd had begun when it ended: is it made?
local function reconcile_begun(self, name, drain, node)
   if node.drain and reason.is_ours(node.reason) then
      drain.begun = nil
      table.insert(self.history.drains, { node = name, component = drain.component,
         time = drain.time })
      keep_drain(self, name)
      self:record { action = "drain", node = name, component = drain.component,
         reason = drain.reason,
         result = "done", who = "taut" }
   elseif loop.time() - drain.time > INTENT_S then
      drop_drain(self, name)
   end
end

-- Somebody else may have resumed or re-labelled a node of ours.
local function reconcile_drained(self, name, drain, node, back)
   if drain.begun then
      reconcile_begun(self, name, drain, node)
   elseif node.rebooting or node.off then
      if not (node.off and self.comes_and_goes(name)) then
         note_reboot(self, name, drain)
      end
   elseif not node.drain and drain.rebooted then
      if not node.down then
         drain_rebooted(self, name, drain)
      end
   elseif not node.drain then
      drop_drain(self, name)
      note_given_back(self, name, drain, back)
   elseif drain.rebooted and not node.down then -- back, and drained still
      drain.rebooted = nil
      keep_drain(self, name)
   elseif (node.reason or "") == "" then
      drain_again(self, name, drain)
   elseif not reason.is_ours(node.reason) then
      drop_drain(self, name)
      self:record { action = "taken over", node = name, component = drain.component,
         who = "administrator", reason = node.reason, result = "seen" }
      sys.log("notice", ("%s: an administrator changed the drain reason; it is no longer Taut's")
         :format(name))
   end
end

--- Compare our list with what Slurm says.
function Act:reconcile()
   local cl, back = self.cluster, {}
   for name, d in pairs(self.history.drained) do
      local node = cl.nodes[name]
      -- what Slurm was asked before our change does not show it
      if node and (cl.nodes_asked or 0) > d.time and not self.history.asked[name] then
         reconcile_drained(self, name, d, node, back)
      end
   end
   for name, d in pairs(self.held) do
      local node = cl.nodes[name]
      if d.theirs and node and not (node.drain or node.down or node.fail) then
         note_given_back(self, name, d, back)
      end
   end
   for _, b in ipairs(back) do
      self.on_back(b.node, b.drain)
   end
end

--- A node that comes and goes has left: what comes under its name later is not drained for it.
-- @param node Slurm's record of it, or nil; one that Slurm keeps drained stays so
function Act:left(name, node)
   local d = self.history.drained[name]
   self:unwant(name)
   if d and not (node and node.drain) then
      drop_drain(self, name)
      self:record { action = "resumed", node = name, component = d.component, who = "taut",
         reason = d.reason, result = "the node left" }
   end
end

--- @param fn function(node, drain), called when a node was given back, by us or somebody else, and
--   before Slurm is asked how its nodes are
-- @param comes_and_goes function(name): may this node be away? (slurm/presence.lua)
function Act:tell(fn, comes_and_goes)
   self.on_back, self.comes_and_goes = fn, comes_and_goes or self.comes_and_goes
end

--- @param options { slurm = helper (taut-slurm), cluster, journal, switches, acting, teller
--   (on_event.lua), acks (acks.lua),
--   case = what is said of a verdict: reason(verdict, action) → text, reasoned(component) → JSON,
--   answer_ms = nil or how long whoever gives a node back waits }
function act.new(options)
   return setmetatable({ slurm = options.slurm, cluster = options.cluster,
      journal = options.journal,
      switches = options.switches, teller = options.teller, case = options.case,
         acks = options.acks,
      acting = options.acting or { is_shared = function() return false end },
      comes_and_goes = function() return false end,
      history = policy.history(), answer_ms = options.answer_ms or ANSWER_MS,
      held = {}, alerted = {}, alerts = {}, counts = tables.counts(ACTIONS), said = 0 }, Act)
end

return act
