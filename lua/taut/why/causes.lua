-- SPDX-License-Identifier: GPL-2.0-or-later
--- What may have cost a job time, each with a number and how that is known.
--
-- A finding is { cause, how = "measured", "predicted" or "not known", lo_s, hi_s = seconds lost to
-- it (both nil: none can be told, both 0: it cost nothing), sure = "high", "medium" or "low", text,
-- component = its name or nil, reason = of "not known because …" }.
--
-- A case, which init.lua makes, is { job, nodes (count), run_s, f = facts, e = of earlier.lua,
-- class = of earlier.of_class, ideal_s, times = of predict.lua, is_said, bad, others, hidden = jobs
-- that the asker may not see, not_predicted = why, now }.
local earlier = require "taut.why.earlier"
local words = require "taut.why.words"

local causes = {}

local STALLED = 3     -- times what earlier runs were held up, as a rule
local MORE = 1.5      -- times what any of them was
local STALLED_GB = 20 -- per GB: less is nothing
-- Of the segments that TCP sent: fewer that were sent again leave a stream more than 100 MB/s
-- (1,448 bytes and a round trip of 1 ms, by Mathis et al., CCR 27(3), 1997).
local FEW_SEGMENTS = 1e-4
local WITHOUT = "not known"
local LITTLE = 0.01   -- of the run, as long as its traffic takes at least: it does not matter where
local SHOWN = 4       -- components that are not well

local function not_known(cause, reason)
   return { cause = cause, how = WITHOUT, reason = reason, text = "not known because " .. reason }
end

local function cost_nothing(cause, how, sure, text)
   return { cause = cause, how = how, lo_s = 0, hi_s = 0, sure = sure, text = text }
end

-- Seconds lost between two ratios of each pattern, the least and the most.  A job that took run_s
-- cannot have lost more than what its communication leaves of that.
local function lost_range(case, more, less)
   local lo, hi = math.huge, 0
   for _, t in ipairs(case.times) do
      local lost = case.ideal_s * math.max(0, more(t) - less(t))
      if case.run_s then
         lost = math.min(lost, math.max(0, case.run_s - case.ideal_s * t.healthy))
      end
      lo, hi = math.min(lo, lost), math.max(hi, lost)
   end
   if lo == math.huge then
      lo = 0
   end
   return lo, hi
end

local function can_predict(case)
   return case.ideal_s ~= nil and #(case.times or {}) > 0
end

local function healthy(times) return times.healthy end

