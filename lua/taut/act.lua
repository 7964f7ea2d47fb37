--- Carries out what policy.lua decides, through taut-slurm, and keeps the list of our drains.
--
-- In `observe` the same list is kept of what would have been drained.  An administrator's own
-- drain or resume always wins: it is noticed at the next look at Slurm and taken as it is.
local loop = require "taut.loop"
local policy = require "taut.policy"
local reason = require "taut.reason"
local sys = require "taut.sys"

local act = {}
local Act = {}
Act.__index = Act

local ALERTS = 100 -- kept for `taut status`
local SETTLE_S = 15 -- an answer of Slurm younger than this may not show our change yet

local function record(self, node, action, who, text, result)
   self.journal:add("action", { time = loop.time(), node = node, action = action, who = who,
      reason = text, result = result })
end

local function keep(self, node, d)
   self.drained[node] = d
   self.journal:add("drained", { node = node, data = self.encode(d) })
end

local function drop(self, node)
   self.drained[node] = nil
   self.journal:add("forget_drained", { node = node })
end

--- Say something loudly: syslog, and the alerts of `taut status`.
function Act:say(text)
   sys.log("warning", text)
   self.alerts[#self.alerts + 1] = { time = loop.time(), text = text }
   if #self.alerts > ALERTS then
      table.remove(self.alerts, 1)
   end
end

-- Once per node and cause; figures in the text go on changing.
local function alert(self, node, cause, text)
   if self.alerted[node] ~= cause then
      self.alerted[node] = cause
      self:say(text)
   end
end

-- Drains that stand and those Slurm has been asked for: caps count both.
local function standing(self)
   local map = {}
   for name, d in pairs(self.drained) do
      map[name] = d
   end
   for name, d in pairs(self.busy) do
      map[name] = d
   end
   return map
end

--- A drain was carried out at this time (also one before a restart).
function Act:note_time(time)
   self.times[#self.times + 1] = time
end

--- Drains of the last hour, those released since and those under way among them.
function Act:last_hour(now)
   local recent, n = {}, 0
   for _, time in ipairs(self.times) do
      if time > now - 3600 then
         recent[#recent + 1] = time
      end
   end
   for _ in pairs(self.busy) do
      n = n + 1
   end
   self.times = recent
   return #recent + n
end

local function send_drain(self, name, d)
   self.busy[name] = d
   self.slurm:ask({ op = "drain", node = name, reason = d.reason }, function(reply, err)
      self.busy[name] = nil
      if err then
         alert(self, name, err, ("cannot drain %s: %s; trying again"):format(name, err))
      elseif reply.done then
         self.held[name] = nil
         keep(self, name, d)
         record(self, name, "drain", "taut", d.reason, "done")
         self:note_time(d.time)
         self:say(("drained %s: %s"):format(name, d.reason))
         self.cluster:refresh()
      else
         self.held[name] = { why = reply.why, reason = d.reason, component = d.component,
            time = loop.time() }
         alert(self, name, reply.why, ("left %s alone: %s"):format(name, reply.why))
      end
   end)
end

--- A node is to be drained because of component c.
-- @param name node
-- @param component its name
-- @param text the reason
function Act:want(name, component, text)
   if self.drained[name] or self.busy[name] then
      return
   end
   local now = loop.time()
   local d = { component = component, reason = text, time = now }
   local why = policy.held_back(name, self.policy, self.cluster, standing(self),
      self:last_hour(now))
   if why then
      local node = self.cluster.nodes[name]
      self.held[name] = { why = why, reason = text, component = component, time = now,
         theirs = node and (node.drain or node.down or node.fail) }
      alert(self, name, component .. why, ("would drain %s (%s), but %s"):format(name, text, why))
   elseif self.mode() ~= "enable" then
      self.held[name] = { why = "mode is observe", reason = text, component = component,
         time = now }
      alert(self, name, component .. "observe", ("would drain %s: %s (mode is observe)"):format(
         name, text))
   else
      send_drain(self, name, d)
   end
end

--- Nothing speaks against a node any more: it leaves the would-have-drained list.
function Act:unwant(name)
   self.held[name] = nil
   self.alerted[name] = nil
end

--- Give a node back.
-- @param name node
-- @param who for the record
-- @param fn called with true, or nil and why not
function Act:release(name, who, fn)
   self.slurm:ask({ op = "resume", node = name }, function(reply, err)
      if err then
         return fn(nil, err)
      elseif not reply.done then
         return fn(nil, ("%s: %s"):format(name, reply.why))
      end
      local d = self.drained[name]
      drop(self, name)
      self:unwant(name)
      record(self, name, "release", who, d and d.reason, "done")
      self.on_released(name, d)
      sys.log("notice", ("released %s (%s)"):format(name, who))
      self.cluster:refresh(function() fn(true) end)
   end)
end

--- Compare our list with what Slurm says: somebody else may have resumed or re-labelled a node.
function Act:reconcile()
   for name, d in pairs(self.drained) do
      local node = self.cluster.nodes[name]
      if node and self.cluster.nodes_at > d.time + SETTLE_S and not self.busy[name] then
         if not node.drain then
            drop(self, name)
            self:unwant(name)
            record(self, name, "resumed", "administrator", d.reason, "seen")
            sys.log("notice", ("%s was resumed by an administrator"):format(name))
            self.on_released(name, d)
         elseif not reason.is_ours(node.reason) then
            drop(self, name)
            record(self, name, "taken over", "administrator", node.reason, "seen")
            sys.log("notice", ("%s has a reason of an administrator now"):format(name))
         end
      end
   end
   for name, d in pairs(self.held) do
      local node = self.cluster.nodes[name]
      if d.theirs and node and not (node.drain or node.down or node.fail) then
         self:unwant(name)
         record(self, name, "resumed", "administrator", d.reason, "seen")
         sys.log("notice", ("%s was resumed by an administrator"):format(name))
         self.on_released(name, d)
      end
   end
end

--- @param o table: slurm (helper), cluster, journal, policy (settings), mode() → text,
--   encode(table) → text, on_released(node name, drain or nil)
function act.new(o)
   return setmetatable({ slurm = o.slurm, cluster = o.cluster, journal = o.journal,
      policy = o.policy, mode = o.mode, encode = o.encode, on_released = o.on_released,
      drained = {}, held = {}, busy = {}, alerted = {}, alerts = {}, times = {} }, Act)
end

return act
