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
-- @param n components (default: as many as are asked about)
function coverage.new(link_time, n)
   local self = setmetatable({ times = times.new(n or SOME) }, Coverage)
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

--- Make room for components 1 … n.
function Coverage:fit(n)
   self.times:grow(n)
end

--- Seconds of probing left to a component.
function Coverage:left(c, now)
   return self.times:left(c, now)
end

--- May a test of `seconds` use component c now?
-- @param urgent true for tests of suspects, which may use all that is saved up
function Coverage:allows(c, seconds, now, urgent)
   return self.times:allows(c, seconds, now, urgent)
end

--- Take `seconds` out of what component c may use, and keep other plans off it until `until_s`.
function Coverage:reserve(c, seconds, now, until_s)
   self.times:reserve(c, seconds, now, until_s)
end

--- Keep other plans off component c until `until_s`; a survey does so for each of its rounds.
function Coverage:hold(c, until_s)
   self.times:hold(c, until_s)
end

--- Component c is held until `was` and no longer: let it go now.
function Coverage:let_go(c, was, now)
   self.times:let_go(c, was, now)
end

--- Until when c is held; 0 = never was.
function Coverage:busy_until(c)
   return self.times:busy_until(c)
end

function Coverage:is_busy(c, now)
   local until_s = self.times:busy_until(c)
   return until_s > now and until_s <= now + AHEAD_S
end

--- A test of component c meant something.
function Coverage:touch(c, now)
   self.times:touch(c, now)
end

--- As if c had never been tested.
function Coverage:forget(c)
   self.times:touch(c, 0)
end

--- When a test of c last meant something; 0 = never.
function Coverage:tested(c)
   return self.times:tested(c)
end

--- When c was last tested or asked for; 0 = never.
function Coverage:last(c)
   return self.times:last(c)
end

--- Share of the components 1 … n tested within `seconds`.
function Coverage:share(n, seconds, now)
   return self.times:share(n, now - seconds)
end

--- Components, from number `from` on, that nothing tested or asked for since `before`.
-- @param most how many at most
function Coverage:stale(before, from, most)
   return self.times:stale(before, from, most)
end

return coverage
