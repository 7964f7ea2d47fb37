-- SPDX-License-Identifier: GPL-2.0-or-later
--- Taut's time: seconds since 1970 by the clock that counts from the host's boot; no setting of the
-- wall clock makes anything older or younger.  It begins as the wall clock is; an earlier tautd of
-- the same boot is continued, by the file `clock` beside the database:
--
--   boot 1b4e28ba-2fa1-11d2-883f-0016d3cca427    id of the boot
--   up 86400.250                                 seconds since then …
--   time 1700000000.500                          … when it was this time
--
-- After a boot it is the wall clock's again, but never before what was kept.  Where the wall clock
-- is off by little, Taut's time follows it, slowly enough for no one to notice.
local loop = require "taut.loop"
local sys = require "taut.sys"

local clock = {}

local FILE_MAX = 4096
local LITTLE_S = 60  -- the wall clock is followed, …
local STEP_S, LOOK_MS = 0.1, 10000 -- … so much, so often
local KEEP_LOOKS = 60 -- looks from one writing of the file to the next

local boot

--- The id of this boot of the host; "unknown" if it is not known.
function clock.boot_id()
   if not boot then
      local f = io.open "/proc/sys/kernel/random/boot_id"
      boot = f and f:read "l" or "unknown"
      if f then
         f:close()
      end
   end
   return boot
end

local function read_kept(path)
   local f = io.open(path)
   local text = f and f:read(FILE_MAX) or ""
   if f then
      f:close()
   end
   local id, up, time = text:match "^boot (%S+)\nup ([%d.]+)\ntime ([%d.]+)\n$"
   up, time = tonumber(up), tonumber(time)
   return time and { boot = id, up = up, time = time }
end

--- Go on where an earlier tautd was.
-- @param path of the file
function clock.open(path)
   clock.path = path
   local kept = read_kept(path)
   local is_this_boot = kept and kept.boot == clock.boot_id() and kept.up <= loop.up()
   if is_this_boot then
      loop.shift(kept.time + loop.up() - kept.up - loop.time())
   elseif kept then
      loop.shift(math.max(0, kept.time - loop.time()))
   end
   clock.keep()
end

--- Write it down.
function clock.keep()
   if clock.path then
      local ok, err = sys.write_durably(clock.path, ("boot %s\nup %.3f\ntime %.3f\n"):format(
         clock.boot_id(), loop.up(), loop.time()))
      if not ok and err ~= clock.error then
         sys.log("warning", "clock: not stored: " .. err)
      end
      clock.error = not ok and err or nil
   end
end

--- By how many seconds the wall clock is ahead where that is too much to be followed; or nil.
function clock.ahead()
   local s = loop.ahead()
   if math.abs(s) > LITTLE_S then
      return s
   end
   return nil
end

--- The same in words, or nil.
function clock.trouble()
   local s = clock.ahead()
   return s and ("this host's clock was set %s %s: Taut's time goes on as it was, and dates " ..
      "that it shows are that much off (tautd(8), FILES: clock)"):format(
      math.abs(s) < 7200 and ("%.0f min"):format(math.abs(s) / 60)
      or ("%.1f h"):format(math.abs(s) / 3600), s > 0 and "ahead" or "back")
end

local function look_at_wall_clock()
   local s = loop.ahead()
   local is_off = math.abs(s) > LITTLE_S
   if is_off and not clock.is_off then
      sys.log("warning", clock.trouble())
   elseif not is_off then
      loop.shift(math.max(-STEP_S, math.min(s, STEP_S)))
   end
   clock.is_off, clock.looks = is_off, (clock.looks or 0) + 1
   if clock.looks % KEEP_LOOKS == 0 then
      clock.keep()
   end
end

--- Follow the wall clock where it is off by little, and say where it is not.
function clock.follow()
   loop.every(LOOK_MS, look_at_wall_clock)
end

return clock
