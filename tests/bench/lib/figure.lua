-- SPDX-License-Identifier: GPL-2.0-or-later
--- The last lines of a benchmark: one figure each, held against its limit.

--- @param name of the figure
-- @param value number, or nil when there is none; bench_figures (bench.sh) then ends with 1
-- @param unit text
-- @param op "<=", ">=", or nil when the figure is only to be stated
-- @param limit number
return function(name, value, unit, op, limit)
   if value ~= value then
      value = nil -- 0 / 0: of no measurements
   end
   local text = value and ("%.4g"):format(value) or "-"
   if not op then
      print(("figure %s %s %s limit - -"):format(name, text, unit))
      return
   end
   local holds = value and (op == "<=" and value <= limit or op == ">=" and value >= limit)
   local verdict = holds and "ok" or "short"
   if (os.getenv "BENCH_QUICK" or "") ~= "" then
      verdict = "quick" -- too few runs to be held against anything
   end
   print(("figure %s %s %s limit %s %g %s"):format(name, text, unit, op, limit, verdict))
end
