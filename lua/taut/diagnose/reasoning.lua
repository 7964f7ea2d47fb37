-- SPDX-License-Identifier: GPL-2.0-or-later
--- What the diagnosis knows, in words.
local loss = require "taut.diagnose.loss"
local recurring_fault = require "taut.diagnose.recurring_fault"
local report = require "taut.report"
local verdict = require "taut.diagnose.verdict"
local tables = require "taut.base.tables"
local whole_groups = require "taut.diagnose.whole_groups"
local slow_whole = require "taut.report.slow_whole"

local reasoning = {}

-- What else is slow with it, so that one repair may do: "all of the cable"; nil when nothing is.
local function words_of_part(self, component)
   local what, name = whole_groups.part_of(self, component)
   if what and name then
      return ("all of %s %s"):format(what, name)
   end
   return what and "all of the " .. what
end

-- What it is slow with as a whole, as long as that was so when it was last looked at.
local function words_of_whole(record)
   if record.state == "suspect" and not record.missing and record.whole then
      return (slow_whole.text(record.whole))
   end
   return nil
end

local MISSING = {
   score = "score %.1f, needs %.1f",
   spells = "seen in %d of %d periods",
   span = "seen for %.1f of %.1f h",
   far = "seen with %d of %d other nodes",
   senders = "seen with %d of %d senders",
   receivers = "seen with %d of %d receivers",
   queue = "%d tests got the rate of these %d, and lost another share: a queue may do that",
   busy = "several streams get more than one: it may only be busy",
   confirmed = "confirmed by %d of %d tests",
   job = "job %d came before it, and may be what fills the link for as long as it runs",
   test = "no test was low",
   newer = "not seen in the last %d periods with tests",
}

--- What is missing for a verdict (verdict.lua), in words.
function reasoning.missing(missing)
   return missing.whole and (slow_whole.text(missing.whole))
      or MISSING[missing.what]:format(missing.has, missing.needs)
end

