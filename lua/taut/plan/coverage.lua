-- SPDX-License-Identifier: GPL-2.0-or-later
--- When each component was tested last, how much of its time probes may still take, and which
-- components a running plan has reserved.
--
-- `link_time` (a fraction) is a rate: each component saves up time for probes at that rate, up
-- to half a second; routine tests leave half of it to suspects.  The times themselves are arrays in
-- C (taut.times), which plans and the diagnosis read and write in bulk.
local times = require "taut.times"

local coverage = {}
local Coverage = {}
Coverage.__index = Coverage

local AHEAD_S = 60 -- what is held longer is of a clock that was set back since, as in C
local SOME = 4096 -- components there is room for until somebody says how many there are

--- @param link_time fraction of a component's time, or false for no limit
-- @param count components (default: as many as are asked about)
function coverage.new(link_time, count)
   local self = setmetatable({ times = times.new(count or SOME) }, Coverage)
   self:limit(link_time)
   return self
end

--- Another limit.
-- @param link_time as for new
function Coverage:limit(link_time)
   self.link_time = link_time
   self.times:limit(link_time)
end

--- Take from an evidence engine when each component was last seen well: what low tests crossed is
-- then tested again soon, what was cleared is not.
-- @param evidence taut.evidence of the same machine
function Coverage:follow(evidence)
   self.times:follow(evidence)
end

--- Make room for components 1 … count.
function Coverage:fit(count)
   self.times:grow(count)
end

--- Seconds of probing left to a component.
function Coverage:left(component, now)
   return self.times:left(component, now)
end

--- May a test of `seconds` use a component now?
-- @param urgent true for tests of suspects, which may use all that is saved up
function Coverage:allows(component, seconds, now, urgent)
   return self.times:allows(component, seconds, now, urgent)
end

--- Take `seconds` from a component's allowance, and keep other plans off it until `until_s`.
function Coverage:reserve(component, seconds, now, until_s)
   self.times:reserve(component, seconds, now, until_s)
end

--- Keep other plans off a component until `until_s`; a survey does so for each of its rounds.
function Coverage:hold(component, until_s)
   self.times:hold(component, until_s)
end

--- A component is held until `was` and no longer: let it go now.
function Coverage:let_go(component, was, now)
   self.times:let_go(component, was, now)
end

--- Until when a component is held; 0 = never was.
function Coverage:busy_until(component)
   return self.times:busy_until(component)
end

function Coverage:is_busy(component, now)
   local until_s = self.times:busy_until(component)
   return until_s > now and until_s <= now + AHEAD_S
end

--- A test of a component meant something.
function Coverage:touch(component, now)
   self.times:touch(component, now)
end

--- As if a component had never been tested.
function Coverage:forget(component)
   self.times:touch(component, 0)
end

--- When a test of a component last meant something; 0 = never.
function Coverage:tested(component)
   return self.times:tested(component)
end

--- When a component was last tested or asked for; 0 = never.
function Coverage:last(component)
   return self.times:last(component)
end

--- Share of the components 1 … count tested within `seconds`.
function Coverage:share(count, seconds, now)
   return self.times:share(count, now - seconds)
end

--- Components, from number `from` on, that nothing tested or asked for since `before`.
-- @param most how many at most
function Coverage:stale(before, from, most)
   return self.times:stale(before, from, most)
end

return coverage
