-- SPDX-License-Identifier: GPL-2.0-or-later
--- A matrix in words: one sentence for each finding.
local report = require "taut.report"

local sentences = {}

local says = {
   node = function(finding) return finding.name .. " is slow with all others" end,
   tx = function(finding)
      return ("%s: slow from %s to all others"):format(finding.name, finding.node)
   end,
   rx = function(finding)
      return ("%s: slow from all others to %s"):format(finding.name, finding.node)
   end,
   link = function(finding) return finding.name .. ": slow across this link" end,
   cable = function(finding) return finding.name .. ": slow across this cable, both directions" end,
   router = function(finding) return finding.name .. ": slow through this router" end,
   set = function(finding) return finding.name .. ": slow through some of these links" end,
   block = function(finding)
      return ("from %s: slow across this boundary, a link or the routing"):format(finding.name)
   end,
   pair = function(finding) return finding.name end,
}

-- How slow, relative to what is usual, and in figures.
local function figures_in_words(matrix, finding)
   if matrix.mode == "latency" then
      return ("%.1f times the usual latency, %.1f µs"):format(1 / finding.left,
         1e6 / finding.bw_Bps)
   end
   return ("%s of the expectation, %s"):format(report.percent(finding.left),
      report.bandwidth(finding.bw_Bps))
end

--- One sentence about a finding.
-- @param matrix matrix; `mode` "latency" words it in times of the median
function sentences.finding(matrix, finding)
   local parts = { says[finding.kind](finding) }
   if finding.left and finding.kind == "pair" then
      parts[#parts + 1] = figures_in_words(matrix, finding)
   elseif finding.left then
      parts[#parts + 1] = ("%d of %d pairs, %s"):format(finding.low, finding.low + finding.clear,
         figures_in_words(matrix, finding))
   end
   if #finding.tied > 0 then
      parts[#parts + 1] = report.text_if(finding.kind == "pair", "on its route and not cleared: ",
         "or, no pair tells it apart: ") .. report.some(finding.tied, 6)
   end
   if finding.again and finding.kind == "set" then
      parts[#parts + 1] = ("again alone %d of %d: a flow takes one of these links"):format(
         finding.again.low, finding.again.asked)
   elseif finding.again then
      parts[#parts + 1] = report.text_if(finding.confirmed, "slow again alone, %d of %d",
         "not slow when measured again alone, %d of %d: other traffic?"):format(
         finding.again.low, finding.again.asked)
   end
   if finding.cable then
      parts[#parts + 1] = "cable " .. finding.cable
   end
   return table.concat(parts, "; ")
end

---------------------------------------------------------------- the whole

-- "25%", of a latency "3.9×".
local function share_in_words(matrix, ratio)
   if matrix.mode == "latency" then
      return ("%.1f×"):format(1 / ratio)
   end
   return report.percent(ratio)
end

local function lowest_in_words(matrix, list, most)
   local names = matrix.names
   local order, parts = {}, {}
   for i = 1, #names do
      if list[i] then
         order[#order + 1] = i
      end
   end
   table.sort(order, function(one, other)
      return list[one] < list[other] or list[one] == list[other] and one < other
   end)
   for n = 1, math.min(#order, most) do
      parts[n] = ("%s %s"):format(names[order[n]], share_in_words(matrix, list[order[n]]))
   end
   return table.concat(parts, ", ")
end

local function lowest_pairs(matrix, most)
   local keys, ratio, parts = {}, {}, {}
   for k in pairs(matrix.class) do
      local r = matrix:ratio(matrix:at(k))
      if r then
         keys[#keys + 1], ratio[k] = k, r
      end
   end
   table.sort(keys, function(one, other)
      return ratio[one] < ratio[other] or ratio[one] == ratio[other] and one < other
   end)
   for n = 1, math.min(#keys, most) do
      local i, j = matrix:at(keys[n])
      parts[n] = ("%s to %s %s"):format(matrix.names[i], matrix.names[j],
         share_in_words(matrix, ratio[keys[n]]))
   end
   return table.concat(parts, ", ")
end

--- "11.9 MB/s, 99% of the expectation" of the median pair.
function sentences.median(matrix, s)
   if not s.median_Bps then
      return "no figure"
   elseif matrix.mode == "latency" then
      return ("%.1f µs"):format(1e6 / s.median_Bps)
   end
   return ("%s, %s of the expectation"):format(report.bandwidth(s.median_Bps),
      report.percent(s.ratio))
end

-- Why pairs have no figure, the most frequent reason first.
local function print_void(matrix)
   local count, order = {}, {}
   for k, why in pairs(matrix.why) do
      if matrix.class[k] == "void" then
         if not count[why] then
            order[#order + 1] = why
         end
         count[why] = (count[why] or 0) + 1
      end
   end
   table.sort(order, function(one, other)
      return count[one] > count[other] or count[one] == count[other] and one < other
   end)
   for n = 1, math.min(#order, 3) do
      print(("  discarded: %s: %s"):format(report.count(count[order[n]], "pair"), order[n]))
   end
end

--- Print what a matrix shows.
-- @param options { findings, unnamed, why = why it ended early, or nil, rail = of several, or nil }
function sentences.print(matrix, options)
   local s = matrix:summary()
   print(("matrix of %s%s: %d of %d pairs measured, %d good, %d low, %d discarded"):format(
      report.count(matrix.n, "node"), report.text_with(", rail ", options.rail), s.measured,
      s.pairs, s.good, s.low, s.void))
   if options.why then
      print("  ended early: " .. options.why)
   end
   print_void(matrix)
   print("  median     " .. sentences.median(matrix, s))
   local rows, columns = matrix:margins()
   print("  senders    " .. lowest_in_words(matrix, rows, 4))
   print("  receivers  " .. lowest_in_words(matrix, columns, 4))
   print("  pairs      " .. lowest_pairs(matrix, 4))
   for n, f in ipairs(options.findings) do
      report.wrap(("%d. %s"):format(n, sentences.finding(matrix, f)), "")
   end
   if #options.findings == 0 and s.good + s.low > 0 then
      print "no pair is slow"
   elseif #options.findings == 0 and s.void > 0 then
      print "nothing is known of any pair: every test was discarded"
   elseif options.unnamed > 0 then
      print(("and %s that nothing explains"):format(report.count(options.unnamed, "slow pair")))
   end
end

return sentences
