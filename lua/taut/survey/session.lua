-- SPDX-License-Identifier: GPL-2.0-or-later
--- One survey: its nodes, its rounds, its reports to the owner.
--
-- A kind's phases are cut into rounds of about `round_ms`.  For each round every component on its
-- routes is held, so that neither prologs nor other surveys use it meanwhile.  A round waits until
-- the present holders have ended, and holds the components itself from the moment it begins to
-- wait.  So two surveys of the same nodes take turns.
--
-- A survey is a task (task.lua): it lets tautd's loop go on every few milliseconds, however large
-- the machine is.
local json = require "taut.json"
local judge = require "taut.diagnose.judge"
local loop = require "taut.loop"
local nodes = require "taut.survey.nodes"
local report = require "taut.report"
local reports = require "taut.wire.reports"
local rounds = require "taut.survey.rounds"
local sys = require "taut.sys"
local tables = require "taut.base.tables"
local task = require "taut.base.task"
local wire = require "taut.wire"

local session = {}
local Session = setmetatable({}, { __index = nodes.methods })
Session.__index = Session

local TAIL_MS = 800     -- a node is this long behind the last test of its plan
local SLACK_MS = 2500   -- … and its RESULT may take this long
local SAY_WAIT_S = 0.5  -- a wait that is longer is reported
local KEEP_TESTS = 200  -- diagnosed at once

-- The owner gets a report.
local function tell_owner(self, message)
   if not self.owner then
      return
   end
   for _, text in ipairs(reports.encode(message) or {}) do
      nodes.send(self.owner, wire.REPORT, text)
   end
end

---------------------------------------------------------------- the end

-- The owner hears what was found, all are sent home.
local function finish_survey(self, why)
   local found = self.work and self.work:finish(why)
   if self.over then
      return
   end
   self.over = true
   tell_owner(self, { kind = "end", why = why, found = found })
   if self.owner then
      self:dismiss_all()
   else
      self:dismiss_all(why)
   end
   sys.log("notice", ("%s of job %d, step %d: %d tests%s"):format(self.purpose, self.job,
      self.step, self.tests_run, report.text_with("; ", why)))
   self.on_over(self)
end

--- Finish what runs, then end.
function Session:stop(why)
   self.stopping = self.stopping or why
   if not self.round then
      self.task:wake()
   end
end

---------------------------------------------------------------- holding components

-- Keep other plans off a round's components.  Returns in how many seconds they are free.
local function hold_components(self, round)
   local coverage, now = self.site.coverage, loop.time()
   local free = now
   for c in pairs(round.components) do
      free = math.max(free, coverage:busy_until(c))
   end
   round.until_s = free + (round.last_ms + TAIL_MS) / 1000
   for c in pairs(round.components) do
      coverage:hold(c, round.until_s)
   end
   return free - now
end

-- A round that ended early gives its components back, but for those that another one waits for.
local function let_go(self, round)
   for c in pairs(round.components) do
      self.site.coverage:let_go(c, round.until_s, loop.time())
   end
end

---------------------------------------------------------------- rounds

-- Wait until a round's components are free.
local function wait_for_turn(self, round)
   local wait_s = hold_components(self, round)
   if wait_s > SAY_WAIT_S then
      tell_owner(self, { kind = "wait", why = ("other checks, or another survey, use the same " ..
         "links for %.1f s more"):format(wait_s) })
   end
   local free = loop.time() + wait_s
   while loop.time() < free and not self.stopping do
      self.task:sleep(math.ceil((free - loop.time()) * 1000))
   end
end

