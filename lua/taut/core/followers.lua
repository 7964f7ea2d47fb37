-- SPDX-License-Identifier: GPL-2.0-or-later
--- What tautd follows by itself: the fabric, swept by one process, and logs, read by another.
local fabric = require "taut.fabric"
local ingest_keeper = require "taut.events.ingest.keeper"
local json = require "taut.json"

local followers = {}
local Followers = {}
Followers.__index = Followers

--- Sweep the fabric, as the settings say.
function Followers:start_fabric()
   if self.fabric then
      self.fabric:stop()
      self.fabric = nil
   end
   local s = self.site.conf.fabric
   if s.sweep_s then
      self.fabric = fabric.start(s, function(list) self.events:take(list, true) end)
   end
end

--- Follow logs, from where an earlier tautd was: the store is asked first.
function Followers:start_logs()
   if self.logs then
      self.positions = self.logs.positions
      self.logs:stop()
      self.logs = nil
   end
   local s = self.site.conf.events
   if #s.follow > 0 and not self.stopped then
      self.logs = ingest_keeper.start(s, self.journal, self.positions, function(list)
         self.events:take(list)
      end)
   end
end

--- How far logs were read, as the store kept it.
-- @param rows of log_positions
function Followers:restore(rows)
   for _, row in ipairs(rows) do
      self.positions[row.path] = json.decode(row.data)
   end
end

function Followers:stop()
   self.stopped = true
   for _, keeper in pairs { fabric = self.fabric, logs = self.logs } do
      keeper:stop()
   end
end

--- @param options { site, events, journal }
function followers.new(options)
   return setmetatable({ site = options.site, events = options.events, journal = options.journal,
      positions = {} }, Followers)
end

return followers
