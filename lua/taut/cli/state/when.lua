-- SPDX-License-Identifier: GPL-2.0-or-later
--- Points in time as the command line takes them.
local when = {}

local UNITS = { s = 1, m = 60, h = 3600, d = 86400 }

--- "90m", "2d", or a date: seconds since 1970; nil and what was expected.
function when.since(text)
   local n, unit = text:match "^(%d+)([smhd])$"
   if n then
      return os.time() - tonumber(n) * UNITS[unit]
   end
   local y, m, d, rest = text:match "^(%d%d%d%d)%-(%d%d)%-(%d%d)(.*)$"
   local hour, min = (rest or ""):match "^[T ](%d%d):(%d%d)$"
   if y and (rest == "" or hour) then
      return os.time { year = tonumber(y), month = tonumber(m), day = tonumber(d),
         hour = tonumber(hour) or 0, min = tonumber(min) or 0, sec = 0 }
   end
   return nil, "expected 90m, 12h, 2d, 2026-03-05 or 2026-03-05T14:30"
end

--- "12h", "30d", or a date: that much later than now; nil and what was expected.
function when.till(text)
   local n, unit = text:match "^(%d+)([smhd])$"
   if n then
      return os.time() + tonumber(n) * UNITS[unit]
   end
   local t = when.since(text)
   if t and t > os.time() then
      return t
   end
   return nil, "expected 12h, 30d, 2026-03-05 or 2026-03-05T14:30, after now"
end

return when