-- What was assumed about the pattern.
local function pattern_basis(case)
   local t = case.times[1]
   if case.is_said then
      return ("from the bytes counted and its --comm=%s"):format(t.name)
   end
   return ("from the bytes counted, for %s to %s, as it named no --comm"):format(
      case.times[#case.times].name, t.name)
end

---------------------------------------------------------------- a component was bad

local function state_of(bad)
   if bad.state == "lossy" and bad.loss then
      return ("lost %.2g%% of its packets"):format(100 * bad.loss)
   elseif bad.state == "failed" then
      return "had failed"
   elseif bad.state == "slow" then
      return "was slow at " .. words.percent(bad.left)
   end
   return "was, by what its hardware says, at " .. words.percent(bad.left)
end

local function since_of(case, bad)
   if bad.later and bad.unsure then
      return ("found %s, after the job; no test tells whether it was so already"):format(
         words.moment(bad.later, case.now))
   elseif bad.later then
      return ("found %s, after the job, by tests since %s"):format(words.moment(bad.later,
         case.now), words.moment(bad.since or bad.later, case.now))
   elseif bad.known then
      return "known since " .. words.moment(bad.known, case.now)
   end
   return "known"
end

-- How sure it is what a bad component cost.
local function sureness_of(case, bad)
   if bad.unsure then
      return "low"
   elseif case.is_said then
      return "high"
   end
   return "medium"
end

local function component_finding(case, index, bad)
   local all = case.nodes * (case.nodes - 1) // 2
   local text = ("%s %s; %s; on the way of %d of its %s of nodes"):format(bad.name, state_of(bad),
      since_of(case, bad), bad.pairs or 0, words.count(all, "pair"))
   if not can_predict(case) then
      return { cause = "component", how = "measured", sure = "low", component = bad.name,
         state = bad.state,
         text = text .. "; what that cost is not known because " .. (case.not_predicted or
         "no traffic was counted") }
   end
   local lo, hi = lost_range(case, function(times)
      return times.of[index] or times.healthy
   end, healthy)
   return { cause = "component", how = "predicted", lo_s = lo, hi_s = hi, component = bad.name,
      state = bad.state, sure = sureness_of(case, bad),
      text = ("%s; %s"):format(text, pattern_basis(case)) }
end

-- What the check before the job has to say where nothing is known to be bad.
local function check_words(case)
   local k = case.f.check
   if not k then
      return nil, "no check was made before it (a shared node, checks off, or a node that was " ..
         "not heard from)"
   elseif k.tests == 0 and (k.heard or 0) < (k.expected or 0) then
      return nil, ("before it only %d of its %d nodes were heard from"):format(k.heard or 0,
         k.expected or 0)
   elseif k.tests == 0 then
      return nil, "nothing was due for a test before it began"
   elseif k.low > 0 then
      local worst = k.worst or {}
      return ("%d of the %d tests before it were low, the worst from %s to %s at %s"):format(k.low,
         k.tests, worst.src or "?", worst.dst or "?", words.percent(worst.ratio or 0)), nil, true
   elseif k.good == 0 then
      return nil, "the tests before it were all discarded"
   end
   return ("%s between its nodes before it began: good"):format(words.count(k.good, "test"))
end

local function component_findings(case, add)
   local text, why_not, is_low = check_words(case)
   local none = "none on its ways is known to be bad"
   if #case.suspects > 0 then
      none = ("%s (suspected: %s)"):format(none, table.concat(case.suspects, ", "))
   end
   case.is_low, case.is_tested = is_low, text ~= nil
   if #case.bad > 0 then
      for i = 1, math.min(SHOWN, #case.bad) do
         add(component_finding(case, i, case.bad[i]))
      end
   elseif is_low then
      add { cause = "component", how = "measured", sure = "low", text = text ..
         "; no component is named yet" }
   elseif text then
      add(cost_nothing("component", "measured", "medium", none .. "; " .. text))
   else
      add(not_known("component", why_not .. "; " .. none))
   end
end

---------------------------------------------------------------- placement, neighbours

local function placement_finding(case, add)
   local p = case.f.place
   if not p and case.ideal_s and case.run_s and case.ideal_s < LITTLE * case.run_s then
      return add(cost_nothing("placement", "predicted", "high", "it moved too little for its " ..
         "placement to matter"))
   elseif not p then
      return add(not_known("placement", case.no_place
         or "what was free when it started was not looked at"))
   end
   local where = ("its communication takes %.2f times an ideal network's on its " ..
      "nodes"):format(p.got)
   if not p.best then
      return add(not_known("placement", where ..
         ", and the best free nodes were not looked for"))
   end
   local text = ("%s, %.2f on the best of %s free at its %s"):format(where, p.best,
      words.count(p.free or 0, "node"), p.when or "start")
   if p.slurm then
      text = ("%s, %.2f where Slurm's own rule puts it"):format(text, p.slurm)
   end
   if not case.ideal_s then
      return add { cause = "placement", how = "predicted", sure = "low", text = text ..
         "; what that cost is not known because " .. (case.not_predicted
         or "no traffic was counted") }
   end
   local lost = case.ideal_s * math.max(0, p.got - p.best)
   add { cause = "placement", how = "predicted", lo_s = lost, hi_s = lost,
      sure = words.text_if(case.is_said, "high", "low"), text = ("%s; for %s"):format(text,
         p.pattern or "?") }
end

local function neighbour_words(case)
   local first
   for _, n in ipairs(case.others) do
      if n.most and (not first or n.most > first.most) then
         first = n
      end
   end
   if not first then
      return nil
   end
   local who = "another user's job"
   if not first.is_hidden then
      who = ("job %d (%s of %s)"):format(first.id, first.name, first.user)
   end
   local text = ("%s put %s on %s, which it shares with it"):format(who, words.percent(first.most),
      case.name_of(first.at))
   local more = #case.others - 1
   if more > 0 then
      text = ("%s; %s more sent, too"):format(text, words.count(more, "job"))
   end
   return text, first
end

local function neighbour_finding(case, add)
   if case.no_others then
      return add(not_known("neighbours", case.no_others))
   elseif not can_predict(case) then
      return add(not_known("neighbours", case.not_predicted or "no traffic was counted"))
   elseif #case.others == 0 then
      return add(cost_nothing("neighbours", "measured",
         words.text_if(case.others_running, "low", "medium"),
         "no other job that ended until now sent much meanwhile"))
   end
   local text, first = neighbour_words(case)
   if not text then
      return add(cost_nothing("neighbours", "predicted", "medium",
         ("%s sent meanwhile, on none of its links"):format(words.count(#case.others,
         "other job"))))
   end
   local lo, hi = lost_range(case, function(times) return times.others end, healthy)
   add { cause = "neighbours", how = "predicted", lo_s = lo, hi_s = hi,
      sure = words.text_if(case.is_said and not first.is_estimate, "medium", "low"),
      component = case.name_of(first.at), text = ("%s; %s"):format(text, words.text_if(
         first.is_estimate, "from that job's earlier runs", "from the bytes both counted")) }
end

---------------------------------------------------------------- congestion

local function format_amount(value)
   if value >= 10 then
      return ("%.0f"):format(value)
   end
   return ("%.2g"):format(value)
end

-- "; other jobs 2.1 (median of 40, nine in ten below 12)"
local function of_others(class)
   if not class then
      return ""
   end
   return ("; other jobs %s (median of %d, nine in ten below %s)"):format(
      format_amount(class.median), class.jobs, format_amount(class.most))
end

local function congestion_finding(case, add)
   local now = earlier.stalled(case.f)
   if not now then
      return add(not_known("congestion", words.text_if(case.f.traffic,
         "these adapters count nothing that waits, or it moved too little",
         "its counters were not read")))
   end
   local name, most = nil, 0
   for k, v in pairs(case.f.traffic.stalls or {}) do
      if v > most then
         name, most = k, v
      end
   end
   local few = name == "tcp_retransmitted" and case.f.traffic.segments
      and most < FEW_SEGMENTS * case.f.traffic.segments
   local text = format_amount(now) .. " a GB" .. words.text_with(", mostly ", name)
   local before = case.e.stalled
   if not before then
      return add(not_known("congestion", "no earlier run as large was counted so (" .. text ..
         of_others(case.class) .. ")"))
   end
   text = ("%s, %s in its earlier runs%s"):format(text, format_amount(before),
      of_others(case.class))
   if now > STALLED * before and now > MORE * case.e.stalled_most and now - before > STALLED_GB
      and case.e.is_slower and not few then
      return add { cause = "congestion", how = "measured", lo_s = 0, hi_s = case.e.lost_s,
         sure = "medium",
         text = "its ports were held up more often: " .. text, times = now / math.max(before, 1) }
   end
   add(cost_nothing("congestion", "measured", "medium", words.text_if(few,
      "too little was sent again to matter: ", "its ports were held up no more often: ") .. text))
end

---------------------------------------------------------------- one node differs

local LATE_S, CPU_SHARE = 2, 0.25

local function far_parts(part, sign)
   if not part then
      return nil
   end
   for _, r in ipairs(part.out or {}) do
      if (r[2] - part.median) * sign > 0 then
         return r[1], r[2] - part.median
      end
   end
end

local function node_finding(case, add)
   local t = case.f.traffic
   if not t then
      return add(not_known("node", "its counters were not read"))
   elseif case.nodes < 3 then
      return add(not_known("node", "two nodes do not tell which of them differs"))
   end
   local any
   local name, more = far_parts(t.cpu, 1)
   case.is_uneven = name ~= nil
   if name and more > CPU_SHARE * t.cpu.median then
      any = add { cause = "node", how = "measured", lo_s = 0, hi_s = more, sure = "high",
         node = name,
         text = ("the processes on %s took %s of processor time, the others %s"):format(name,
            words.time(t.cpu.median + more), words.time(t.cpu.median)) } or true
   end
   if t.worst and t.errors > 0 and t.worst.errors >= 0.8 * t.errors then
      any = add { cause = "node", how = "measured", sure = "low", node = t.worst.node,
         text = ("%s counted %s of the %s (%s +%d)"):format(t.worst.node, t.worst.errors,
            words.count(t.errors, "error"), t.worst.name, t.worst.amount) } or true
   end
   name, more = far_parts(t.bytes, 1)
   if name then
      any = add { cause = "node", how = "measured", sure = "low", node = name,
         text = ("%s moved %s, the others %s each"):format(name, words.bytes(t.bytes.median + more),
            words.bytes(t.bytes.median)) } or true
   end
   name, more = far_parts(t.times, -1)
   if name and -more > LATE_S then
      any = add { cause = "node", how = "measured", lo_s = 0, hi_s = -more, sure = "medium",
         node = name, text = ("%s began %s after the others"):format(name, words.time(-more)) }
            or true
   end
   if not any then
      add(cost_nothing("node", "measured", words.text_if(t.cpu, "medium", "low"),
         words.text_if(t.cpu, "all nodes moved as much and took as much processor time",
         "all nodes moved as much; their processor time is not known")))
   end
end

---------------------------------------------------------------- earlier runs

local function earlier_finding(case, add)
   local e = case.e
   if e.runs == 0 then
      return add(not_known("earlier", ("there is no earlier run of %s on %s"):format(case.job.name
         or "?",
         words.count(case.nodes, "node"))))
   elseif e.is_other_input then
      return add { cause = "input", how = "measured", sure = "high", text =
         ("it moved %.2g times as many bytes as its %d earlier runs: another input"):format(
            e.times_bytes, e.runs) }
   elseif not e.median_s then
      return add(not_known("earlier", ("only %s moved as many bytes; %d are needed"):format(
         words.count(e.alike, "earlier run"), earlier.LEAST)))
   end
   local base = ("median %s, %s to %s"):format(words.time(e.median_s), words.time(e.least_s),
      words.time(e.most_s))
   if not case.run_s then
      return add { cause = "earlier", how = "measured", sure = "high", text =
         ("%s took %s"):format(words.count(e.alike, "earlier run"), base) }
   end
   local lost_s = math.max(0, e.lost_s)
   add { cause = "earlier", how = "measured", lo_s = lost_s, hi_s = lost_s,
      sure = earlier.sureness(e), text =
      ("slower than %d of %d earlier runs that moved as many bytes (%s)"):format(e.slower_than,
         e.alike, base) }
end

-- What its processors did.
local function processor_finding(case, add)
   local cpu = case.f.traffic and case.f.traffic.cpu
   if not cpu or not case.e.cpu_s or not case.e.is_slower or case.is_uneven then
      return
   end
   local more = cpu.median - case.e.cpu_s
   if more > 0.5 * case.e.lost_s then
      case.computed = true
      return add { cause = "elsewhere", how = "measured", lo_s = more, hi_s = more, sure = "medium",
         text = ("its processes took %s of processor time on a node, %s in its earlier runs: it " ..
         "computed longer"):format(words.time(cpu.median), words.time(case.e.cpu_s)) }
   end
   case.waited = true
   add { cause = "waiting", how = "measured", sure = "medium", text =
      ("its processes took as much processor time as before (%s on a node): it waited longer")
      :format(words.time(cpu.median)) }
end

local ENDED = { earlier_finding, component_findings, placement_finding, neighbour_finding,
   congestion_finding, node_finding, processor_finding }
local RUNNING = { earlier_finding, component_findings, placement_finding }

--- All findings of a case, those that may have cost most first; what is not known last.
function causes.of(case)
   local list = {}
   local function add_finding(finding)
      finding.order = #list
      list[#list + 1] = finding
   end
   local kinds = ENDED
   if case.state then
      kinds = RUNNING
   end
   for _, fn in ipairs(kinds) do
      fn(case, add_finding)
   end
   local function weight_of(finding)
      if finding.cause == "earlier" then
         return math.huge
      elseif finding.how == WITHOUT then
         return -1
      end
      return finding.hi_s or 0
   end
   table.sort(list, function(one, other)
      local x, y = weight_of(one), weight_of(other)
      return x > y or x == y and one.order < other.order
   end)
   return list
end

return causes
