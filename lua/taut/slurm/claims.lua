-- SPDX-License-Identifier: GPL-2.0-or-later
--- Jobs that a node says it has, before Slurm's list has them.
--
-- Root on a node can name any job.  What he names is true for his own node at most, until Slurm
-- answers; a node has so many open claims, and so much that is stored for them.  A node whose
-- claims Slurm denies, or whose word keeps others from being tested, is named.
local loop = require "taut.loop"

local claims = {}
local Claims = {}
Claims.__index = Claims

local OPEN_MAX = 256   -- jobs of one node that Slurm's list does not have yet
local KEPT_BURST = 64  -- samples and events of such jobs that are stored at once, …
local KEPT_EACH_S = 10 -- … and one more after so many seconds
local KEPT_OF_JOB = 3  -- a job that Slurm has after all makes room for so many
local SURGE = 8        -- denied claims within WINDOW_S: it is reported
local WINDOW_S = 600

local function of(self, node)
   local c = self.by_node[node]
   if not c then
      c = { open = {}, count = 0, denied = 0, shared = 0, room = KEPT_BURST, at = loop.time() }
      self.by_node[node] = c
   end
   return c
end

local function deny(self, node, record, id)
   record.denied, record.last, record.denied_at = record.denied + 1, id, loop.time()
   self.odd[node] = record
end

-- What may be stored by now.
local function refill(record, now)
   record.room = math.min(KEPT_BURST, record.room + (now - record.at) / KEPT_EACH_S)
   record.at = now
end

--- A node says that it has this job.
-- @param node a name that Slurm or the topology has
-- @param id job
-- @return true; or false: it has too many such claims, and this one is not accepted
function Claims:add(node, id)
   local c = of(self, node)
   if not c.open[id] then
      if c.count >= OPEN_MAX then
         deny(self, node, c, id)
         return false
      end
      c.count = c.count + 1
   end
   c.open[id] = loop.time()
   return true
end

--- May something of a job that only this node's word stands for be stored?  If so, it is counted.
function Claims:may_keep(node)
   local c, now = of(self, node), loop.time()
   refill(c, now)
   if c.room < 1 then
      return false
   end
   c.room = c.room - 1
   return true
end

--- A node's word alone kept it out of another job's check.
function Claims:keeps_out(node)
   local c = of(self, node)
   c.shared, c.shared_at = c.shared + 1, loop.time()
end

-- Counters of bursts that ended long ago begin anew.
local function age(self, node, record, now)
   if record.denied_at and now - record.denied_at > WINDOW_S then
      record.denied, record.denied_at = 0, nil
      self.odd[node] = nil
   end
   if record.shared_at and now - record.shared_at > WINDOW_S then
      record.shared, record.shared_at = 0, nil
   end
end

--- Slurm has answered.  A node whose word holds nothing any more is forgotten: of a machine each
-- node says again and again that it has a job.
-- @param asked when it was asked: claims of later wait for its next answer
-- @param has function(id, node): has Slurm this job on this node, now or a short while ago?
-- @param forget function(id, node), called where it has not
function Claims:settle(asked, has, forget)
   local now = loop.time()
   for node, c in pairs(self.by_node) do
      for id, at in pairs(c.open) do
         local is_there = has(id, node)
         if is_there or at < asked then
            c.open[id], c.count = nil, c.count - 1
         end
         if is_there then
            c.room = math.min(KEPT_BURST, c.room + KEPT_OF_JOB)
         end
         if not is_there and at < asked then
            deny(self, node, c, id)
            forget(id, node)
         end
      end
      age(self, node, c, now)
      refill(c, now)
      if c.count == 0 and c.denied == 0 and c.shared == 0 and c.room == KEPT_BURST then
         self.by_node[node] = nil
      end
   end
end

--- Nodes that name jobs which Slurm does not know, or keep others out, again and again.
-- @return array of { node, denied, shared, last = job, time }, the worst first
function Claims:surges()
   local list, now = {}, loop.time()
   for node, c in pairs(self.odd) do
      age(self, node, c, now)
      if c.denied >= SURGE then
         list[#list + 1] = { node = node, denied = c.denied, shared = c.shared, last = c.last,
            time = math.max(c.denied_at or 0, c.shared_at or 0) }
      end
   end
   table.sort(list, function(one, other)
      if one.denied ~= other.denied then
         return one.denied > other.denied
      end
      return one.node < other.node
   end)
   return list
end

function claims.new()
   return setmetatable({ by_node = {}, odd = {} }, Claims)
end

return claims