--- What the verdict on a component says beside its state: "busy?", a tie, probation.
function reasoning.remark(self, component, now)
   local k, list = self:record(component), {}
   for i, v in ipairs(self.sets:of_component(component)) do
      list[i] = select(2, self.sets:words(v))
   end
   if not k then
      return table.concat(list, ", ")
   end
   if k.state == "suspect" and (k.busy > 0 or k.missing and k.missing.what == "job") then
      list[#list + 1] = "busy?"
   end
   list[#list + 1] = words_of_whole(k)
   list[#list + 1] = k.recurs and recurring_fault.words(k.recurs, self.s.spell_s)
   list[#list + 1] = k.loss and ("%d %% of a stream's rate is gone"):format(
      math.floor(100 * (1 - k.loss.rate) + 0.5))
   if k.state == "suspect" and k.tied then
      local names = {}
      for i, other in ipairs(k.tied) do
         names[i] = self.topo.components[other.component]
      end
      list[#list + 1] = "or " .. table.concat(names, " or ")
   end
   if self:is_decided(component) then
      list[#list + 1] = words_of_part(self, component)
   end
   if k.hard then
      list[#list + 1] = ("%d%% left: %s"):format(math.floor(k.hard.left * 100 + 0.5), k.hard.why)
   end
   if k.probation_until and now < k.probation_until then
      list[#list + 1] = "on probation"
   end
   return table.concat(list, ", ")
end

---------------------------------------------------------------- the reasoning

local function format_percent(share)
   return ("%.3g%%"):format(100 * share)
end

local function format_count(count, word)
   if count == 1 then
      return ("1 %s"):format(word)
   end
   return ("%d %ss"):format(count, word)
end

local function format_seconds(seconds)
   if seconds < 120 then
      return ("%.0f s"):format(seconds)
   elseif seconds < 5400 then
      return ("%.0f min"):format(seconds / 60)
   end
   return ("%.1f h"):format(seconds / 3600)
end

local function list_ids(list)
   local ids = {}
   for i, t in ipairs(list) do
      ids[i] = t.id
   end
   return ids
end

-- The tests that reached the ceiling.
local function list_at_ceiling(self, run, case)
   local list = {}
   for _, t in ipairs(run) do
      if t.share >= case.best * (1 - self.s.ceiling) then
         list[#list + 1] = t
      end
   end
   return list
end

local function add_reason(list, text, more)
   more = more or {}
   more.text = text
   list[#list + 1] = more
end

-- Hard evidence stands first: it needs no odds.
local function add_what_was_found(self, list, component, record)
   if not record.hard or not verdict.is_hard(self, record) then
      return
   end
   add_reason(list, ("%s: %s of its capacity is left"):format(record.hard.why,
      format_percent(record.hard.left)))
   local low, seen = self.evidence:low(component), self:seen(component)
   if record.hard.of_set then
      return
   elseif record.by_hard then
      add_reason(list, "that alone makes the verdict (hard_alone)")
   elseif low == 0 and (seen.cleared_at or 0) > (record.hard.since or 0) then
      add_reason(list, "a test since cleared it, so it is not drained for that",
         { by = seen.cleared_by })
   elseif low == 0 then
      add_reason(list, "no test was low yet, so it is not drained for that")
   end
end

local function add_what_was_seen(self, list, component, case, run)
   local s, k = self.s, self:component(component)
   local low, of = self:tally(component)
   add_reason(list, ("%d of %s since it last did well were low"):format(low,
      format_count(of, "test")), { tests = list_ids(run),
      by = (k.last_cleared or {}).by or self:seen(component).cleared_by })
   add_reason(list, ("none of them showed more than %s of its capacity, %d came within %s of that")
      :format(format_percent(case.best), case.at, format_percent(s.ceiling)),
      { tests = list_ids(list_at_ceiling(self, run, case)) })
   add_reason(list, ("that ceiling was seen in %s of %s each, %s apart, with %s"):format(
      format_count(case.spells, "period"), format_seconds(s.spell_s),
      format_seconds((case.last or 0) - (case.first or 0)),
      format_count(case.far or 0, "other node")))
   local confirmed = math.max(#k.confirmed, case.confirmed or 0)
   if confirmed > 0 then
      add_reason(list, ("confirmed by %s made for that"):format(format_count(confirmed, "test")))
   end
   if k.busy > 0 then
      add_reason(list,
         ("%s with several streams got more than with one: it may only be busy"):format(
         format_count(k.busy, "test")))
   end
   local score = verdict.with_flows(self, component, case)
   if score > case.score then
      add_reason(list, ("flows over sets of links that it is in add %.1f to the score"):format(
         score - case.score))
   end
   add_reason(list, ("score %.1f, needs %.4g (broken rather than busy)"):format(score,
      s.slow_score))
end

-- What its tests lost, of a verdict or of a suspicion.
local function add_what_was_lost(self, list, component, record)
   local case = record.loss or loss.case(self, component)
   if not case then
      return
   end
   local run = record.loss and record.loss.tests or tables.filter(self.evidence:loss_run(component),
      function(test) return test.is_at end)
   add_reason(list, ("%s lost %s of their packets, %.0f of %.0f"):format(format_count(#run, "test"),
      report.lost(case.share), case.lost, case.segments), { tests = list_ids(run) })
   add_reason(list, ("that share was seen in %s of %s each, %s apart, with %s"):format(
      format_count(case.spells, "period"), format_seconds(self.s.spell_s),
      format_seconds(case.last - case.first), format_count(case.far, "other node")))
   add_reason(list,
      ("these tests had %s of the rate that was expected; several streams at once hide "
      .. "that"):format(format_percent(case.rate)))
   add_reason(list, ("score %.1f, needs %.4g (it loses rather than queues do)"):format(case.score,
      self.s.loss_score))
   if record.loss then
      return
   end
   local queue = loss.find_queue(self.evidence:loss_run(component), case, self.s)
   if queue then
      add_reason(list, "missing for a verdict: " .. reasoning.missing(queue))
   end
   for _, r in ipairs(record.tied and loss.rivals(self, component) or {}) do
      add_reason(list, ("%s was on the way of %s of these tests, and may be what loses"):format(
         self.topo.components[r.component], format_percent(r.same)), { rival = r.component })
   end
end

-- What it came back to, again and again.
local function add_what_came_back(self, list, component, record)
   local case = record.recurs or recurring_fault.case(self, component)
   if not case or not record.recurs and not recurring_fault.is_suspect(self, component, case) then
      return
   end
   local words = recurring_fault.words(case, self.s.spell_s)
   if case.is_any then
      add_reason(list,
         ("it was low %s in which it was tested, at about %s of its capacity, and never got "
         .. "all of it"):format(words, format_percent(case.share)))
   else
      add_reason(list,
         ("it came back to %s of its capacity %s in which it was tested, and did well "
         .. "between these"):format(format_percent(case.share), words))
   end
   add_reason(list, ("score %.1f, needs %.4g (%s)"):format(case.score,
      recurring_fault.needed(self, case),
      case.is_any and "it is slow at any level rather than busy"
         or "it comes and goes rather than being busy"))
end

local function add_alternative(self, list, rival)
   local name = self.topo.components[rival.component]
   if rival.cleared_at then
      add_reason(list, ("%s was on the way of %s of these tests, and did well since"):format(name,
         format_percent(rival.same)), { ruled_out = rival.component, by = rival.cleared_by })
   elseif rival.chance then
      add_reason(list,
         ("%s explains %s of these tests as well; the others are of one period only"):format(
         name, format_percent(rival.same)), { rival = rival.component })
   elseif rival.rest < self.s.tie_score then
      add_reason(list, ("%s explains %s of these tests as well"):format(name,
         format_percent(rival.same)), { rival = rival.component })
   else
      add_reason(list,
         ("%s was on the way of %s of these tests; the score of the others is %.1f"):format(
         name, format_percent(rival.same), rival.rest), { ruled_out = rival.component })
   end
end

--- Why a component is what it is.
-- @return array of { text, tests = ids or nil, ruled_out = component or nil, rival = component that
--   could be it as well or nil, by = id of the test that shows it or nil }; empty where nothing
--   speaks against it
function reasoning.of(self, component)
   local k, list = self:component(component), {}
   for i, v in ipairs(self.sets:of_component(component)) do
      list[i] = { text = (self.sets:words(v)) }
   end
   local case = self:is_decided(component) and k.case or self.evidence:case(component)
   add_what_was_found(self, list, component, k)
   add_what_was_lost(self, list, component, k)
   add_what_came_back(self, list, component, k)
   if not case or k.loss then
      return list
   end
   add_what_was_seen(self, list, component, case, self:against(component))
   local others = self:is_decided(component) and k.ruled_out
      or self.evidence:alternatives(component, 8)
   for _, r in ipairs(others or {}) do
      add_alternative(self, list, r)
   end
   local part = self:is_decided(component) and words_of_part(self, component)
   if part then
      add_reason(list, part .. " is slow or dead, not this alone")
   end
   if k.state == "suspect" and k.missing and k.missing.what ~= "queue" then
      add_reason(list, "missing for a verdict: " .. reasoning.missing(k.missing))
   end
   if words_of_whole(k) then
      add_reason(list, words_of_whole(k))
   end
   return list
end

return reasoning
