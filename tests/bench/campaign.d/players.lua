-- SPDX-License-Identifier: GPL-2.0-or-later
--- Who plays: name → function(machine, o) → player, as play.lua wants one.
local players = {}

players.names = { "taut", "threshold", "votes", "leastsquares" }

--- @param name one of names
-- @return function(machine) → player, or nil where there is none of that name
function players.make(name)
   if name == "standin" then
      return require "standin".new
   end
end

return players
