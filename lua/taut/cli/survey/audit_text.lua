-- SPDX-License-Identifier: GPL-2.0-or-later
--- An audit in TopoBW's words: a line for each test, a line for each dimension, and what is slow.
-- Source of the format: Ezell, CUG 2013.
local report = require "taut.report"

local audit = {}

local function format_mb(bps)
   return ("%.2f"):format((bps or 0) / 1e6)
end

local function marked_if_again(text, result)
   return text .. report.text_if(result.again, " (again)")
end

-- `n4 to n6, uplink, shared: 46.98 MB/s in 80 ms`.
local function plain_line(result)
   local text = ("%s to %s, %s%s: "):format(result.src, result.dst, result.about,
      report.text_if(result.mode == "S", ", shared"))
   if result.class == "void" then
      text = text .. "not measured: " .. (result.why or "no reason given")
   else
      text = text .. ("%s MB/s in %.0f ms"):format(format_mb(result.bw_Bps), result.seconds * 1000)
      if result.class == "low" then
         text = text .. (" LOW: %s of %s"):format(report.percent(result.ratio),
            format_mb(result.expected_Bps))
      end
   end
   return marked_if_again(text, result)
end

--- One test: `n4 X+CE n6 (nid00004 to nid00006): 0.0800 seconds = 46.98 MB/sec`, as TopoBW has it,
-- or in plain words.
-- @param result row of survey/audit.lua
function audit.line(result)
   if result.about then
      return plain_line(result)
   end
   local text = ("%s %s%s%s %s (nid%05d to nid%05d): "):format(result.src, result.dir, result.kind,
      result.mode, result.dst, result.from, result.to)
   if result.class == "void" then
      text = text .. "not measured: " .. (result.why or "no reason given")
   else
      text = text .. ("%.4f seconds = %s MB/sec"):format(result.seconds, format_mb(result.bw_Bps))
      if result.class == "low" then
         text = text .. (" LOW: %s of %s"):format(report.percent(result.ratio),
            format_mb(result.expected_Bps))
      end
   end
   if result.of then
      text = ("%s [one of %s]"):format(text, result.of)
   end
   return marked_if_again(text, result)
end

local MODES = { E = "", S = "shared " }

local function print_summary(list)
   for _, s in ipairs(list) do
      local class = report.text_if(s.class == "--", "same router", s.class)
      print(("Bandwidth %s %smin: %s on %s max: %s on %s avg: %s"):format(class,
         MODES[s.mode] or "", format_mb(s.min_Bps), s.min_on, format_mb(s.max_Bps), s.max_on,
         format_mb(s.avg_Bps)))
   end
end

local function slow_lines(list)
   for _, s in ipairs(list) do
      local names = table.concat({ s.component, table.unpack(s["or"]) }, " or ")
      print(("Slow: %s at %s: %s of %s MB/s, %s; %s"):format(names,
         report.percent(s.left), format_mb(s.measured_Bps), format_mb(s.capacity_Bps),
         report.count(s.tests, "low test"), s.where))
   end
end

--- The last line: how many of what.
function audit.counts(found)
   local parts = { ("%d of %s measured"):format(found.measured, report.count(found.links, "link")) }
   local function add_count(count, text)
      if count and count > 0 then
         parts[#parts + 1] = text:format(count)
      end
   end
   if (found.sets or 0) > 0 then
      parts[#parts + 1] = ("%d of %s of links measured, in place of %s"):format(
         found.sets_measured, report.count(found.sets, "set"), report.count(found.in_sets, "link"))
   else
      add_count(found.in_sets, "%d as one of several only (routes are hashed or adaptive)")
   end
   add_count(found.unreached, "%d out of these nodes' reach")
   add_count(found.unsearched, "%d without a test: the search for pairs ended before")
   add_count(#found.slow, "%d slow")
   add_count(#found.doubtful, "%d doubtful")
   add_count(found.passing, "%d low once and well when measured again")
   add_count(found.unexplained, "%d low tests that other tests contradict")
   add_count(found.void, "%d tests discarded")
   return table.concat(parts, ", ")
end

local SAME_AUDIT_S = 3600 -- tests that are further apart are of several audits

local function clock_time(seconds)
   return os.date("%Y-%m-%d %H:%M:%S", math.floor(seconds))
end

--- "Against the audit of …": how many tests came out as before.
function audit.compared(c)
   local what = "the audit of " .. clock_time(c.time)
   if c.since and c.time - c.since > SAME_AUDIT_S then
      what = ("the audits of %s to %s"):format(clock_time(c.since), clock_time(c.time))
   end
   return ("Against %s: %s changed, %d as before"):format(what,
      report.count(#c.changed, "measurement"), c.same)
end

local function print_comparison(comparison)
   if not comparison then
      return
   end
   print(audit.compared(comparison))
   for _, l in ipairs(comparison.changed) do
      print(("  %s: %s to %s: was %s, is %s MB/s"):format(l.link, l.src, l.dst,
         format_mb(l.was_Bps), format_mb(l.now_Bps)))
   end
end

--- All that follows the lines.
-- @param found what survey/outcome.lua says
-- @param why it ended early, or nil
function audit.print(found, why)
   print_summary(found.summary)
   slow_lines(found.slow)
   for _, d in ipairs(found.doubtful) do
      print(("Doubtful: %s to %s%s: %s of %s MB/s, and it could not be measured again"):format(
         d.src, d.dst, report.text_with(" by ", d.link), format_mb(d.bw_Bps),
         format_mb(d.expected_Bps)))
   end
   for _, d in ipairs(found.dim) do
      print(("%s %s: slow is seen only below %s: tests fill %s of %s MB/s"):format(d.kind,
         report.count(d.links, "link"), report.percent(d.below), format_mb(d.shown_Bps),
         format_mb(d.capacity_Bps)))
   end
   for _, u in ipairs(found.unmeasured) do
      print(("Not measured: %s: %s"):format(u.component, u.why))
   end
   if found.unmeasured_count > #found.unmeasured then
      print(("Not measured: %d more"):format(found.unmeasured_count - #found.unmeasured))
   end
   print_comparison(found.compare)
   print(("Audit%s: %s"):format(report.text_with(" (", why, ")"), audit.counts(found)))
end

return audit
