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

local function match_digits(count, name)
   local p = P(true)
   for _ = 1, count do
      p = p * digit
   end
   return Cg(p / tonumber, name)
end

local month = P(false)
for i, name in ipairs(MONTHS) do
   month = month + P(name) / function() return i end
end

local hms = match_digits(2, "hour") * ":" * match_digits(2, "min") * ":" * match_digits(2, "sec")

--- "130325 15:51:00"
clock.short = Ct(Cg(digit * digit / function(year) return 2000 + tonumber(year) end, "year")
   * match_digits(2, "month") * match_digits(2, "day") * P " " * hms)

--- "Nov 17 13:16:56", as syslog and OpenSM write it; the year is not told.
clock.syslog = Ct(Cg(month, "month") * P " " * (P " " * match_digits(1, "day")
   + match_digits(2, "day") + match_digits(1, "day")) * P " " * hms)

--- "2024-03-05T12:00:01.123456+01:00"
clock.iso = Ct(match_digits(4, "year") * "-" * match_digits(2, "month") * "-"
   * match_digits(2, "day") * (P "T" + " ") * hms * (P "." * digit ^ 1) ^ -1
   * (P "Z" * Cg(lpeg.Cc(0), "offset")
      + Cg(lpeg.C(lpeg.S "+-") * (digit * digit / tonumber) * P ":" ^ -1
         * (digit * digit / tonumber) / function(sign, hours, minutes)
            return (sign == "-" and -1 or 1) * (hours * 3600 + minutes * 60)
         end, "offset")) ^ -1)

local DAY = 86400

local function is_sane_time(time)
   return time.month >= 1 and time.month <= 12 and time.day >= 1 and time.day <= 31
      and time.hour <= 24 and time.min <= 59 and time.sec <= 60
end

-- Seconds that a time of UTC stands for.
local function seconds_of_utc(time)
   local local_time = os.time(time)
   return local_time + os.difftime(local_time, os.time(os.date("!*t", local_time)))
end

--- Seconds since 1970.
-- @param time as one of the patterns gives it
-- @param now where the year is not told, it is the one that puts the time not beyond tomorrow
-- @return seconds, or nil for what is not time
function clock.seconds(time, now)
   if not is_sane_time(time) then
      return nil
   end
   local copy = { year = time.year, month = time.month, day = time.day, hour = time.hour,
      min = time.min, sec = time.sec }
   if time.offset then
      copy.isdst = false
      return seconds_of_utc(copy) - time.offset
   elseif not time.year then
      copy.year = tonumber(os.date("%Y", math.floor(now))) + 1
      local seconds = os.time(copy)
      while seconds > now + DAY and copy.year > 1970 do
         copy = { year = copy.year - 1, month = time.month, day = time.day, hour = time.hour,
            min = time.min, sec = time.sec }
         seconds = os.time(copy)
      end
      return seconds
   end
   return os.time(copy)
end

return clock
