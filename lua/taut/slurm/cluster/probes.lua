-- SPDX-License-Identifier: GPL-2.0-or-later
--- What was heard of nodes' probes: when, of which release, with which clock.  Methods of
-- cluster/init.lua.
local loop = require "taut.loop"

local probes = {}

--- A node said HELLO.
-- @param purpose what for, or nil
-- @param behind_s how far its clock is behind ours, as far as MUNGE's whole seconds tell; or nil
function probes:heard(node, purpose, behind_s)
   local now = loop.time()
   self.last_heard[node] = now
   if purpose == "idle" then
      self.last_heard_for.idle[node] = now
   elseif purpose then
      self.last_heard_for.job[node] = now
   end
   self.behind_s[node] = behind_s or self.behind_s[node]
   self.refused_for_clock[node] = nil
end

--- A node's message was refused, since MUNGE found its clock too far off: it is neither silent nor
-- heard.
function probes:clock_refused(node, behind_s)
   self.behind_s[node], self.refused_for_clock[node] = behind_s, loop.time()
end

--- Nodes whose last message was refused for their clocks: node → when.
function probes:refused_clocks()
   return self.refused_for_clock
end

--- Which probe it was.
-- @param release of it, text
-- @param protocol that it speaks, a number
-- @param refused true where nothing of it is understood
function probes:speaks(node, release, protocol, refused)
   local p = self.probe_of[node]
   if not p or p.release ~= release or p.protocol ~= protocol or p.refused ~= refused then
      self.probe_of[node] = { release = release, protocol = protocol, refused = refused }
   end
end

--- From which port on may users of that node call, where root has not all below 1024 for itself?
-- @param first port, or nil
function probes:users_call_from(node, first)
   self.user_port_of[node] = first
end

--- Node → the first port that its users may call from, for those where it is below 1024.
function probes:user_ports()
   return self.user_port_of
end

--- Node → { release, protocol } of its probe, for those heard since tautd started.
function probes:probes()
   return self.probe_of
end

return probes
