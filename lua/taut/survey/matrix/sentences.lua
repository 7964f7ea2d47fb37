-- SPDX-License-Identifier: GPL-2.0-or-later
--- A matrix in words: one sentence for each finding.
local report = require "taut.report"

local sentences = {}

local says = {
   node = function(f) return f.name .. " is slow with all others" end,
   tx = function(f) return ("%s: slow from %s to all others"):format(f.name, f.node) end,
   rx = function(f) return ("%s: slow from all others to %s"):format(f.name, f.node) end,
   link = function(f) return f.name .. ": slow across this link" end,
   cable = function(f) return f.name .. ": slow across this cable, both directions" end,
   router = function(f) return f.name .. ": slow through this router" end,
   set = function(f) return f.name .. ": slow through some of these links" end,
   block = function(f)
      return ("from %s: slow across this boundary, a link or the routing"):format(f.name)
   end,
   pair = function(f) return f.name end,
}

--- One sentence about a finding.
-- @param m matrix; `mode` "latency" words it in times of the median
function sentences.finding(m, f)
   local parts = { says[f.kind](f) }
   if f.left then
      local what = m.mode == "latency" and ("%.1f times the usual latency, %.1f µs"):format(
         1 / f.left, 1e6 / f.bw_Bps) or ("%s of the expectation, %s"):format(
         report.percent(f.left), report.bandwidth(f.bw_Bps))
      parts[#parts + 1] = f.kind == "pair" and what or ("%d of %d pairs, %s"):format(f.low,
         f.low + f.clear, what)
   end
   if #f.tied > 0 then
      parts[#parts + 1] = (f.kind == "pair" and "on its route and not cleared: "
         or "or, no pair tells it apart: ") .. report.some(f.tied, 6)
   end
   if f.again and f.kind == "set" then
      parts[#parts + 1] = ("again alone %d of %d: a flow takes one of these links"):format(
         f.again.low, f.again.asked)
   elseif f.again then
      parts[#parts + 1] = f.confirmed and ("slow again alone, %d of %d"):format(f.again.low,
         f.again.asked) or ("not slow when measured again alone, %d of %d: other traffic?")
         :format(f.again.low, f.again.asked)
   end
   if f.cable then
      parts[#parts + 1] = "cable " .. f.cable
   end
   return table.concat(parts, "; ")
end

---------------------------------------------------------------- the whole

-- "25%", of a latency "3.9×".
local function share(m, ratio)
   return m.mode == "latency" and ("%.1f×"):format(1 / ratio) or report.percent(ratio)
end

local function lowest(m, list, most)
   local names = m.names
   local order, parts = {}, {}
   for i = 1, #names do
      order[#order + 1] = list[i] and i or nil
   end
   table.sort(order, function(a, b)
      return list[a] ~= list[b] and list[a] < list[b] or list[a] == list[b] and a < b
   end)
   for n = 1, math.min(#order, most) do
      parts[n] = ("%s %s"):format(names[order[n]], share(m, list[order[n]]))
   end
   return table.concat(parts, ", ")
end

local function lowest_pairs(m, most)
   local keys, ratio, parts = {}, {}, {}
   for k in pairs(m.class) do
      local r = m:ratio(m:at(k))
      if r then
         keys[#keys + 1], ratio[k] = k, r
      end
   end
   table.sort(keys, function(a, b)
      return ratio[a] ~= ratio[b] and ratio[a] < ratio[b] or ratio[a] == ratio[b] and a < b
   end)
   for n = 1, math.min(#keys, most) do
      local i, j = m:at(keys[n])
      parts[n] = ("%s to %s %s"):format(m.names[i], m.names[j], share(m, ratio[keys[n]]))
   end
   return table.concat(parts, ", ")
end

--- "11.9 MB/s, 99% of the expectation" of the median pair.
function sentences.median(m, s)
   if not s.median_Bps then
      return "no figure"
   elseif m.mode == "latency" then
      return ("%.1f µs"):format(1e6 / s.median_Bps)
   end
   return ("%s, %s of the expectation"):format(report.bandwidth(s.median_Bps),
      report.percent(s.ratio))
end

-- Why pairs have no figure, the most frequent reason first.
local function print_void(m)
   local count, order = {}, {}
   for k, why in pairs(m.why) do
      if m.class[k] == "void" then
         if not count[why] then
            order[#order + 1] = why
         end
         count[why] = (count[why] or 0) + 1
      end
   end
   table.sort(order, function(a, b)
      return count[a] ~= count[b] and count[a] > count[b] or count[a] == count[b] and a < b
   end)
   for n = 1, math.min(#order, 3) do
      print(("  discarded: %s: %s"):format(report.count(count[order[n]], "pair"), order[n]))
   end
end

--- Print what a matrix shows.
-- @param o { findings, unnamed, why = why it ended early, or nil, rail = of several, or nil }
function sentences.print(m, o)
   local s = m:summary()
   print(("matrix of %s%s: %d of %d pairs measured, %d good, %d low, %d discarded"):format(
      report.count(m.n, "node"), o.rail and ", rail " .. o.rail or "", s.measured,
      s.pairs, s.good, s.low, s.void))
   if o.why then
      print("  ended early: " .. o.why)
   end
   print_void(m)
   print("  median     " .. sentences.median(m, s))
   local rows, columns = m:margins()
   print("  senders    " .. lowest(m, rows, 4))
   print("  receivers  " .. lowest(m, columns, 4))
   print("  pairs      " .. lowest_pairs(m, 4))
   for n, f in ipairs(o.findings) do
      report.wrap(("%d. %s"):format(n, sentences.finding(m, f)), "")
   end
   if #o.findings == 0 and s.good + s.low > 0 then
      print "no pair is slow"
   elseif #o.findings == 0 and s.void > 0 then
      print "nothing is known of any pair: every test was discarded"
   elseif o.unnamed > 0 then
      print(("and %s that nothing explains"):format(report.count(o.unnamed, "slow pair")))
   end
end

return sentences
