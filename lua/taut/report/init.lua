-- SPDX-License-Identifier: GPL-2.0-or-later
--- Tables and words for a terminal.
local sys = require "taut.sys"

local report = {}

-- Characters, not bytes: the multiplication sign is one column wide.
local function text_width(text)
   return utf8.len(text) or #text
end

local function pad_cell(text, columns, right)
   local space = (" "):rep(columns - text_width(text))
   if right then
      return space .. text
   end
   return text .. space
end

--- One of two texts: the first where something is so.  Both are worked out, whichever is wanted.
-- @param otherwise the other one; none: an empty text
function report.text_if(is_so, text, otherwise)
   if is_so then
      return text
   end
   return otherwise or ""
end

--- A value between two texts: ", fabric f1"; an empty text where there is none.
-- @param value text or whole number; nil, false: there is none
-- @param after optional
function report.text_with(before, value, after)
   if value then
      return before .. value .. (after or "")
   end
   return ""
end

--- Print a table; the last column is cut where a terminal ends.
-- @param heads array of headings; a heading that begins with ">" is right-aligned
-- @param rows array of arrays of texts
function report.table(heads, rows)
   local right, wide, titles = {}, {}, {}
   for i, h in ipairs(heads) do
      right[i] = h:sub(1, 1) == ">"
      titles[i] = h:gsub("^>", "")
      wide[i] = text_width(titles[i])
   end
   for _, row in ipairs(rows) do
      for i, cell in ipairs(row) do
         wide[i] = math.max(wide[i], text_width(cell))
      end
   end
   local columns = math.huge
   if sys.isatty(1) then
      columns = sys.columns()
   end
   local function join_row(row)
      local parts = {}
      for i, cell in ipairs(row) do
         parts[i] = pad_cell(cell, wide[i], right[i])
      end
      local text = table.concat(parts, "  "):gsub("%s+$", "")
      if text_width(text) > columns then
         text = text:sub(1, utf8.offset(text, columns) - 1) .. "~"
      end
      print(text)
   end
   join_row(titles)
   for _, row in ipairs(rows) do
      join_row(row)
   end
end

