-- SPDX-License-Identifier: GPL-2.0-or-later
-- Reads "run SIDE PURPOSE CPU_US WALL_US FAULTS"; prints what a start of taut-probe costs.
local stats = require "stats"
local units = require "kernel.units"

local runs = {}
for line in io.lines() do
   local side, purpose, cpu, wall, faults = line:match "^run (%a+) (%a+) (%d+) (%d+) (%d+)$"
   local key = assert(purpose, line) .. " " .. side
   runs[key] = runs[key] or { cpu = {}, wall = {}, faults = {} }
   table.insert(runs[key].cpu, cpu / 1e3)
   table.insert(runs[key].wall, wall / 1e3)
   table.insert(runs[key].faults, tonumber(faults))
end

print("              processor time, ms:  median  (95 %)         least    until it ended, ms"
   .. "    page faults")
for _, purpose in ipairs { "prolog", "epilog" } do
   for _, side in ipairs { "this", "other" } do
      local r = runs[purpose .. " " .. side]
      if r then
         local low, high = stats.interval(r.cpu)
         print(("%-6s %-6s %27.2f  (%.2f … %.2f) %8.2f %20.1f %14g"):format(purpose, side,
            stats.median(r.cpu), low, high, stats.quantile(r.cpu, 0), stats.median(r.wall),
            stats.median(r.faults)))
      end
   end
end
print()
for _, purpose in ipairs { "prolog", "epilog" } do
   units.figure("probe_start_" .. purpose, stats.median(runs[purpose .. " this"].cpu), "ms")
end
