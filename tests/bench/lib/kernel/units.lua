-- SPDX-License-Identifier: GPL-2.0-or-later
--- Processor time in units that are the same on every machine and on every day: the time that a
-- small fixed kernel (kernel.c and a bit of Lua) takes beside it.  It runs when this module is
-- loaded, at each units.look(), and before figures are printed.
local figure = require "figure"

local units = {}

-- What the kernel takes on the fastest machine seen so far (Intel Xeon, 2026-11-22), in ms: there
-- a millisecond is one.
local FASTEST_MS = 140

local looks = {}

local function lua_ms()
   local t, x, list = os.clock(), 1, {}
   for i = 1, 400000 do
      x = (x * 16807 + i) % 2147483647
      list[x % 1000] = (list[x % 1000] or "") == "" and tostring(x) or ""
   end
   return (os.clock() - t) * 1e3
end

--- Run the kernel once.
function units.look()
   local kernel = assert(os.getenv "BENCH_KERNEL", "bench_lua (bench.sh) makes the kernel")
   local pipe = assert(io.popen(kernel))
   local ms = assert(tonumber(pipe:read "l"), "the kernel printed no number")
   pipe:close()
   looks[#looks + 1] = ms + lua_ms()
end

--- How much faster the fastest machine is than this one was; by the fastest look, so that what
-- disturbed the kernel and not the measurement is given to nobody.
function units.scale()
   return FASTEST_MS / math.min(table.unpack(looks))
end

-- Who shares the processors' caches slows pointers that miss them tenfold, and with them the
-- kernel, and other programs by a tenth.
local SHARED = 0.7

--- A sentence for the table, or two.
function units.words()
   local text = ("kernel: %.1f to %.1f ms in %d looks; a unit of 1 is %g ms, so times count %.2f")
      :format(math.min(table.unpack(looks)), math.max(table.unpack(looks)), #looks, FASTEST_MS,
      units.scale())
   return units.scale() >= SHARED and text or text ..
      "\nnote: the kernel found its caches taken; in its units times look better than they are"
end

local last -- look, by os.time: many figures come at once

--- A figure that is processor time, or wall time in which nothing is waited for: the first line has
-- it as it was here, the figure is in units.
-- @param unit "s", "ms", "us" or "us/line": a larger value is slower; other arguments as figure()'s
function units.figure(name, value, unit, op, limit)
   if not last or os.time() - last > 5 then
      units.look()
      last = os.time()
      print(units.words())
   end
   if value then
      print(("%s: %.4g %s here"):format(name, value, unit))
      value = value * units.scale()
   end
   figure(name, value, unit, op, limit)
end

units.look()

return units
