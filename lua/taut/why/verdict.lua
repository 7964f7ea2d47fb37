-- SPDX-License-Identifier: GPL-2.0-or-later
--- "Was it the network?": one sentence out of the findings, and one line for AdminComment.
--
-- The network is blamed only if a known fact about it can explain at least half of the job's delay
-- against its earlier runs. Without earlier runs it is blamed if it cost a tenth of the run by the
-- model.
local earlier = require "taut.why.earlier"
local words = require "taut.why.words"

local verdict = {}

local FEW = 0.05     -- of the run: traffic that takes no longer is not a cause
local HALF = 0.5     -- of the time lost, which a cause must explain
local PART = 0.2
local TENTH = 0.1    -- of the run, where there is no earlier one
local NETWORK = { component = true, placement = true, neighbours = true, congestion = true }

local function best_finding(list, is_wanted)
   local found
   for _, f in ipairs(list) do
      if is_wanted(f) and f.hi_s and f.hi_s > 0 and (not found or f.hi_s > found.hi_s) then
         found = f
      end
   end
   return found
end

local WAS = { failed = "had failed", lossy = "lost packets" }

-- What is blamed, so that "can explain" or "cost it" may follow.
local function what_is_blamed(finding)
   if finding.cause == "component" then
      return ("%s between its nodes %s and"):format(finding.component or "a component",
         WAS[finding.state] or "was slow")
   elseif finding.cause == "placement" then
      return "where it was placed"
   elseif finding.cause == "neighbours" then
      return "other jobs on the same links" .. words.text_with(" (", finding.component, ")")
   end
   return "congestion of its links"
end

local function make_answer(is, cause, lost_s, sure, text, finding)
   return { network = is, cause = cause, lost_s = lost_s, sure = sure, text = text,
      component = finding and finding.component, node = finding and finding.node }
end

-- The most that its traffic can have taken, whatever was wrong.
local function most_s(case)
   if not case.ideal_s then
      return nil
   end
   local most
   for _, t in ipairs(case.times or {}) do
      most = math.max(most or 0, case.ideal_s * t.all)
   end
   return most
end

-- What the model says that this run lost to a cause beyond what its earlier runs did; of what each
-- had to bear alike no run is slower than another.
local BEYOND = {
   component = function(times) return times.bad - times.healthy end,
   placement = function(times) return times.healthy end,
   neighbours = function(times) return times.others - times.healthy end,
}

local function beyond_usual(case, cause)
   local before, t = case.e.model, case.times and case.times[1]
   if case.ideal_s and t and before then
      return case.ideal_s * math.max(0, BEYOND[cause](t) - BEYOND[cause](before))
   elseif cause == "placement" then
      return 0 -- they may have been placed alike
   end
   return math.huge
end

-- The part of the network that explains most of what a run took longer, and how much.
local function explains_most(case, list)
   local found, most = nil, 0
   for _, f in ipairs(list) do
      local hi = 0
      if BEYOND[f.cause] and f.hi_s then
         hi = math.min(f.hi_s, beyond_usual(case, f.cause))
      end
      if hi > most then
         found, most = f, hi
      end
   end
   return found, most
end

local function looked_at(case)
   return words.text_if(case.is_tested,
      "its ways were tested and good, its neighbours sent little",
      "nothing known of the network explains it")
end

-- Where else the time of a slower run may have gone.
local function where_else(case)
   if case.computed then
      return "it computed longer"
   elseif case.waited then
      return "it waited for something else: look at file system and input"
   end
   return "look elsewhere: file system, input, processors"
end

-- A finding that explains at least half of what was lost.
local function of_explained(case, finding, hi, by)
   local e, sure, share = case.e, "low", "all"
   if finding.sure ~= "low" then
      sure = earlier.sureness(e)
   end
   if hi < 0.95 * e.lost_s then
      share = words.percent(hi / e.lost_s)
   end
   return make_answer("yes", finding.cause, math.min(e.lost_s, finding.hi_s), sure,
      ("Yes: %s can explain %s of %s."):format(what_is_blamed(finding), share, by), finding)
