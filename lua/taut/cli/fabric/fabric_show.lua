-- SPDX-License-Identifier: GPL-2.0-or-later
--- Prints the answers of `taut fabric`, within 80 columns.
local hostlist = require "taut.hostlist"
local report = require "taut.report"

local show = {}

local WIDTH = 79
local NAME = 22 -- columns of a node's name where two stand in a line

local function fit(text, n)
   local len = utf8.len(text)
   if not len or len <= n then
      return text
   end
   return text:sub(1, utf8.offset(text, n) - 1) .. "~"
end

local function date(t)
   return os.date("%Y-%m-%d %H:%M:%S", math.floor(t))
end

-- When the sweep was, and how long it took.
local function print_when(d)
   print(("swept %s, %d nodes, %.1f s"):format(date(d.swept), d.nodes, d.took_s))
end

-- Text after a lead, its further lines below each other.
local function wrapped(lead, text)
   local indent = (" "):rep(utf8.len(lead) or #lead)
   local line, empty = lead, true
   for word in text:gmatch "%S+" do
      if not empty and utf8.len(line) + 1 + (utf8.len(word) or #word) > WIDTH then
         print(line)
         line, empty = indent, true
      end
      line, empty = empty and line .. word or line .. " " .. word, false
   end
   print((line:gsub("%s+$", "")))
end

---------------------------------------------------------------- links

-- What somebody set lower is told only to who asks.
local function link_words(l, with_set)
   local words = ("%s %s"):format(l.width or "?", l.speed or "?")
   local state = l.active and "" or " " .. (l.a.state == "Active" and l.b.state or l.a.state)
   if l.left and l.left < 1 and (with_set or not l.set or l.width == "1X") then
      state = state .. (" (of %s %s%s)"):format(l.best_width, l.best_speed, l.set and ", set so"
         or "")
   end
   return words .. state
end

-- "bad", "set" (somebody wants it below what it could be) or nil
local function judge_link(l)
   local is_below = l.left and l.left < 1
   if not l.active or is_below and (not l.set or l.width == "1X") then
      return "bad"
   end
   return is_below and "set" or nil
end

function show.links(d, args)
   local rows, n = {}, { bad = 0, set = 0 }
   for _, l in ipairs(d.links) do
      local word = judge_link(l)
      if word then
         n[word] = n[word] + 1
      end
      if not args.bad or word then
         rows[#rows + 1] = { fit(l.a.node, NAME), tostring(l.a.port), fit(l.b.node, NAME),
            tostring(l.b.port), link_words(l, args.bad) }
      end
   end
   for _, p in ipairs(args.down and d.unconnected or {}) do
      rows[#rows + 1] = { fit(p.node, NAME), tostring(p.port), "", "",
         ("%s/%s%s"):format(p.state, p.phys, p.silent and ", silent" or "") }
   end
   if #rows > 0 then
      report.table({ "NODE", ">PORT", "NODE", ">PORT", "LINK" }, rows)
   end
   report.wrap(("%s, %d below what both ends support or not active, %d set below; " ..
      "%s unconnected"):format(report.count(#d.links, "link"), n.bad, n.set,
      report.count(#d.unconnected, "port")), "")
end

---------------------------------------------------------------- errors

local function growth_words(e)
   local last = e.last
   if not last then
      return ""
   end
   local took = last.seconds and (" in %s"):format(last.seconds < 120
      and ("%.0f s"):format(last.seconds) or ("%.0f min"):format(last.seconds / 60)) or ""
   return ("+%d%s%s by %s"):format(last.amount, last.at_least and " or more" or "", took,
      date(last.to))
end

local function print_error(e)
   report.wrap(("%s/%d%s"):format(e.node, e.port, e.far and " from " .. e.far or ""), "")
   local value = ("%d%s"):format(e.value, e.saturated and " (highest value)" or "")
   local grown = growth_words(e)
   wrapped("    ", ("%s %s = %s%s"):format(e.verdict, e.counter, value,
      grown ~= "" and ", " .. grown or ""))
   wrapped("        ", (e.class and e.verdict == "real" and e.class .. ": " or "") .. e.why)
end

function show.errors(d, args)
   for _, e in ipairs(d.errors) do
      if args.all or e.verdict ~= "ignorable" then
         print_error(e)
      end
   end
   print(("%d real, %d undated, %d to be ignored%s"):format(d.counts.real, d.counts.undated,
      d.counts.ignorable, d.counts.ignorable > 0 and not args.all and " (--all shows why)" or ""))
   print_when(d)
end

---------------------------------------------------------------- check, diff

local function tally(counts)
   local words = {}
   for word in pairs(counts) do
      words[#words + 1] = word
   end
   table.sort(words, function(a, b)
      local x, y = tonumber(a:match "%d+"), tonumber(b:match "%d+")
      return (x or 0) ~= (y or 0) and (x or 0) > (y or 0) or a < b
   end)
   for i, word in ipairs(words) do
      words[i] = ("%d at %s"):format(counts[word], word)
   end
   return table.concat(words, ", ")
end

function show.check(d)
   for _, severity in ipairs { "fault", "warning" } do
      for _, f in ipairs(d.findings) do
         if f.severity == severity then
            wrapped(("%-8s %-14s "):format(severity, f.kind), f.text)
         end
      end
   end
   local p = d.ports
   if d.ports.set > 0 then
      print(("%s set below what both ends support (`taut fabric links --bad`)"):format(
         report.count(d.ports.set, "link")))
   end
   print(("%s: %d linked, %d down, %d disabled"):format(report.count(p.ports, "port"), p.linked,
      p.down, p.disabled))
   report.wrap(tally(p.width) .. "; " .. tally(p.speed), "")
   report.wrap(d.recorded and ("compared with the fabric recorded %s"):format(date(d.recorded))
      or "not compared: no fabric is recorded (`taut fabric record`)", "")
   print(("%s, %s, %s (`taut fabric errors`)"):format(report.count(d.counts.fault, "fault"),
      report.count(d.counts.warning, "warning"), report.count(d.real_errors, "real error")))
   print_when(d)
end

function show.diff(d)
   for _, c in ipairs(d.changes) do
      wrapped(("%-15s "):format(c.kind), c.text)
   end
   print(("%s since %s"):format(report.count(#d.changes, "change"), date(d.recorded)))
   print_when(d)
end

function show.record(d)
   print(("%d nodes recorded in %s"):format(d.nodes, d.recorded_in))
end

---------------------------------------------------------------- mcast, sm, sweep

-- "a[1-3,5],b7" in its ranges: { prefix, range, suffix }, or { name }.
local function ranges(text)
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

-- A host list as several, each of at most `most` columns where a name lets it.
local function host_lines(text, most)
   local lines, line, last = {}, "", nil
   for _, r in ipairs(ranges(text)) do
      local more
      if r[2] and last and r[1] == last[1] and r[3] == last[3] then
         more = ("%s,%s]%s"):format(line:sub(1, -2 - #r[3]), r[2], r[3])
      else
         local name = r[2] and ("%s[%s]%s"):format(r[1], r[2], r[3]) or r[1]
         more = line == "" and name or line .. "," .. name
      end
      if line ~= "" and #more > most then
         lines[#lines + 1] = line
         more = r[2] and ("%s[%s]%s"):format(r[1], r[2], r[3]) or r[1]
      end
      line, last = more, r[2] and r or nil
   end
   lines[#lines + 1] = line
   return lines
end

function show.mcast(d)
   local hosts = {}
   for _, m in ipairs(d.missing) do
      if m.host and not m.host:find "[^%w_.-]" then
         hosts[#hosts + 1] = m.host
      else
         print("missing  " .. m.port)
      end
   end
   for _, line in ipairs(#hosts > 0 and host_lines(hostlist.compress(hosts), WIDTH - 9) or {}) do
      print("missing  " .. line)
   end
   for _, u in ipairs(d.unknown) do
      wrapped("unknown  ", ("%s: %s"):format(u.port, u.error))
   end
   local groups = d.mgid:gsub("....", "%0:"):gsub(":$", "")
   print(("group %s, MLID 0x%04x"):format(groups, d.mlid))
   print(("%d up, %d members, %d up but not members"):format(d.up, d.members, #d.missing))
end

function show.sm(d)
   local rows = {}
   for _, s in ipairs(d.sms) do
      rows[#rows + 1] = { fit(s.node or "?", 32), tostring(s.lid), s.state or "?",
         s.priority and tostring(s.priority) or "-", s.activity and tostring(s.activity) or "-",
         s.error or (s.used and "in charge of this host's port" or "") }
   end
   report.table({ "NODE", ">LID", "STATE", ">PRIORITY", ">ACTIVITY", "" }, rows)
end

function show.sweep(d)
   for _, o in ipairs(d.recent) do
      wrapped(("%s %-10s "):format(date(o.to), o.class), o.text)
   end
   print(("%s, %s standing"):format(report.count(#d.observations, "new observation"),
      report.count(#d.standing, "fault")))
   print_when(d)
end

show.host_lines = host_lines

--- Exit status: 3 where something was found that should not be.
function show.status(what, d)
   local found = what == "check" and d.counts.fault + d.real_errors
      or what == "errors" and d.counts.real
      or what == "diff" and #d.changes
      or what == "mcast" and #d.missing
   return found and found > 0 and 3 or 0
end

return show
