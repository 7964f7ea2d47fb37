-- SPDX-License-Identifier: GPL-2.0-or-later
-- Reads "LUA WHAT ms" lines of job_submit.lua; prints the table and the figures.
local stats = require "stats"
local units = require "kernel.units"

local seen = {}
for line in io.lines() do
   local lua, what, ms = line:match "^(%S+) (%l+) (%S+)$"
   seen[lua] = seen[lua] or {}
   seen[lua][what] = seen[lua][what] or {}
   table.insert(seen[lua][what], tonumber(ms))
end

local ROWS = { { "comm", "a job with --comm" }, { "plain", "a job without" },
   { "changed", "the first after the file changed" }, { "cold", "the first of all" } }
print(("\nexcludes were given to %.0f %% of the jobs\n"):format(
   stats.median(seen["Lua5.1"].steered) * 100))
print("ms of a job, median (worst)           Lua 5.1              Lua 5.4")
for _, row in ipairs(ROWS) do
   local text = {}
   for i, lua in ipairs { "Lua5.1", "Lua5.4" } do
      local list = seen[lua][row[1]]
      text[i] = ("%8.4f (%.4f)"):format(stats.median(list), math.max(table.unpack(list)))
   end
   print(("%-34s %-20s %s"):format(row[2], text[1], text[2]))
end
print()
local median = function(what) return stats.median(seen["Lua5.1"][what]) end
units.figure("job_submit_ms", median "comm", "ms", "<=", 0.2)
units.figure("job_submit_changed_ms", median "changed", "ms", "<=", 1)
units.figure("job_submit_plain_ms", median "plain", "ms")
units.figure("job_submit_cold_ms", median "cold", "ms")
