-- SPDX-License-Identifier: GPL-2.0-or-later
--- What administrators switched: the policy's mode, and whether there are checks at all.  Kept in
-- the store; until somebody says otherwise the configuration's mode counts.
local switches = {}
local Switches = {}
Switches.__index = Switches

--- "enable" or "observe".
function Switches:mode()
   return self.own_mode or self.site.conf.mode
end

--- "on" or "off".
function Switches:checks()
   return self.own_checks or "on"
end

--- Are there to be checks now?
function Switches:are_checks_on()
   return self:checks() ~= "off"
end

function Switches:set_mode(mode)
   self.own_mode = mode
   self.journal:add("setting", { name = "mode", value = mode })
end

function Switches:set_checks(value)
   self.own_checks = value
   self.journal:add("setting", { name = "switch", value = value })
end

--- Take what the store kept; what was said since is newer.
-- @param settings map name → value
function Switches:restore(settings)
   self.own_mode = self.own_mode or settings.mode
   self.own_checks = self.own_checks or settings.switch
end

--- @param o { site, journal }
function switches.new(o)
   return setmetatable({ site = o.site, journal = o.journal }, Switches)
end

return switches
