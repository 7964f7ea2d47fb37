-- SPDX-License-Identifier: GPL-2.0-or-later
--- The nodes of one survey: who has come, who has gone, and what they say.
local json = require "taut.json"
local loop = require "taut.loop"
local result = require "taut.wire.result"
local seal = require "taut.seal"
local wire = require "taut.wire"

local nodes = {}
local methods = {}
nodes.methods = methods

--- The message for a second process of a node; it ends with status 0.
nodes.SECOND = "one process per node is enough (srun --ntasks-per-node=1)"

---------------------------------------------------------------- sending

--- Seal and send; each frame to a node has the next number.
function nodes.send(peer, kind, text)
   local sealed = seal.seal(peer.key, kind, text, peer.sent, peer.version)
   peer.sent = peer.sent + 1
   return peer.conn:send(kind, sealed)
end

--- End a node's part; its log gets the note.
function nodes.dismiss(peer, note)
   nodes.send(peer, wire.PLAN, json.encode { v = peer.version,
      note = (note or ""):sub(1, wire.NOTE_MAX), tests = json.array {} })
   peer.conn:close()
end

---------------------------------------------------------------- coming and going

--- A process has come.  Returns nil, or why it is not taken.
function methods:admit(peer, said)
   if said.nodes ~= self.nodes_text then
      return "its step has other nodes than that of the first process"
   elseif self.peers[peer.name] and not peer.options then
      return nodes.SECOND
   elseif self.started or self.over then
      return "late: the others have started"
   elseif (peer.options ~= nil) ~= (peer.procid == 0) then
      return "options come from process 0"
   end
   local other = self.peers[peer.name]
   if other then -- the owner takes the place of another process of its node
      self:leave_out(other, nil, nodes.SECOND)
      self.count = self.count - 1
   end
   self.peers[peer.name], self.procid_of[peer.name] = peer, peer.procid
   self.by_conn[peer.conn] = peer
   self.count, self.came = self.count + 1, loop.time()
   if peer.options then
      self.owner = peer
   end
   if self:is_complete() then
      self.task:wake()
   end
   return nil
end

--- Have all come?  Process 0, too: its node may be here by another process.
function methods:is_complete()
   return self.count >= #self.wanted and self.owner ~= nil
end

--- Leave a node out from now on.
-- @param why for the owner
-- @param note for the node, if it is still there
function methods:leave_out(peer, why, note)
   self.peers[peer.name], self.by_conn[peer.conn] = nil, nil
   if peer.node then
      self.present[peer.node] = nil
   end
   self.on_dismissed(peer.conn)
   if note then
      nodes.dismiss(peer, note)
   end
   if self.started then
      self.left[#self.left + 1] = { node = peer.name, why = why }
   end
end

--- All go home.
function methods:dismiss_all(note)
   for _, peer in pairs(self.peers) do
      self.on_dismissed(peer.conn)
      nodes.dismiss(peer, note)
   end
   self.peers, self.by_conn, self.present = {}, {}, {}
end

--- Nodes of the step that are here (numbers, in order), missing ones, and those that are not in the
-- topology.
function methods:roll()
   local missing, unknown, here = json.array {}, json.array {}, {}
   for _, name in ipairs(self.wanted) do
      local peer = self.peers[name]
      if not peer then
         missing[#missing + 1] = name
      elseif not peer.node then
         unknown[#unknown + 1] = name
      else
         here[#here + 1] = peer.node
         self.present[peer.node] = peer
      end
   end
   table.sort(here)
   return here, missing, unknown
end

--- A connection ended.
function methods:gone(conn)
   local peer, round = self.by_conn[conn], self.round
   if not peer or self.over then
      return
   end
   self:leave_out(peer, peer.fault or "its process has ended")
   if not self.started then
      self.count = self.count - 1
   end
   if round and round.asked[peer.node] and not round.results[peer.node] then
      round.open = round.open - 1
   end
   if peer == self.owner then
      self.owner = nil
      if self.started then
         self:stop "its owner has gone"
      end
   end
   if round and round.open <= 0 then
      self.task:wake()
   end
end

---------------------------------------------------------------- what they say

local function open_frame(peer, kind, bytes)
   local text, err = seal.open(peer.key, kind, bytes, peer.opened, peer.version)
   if not text then
      return nil, err
   end
   peer.opened = peer.opened + 1
   return json.decode(text)
end

--- A sealed RESULT.  Returns true, or nil and why it was refused: the node is then left out.
function methods:result(conn, bytes)
   local peer, round = self.by_conn[conn], self.round
   if not round or not round.asked[peer.node] or round.results[peer.node] then
      return nil, peer.name .. ": a RESULT that was not requested"
   end
   local r, err = open_frame(peer, wire.RESULT, bytes)
   local tests
   if r then
      tests, err = result.read(r, peer.version)
   end
   if not tests then
      peer.fault = "its result was refused: " .. err
      return nil, ("%s: %s"):format(peer.name, err)
   end
   round.results[peer.node] = tests
   round.open = round.open - 1
   if round.open <= 0 then
      self.task:wake()
   end
   return true
end

--- A sealed STOP, the owner's.  Returns true, or nil and why it was refused.
function methods:stop_frame(conn, bytes)
   local peer = self.by_conn[conn]
   local ok, err = open_frame(peer, wire.STOP, bytes)
   if peer ~= self.owner then
      return nil, ("%s: STOP: only the owner may"):format(peer.name)
   elseif type(ok) ~= "table" then
      return nil, ("%s: STOP: %s"):format(peer.name, err or "expected an object")
   end
   self:stop "stopped by its owner"
   return true
end

return nodes
