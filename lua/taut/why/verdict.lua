-- SPDX-License-Identifier: GPL-2.0-or-later
--- "Was it the network?": one sentence out of the findings, and one line for AdminComment.
--
-- The network is blamed only where something known of it can explain at least half of what a job
-- took longer than its earlier runs; or, where there is none to compare with, where the model says
-- that it cost a tenth of the run.
local words = require "taut.why.words"

local verdict = {}

local FEW = 0.05     -- of the run: traffic that takes no longer is no cause
local HALF = 0.5     -- of the time lost, which a cause must explain
local PART = 0.2
local TENTH = 0.1    -- of the run, where there is no earlier one
local NETWORK = { component = true, placement = true, neighbours = true, congestion = true }

local function best(list, is_wanted)
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
local function head(f)
   if f.cause == "component" then
      return ("%s between its nodes %s and"):format(f.component or "a component",
         WAS[f.state] or "was slow")
   elseif f.cause == "placement" then
      return "where it was placed"
   elseif f.cause == "neighbours" then
      return "other jobs on the same links" .. (f.component and (" (%s)"):format(f.component) or "")
   end
   return "congestion of its links"
end

local function answer(is, cause, lost_s, sure, text, f)
   return { network = is, cause = cause, lost_s = lost_s, sure = sure, text = text,
      component = f and f.component, node = f and f.node }
end

-- The most that its traffic can have taken, whatever was wrong.
local function most_s(c)
   local most
   for _, t in ipairs(c.ideal_s and c.times or {}) do
      most = math.max(most or 0, c.ideal_s * t.all)
   end
   return most
end

-- What the model says that this run lost to a cause beyond what its earlier runs did; of what each
-- had to bear alike no run is slower than another.
local BEYOND = {
   component = function(t) return t.bad - t.healthy end,
   placement = function(t) return t.healthy end,
   neighbours = function(t) return t.others - t.healthy end,
}

local function beyond(c, cause)
   local before, t = c.e.model, c.times and c.times[1]
   if not (c.ideal_s and t and before) then
      return cause == "placement" and 0 or math.huge -- they may have been placed alike
   end
   return c.ideal_s * math.max(0, BEYOND[cause](t) - BEYOND[cause](before))
end

-- The part of the network that explains most of what a run took longer, and how much.
local function explains_most(c, list)
   local found, most = nil, 0
   for _, f in ipairs(list) do
      local hi = BEYOND[f.cause] and f.hi_s and math.min(f.hi_s, beyond(c, f.cause)) or 0
      if hi > most then
         found, most = f, hi
      end
   end
   return found, most
end

local function looked_at(c)
   return c.is_tested and "its ways were tested and good, its neighbours sent little"
      or "nothing known of the network explains it"
end

local function elsewhere(list, lost_s)
   local node = best(list, function(f) return f.cause == "node" and f.sure ~= "low" end)
   if node and (not lost_s or node.hi_s >= PART * lost_s) then
      return answer("no", "node", math.min(node.hi_s, lost_s or node.hi_s), node.sure,
         ("No: one node differs. %s."):format(node.text:gsub("^%l", string.upper)), node)
   end
   return nil
end

-- Slower than its earlier runs.
local function of_slower(c, list, few)
   local e, lost = c.e, c.e.lost_s
   local by = ("the %s by which it took longer than its earlier runs"):format(words.time(lost))
   local f, hi = nil, 0
   if not few then
      f, hi = explains_most(c, list)
   end
   local held = best(list, function(x) return x.cause == "congestion" end)
   if hi >= HALF * lost then
      return answer("yes", f.cause, math.min(lost, f.hi_s), f.sure == "low" and "low" or
         e.alike >= 5 and "high" or "medium", ("Yes: %s can explain %s of %s."):format(head(f),
         hi >= 0.95 * lost and "all" or words.percent(hi / lost), by), f)
   elseif held then
      return answer("yes", "congestion", lost, "medium",
         ("Yes, probably: %s, in %s."):format(held.text:gsub(": .*", ""), by), f or held)
   elseif f and hi >= PART * lost then
      return answer("partly", f.cause, hi, "medium", ("Partly: %s can explain %s of %s."):format(
         head(f), words.percent(hi / lost), by), f)
   end
   local other = elsewhere(list, lost)
   if other then
      return other
   elseif few then
      return answer("no", "elsewhere", lost, "high",
         ("No: all that it moved takes at most %s of " ..
         "its %s. Look for %s elsewhere: file system, input, processors."):format(
         words.time(few), words.time(c.run_s), by))
   elseif c.is_low then
      return answer("not known", nil, nil, "low", ("Not known: tests before it were low, and no " ..
         "component is named yet; see again later. It took %s longer than its earlier runs.")
         :format(words.time(lost)))
   elseif not c.is_tested or c.no_others then
      return answer("not known", nil, nil, "low",
         ("Not known: it took %s longer than its earlier " ..
         "runs, and %s."):format(words.time(lost), not c.is_tested
         and "its ways were not tested" or c.no_others))
   end
   local where = c.computed and "it computed longer" or c.waited
      and "it waited for something else: look at file system and input"
      or "look elsewhere: file system, input, processors"
   return answer("no", "elsewhere", lost, "medium", ("No: it took %s longer than its earlier " ..
      "runs, but %s; %s."):format(words.time(lost), looked_at(c), where))