end

local function elsewhere(list, lost_s)
   local node = best_finding(list, function(finding)
      return finding.cause == "node" and finding.sure ~= "low"
   end)
   if node and (not lost_s or node.hi_s >= PART * lost_s) then
      return make_answer("no", "node", math.min(node.hi_s, lost_s or node.hi_s), node.sure,
         ("No: one node differs. %s."):format(node.text:gsub("^%l", string.upper)), node)
   end
   return nil
end

-- Slower than its earlier runs.
local function of_slower(case, list, few)
   local lost = case.e.lost_s
   local by = ("the %s by which it took longer than its earlier runs"):format(words.time(lost))
   local f, hi = nil, 0
   if not few then
      f, hi = explains_most(case, list)
   end
   local held = best_finding(list, function(cause) return cause.cause == "congestion" end)
   if hi >= HALF * lost then
      return of_explained(case, f, hi, by)
   elseif held then
      return make_answer("yes", "congestion", lost, "medium",
         ("Yes, probably: %s, in %s."):format(held.text:gsub(": .*", ""), by), f or held)
   elseif f and hi >= PART * lost then
      return make_answer("partly", f.cause, hi, "medium",
         ("Partly: %s can explain %s of %s."):format(
         what_is_blamed(f), words.percent(hi / lost), by), f)
   end
   local other = elsewhere(list, lost)
   if other then
      return other
   elseif few then
      return make_answer("no", "elsewhere", lost, "high",
         ("No: all that it moved takes at most %s of " ..
         "its %s. Look for %s elsewhere: file system, input, processors."):format(
         words.time(few), words.time(case.run_s), by))
   elseif case.is_low then
      return make_answer("not known", nil, nil, "low",
         ("Not known: tests before it were low, and no " ..
         "component is named yet; see again later. It took %s longer than its earlier runs.")
         :format(words.time(lost)))
   elseif not case.is_tested or case.no_others then
      return make_answer("not known", nil, nil, "low",
         ("Not known: it took %s longer than its earlier runs, and %s."):format(words.time(lost),
         words.text_if(not case.is_tested, "its ways were not tested", case.no_others)))
   end
   return make_answer("no", "elsewhere", lost, "medium",
      ("No: it took %s longer than its earlier runs, but %s; %s."):format(words.time(lost),
      looked_at(case), where_else(case)))
end

-- With nothing to compare it with.
local function of_first(case, list, few)
   local f = not few and best_finding(list, function(cause)
      return NETWORK[cause.cause] and cause.cause ~= "congestion"
   end)
   local other = elsewhere(list)
   if few then
      return other or make_answer("no", nil, nil, "high",
         ("No: all that it moved takes at most %s of " ..
         "its %s over this network, whatever was wrong with it."):format(words.time(few),
         words.time(case.run_s)))
   elseif f and f.lo_s >= TENTH * case.run_s then
      local sure = words.text_if(f.sure == "high", "medium", "low")
      return make_answer("yes", f.cause, (f.lo_s + f.hi_s) / 2, sure,
         ("Yes, probably: %s cost it about %s of its %s; it has no earlier run to " ..
         "compare with."):format(what_is_blamed(f), words.lost(f.lo_s, f.hi_s):gsub("^%+", "")
         :gsub("%+", ""), words.time(case.run_s)), f)
   elseif f and f.hi_s >= TENTH * case.run_s then
      return make_answer("not known", nil, nil, "low",
         ("Not known: %s may have cost it nothing or up " ..
         "to %s of its %s, as it named no pattern (--comm), and it has no earlier run."):format(
         what_is_blamed(f), words.time(f.hi_s), words.time(case.run_s)), f)
   elseif other then
      return other
   elseif case.is_low then
      return make_answer("not known", nil, nil, "low",
         "Not known: tests before it were low, and no component is named yet; see again later.")
   elseif not case.is_tested then
      return make_answer("not known", nil, nil, "low",
         "Not known: its ways were not tested, and it " .. "has no earlier run to compare with.")
   end
   return make_answer("no", nil, nil, "medium",
      ("No, as far as can be told: nothing known of the " ..
      "network cost it a tenth of its %s; it has no earlier run to compare with."):format(
      words.time(case.run_s)))
