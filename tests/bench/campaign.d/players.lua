-- SPDX-License-Identifier: GPL-2.0-or-later
--- The players: name → function(machine, site) → player, as play.lua wants one.
local baseline = require "baseline"

local players = {}

players.names = { "taut", "threshold", "votes", "leastsquares", "likelihood" }

local BASELINES = { threshold = true, votes = true, leastsquares = true, likelihood = true }

--- @param name one of names
-- @param thresholds of a baseline, where they are not to be its tuned ones
-- @return function(machine, site) → player; nil where there is none of that name
-- @return the baseline's module
function players.make(name, thresholds)
   if BASELINES[name] then
      local method = require(name)
      return function(machine, site)
         return baseline.new(method, machine, thresholds, site)
      end, method
   elseif name == "taut" then
      return require "player_taut".new
   end
   return nil
end

return players