end

-- With nothing to compare it with.
local function of_first(c, list, few)
   local f = not few and best(list, function(x)
      return NETWORK[x.cause] and x.cause ~= "congestion"
   end)
   local other = elsewhere(list)
   if few then
      return other or answer("no", nil, nil, "high",
         ("No: all that it moved takes at most %s of " ..
         "its %s over this network, whatever was wrong with it."):format(words.time(few),
         words.time(c.run_s)))
   elseif f and f.lo_s >= TENTH * c.run_s then
      return answer("yes", f.cause, (f.lo_s + f.hi_s) / 2, f.sure == "high" and "medium" or "low",
         ("Yes, probably: %s cost it about %s of its %s; it has no earlier run to compare with.")
         :format(head(f), words.lost(f.lo_s, f.hi_s):gsub("^%+", ""):gsub("%+", ""),
         words.time(c.run_s)), f)
   elseif f and f.hi_s >= TENTH * c.run_s then
      return answer("not known", nil, nil, "low",
         ("Not known: %s may have cost it nothing or up " ..
         "to %s of its %s, as it named no pattern (--comm), and it has no earlier run."):format(
         head(f), words.time(f.hi_s), words.time(c.run_s)), f)
   elseif other then
      return other
   elseif c.is_low then
      return answer("not known", nil, nil, "low",
         "Not known: tests before it were low, and no component is named yet; see again later.")
   elseif not c.is_tested then
      return answer("not known", nil, nil, "low", "Not known: its ways were not tested, and it " ..
         "has no earlier run to compare with.")
   end
   return answer("no", nil, nil, "medium", ("No, as far as can be told: nothing known of the " ..
      "network cost it a tenth of its %s; it has no earlier run to compare with."):format(
      words.time(c.run_s)))
end

local function of_ended(c, list)
   local e, most = c.e, most_s(c)
   if c.nodes < 2 then
      return answer("no", nil, nil, "high", "No: it ran on one node, and no other node took part.")
   elseif e.median_s and not e.is_slower then
      return answer("no", nil, 0, e.alike >= 5 and "high" or "medium",
         ("No: it took %s, %s its earlier runs (median of %d: %s)."):format(words.time(c.run_s),
         e.lost_s < -0.1 * e.median_s and "less than" or "no longer than", e.alike,
         words.time(e.median_s)))
   elseif e.is_other_input then
      return answer("no", "input", nil, "high",
         ("No: it had another input. It moved %.2g times as " ..
         "many bytes as its earlier runs, so their times say nothing of it."):format(e.times_bytes))
   elseif not c.f.traffic then
      return answer("not known", nil, nil, "low",
         "Not known: its nodes' counters were not read, so " ..
         "how much it moved is not known.")
   end
   local few = most and most <= FEW * c.run_s and most or nil
   if e.is_slower then
      return of_slower(c, list, few)
   end
   return of_first(c, list, few)
end

-- Runs still: what is wrong on its ways is known, what it moved is not.
local function of_running(c)
   if c.nodes < 2 then
      return answer("no", nil, nil, "high", "No: it runs on one node, and no other takes part.")
   elseif c.bad[1] then
      local b = c.bad[1]
      return answer("not known", "component", nil, "low", ("Perhaps: %s is not well and lies on " ..
         "%s of the ways between its nodes. What it moves is counted when it ends."):format(b.name,
         words.percent(b.share)), { component = b.name })
   end
   return answer("not known", nil, nil, "low", "Not known yet: it runs, and what it moves is " ..
      "counted when it ends. Nothing on its ways is known to be bad.")
end

--- @param c case (causes.lua); list of causes.of
-- @return { network = "yes", "no", "partly" or "not known", cause = of what, lost_s, sure, text,
--   component, node }
function verdict.of(c, list)
   if c.state == "pending" then
      local reason = c.job.reason
      local says = reason and reason ~= "" and reason:lower() ~= "none"
      return answer("no", nil, nil, "high", ("It has not started: Slurm %s. Nothing of it has " ..
         "used the network."):format(says and "says " .. reason or "gives no reason yet"))
   elseif c.state == "running" then
      return of_running(c)
   end
   return of_ended(c, list)
end

--- One line for AdminComment: ASCII, at most 255 bytes; nil where nothing can be said.
-- @param v of verdict.of
function verdict.line(c, v)
   local text
   if v.network == "no" then
      text = v.cause == "node" and "taut: network fine, one node differs: " .. (v.node or "?")
         or v.cause == "input" and "taut: network fine, another input" or "taut: network fine"
   elseif v.network == "yes" or v.network == "partly" then
      local what = v.component or v.cause
      local b
      for _, x in ipairs(c.bad) do
         b = x.name == v.component and x or b
      end
      if b then
         what = ("%s at %s on %d of %d pairs"):format(b.name, words.percent(b.left):gsub("%%",
            " %%"),
            b.pairs, c.nodes * (c.nodes - 1) // 2)
      end
      local base = c.run_s and v.lost_s and c.run_s - v.lost_s or 0
      text = ("taut: %s%s"):format(what, base > 0 and (", +%.0f %%"):format(100 * v.lost_s / base)
         or "")
   end
   return text and (text:gsub("[^\32-\126]", "?"):gsub("|", "/"):sub(1, 255))
end

return verdict