end

local function of_ended(case, list)
   local e, most = case.e, most_s(case)
   if case.nodes < 2 then
      return make_answer("no", nil, nil, "high",
         "No: it ran on one node, and no other node took part.")
   elseif e.median_s and not e.is_slower then
      return make_answer("no", nil, 0, earlier.sureness(e),
         ("No: it took %s, %s its earlier runs (median of %d: %s)."):format(words.time(case.run_s),
         words.text_if(e.lost_s < -0.1 * e.median_s, "less than", "no longer than"), e.alike,
         words.time(e.median_s)))
   elseif e.is_other_input then
      return make_answer("no", "input", nil, "high",
         ("No: it had another input. It moved %.2g times as " ..
         "many bytes as its earlier runs, so their times say nothing of it."):format(e.times_bytes))
   elseif not case.f.traffic then
      return make_answer("not known", nil, nil, "low",
         "Not known: its nodes' counters were not read, so " ..
         "how much it moved is not known.")
   end
   local few
   if most and most <= FEW * case.run_s then
      few = most
   end
   if e.is_slower then
      return of_slower(case, list, few)
   end
   return of_first(case, list, few)
end

-- Runs still: what is wrong on its ways is known, what it moved is not.
local function of_running(case)
   if case.nodes < 2 then
      return make_answer("no", nil, nil, "high",
         "No: it runs on one node, and no other takes part.")
   elseif case.bad[1] then
      local b = case.bad[1]
      return make_answer("not known", "component", nil, "low",
         ("Perhaps: %s is not well and lies on " ..
         "%s of the ways between its nodes. What it moves is counted when it ends."):format(b.name,
         words.percent(b.share)), { component = b.name })
   end
   return make_answer("not known", nil, nil, "low",
      "Not known yet: it runs, and what it moves is " ..
      "counted when it ends. Nothing on its ways is known to be bad.")
end

--- @param case case (causes.lua); list of causes.of
-- @return { network = "yes", "no", "partly" or "not known", cause = of what, lost_s, sure, text,
--   component, node }
function verdict.of(case, list)
   if case.state == "pending" then
      local reason, says = case.job.reason, "gives no reason yet"
      if reason and reason ~= "" and reason:lower() ~= "none" then
         says = "says " .. reason
      end
      return make_answer("no", nil, nil, "high",
         ("It has not started: Slurm %s. Nothing of it has used the network."):format(says))
   elseif case.state == "running" then
      return of_running(case)
   end
   return of_ended(case, list)
end

-- The line of a job that the network did not slow.
local function line_of_fine(outcome)
   if outcome.cause == "node" then
      return "taut: network fine, one node differs: " .. (outcome.node or "?")
   elseif outcome.cause == "input" then
      return "taut: network fine, another input"
   end
   return "taut: network fine"
end

--- One line for AdminComment: ASCII, at most 255 bytes; nil where nothing can be said.
-- @param outcome of verdict.of
function verdict.line(case, outcome)
   local text
   if outcome.network == "no" then
      text = line_of_fine(outcome)
   elseif outcome.network == "yes" or outcome.network == "partly" then
      local what = outcome.component or outcome.cause
      local b
      for _, x in ipairs(case.bad) do
         if x.name == outcome.component then
            b = x
         end
      end
      if b then
         what = ("%s at %s on %d of %d pairs"):format(b.name, words.percent(b.left):gsub("%%",
            " %%"),
            b.pairs, case.nodes * (case.nodes - 1) // 2)
      end
      text = "taut: " .. what
      if case.run_s and outcome.lost_s and case.run_s > outcome.lost_s then
         text = ("%s, +%.0f %%"):format(text,
            100 * outcome.lost_s / (case.run_s - outcome.lost_s))
      end
   end
   return text and (text:gsub("[^\32-\126]", "?"):gsub("|", "/"):sub(1, 255))
end

return verdict
