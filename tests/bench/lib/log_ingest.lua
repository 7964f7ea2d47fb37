-- SPDX-License-Identifier: GPL-2.0-or-later
-- The part of tests/bench/log_ingest that makes the logs and takes the times.
local loop = require "taut.loop"
local sys = require "taut.sys"
local units = require "kernel.units"

local data, folder, lines, runs = arg[1], arg[2], tonumber(arg[3]), tonumber(arg[4])
math.randomseed(tonumber(os.getenv "BENCH_SEED"))

-- Recorded lines, and one that says something: made anew each time.
local FORMATS = {
   { "kernel", "kernel.txt", function(i)
      return ("Nov  7 %02d:%02d:04 n%d kernel: mlx5_core 0000:01:00.0 ens1f0: Link %s"):format(
         i // 60 % 24, i % 60, math.random(9999), i % 2 == 0 and "down" or "up")
   end, "Nov  7 03:00:10 n%d systemd[1]: Started Session %d of user root." },
   { "netwatch", "netwatch.txt", function(i)
      return ("130325 15:51:%02d c%d-%dc0s1g0l27 c0-0c1s1g0l17 1 TX lanemask=%d"):format(i % 60,
         math.random(0, 24), math.random(0, 7), math.random(1, 6))
   end, "130325 15:51:00 c%d-0c1s0g0l27 c0-0c1s1g0l17 1 Mode Exchanges %d" },
   { "opensm", "opensm-3.3.23.txt", function(i)
      return ("Nov 20 15:41:%02d 788534 [F7AE96C0] 0x02 -> drop_mgr_remove_port: Removed port with "
         .. "GUID:0x%016x LID range [5, 5] of node:n%d"):format(i % 60, i, i)
   end, "Nov 20 15:41:07 821333 [F7AE96C0] 0x02 -> osm_ucast_mgr_process: minhop tables %d %d" },
}

local function slurp(path)
   local f = assert(io.open(path))
   local list = {}
   for line in f:lines() do
      list[#list + 1] = line
   end
   f:close()
   return list
end

local function make(path, format, every)
   local recorded = slurp(data .. "/" .. format[2])
   local f = assert(io.open(path, "w"))
   for i = 1, every == 1 and lines // 20 or lines do
      local line
      if i % every == 0 then
         line = format[3](i)
      elseif i % 50 == 0 then
         line = recorded[math.random(#recorded)]
      else
         line = format[4]:format(math.random(99), i)
      end
      f:write(line, "\n")
   end
   f:close()
end

local function seconds(command)
   local began = loop.now_ns()
   assert(os.execute(command))
   return (loop.now_ns() - began) / 1e9
end

local function median(list)
   table.sort(list)
   return list[(#list + 1) // 2]
end

local cases = {}
for _, format in ipairs(FORMATS) do
   for _, every in ipairs { 1000, 1 } do
      local path = ("%s/%s.%d"):format(folder, format[1], every)
      make(path, format, every)
      cases[#cases + 1] = { format = format[1], path = path, every = every, taut = {}, grep = {} }
   end
end
for _ = 1, runs do
   for _, c in ipairs(cases) do
      c.taut[#c.taut + 1] = seconds(("'%s' ingest %s '%s' >'%s/out'"):format(sys.paths.program,
         c.format, c.path, folder))
      c.grep[#c.grep + 1] = seconds(("grep -c 'Link\\|lanemask\\|Removed' '%s' >'%s/out'"):format(
         c.path, folder))
   end
end

print(("%-10s %8s %-18s %10s %10s"):format("LOG", "LINES", "THAT SAY SOMETHING", "TAUT", "GREP"))
for _, c in ipairs(cases) do
   local n = c.every == 1 and lines // 20 or lines
   print(("%-10s %8d %-18s %8.2f s %8.2f s"):format(c.format, n, c.every == 1 and "all" or "1 in "
      .. c.every, median(c.taut), median(c.grep)))
end
print()
for _, c in ipairs(cases) do
   if c.every == 1 then
      units.figure("ingest_worst_" .. c.format, median(c.taut) * 1e6 / (lines // 20), "us/line")
   else
      units.figure("log_ingest_" .. c.format, median(c.taut), "s", "<=", 2)
   end
end