--- A sentence as lines of at most 79 columns, broken between words.
-- @param first what the first line begins with
-- @param indent and the others
-- @return array of lines
function report.lines(text, first, indent)
   local lines, line, begin = {}, first, first
   for word in text:gmatch "%S+" do
      if text_width(line) > text_width(begin) and text_width(line) + 1 + text_width(word) > 79 then
         lines[#lines + 1] = line
         line, begin = indent, indent
      end
      if line ~= begin then
         line = line .. " "
      end
      line = line .. word
   end
   lines[#lines + 1] = line
   return lines
end

--- Print a sentence, broken between words where a line of 79 columns ends.
-- @param indent of the first line
-- @param more indent of the others; that of the first
function report.wrap(text, indent, more)
   for _, line in ipairs(report.lines(text, indent, more or indent)) do
      print(line)
   end
end

local complaints = {}

--- Say what went wrong, on stderr, in lines as those of `wrap`.
-- @param ... texts that make the sentence
function report.complain(...)
   complaints[#complaints + 1] = table.concat { ... }
   for _, line in ipairs(report.lines(table.concat { ... }, "taut: ", "      ")) do
      io.stderr:write(line, "\n")
   end
end

--- All that was said so, one sentence a line; nil where nothing was.
function report.complaint()
   return complaints[1] and table.concat(complaints, "\n")
end

--- "known: TICKET until 2026-03-05", of what `taut ack` said; nil where nothing is known.
function report.known(ack)
   return ack and ("known: %s until %s"):format(ack.ticket, os.date("%Y-%m-%d",
      math.floor(ack["until"])))
end

--- A line as far as the terminal goes.
function report.cut(line)
   local columns = sys.columns()
   if text_width(line) > columns then
      return line:sub(1, utf8.offset(line, columns) - 1) .. "~"
   end
   return line
end

--- "n1, n2 and 5 more"
function report.some(names, most)
   local shown = table.concat(names, ", ", 1, math.min(#names, most))
   if #names > most then
      return ("%s and %d more"):format(shown, #names - most)
   end
   return shown
end

--- "24.0 MB/s", "9.75 GB/s".
function report.bandwidth(bps)
   if not bps then
      return "-"
   elseif bps >= 1e9 then
      return ("%.2f GB/s"):format(bps / 1e9)
   end
   return ("%.1f MB/s"):format(bps / 1e6)
end

--- What is learned of a class, in words.
-- @param row row of diagnose/learned_capacity.lua
-- @return "expected 11.20 GB/s (learned from 412 of 430 peers)"
function report.learned(row)
   local function peers_in_words(peers)
      return ("%d of %s"):format(peers, report.count(row.of, "peer"))
   end
   if not row.Bps and row.too_different then
      return ("nothing expected: %s differ by %s from their median"):format(
         peers_in_words(row.peers), report.percent(row.spread))
   elseif not row.Bps then
      return ("nothing expected yet: %s tested, %d needed"):format(peers_in_words(row.peers),
         row.least)
   end
   local text = ("expected %s (learned from %s%s)"):format(report.bandwidth(row.Bps),
      peers_in_words(row.peers), report.text_if(not row.settled, ", still learning"))
   if row.shows then
      text = ("%s, now they show %s: `taut relearn '%s'` takes that over"):format(text,
         report.bandwidth(row.shows), row.class)
   end
   return text
end

function report.bytes(bytes)
   for _, u in ipairs { { 1e12, "TB" }, { 1e9, "GB" }, { 1e6, "MB" }, { 1e3, "kB" } } do
      if bytes >= u[1] then
         return ("%.1f %s"):format(bytes / u[1], u[2])
      end
   end
   return ("%d B"):format(bytes)
end

function report.percent(share)
   if not share then
      return "-"
   end
   return ("%d%%"):format(math.floor(share * 100 + 0.5))
end

--- "12 s ago", "3 h ago".
function report.ago(time, now)
   if not time then
      return "never"
   end
   local s = math.max(0, now - time)
   if s < 120 then
      return ("%d s ago"):format(math.floor(s))
   elseif s < 7200 then
      return ("%d min ago"):format(math.floor(s / 60))
   elseif s < 172800 then
      return ("%d h ago"):format(math.floor(s / 3600))
   end
   return ("%d days ago"):format(math.floor(s / 86400))
end

--- How long something took: "3.2 s", "61 s", "12 min", "5.4 h".
function report.time(seconds)
   if seconds > 0 and seconds < 0.1 then
      return "<0.1 s"
   elseif seconds < 10 then
      return ("%.1f s"):format(seconds)
   elseif seconds < 600 then
      return ("%.0f s"):format(seconds)
   elseif seconds < 7200 then
      return ("%.0f min"):format(seconds / 60)
   end
   return ("%.1f h"):format(seconds / 3600)
end

--- Time lost: "+17 s"; "+3.0 s to +17 s" where the least and the most are far apart.
function report.lost_time(least, most)
   if most < 0.05 then
      return "+0 s"
   elseif least < 0.05 then
      return "up to +" .. report.time(most)
   elseif most - least > 0.15 * most then
      return ("+%s to +%s"):format(report.time(least), report.time(most))
   end
   return "+" .. report.time(most)
end

--- "1 node", "3 nodes".
function report.count(number, noun)
   return ("%d %s%s"):format(number, noun, report.text_if(number ~= 1, "s"))
end

--- A share of lost packets: "1.2 %", "0.03 %", "100 %".
function report.lost(share)
   return report.hundredths(share, 2) .. " %"
end

--- A share as a percentage without its sign, never as a power of ten: "1.2", "0.03", "100".
-- @param digits that count
function report.hundredths(share, digits)
   local power = tonumber((("%%.%de"):format(digits - 1):format(100 * share)):match "e(.*)$") or 0
   local text = ("%%.%df"):format(math.max(0, digits - 1 - power)):format(100 * share)
   if text:find(".", 1, true) then
      text = text:gsub("%.?0+$", "")
   end
   return text
end

-- Words of JSON, of the database and of the code, and what people read.
local WORDS = { enable = "drain", void = "discarded", release = "resume", resume = "continue",
   ["mode enable"] = "mode drain" }

--- What people read for a mode, a test's class or an action's name.
function report.word(word)
   return WORDS[word] or word
end

--- A verdict in one word and its remark: "suspect (busy?)", "slow at 25%", "loses 1.2 %".
function report.state(row)
   local text = row.state
   if text == "slow" and row.left then
      text = ("slow at %s"):format(report.percent(row.left))
   elseif text == "lossy" and row.loss then
      text = ("loses %s"):format(report.lost(row.loss))
   end
   if row.remark and row.remark ~= "" then
      return ("%s (%s)"):format(text, row.remark)
   end
   return text
end

--- The same as the rest of a sentence: "is slow at 25%", "has failed (all of the cable)".
function report.is(row)
   local text = report.state(row)
   if row.state == "failed" then
      return "has " .. text
   elseif row.state == "lossy" and row.loss then
      return text
   end
   return "is " .. text
end

--- What tells links of a set apart, "… tells them apart".
-- @param is_adaptive do switches choose anew, so that no address helps?
function report.tells_apart(is_adaptive)
   if is_adaptive then
      return "what a sweep's counters say of one of them, or, on InfiniBand, a "
         .. "service level with tables for tests (`routing` in taut.lua(5)),"
   end
   return "`addresses` in taut.lua(5)"
end

--- Sets of links by state, in words.
-- @param counts { all, ok, suspect, slow, failed, unknown }
-- @param links how many are tested as part of a set only
function report.sets(counts, links)
   return ("%d ok, %d suspect, %d slow, %d failed, %d never tested (%s)"):format(counts.ok,
      counts.suspect, counts.slow, counts.failed, counts.unknown,
      ("%s tested in sets only"):format(report.count(links, "link")))
end

return report
