-- SPDX-License-Identifier: GPL-2.0-or-later
--- Prints the answers of `taut fabric`, within 80 columns.
local hostlist = require "taut.hostlist"
local report = require "taut.report"
local tables = require "taut.base.tables"

local show = {}

local WIDTH = 79
local NAME = 22 -- columns of a node's name where two stand in a line

local function fit_text(text, most)
   local len = utf8.len(text)
   if not len or len <= most then
      return text
   end
   return text:sub(1, utf8.offset(text, most) - 1) .. "~"
end

local function format_date(time)
   return os.date("%Y-%m-%d %H:%M:%S", math.floor(time))
end

-- When the sweep was, and how long it took.
local function print_when(answer)
   print(("swept %s, %d nodes, %.1f s"):format(format_date(answer.swept), answer.nodes,
      answer.took_s))
end

-- Text after a lead, its further lines below each other.
local function print_wrapped(lead, text)
   local indent = (" "):rep(utf8.len(lead) or #lead)
   local line, empty = lead, true
   for word in text:gmatch "%S+" do
      if not empty and utf8.len(line) + 1 + (utf8.len(word) or #word) > WIDTH then
         print(line)
         line, empty = indent, true
      end
      if not empty then
         line = line .. " "
      end
      line, empty = line .. word, false
   end
   print((line:gsub("%s+$", "")))
end

---------------------------------------------------------------- links

-- Links that were set lower on purpose are shown only on request.
local function link_in_words(link, with_set)
   local words = ("%s %s"):format(link.width or "?", link.speed or "?")
   if not link.active and link.a.state == "Active" then
      words = words .. " " .. (link.b.state or "Active")
   elseif not link.active then
      words = words .. " " .. link.a.state
   end
   if link.left and link.left < 1 and (with_set or not link.set or link.width == "1X") then
      words = words .. (" (of %s %s%s)"):format(link.best_width, link.best_speed,
         report.text_if(link.set, ", set so"))
   end
   return words
end

-- "bad", "set" (somebody wants it below what it could be) or nil
local function judge_link(link)
   local is_below = link.left and link.left < 1
   if not link.active or is_below and (not link.set or link.width == "1X") then
      return "bad"
   elseif is_below then
      return "set"
   end
   return nil
end

function show.links(answer, args)
   local rows, n = {}, { bad = 0, set = 0 }
   for _, l in ipairs(answer.links) do
      local word = judge_link(l)
      if word then
         n[word] = n[word] + 1
      end
      if not args.bad or word then
         rows[#rows + 1] = { fit_text(l.a.node, NAME), tostring(l.a.port), fit_text(l.b.node, NAME),
            tostring(l.b.port), link_in_words(l, args.bad) }
      end
   end
   for _, p in ipairs(tables.or_empty(args.down and answer.unconnected)) do
      rows[#rows + 1] = { fit_text(p.node, NAME), tostring(p.port), "", "",
         ("%s/%s%s"):format(p.state, p.phys, report.text_if(p.silent, ", silent")) }
   end
   if #rows > 0 then
      report.table({ "NODE", ">PORT", "NODE", ">PORT", "LINK" }, rows)
   end
   report.wrap(("%s, %d below what both ends support or not active, %d set below; " ..
      "%s unconnected"):format(report.count(#answer.links, "link"), n.bad, n.set,
      report.count(#answer.unconnected, "port")), "")
end

---------------------------------------------------------------- errors

local function growth_in_words(row)
   local last = row.last
   if not last then
      return ""
   end
   local took = ""
   if last.seconds and last.seconds < 120 then
      took = (" in %.0f s"):format(last.seconds)
   elseif last.seconds then
      took = (" in %.0f min"):format(last.seconds / 60)
   end
   return ("+%d%s%s by %s"):format(last.amount, report.text_if(last.at_least, " or more"), took,
      format_date(last.to))
end

local function print_error(row)
   report.wrap(("%s/%d%s"):format(row.node, row.port, report.text_with(" from ", row.far)), "")
   local value = ("%d%s"):format(row.value, report.text_if(row.saturated, " (highest value)"))
   print_wrapped("    ", ("%s %s = %s%s"):format(row.verdict, row.counter, value,
      report.text_with(", ", tables.unless_blank(growth_in_words(row)))))
   print_wrapped("        ", report.text_with("", row.verdict == "real" and row.class, ": ") ..
      row.why)
end

function show.errors(answer, args)
   for _, e in ipairs(answer.errors) do
      if args.all or e.verdict ~= "ignorable" then
         print_error(e)
      end
   end
   print(("%d real, %d undated, %d to be ignored%s"):format(answer.counts.real,
      answer.counts.undated, answer.counts.ignorable, report.text_if(
      answer.counts.ignorable > 0 and not args.all, " (--all shows why)")))
   print_when(answer)
end

---------------------------------------------------------------- check, diff

local function tally_words(counts)
   local words = {}
   for word in pairs(counts) do
      words[#words + 1] = word
   end
   table.sort(words, function(one, other)
      local x, y = tonumber(one:match "%d+") or 0, tonumber(other:match "%d+") or 0
      return x > y or x == y and one < other
   end)
   for i, word in ipairs(words) do
      words[i] = ("%d at %s"):format(counts[word], word)
   end
   return table.concat(words, ", ")
end

function show.check(answer)
   for _, severity in ipairs { "fault", "warning" } do
      for _, f in ipairs(answer.findings) do
         if f.severity == severity then
            print_wrapped(("%-8s %-14s "):format(severity, f.kind), f.text)
         end
      end
   end
   local p = answer.ports
   if answer.ports.set > 0 then
      print(("%s set below what both ends support (`taut fabric links --bad`)"):format(
         report.count(answer.ports.set, "link")))
   end
   print(("%s: %d linked, %d down, %d disabled"):format(report.count(p.ports, "port"), p.linked,
      p.down, p.disabled))
   report.wrap(tally_words(p.width) .. "; " .. tally_words(p.speed), "")
   local compared = "not compared: no fabric is recorded (`taut fabric record`)"
   if answer.recorded then
      compared = "compared with the fabric recorded " .. format_date(answer.recorded)
   end
   report.wrap(compared, "")
   print(("%s, %s, %s (`taut fabric errors`)"):format(report.count(answer.counts.fault, "fault"),
      report.count(answer.counts.warning, "warning"), report.count(answer.real_errors,
      "real error")))
   print_when(answer)
end

function show.diff(answer)
   for _, c in ipairs(answer.changes) do
      print_wrapped(("%-15s "):format(c.kind), c.text)
   end
   print(("%s since %s"):format(report.count(#answer.changes, "change"),
      format_date(answer.recorded)))
   print_when(answer)
end

function show.record(answer)
   print(("%d nodes recorded in %s"):format(answer.nodes, answer.recorded_in))
end

---------------------------------------------------------------- mcast, sm, sweep

-- "a[1-3,5],b7" in its ranges: { prefix, range, suffix }, or { name }.
local function split_ranges(text)
   local list = {}
   for name in text:gmatch "[^,%[%]]*%b[][^,]*" do
      local prefix, inside, suffix = name:match "^(.-)%[(.*)%](.*)$"
      for range in inside:gmatch "[^,]+" do
         list[#list + 1] = { prefix, range, suffix }
      end
   end
   for name in text:gsub("[^,%[%]]*%b[][^,]*", ""):gmatch "[^,]+" do
      list[#list + 1] = { name }
   end
   return list
end

local function range_name(range)
   if range[2] then
      return ("%s[%s]%s"):format(range[1], range[2], range[3])
   end
   return range[1]
end

-- A host list as several, each of at most `most` columns where a name lets it.
local function host_lines(text, most)
   local lines, line, last = {}, "", nil
   for _, r in ipairs(split_ranges(text)) do
      local more
      if r[2] and last and r[1] == last[1] and r[3] == last[3] then
         more = ("%s,%s]%s"):format(line:sub(1, -2 - #r[3]), r[2], r[3])
      else
         more = report.text_with("", tables.unless_blank(line), ",") .. range_name(r)
      end
      if line ~= "" and #more > most then
         lines[#lines + 1] = line
         more = range_name(r)
      end
      line, last = more, r[2] and r
   end
   lines[#lines + 1] = line
   return lines
end

function show.mcast(answer)
   local hosts = {}
   for _, m in ipairs(answer.missing) do
      if m.host and not m.host:find "[^%w_.-]" then
         hosts[#hosts + 1] = m.host
      else
         print("missing  " .. m.port)
      end
   end
   if #hosts > 0 then
      for _, line in ipairs(host_lines(hostlist.compress(hosts), WIDTH - 9)) do
         print("missing  " .. line)
      end
   end
   for _, u in ipairs(answer.unknown) do
      print_wrapped("unknown  ", ("%s: %s"):format(u.port, u.error))
   end
   local groups = answer.mgid:gsub("....", "%0:"):gsub(":$", "")
   print(("group %s, MLID 0x%04x"):format(groups, answer.mlid))
   print(("%d up, %d members, %d up but not members"):format(answer.up, answer.members,
      #answer.missing))
end

function show.sm(answer)
   local rows = {}
   for _, s in ipairs(answer.sms) do
      rows[#rows + 1] = { fit_text(s.node or "?", 32), tostring(s.lid), s.state or "?",
         tostring(s.priority or "-"), tostring(s.activity or "-"),
         s.error or report.text_if(s.used, "in charge of this host's port") }
   end
   report.table({ "NODE", ">LID", "STATE", ">PRIORITY", ">ACTIVITY", "" }, rows)
end

function show.sweep(answer)
   for _, o in ipairs(answer.recent) do
      print_wrapped(("%s %-10s "):format(format_date(o.to), o.class), o.text)
   end
   print(("%s, %s standing"):format(report.count(#answer.observations, "new observation"),
      report.count(#answer.standing, "fault")))
   print_when(answer)
end

show.host_lines = host_lines

-- By what is shown: how much is there that should not be.
local COUNT_FOUND = {
   check = function(answer) return answer.counts.fault + answer.real_errors end,
   errors = function(answer) return answer.counts.real end,
   diff = function(answer) return #answer.changes end,
   mcast = function(answer) return #answer.missing end,
}

--- Exit status: 3 where something was found that should not be.
function show.status(what, answer)
   local count = COUNT_FOUND[what]
   if count and count(answer) > 0 then
      return 3
   end
   return 0
end

return show
