-- SPDX-License-Identifier: GPL-2.0-or-later
--- Times in logs: pieces of grammars, and seconds since 1970.
--
-- Logs are in local time unless they say otherwise.  Only lines that mean something come here.
local lpeg = require "lpeg"

local P, R, Cg, Ct = lpeg.P, lpeg.R, lpeg.Cg, lpeg.Ct

local clock = {}

local digit = R "09"
local MONTHS = { "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov",
   "Dec" }

local function digits(n, name)
   local p = P(true)
   for _ = 1, n do
      p = p * digit
   end
   return Cg(p / tonumber, name)
end

local month = P(false)
for i, name in ipairs(MONTHS) do
   month = month + P(name) / function() return i end
end

local hms = digits(2, "hour") * ":" * digits(2, "min") * ":" * digits(2, "sec")

--- "130325 15:51:00"
clock.short = Ct(Cg(digit * digit / function(y) return 2000 + tonumber(y) end, "year")
   * digits(2, "month") * digits(2, "day") * P " " * hms)

--- "Nov 17 13:16:56", as syslog and OpenSM write it; the year is not told.
clock.syslog = Ct(Cg(month, "month") * P " " * (P " " * digits(1, "day") + digits(2, "day")
   + digits(1, "day")) * P " " * hms)

--- "2024-03-05T12:00:01.123456+01:00"
clock.iso = Ct(digits(4, "year") * "-" * digits(2, "month") * "-" * digits(2, "day") * (P "T" + " ")
   * hms * (P "." * digit ^ 1) ^ -1
   * (P "Z" * Cg(lpeg.Cc(0), "offset")
      + Cg(lpeg.C(lpeg.S "+-") * (digit * digit / tonumber) * P ":" ^ -1
         * (digit * digit / tonumber) / function(sign, h, m)
            return (sign == "-" and -1 or 1) * (h * 3600 + m * 60)
         end, "offset")) ^ -1)

local DAY = 86400

local function is_sane(t)
   return t.month >= 1 and t.month <= 12 and t.day >= 1 and t.day <= 31 and t.hour <= 24
      and t.min <= 59 and t.sec <= 60
end

-- Seconds that a time of UTC stands for.
local function utc(t)
   local local_time = os.time(t)
   return local_time + os.difftime(local_time, os.time(os.date("!*t", local_time)))
end

--- Seconds since 1970.
-- @param t a time as one of the patterns gives it
-- @param now where the year is not told, it is the one that puts the time not beyond tomorrow
-- @return seconds, or nil for what is no time
function clock.seconds(t, now)
   if not is_sane(t) then
      return nil
   end
   local copy = { year = t.year, month = t.month, day = t.day, hour = t.hour, min = t.min,
      sec = t.sec }
   if t.offset then
      copy.isdst = false
      return utc(copy) - t.offset
   elseif not t.year then
      copy.year = tonumber(os.date("%Y", math.floor(now))) + 1
      local seconds = os.time(copy)
      while seconds > now + DAY and copy.year > 1970 do
         copy = { year = copy.year - 1, month = t.month, day = t.day, hour = t.hour, min = t.min,
            sec = t.sec }
         seconds = os.time(copy)
      end
      return seconds
   end
   return os.time(copy)
end

return clock
