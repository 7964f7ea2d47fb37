-- SPDX-License-Identifier: GPL-2.0-or-later
--- What the diagnosis knows, in words.
local loss = require "taut.diagnose.loss"
local recurring = require "taut.diagnose.recurring"
local report = require "taut.report"
local verdict = require "taut.diagnose.verdict"
local tables = require "taut.base.tables"
local whole = require "taut.diagnose.whole"
local slow_whole = require "taut.report.slow_whole"

local reasoning = {}

-- What else is slow with it, so that one repair may do: "all of the cable"; nil when nothing is.
local function part_of(self, c)
   local what, name = whole.part_of(self, c)
   return what and ("all of %s"):format(name and ("%s %s"):format(what, name) or "the " .. what)
end

-- What it is slow with as a whole, as long as that was so when it was last looked at.
local function whole_of(k)
   return k.state == "suspect" and not k.missing and k.whole and (slow_whole.text(k.whole)) or nil
end

local MISSING = {
   score = "score %.1f, needs %.1f",
   spells = "seen in %d of %d periods",
   span = "seen for %.1f of %.1f h",
   far = "seen with %d of %d other nodes",
   senders = "seen with %d of %d senders",
   receivers = "seen with %d of %d receivers",
   busy = "several streams get more than one: it may only be busy",
   confirmed = "confirmed by %d of %d tests",
   job = "job %d came before it, and may be what fills the link for as long as it runs",
   test = "no test was low",
   newer = "not seen in the last %d periods with tests",
}

--- What is missing for a verdict (verdict.lua), in words.
function reasoning.missing(m)
   return m.whole and (slow_whole.text(m.whole)) or MISSING[m.what]:format(m.has, m.needs)
end

