-- SPDX-License-Identifier: GPL-2.0-or-later
--- Where a survey of our own could begin at once, and why not elsewhere.  Methods of
-- cluster/init.lua.
--
-- A job that asks for a node which a reservation keeps, or which is switched off, waits, and keeps
-- its other nodes waiting; one job is in one partition.
local hostlist = require "taut.hostlist"
local loop = require "taut.loop"
local tables = require "taut.base.tables"

local room = {}

local NAMES_MAX = 1 << 20

-- Reservations that have begun: name of a node → name of the reservation.
local function reserved_now(self)
   local now, by = loop.time() + loop.ahead(), {}
   for _, r in ipairs(self.reservations or {}) do
      if (r.start or 0) <= now and now < (r["end"] or math.huge) then
         for _, name in ipairs(hostlist.expand(r.nodes or "", NAMES_MAX) or {}) do
            by[name] = by[name] or r.name
         end
      end
   end
   return by
end

-- Nodes of the reservation that is asked for: a set; or nil and what is wrong.
local function nodes_of(self, wanted)
   local now = loop.time() + loop.ahead()
   for _, r in ipairs(self.reservations or {}) do
      if r.name == wanted then
         if (r.start or 0) > now then
            return nil, ("reservation '%s' has not begun"):format(wanted)
         end
         local set = {}
         for _, name in ipairs(hostlist.expand(r.nodes or "", NAMES_MAX) or {}) do
            set[name] = true
         end
         return set
      end
   end
   return nil, ("there is no reservation '%s'"):format(tostring(wanted):sub(1, 64))
end

-- Why a survey does not begin on a node that has no job; "" where a job of somebody is on it.
-- @param reservation that keeps the node, nil for none; "" for the one that the job asks for
local function why_not(self, node, reservation)
   if self:has_job(node.name) then
      return ""
   elseif node.off then
      return "switched off to save power, or not yet on again"
   elseif node.rebooting then
      return "to be rebooted, or rebooting"
   elseif node.down then
      return "down"
   elseif node.drain or node.fail then
      return "drained"
   elseif node.barred then
      return node.barred
   elseif reservation and reservation ~= "" then
      return "in reservation " .. reservation
   elseif not reservation and (node.maint or node.reserved) then
      return "reserved"
   elseif node.state ~= "idle" then
      return ""
   end
   return nil
end

--- Nodes of a list on which a job could start now.
-- @param names array
-- @param wanted reservation that the job asks for, or nil
-- @param breathe called now and then, or nil
-- @return array of names; array of { why, nodes = array of names } of those that are left out
--   without a job on them; or nil and what is wrong
function room:survey_room(names, wanted, breathe)
   breathe = breathe or function() end
   local inside, err
   if wanted then
      inside, err = nodes_of(self, wanted)
      if not inside then
         return nil, err
      end
   end
   local by, list, left, at = reserved_now(self), {}, {}, {}
   for _, name in ipairs(names) do
      breathe()
      local n = self.nodes[name]
      local why, reservation = "", by[name]
      if inside then
         reservation = ""
      end
      if not n then
         why = "not known to Slurm"
      elseif not inside or inside[name] then
         why = why_not(self, n, reservation)
      end
      if not why then
         list[#list + 1] = name
      elseif why ~= "" then
         if not at[why] then
            at[why] = { why = why, nodes = {} }
            left[#left + 1] = at[why]
         end
         table.insert(at[why].nodes, name)
      end
   end
   return list, left
end

local function is_better(one, other)
   if one.count ~= other.count then
      return one.count > other.count
   elseif one.default ~= other.default then
      return one.default
   end
   return one.name < other.name
end

--- Partitions by how many of these nodes a job in them could have: the largest first, of equal ones
-- the cluster's default.
-- @param names array
-- @return array of { name, count, default, max_minutes }, those that are up
function room:partitions_of(names)
   local set, list = tables.set(names), {}
   for _, p in ipairs(self.partition_info or {}) do
      local count = 0
      if p.up then
         count = tables.count(self.partitions[p.name] or {}, function(name) return set[name] end)
      end
      if count > 0 then
         list[#list + 1] = { name = p.name, count = count, default = p.default == true,
            max_minutes = p.max_minutes }
      end
   end
   table.sort(list, is_better)
   return list
end

return room
