-- SPDX-License-Identifier: GPL-2.0-or-later
-- Adds up the runs of `price`: price.lua FILE
local figure = require "figure"
local stats = require "stats"
local units = require "kernel.units"

local STEPS = { "hello", "plan", "result", "test" }
local WHAT = { hello = "HELLO in, an empty PLAN out", plan = "a PLAN with tests",
   result = "a RESULT", test = "the same with tests that count" }
local ns, tests, of = {}, {}, {}

for line in io.lines(arg[1]) do
   local kind, nodes, n, all = line:match "^ran (%S+) (%d+) (%d+) (%d+)$"
   if kind then
      ns[kind] = ns[kind] or {}
      table.insert(ns[kind], all / nodes)
      tests[kind] = n / 2 / nodes -- both ends have it
   end
   local k, name, each = line:match "^of (%S+) (%S+) (%d+)$"
   if k then
      of[k] = of[k] or {}
      of[k][name] = (of[k][name] or 0) + each / 1e3
   end
   if line:find "^kernel" then
      units.look()
   end
end
units.look()

local function us(kind)
   return stats.median(ns[kind]) / 1e3
end

local scale, before = units.scale(), 0
print(units.words())
print(("floor   %7.1f us a node                a HELLO is not less; here it is %.1f times that")
   :format(us "floor", us "hello" / us "floor"))
for _, kind in ipairs(STEPS) do
   local processes = {}
   for name, sum in pairs(of[kind]) do
      if sum > 0 then
         processes[#processes + 1] = ("%s %.0f"):format(name, sum / #ns[kind] / 2000)
      end
   end
   table.sort(processes)
   print(("%-7s %7.1f us a node, %6.1f more   %s (%s)"):format(kind, us(kind), us(kind) - before,
      WHAT[kind], table.concat(processes, ", ")))
   before = us(kind)
end
print(("%.2f tests a node"):format(tests.test))
figure("price_hello_us", us "hello" * scale, "us", "<=", 100)
figure("price_plan_us", (us "plan" - us "hello") * scale, "us", "<=", 60)
figure("price_result_us", (us "result" - us "plan") * scale, "us", "<=", 100)
figure("price_test_us", (us "test" - us "result") / tests.test * scale, "us", "<=", 50)