-- Send the plans; start times count from a plan's arrival, so who is sent his later starts sooner.
local function send_plans(self, round)
   round.began, round.results, round.open, round.asked = loop.time(), {}, 0, {}
   self.round = round
   local first_ns = loop.now_ns()
   for n in pairs(round.plans) do
      local peer = self.present[n]
      if peer then -- it may have gone while the round waited
         round.open, round.asked[n] = round.open + 1, true
         nodes.send(peer, wire.PLAN,
            rounds.plan_text(self, round, n, (loop.now_ns() - first_ns) // 1000000))
         self.task:breathe()
      end
   end
end

local function wait_for_results(self, round)
   local late = round.began + (round.last_ms + TAIL_MS + SLACK_MS) / 1000
   while round.open > 0 and loop.time() < late do
      self.task:sleep(math.ceil((late - loop.time()) * 1000))
   end
   self.round = nil
   let_go(self, round)
   for n in pairs(round.asked) do
      local peer = self.present[n]
      if peer and not round.results[n] then
         self:leave_out(peer, "its result did not come in time",
            "this node's result did not come in time")
      end
   end
end

-- Both accounts of each test; each node speaks for its own end only.
local function judge_tests(self, round)
   for _, t in ipairs(round.tests) do
      local from, to = round.results[t.src] or {}, round.results[t.dst] or {}
      local got = to["recv:" .. t.id]
      judge.test(t, from["send:" .. t.id], got, self.site.topology, self.site.diagnosis)
      t.time, t.window_ns = round.began, got and got.window_ns
      self.task:breathe()
   end
   rounds.doubt(round.shared, self.site.diagnosis)
   rounds.share(round.tests, self.site.diagnosis)
   self.tests_run = self.tests_run + #round.tests
end

-- Did both ends speak from their nodes' own addresses?
local function is_vouched(self, test)
   local a, b = self.present[test.src], self.present[test.dst]
   return (not a or a.is_vouched() == true) and (not b or b.is_vouched() == true)
end

local function keep_tests(self, tests)
   if not self.admin then
      return
   end
   local list = tables.filter(tests or {}, function(test)
      return judge.is_evidence(test) and is_vouched(self, test)
   end)
   for first = 1, #list, KEEP_TESTS do
      local last = math.min(first + KEEP_TESTS - 1, #list)
      self.site.keep(self, table.move(list, first, last, 1, {}))
      self.task:breathe()
   end
end

local function hold_round(self, round)
   wait_for_turn(self, round)
   if self.stopping then
      return let_go(self, round)
   end
   send_plans(self, round)
   wait_for_results(self, round)
   judge_tests(self, round)
   keep_tests(self, round.tests)
   self.done_phases = self.done_phases + round.phases
   local gone = self.left
   self.left = json.array {}
   tell_owner(self, { kind = "round", done = self.done_phases, phases = self.all_phases,
      gone = gone, results = self.work:take(round.all) })
end

-- All phases of one batch.  Returns why the survey ends with it, or nil.
local function hold_batch(self, phases)
   local at = 1
   while at <= #phases and not self.stopping do
      local round, following = rounds.cut(self, phases, at)
      hold_round(self, round)
      at = following
      if next(self.present) == nil then
         return "no node is left"
      end
   end
   return self.stopping
end

---------------------------------------------------------------- from start to end

local function begin_survey(self)
   local present, missing, unknown = self:roll()
   local site = self.site
   local work, err = self.kind.begin { topology = site.topology, nodes = present,
      settings = site.settings, diagnosis = site.diagnosis, options = self.owner.options,
      admin = self.admin, missing = missing, unknown = unknown,
      breathe = function() self.task:breathe() end }
   tell_owner(self, { kind = "begin", purpose = self.purpose, job = self.job, nodes = #present,
      missing = missing, unknown = unknown, phases = work and work.phases,
      layout = work and work.layout, note = work and work.note })
   self.work = work
   if work and self.kind.history then
      site.history(self.kind.history, function(rows) work:recall(rows) end)
   end
   return work, err
end

local function run_rounds(self)
   local patience = self.site.settings.gather_ms / 1000
   while not self:is_complete() and loop.time() < self.came + patience and not self.stopping do
      self.task:sleep(math.ceil((self.came + patience - loop.time()) * 1000))
   end
   self.started = true
   if not self.owner then
      return "process 0 of the step did not come"
   elseif self.stopping then
      return self.stopping
   end
   local work, why = begin_survey(self)
   while work and not why do
      local phases = work:next(self.present)
      if not phases then
         break
      end
      self.all_phases = self.all_phases + #phases
      why = hold_batch(self, phases)
   end
   return why
end

--- @param options key, kind, purpose, job, step, uid, admin, wanted (names), nodes_text,
--   on_over(session), on_dismissed(conn)
function session.new(options)
   local self = setmetatable(options, Session)
   self.peers, self.by_conn, self.present, self.count = {}, {}, {}, 0
   self.procid_of = {} -- of the process that came for a node
   self.left, self.all_phases, self.done_phases = json.array {}, 0, 0
   self.tests_run, self.began, self.came = 0, loop.time(), loop.time()
   self.task = task.start(function() finish_survey(self, run_rounds(self)) end, function(err)
      sys.log("err", ("%s of job %d: %s"):format(self.purpose, self.job, err))
      self.work = nil
      finish_survey(self, "internal error; tautd's log has it")
   end)
   return self
end

session.dismiss, session.SECOND = nodes.dismiss, nodes.SECOND

return session
