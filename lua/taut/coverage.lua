--- When each component was tested last, how much of its time probes may still take, and which
-- components a running plan has reserved.
--
-- `link_time` (a fraction) is a rate: each component saves up time for probes at that rate, up
-- to SAVED_S; routine tests leave half of it to suspects.
local coverage = {}
local Coverage = {}
Coverage.__index = Coverage

local SAVED_S = 0.5 -- seconds of probing that a component can save up

--- @param link_time fraction of a component's time, or false for no limit
function coverage.new(link_time)
   return setmetatable({ link_time = link_time, tested = {}, spent = {}, spent_at = {},
      busy_until = {}, asked = {} }, Coverage)
end

--- Seconds of probing left to a component.
function Coverage:left(c, now)
   if not self.link_time then
      return math.huge
   end
   local spent = (self.spent[c] or 0) - (now - (self.spent_at[c] or now)) * self.link_time
   return SAVED_S - math.max(0, spent)
end

--- May a test of `seconds` use component c now?
-- @param urgent true for tests of suspects, which may use all that is saved up
function Coverage:allows(c, seconds, now, urgent)
   local keep = urgent and 0 or SAVED_S / 2
   return self:left(c, now) - seconds >= (keep < SAVED_S - seconds and keep or 0)
end

--- Take `seconds` out of what component c may use, and keep other plans off it until `until_s`.
function Coverage:reserve(c, seconds, now, until_s)
   if self.link_time then
      self.spent[c] = math.max(0, SAVED_S - self:left(c, now)) + seconds
      self.spent_at[c] = now
   end
   self.busy_until[c] = math.max(self.busy_until[c] or 0, until_s)
   self.asked[c] = now
end

--- Keep other plans off component c until `until_s`; a survey does so for each of its rounds.
function Coverage:hold(c, until_s)
   self.busy_until[c] = math.max(self.busy_until[c] or 0, until_s)
end

function Coverage:is_busy(c, now)
   return (self.busy_until[c] or 0) > now
end

--- A test of component c meant something.
function Coverage:touch(c, now)
   self.tested[c] = now
end

--- When c was last tested or asked for; 0 = never.
function Coverage:last(c)
   return math.max(self.tested[c] or 0, self.asked[c] or 0)
end

--- Share of the components 1 … n tested within `seconds`.
function Coverage:share(n, seconds, now)
   local fresh = 0
   for c = 1, n do
      if (self.tested[c] or -math.huge) >= now - seconds then
         fresh = fresh + 1
      end
   end
   return fresh / n
end

return coverage
