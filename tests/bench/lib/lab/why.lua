-- SPDX-License-Identifier: GPL-2.0-or-later
-- Answers of `taut why` held against what was made to be wrong; for the benchmark why.
-- Arguments: the link that was slow, the one that lost packets.  Standard input: lines "KIND JSON".
local figure = require "figure"
local json = require "taut.json"
local numbers = require "taut.why.numbers"

local NETWORK = { placement = "placement", neighbour = "neighbours", slow = "component",
   lossy = "component" }
local MADE = { slow = arg[1], lossy = arg[2] }
local ORDER = { "healthy", "compute", "input", "wait", "disk", "paused", "cpu", "slow", "lossy",
   "placement", "neighbour" }
local Z = 1.96

local function is_blamed(v)
   return v.network == "yes" or v.network == "partly"
end

local function is_right(kind, v)
   if NETWORK[kind] then
      local is_named = v.cause == NETWORK[kind] and (not MADE[kind] or v.component == MADE[kind])
      return is_blamed(v) and (is_named or kind == "lossy" and v.cause == "congestion")
   elseif kind == "cpu" then
      return v.network == "no" and v.cause == "node"
   elseif kind == "disk" or kind == "paused" then
      return v.network == "no" or v.network == "not known"
   end
   return v.network == "no"
end

-- Lower bound of a share, Wilson, 95 %.
local function wilson(k, n)
   local p = k / n
   return (p + Z * Z / (2 * n) - Z * math.sqrt(p * (1 - p) / n + Z * Z / (4 * n * n)))
      / (1 + Z * Z / n)
end

local by, all, right, innocent, blamed, errors = {}, 0, 0, 0, 0, {}
for line in io.lines() do
   local kind, text = line:match "^(%S+) (.*)$"
   local d = json.decode(text)
   local v = d and d.verdict or { network = "no answer" }
   local k = by[kind] or { n = 0, right = 0, said = {}, took = {}, usual = {} }
   by[kind] = k
   local ok = is_right(kind, v)
   k.n, k.right, all, right = k.n + 1, k.right + (ok and 1 or 0), all + 1, right + (ok and 1 or 0)
   local word = v.network .. (v.cause and ", " .. v.cause or "")
   k.said[word] = (k.said[word] or 0) + 1
   k.took[#k.took + 1] = d and d.job and d.job.run_s or nil
   k.usual[#k.usual + 1] = d and d.earlier and d.earlier.median_s or nil
   if not NETWORK[kind] then
      innocent, blamed = innocent + 1, blamed + (is_blamed(v) and 1 or 0)
   elseif kind ~= "lossy" and d and d.earlier and d.earlier.median_s then
      for _, f in ipairs(d.findings) do
         local lost = d.job.run_s - d.earlier.median_s
         if f.cause == NETWORK[kind] and f.hi_s and lost > 0 then
            errors[#errors + 1] = math.abs((f.lo_s + f.hi_s) / 2 - lost) / lost
            break
         end
      end
   end
end

print(("%-10s %4s %5s %8s %8s  %s"):format("cause", "jobs", "right", "took", "usual", "said"))
for _, kind in ipairs(ORDER) do
   local k = by[kind]
   if k then
      local words = {}
      for word, n in pairs(k.said) do
         words[#words + 1] = ("%s %d"):format(word, n)
      end
      table.sort(words)
      print(("%-10s %4d %5d %6.1f s %6.1f s  %s"):format(kind, k.n, k.right,
         numbers.quantile(k.took, 0.5) or 0, numbers.quantile(k.usual, 0.5) or 0,
         table.concat(words, "; ")))
   end
end
print ""
figure("why.right", all > 0 and right / all, "share", ">=", 0.9)
figure("why.right_least", all > 0 and wilson(right, all), "share", ">=", 0.8)
print(("%d jobs without a network cause"):format(innocent))
figure("why.false_network", blamed, "jobs", "<=", 1)
figure("why.lost_error", numbers.quantile(errors, 0.5), "share", "<=", 0.2)