--- What the verdict on a component says beside its state: "busy?", a tie, probation.
function reasoning.remark(self, c, now)
   local k, list = self:record(c), {}
   for i, v in ipairs(self.sets:of_component(c)) do
      list[i] = select(2, self.sets:words(v))
   end
   if not k then
      return table.concat(list, ", ")
   end
   if k.state == "suspect" and (k.busy > 0 or k.missing and k.missing.what == "job") then
      list[#list + 1] = "busy?"
   end
   list[#list + 1] = whole_of(k)
   list[#list + 1] = k.recurs and recurring.words(k.recurs, self.s.spell_s)
   list[#list + 1] = k.loss and ("%d %% of a stream's rate is gone"):format(
      math.floor(100 * (1 - k.loss.rate) + 0.5))
   if k.state == "suspect" and k.tied then
      local names = {}
      for i, other in ipairs(k.tied) do
         names[i] = self.topo.components[other.component]
      end
      list[#list + 1] = "or " .. table.concat(names, " or ")
   end
   if self:is_decided(c) then
      list[#list + 1] = part_of(self, c)
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

local function percent(share)
   return ("%.3g%%"):format(100 * share)
end

local function plural(n, word)
   return n == 1 and ("1 %s"):format(word) or ("%d %ss"):format(n, word)
end

local function hours(s)
   return s < 120 and ("%.0f s"):format(s) or s < 5400 and ("%.0f min"):format(s / 60)
      or ("%.1f h"):format(s / 3600)
end

local function ids_of(list)
   local ids = {}
   for i, t in ipairs(list) do
      ids[i] = t.id
   end
   return ids
end

-- The tests that reached the ceiling.
local function at_ceiling(self, run, case)
   local list = {}
   for _, t in ipairs(run) do
      list[#list + 1] = t.share >= case.best * (1 - self.s.ceiling) and t or nil
   end
   return list
end

local function add(list, text, more)
   more = more or {}
   more.text = text
   list[#list + 1] = more
end

-- Hard evidence stands first: it needs no odds.
local function what_was_found(self, list, c, k)
   if not k.hard or not verdict.is_hard(self, k) then
      return
   end
   add(list, ("%s: %s of its capacity is left"):format(k.hard.why, percent(k.hard.left)))
   local low, seen = self.evidence:low(c), self:seen(c)
   if k.hard.of_set then
      return
   elseif k.by_hard then
      add(list, "that alone makes the verdict (hard_alone)")
   elseif low == 0 and (seen.cleared_at or 0) > (k.hard.since or 0) then
      add(list, "a test since cleared it, so it is not drained for that", { by = seen.cleared_by })
   elseif low == 0 then
      add(list, "no test was low yet, so it is not drained for that")
   end
end

local function what_was_seen(self, list, c, case, run)
   local s, k = self.s, self:component(c)
   local low, of = self:tally(c)
   add(list, ("%d of %s since it last did well were low"):format(low, plural(of, "test")),
      { tests = ids_of(run), by = (k.last_cleared or {}).by or self:seen(c).cleared_by })
   add(list, ("none of them showed more than %s of its capacity, %d came within %s of that")
      :format(percent(case.best), case.at, percent(s.ceiling)),
      { tests = ids_of(at_ceiling(self, run, case)) })
   add(list, ("that ceiling was seen in %s of %s each, %s apart, with %s"):format(
      plural(case.spells, "period"), hours(s.spell_s), hours((case.last or 0) - (case.first or 0)),
      plural(case.far or 0, "other node")))
   local confirmed = math.max(#k.confirmed, case.confirmed or 0)
   if confirmed > 0 then
      add(list, ("confirmed by %s made for that"):format(plural(confirmed, "test")))
   end
   if k.busy > 0 then
      add(list, ("%s with several streams got more than with one: it may only be busy"):format(
         plural(k.busy, "test")))
   end
   local score = verdict.with_flows(self, c, case)
   if score > case.score then
      add(list, ("flows over sets of links that it is in add %.1f to the score"):format(
         score - case.score))
   end
   add(list, ("score %.1f, needs %.4g (broken rather than busy)"):format(score, s.slow_score))
end

-- What its tests lost, of a verdict or of a suspicion.
local function what_was_lost(self, list, c, k)
   local case = k.loss or loss.case(self, c)
   if not case then
      return
   end
   local run = k.loss and k.loss.tests or tables.filter(self.evidence:loss_run(c),
      function(t) return t.is_at end)
   add(list, ("%s lost %s of their packets, %.0f of %.0f"):format(plural(#run, "test"),
      report.lost(case.share), case.lost, case.segments), { tests = ids_of(run) })
   add(list, ("that share was seen in %s of %s each, %s apart, with %s"):format(
      plural(case.spells, "period"), hours(self.s.spell_s), hours(case.last - case.first),
      plural(case.far, "other node")))
   add(list, ("these tests had %s of the rate that was expected; several streams at once hide "
      .. "that"):format(percent(case.rate)))
   add(list, ("score %.1f, needs %.4g (it loses rather than queues do)"):format(case.score,
      self.s.loss_score))
   if k.loss then
      return
   end
   for _, r in ipairs(k.tied and loss.rivals(self, c) or {}) do
      add(list, ("%s was on the way of %s of these tests, and may be what loses"):format(
         self.topo.components[r.component], percent(r.same)), { rival = r.component })
   end
end

-- What it came back to, again and again.
local function what_came_back(self, list, c, k)
   local case = k.recurs or recurring.case(self, c)
   if not case or not k.recurs and not recurring.is_suspect(self, c, case) then
      return
   end
   local words = recurring.words(case, self.s.spell_s)
   if case.is_any then
      add(list, ("it was low %s in which it was tested, at about %s of its capacity, and never got "
         .. "all of it"):format(words, percent(case.share)))
   else
      add(list, ("it came back to %s of its capacity %s in which it was tested, and did well "
         .. "between these"):format(percent(case.share), words))
   end
   add(list, ("score %.1f, needs %.4g (%s)"):format(case.score, recurring.needed(self, case),
      case.is_any and "it is slow at any level rather than busy"
         or "it comes and goes rather than being busy"))
end

local function alternative(self, list, r)
   local name = self.topo.components[r.component]
   if r.cleared_at then
      add(list, ("%s was on the way of %s of these tests, and did well since"):format(name,
         percent(r.same)), { ruled_out = r.component, by = r.cleared_by })
   elseif r.chance then
      add(list, ("%s explains %s of these tests as well; the others are of one period only"):format(
         name, percent(r.same)), { rival = r.component })
   elseif r.rest < self.s.tie_score then
      add(list, ("%s explains %s of these tests as well"):format(name, percent(r.same)),
         { rival = r.component })
   else
      add(list, ("%s was on the way of %s of these tests; the score of the others is %.1f"):format(
         name, percent(r.same), r.rest), { ruled_out = r.component })
   end
end

--- Why a component is what it is.
-- @return array of { text, tests = ids or nil, ruled_out = component or nil, rival = component that
--   could be it as well or nil, by = id of the test that shows it or nil }; empty where nothing
--   speaks against it
function reasoning.of(self, c)
   local k, list = self:component(c), {}
   for i, v in ipairs(self.sets:of_component(c)) do
      list[i] = { text = (self.sets:words(v)) }
   end
   local case = self:is_decided(c) and k.case or self.evidence:case(c)
   what_was_found(self, list, c, k)
   what_was_lost(self, list, c, k)
   what_came_back(self, list, c, k)
   if not case or k.loss then
      return list
   end
   what_was_seen(self, list, c, case, self:against(c))
   local others = self:is_decided(c) and k.ruled_out or self.evidence:alternatives(c, 8)
   for _, r in ipairs(others or {}) do
      alternative(self, list, r)
   end
   local part = self:is_decided(c) and part_of(self, c)
   if part then
      add(list, part .. " is slow or dead, not this alone")
   end
   if k.state == "suspect" and k.missing then
      add(list, "missing for a verdict: " .. reasoning.missing(k.missing))
   end
   if whole_of(k) then
      add(list, whole_of(k))
   end
   return list
end

return reasoning
