--- A matrix in words: one sentence for each finding.
local report = require "taut.report"

local words = {}

local function joined(list, most)
   local shown = table.concat(list, ", ", 1, math.min(#list, most))
   return #list > most and ("%s and %d more"):format(shown, #list - most) or shown
end

local says = {
   node = function(f) return f.name .. " is slow with all others" end,
   tx = function(f) return ("%s: %s sends slowly to all others"):format(f.name, f.node) end,
   rx = function(f) return ("%s: %s receives slowly from all others"):format(f.name, f.node) end,
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
function words.finding(m, f)
   local parts = { says[f.kind](f) }
   if f.left then
      local what = m.mode == "latency" and ("%.1f times the usual latency, %.1f µs"):format(
         1 / f.left, 1e6 / f.bw_Bps) or ("%s of %s, %s"):format(report.percent(f.left),
         m.by_median and "the median" or "the expectation", report.bandwidth(f.bw_Bps))
      parts[#parts + 1] = f.kind == "pair" and what or ("%d of %d pairs, %s"):format(f.low,
         f.low + f.clear, what)
   end
   if #f.tied > 0 then
      parts[#parts + 1] = (f.kind == "pair" and "on its route and not cleared: "
         or "or, no pair tells it apart: ") .. joined(f.tied, 6)
   end
   if f.again then
      parts[#parts + 1] = f.confirmed and ("slow again alone, %d of %d"):format(f.again.low,
         f.again.asked) or ("not slow when measured again alone, %d of %d: other traffic?")
         :format(f.again.low, f.again.asked)
   end
   if f.cable then
      parts[#parts + 1] = "cable " .. f.cable
   end
   return table.concat(parts, "; ")
end

return words
