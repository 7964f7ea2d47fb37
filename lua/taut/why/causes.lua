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

local function unknown(cause, reason)
   return { cause = cause, how = WITHOUT, reason = reason, text = "not known because " .. reason }
end

local function nothing(cause, how, sure, text)
   return { cause = cause, how = how, lo_s = 0, hi_s = 0, sure = sure, text = text }
end

-- Seconds lost between two ratios of each pattern, the least and the most.  A job that took run_s
-- cannot have lost more than what its communication leaves of that.
local function range(c, more, less)
   local lo, hi = math.huge, 0
   for _, t in ipairs(c.times) do
      local lost = c.ideal_s * math.max(0, more(t) - less(t))
      local most = c.run_s and math.max(0, c.run_s - c.ideal_s * t.healthy) or math.huge
      lost = math.min(lost, most)
      lo, hi = math.min(lo, lost), math.max(hi, lost)
   end
   return lo < math.huge and lo or 0, hi
end

local function can_predict(c)
   return c.ideal_s ~= nil and #(c.times or {}) > 0
end

local function healthy(t) return t.healthy end

-- What was assumed about the pattern.
local function basis(c)
   local t = c.times[1]
   return c.is_said and ("from the bytes counted and its --comm=%s"):format(t.name)
      or ("from the bytes counted, for %s to %s, as it named no --comm"):format(
         c.times[#c.times].name, t.name)
end

---------------------------------------------------------------- a component was bad

local function state_of(b)
   if b.state == "lossy" and b.loss then
      return ("lost %.2g%% of its packets"):format(100 * b.loss)
   elseif b.state == "failed" then
      return "had failed"
   end
   return ("%s at %s"):format(b.state == "slow" and "was slow" or "was, by what its hardware says,",
      words.percent(b.left))
end

local function since_of(c, b)
   if b.later then
      return ("found %s, after the job%s"):format(words.moment(b.later, c.now), b.unsure and
         "; no test tells whether it was so already" or (", by tests since " ..
         words.moment(b.since or b.later, c.now)))
   end
   return b.known and ("known since %s"):format(words.moment(b.known, c.now)) or "known"
end

local function component(c, i, b)
   local all = c.nodes * (c.nodes - 1) // 2
   local text = ("%s %s; %s; on the way of %d of its %s of nodes"):format(b.name, state_of(b),
      since_of(c, b), b.pairs or 0, words.count(all, "pair"))
   if not can_predict(c) then
      return { cause = "component", how = "measured", sure = "low", component = b.name,
         state = b.state,
         text = text .. "; what that cost is not known because " .. (c.not_predicted or
         "no traffic was counted") }
   end
   local lo, hi = range(c, function(t) return t.of[i] or t.healthy end, healthy)
   return { cause = "component", how = "predicted", lo_s = lo, hi_s = hi, component = b.name,
      state = b.state, sure = b.unsure and "low" or c.is_said and "high"
         or "medium",
      text = ("%s; %s"):format(text, basis(c)) }
end

-- What the check before the job has to say where nothing is known to be bad.
local function check_words(c)
   local k = c.f.check
   if not k then
      return nil, "no check was made before it (a shared node, checks off, or a node that was " ..
         "not heard from)"
   elseif k.tests == 0 then
      return nil, (k.heard or 0) < (k.expected or 0)
         and ("before it only %d of its %d nodes were heard from"):format(k.heard or 0,
            k.expected or 0)
         or "nothing was due for a test before it began"
   elseif k.low > 0 then
      return ("%d of the %d tests before it were low, the worst from %s to %s at %s"):format(k.low,
         k.tests, k.worst and k.worst.src or "?", k.worst and k.worst.dst or "?",
         words.percent(k.worst and k.worst.ratio or 0)), nil, true
   elseif k.good == 0 then
      return nil, "the tests before it were all discarded"
   end
   return ("%s between its nodes before it began: good"):format(words.count(k.good, "test"))
end

local function components(c, add)
   local text, why_not, is_low = check_words(c)
   local none = "none on its ways is known to be bad" .. (#c.suspects > 0
      and (" (suspected: %s)"):format(table.concat(c.suspects, ", ")) or "")
   c.is_low, c.is_tested = is_low, text ~= nil
   if #c.bad > 0 then
      for i = 1, math.min(SHOWN, #c.bad) do
         add(component(c, i, c.bad[i]))
      end
   elseif is_low then
      add { cause = "component", how = "measured", sure = "low", text = text ..
         "; no component is named yet" }
   elseif text then
      add(nothing("component", "measured", "medium", none .. "; " .. text))
   else
      add(unknown("component", why_not .. "; " .. none))
   end
end

---------------------------------------------------------------- placement, neighbours

local function placement(c, add)
   local p = c.f.place
   if not p and c.ideal_s and c.run_s and c.ideal_s < LITTLE * c.run_s then
      return add(nothing("placement", "predicted", "high", "it moved too little for its " ..
         "placement to matter"))
   elseif not p then
      return add(unknown("placement", c.no_place
         or "what was free when it started was not looked at"))
   end
   local where = ("its communication takes %.2f times an ideal network's on its " ..
      "nodes"):format(p.got)
   if not p.best then
      return add(unknown("placement", where ..
         ", and the best free nodes were not looked for"))
   end
   local text = ("%s, %.2f on the best of %s free at its %s%s"):format(where, p.best,
      words.count(p.free or 0, "node"), p.when or "start",
      p.slurm and (", %.2f where Slurm's own rule puts it"):format(p.slurm) or "")
   if not c.ideal_s then
      return add { cause = "placement", how = "predicted", sure = "low", text = text ..
         "; what that cost is not known because " .. (c.not_predicted or "no traffic was counted") }
   end
   local lost = c.ideal_s * math.max(0, p.got - p.best)
   add { cause = "placement", how = "predicted", lo_s = lost, hi_s = lost,
      sure = c.is_said and "high" or "low", text = ("%s; for %s"):format(text, p.pattern or "?") }
end

local function neighbour_words(c)
   local first
   for _, n in ipairs(c.others) do
      first = n.most and (not first or n.most > first.most) and n or first
   end
   if not first then
      return nil
   end
   local who = first.is_hidden and "another user's job"
      or ("job %d (%s of %s)"):format(first.id, first.name, first.user)
   local text = ("%s put %s on %s, which it shares with it"):format(who, words.percent(first.most),
      c.name_of(first.at))
   local more = #c.others - 1
   return more > 0 and ("%s; %s more sent, too"):format(text, words.count(more, "job")) or text,
      first
end

local function neighbours(c, add)
   if c.no_others then
      return add(unknown("neighbours", c.no_others))
   elseif not can_predict(c) then
      return add(unknown("neighbours", c.not_predicted or "no traffic was counted"))
   elseif #c.others == 0 then
      return add(nothing("neighbours", "measured", c.others_running and "low" or "medium",
         "no other job that ended until now sent much meanwhile"))
   end
   local text, first = neighbour_words(c)
   if not text then
      return add(nothing("neighbours", "predicted", "medium",
         ("%s sent meanwhile, on none of its links"):format(words.count(#c.others, "other job"))))
   end
   local lo, hi = range(c, function(t) return t.others end, healthy)
   add { cause = "neighbours", how = "predicted", lo_s = lo, hi_s = hi,
      sure = first.is_estimate and "low" or c.is_said and "medium" or "low",
      component = c.name_of(first.at), text = ("%s; %s"):format(text, first.is_estimate and
         "from that job's earlier runs" or "from the bytes both counted") }
end

---------------------------------------------------------------- congestion

local function amount(v)
   return v >= 10 and ("%.0f"):format(v) or ("%.2g"):format(v)
end

-- "; other jobs 2.1 (median of 40, nine in ten below 12)"
local function of_others(class)
   return class and ("; other jobs %s (median of %d, nine in ten below %s)"):format(
      amount(class.median), class.jobs, amount(class.most)) or ""
end

local function congestion(c, add)
   local now = earlier.stalled(c.f)
   if not now then
      return add(unknown("congestion", c.f.traffic and
         "these adapters count nothing that waits, or it moved too little" or
         "its counters were not read"))
   end
   local name, most = nil, 0
   for k, v in pairs(c.f.traffic.stalls or {}) do
      if v > most then
         name, most = k, v
      end
   end
   local few = name == "tcp_retransmitted" and c.f.traffic.segments
      and most < FEW_SEGMENTS * c.f.traffic.segments
   local text = ("%s a GB%s"):format(amount(now), name and (", mostly %s"):format(name) or "")
   local before = c.e.stalled
   if not before then
      return add(unknown("congestion", "no earlier run as large was counted so (" .. text ..
         of_others(c.class) .. ")"))
   end
   text = ("%s, %s in its earlier runs%s"):format(text, amount(before), of_others(c.class))
   if now > STALLED * before and now > MORE * c.e.stalled_most and now - before > STALLED_GB
      and c.e.is_slower and not few then
      return add { cause = "congestion", how = "measured", lo_s = 0, hi_s = c.e.lost_s,
         sure = "medium",
         text = "its ports were held up more often: " .. text, times = now / math.max(before, 1) }
   end
   add(nothing("congestion", "measured", "medium", (few and "too little was sent again to " ..
      "matter: " or "its ports were held up no more often: ") .. text))
end

---------------------------------------------------------------- one node differs

local LATE_S, CPU_SHARE = 2, 0.25

local function far(part, sign)
   for _, r in ipairs(part and part.out or {}) do
      if (r[2] - part.median) * sign > 0 then
         return r[1], r[2] - part.median
      end
   end
end

local function node_differs(c, add)
   local t = c.f.traffic
   if not t then
      return add(unknown("node", "its counters were not read"))
   elseif c.nodes < 3 then
      return add(unknown("node", "two nodes do not tell which of them differs"))
   end
   local any
   local name, more = far(t.cpu, 1)
   c.is_uneven = name ~= nil
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
   name, more = far(t.bytes, 1)
   if name then
      any = add { cause = "node", how = "measured", sure = "low", node = name,
         text = ("%s moved %s, the others %s each"):format(name, words.bytes(t.bytes.median + more),
            words.bytes(t.bytes.median)) } or true
   end
   name, more = far(t.times, -1)
   if name and -more > LATE_S then
      any = add { cause = "node", how = "measured", lo_s = 0, hi_s = -more, sure = "medium",
         node = name, text = ("%s began %s after the others"):format(name, words.time(-more)) }
            or true
   end
   if not any then
      add(nothing("node", "measured", t.cpu and "medium" or "low", t.cpu
         and "all nodes moved as much and took as much processor time"
         or "all nodes moved as much; their processor time is not known"))
   end
end

---------------------------------------------------------------- earlier runs

local function earlier_runs(c, add)
   local e = c.e
   if e.runs == 0 then
      return add(unknown("earlier", ("there is no earlier run of %s on %s"):format(c.job.name
         or "?",
         words.count(c.nodes, "node"))))
   elseif e.is_other_input then
      return add { cause = "input", how = "measured", sure = "high", text =
         ("it moved %.2g times as many bytes as its %d earlier runs: another input"):format(
            e.times_bytes, e.runs) }
   elseif not e.median_s then
      return add(unknown("earlier", ("only %s moved as many bytes; %d are needed"):format(
         words.count(e.alike, "earlier run"), earlier.LEAST)))
   end
   local base = ("median %s, %s to %s"):format(words.time(e.median_s), words.time(e.least_s),
      words.time(e.most_s))
   if not c.run_s then
      return add { cause = "earlier", how = "measured", sure = "high", text =
         ("%s took %s"):format(words.count(e.alike, "earlier run"), base) }
   end
   add { cause = "earlier", how = "measured", lo_s = math.max(0, e.lost_s), hi_s = math.max(0,
      e.lost_s),
      sure = e.alike >= 5 and "high" or "medium", text =
      ("slower than %d of %d earlier runs that moved as many bytes (%s)"):format(e.slower_than,
         e.alike, base) }
end

-- What its processors did.
local function processors(c, add)
   local cpu = c.f.traffic and c.f.traffic.cpu
   if not cpu or not c.e.cpu_s or not c.e.is_slower or c.is_uneven then
      return
   end
   local more = cpu.median - c.e.cpu_s
   if more > 0.5 * c.e.lost_s then
      c.computed = true
      return add { cause = "elsewhere", how = "measured", lo_s = more, hi_s = more, sure = "medium",
         text = ("its processes took %s of processor time on a node, %s in its earlier runs: it " ..
         "computed longer"):format(words.time(cpu.median), words.time(c.e.cpu_s)) }
   end
   c.waited = true
   add { cause = "waiting", how = "measured", sure = "medium", text =
      ("its processes took as much processor time as before (%s on a node): it waited longer")
      :format(words.time(cpu.median)) }
end

local ENDED = { earlier_runs, components, placement, neighbours, congestion, node_differs,
   processors }
local RUNNING = { earlier_runs, components, placement }

--- All findings of a case, those that may have cost most first; what is not known last.
function causes.of(c)
   local list = {}
   local function add(f)
      f.order = #list
      list[#list + 1] = f
   end
   for _, fn in ipairs(c.state and RUNNING or ENDED) do
      fn(c, add)
   end
   local function weight(f)
      return f.cause == "earlier" and math.huge or f.how == WITHOUT and -1 or f.hi_s or 0
   end
   table.sort(list, function(a, b)
      local x, y = weight(a), weight(b)
      return x > y or x == y and a.order < b.order
   end)
   return list
end

return causes
