-- SPDX-License-Identifier: GPL-2.0-or-later
--- What a session's tests mean: judged, stored, diagnosed, acted on.
local boots = require "taut.diagnose.boots"
local elsewhere = require "taut.diagnose.elsewhere"
local expected = require "taut.diagnose.expected"
local hostlist = require "taut.hostlist"
local json = require "taut.json"
local judge = require "taut.diagnose.judge"
local loop = require "taut.loop"
local memory = require "taut.diagnose.memory"
local reason = require "taut.policy.reason"
local samples = require "taut.events.samples"
local stalls = require "taut.events.stalls"
local stages = require "taut.topology.stages"
local say = require "taut.diagnose.words"
local sys = require "taut.sys"
local whole = require "taut.diagnose.whole"
local wholes = require "taut.diagnose.wholes"

local findings = {}

---------------------------------------------------------------- what a session brought

local function store_test(d, t)
   d.journal:add("test", { id = t.id, event = t.event, time = t.time, src = t.src_name,
      dst = t.dst_name, route = stages.text(t.route, d.topo.components), kind = t.kind,
      confirms = t.confirms and d.topo.components[t.confirms], phase = t.phase,
      streams = t.streams, expected_Bps = t.expected_Bps, bw_Bps = t.bw_Bps,
      sender_Bps = t.sender_Bps, ratio = t.ratio, rtt_ns = t.rtt_ns, peak = t.peak,
      delay_ns = t.delay_ns, foreign_bytes = t.foreign_bytes, class = t.class,
      why = t.why, stalls = t.stalls, stalled_at = t.stalled_at })
end

-- A test that was judged: counted, stored, and its components noted as tested.
local function note_test(d, t)
   for _, stage in ipairs(t.class ~= "void" and t.route or {}) do
      if type(stage) == "number" then
         d.coverage:touch(stage, t.time)
      end
   end
   d.classes[t.class] = d.classes[t.class] + 1
   d.link_seconds = d.link_seconds + (t.dur_ms or 0) / 1000 * #(t.route or {})
   store_test(d, t)
end

local function judge_session(d, s)
   if (s.refused or 0) > 0 then
      d.refused_streams = d.refused_streams + s.refused
      sys.log("warning", ("job %d: streams without a token of the plan were refused: %d"):format(
         s.job, s.refused))
   end
   d.last_event = d.last_event + 1
   local stalled = stalls.of(s.peers)
   for _, t in ipairs(s.tests) do
      t.event, t.time, t.job = d.last_event, s.began, s.job
      -- each node speaks for its own end only
      local send, recv = s.results[t.src] or {}, s.results[t.dst] or {}
      judge.test(t, send["send:" .. t.id], recv["recv:" .. t.id], d.topo, d.conf.diagnosis)
      elsewhere.excuse(d, t)
      stalls.add(t, stalled)
      if judge.is_evidence(t) then
         note_test(d, t)
      end
   end
end

---------------------------------------------------------------- verdicts

-- The test that tells most: the best of the run shows where the ceiling is.
local function telling_test(run)
   local best
   for _, t in ipairs(run) do
      if t.streams == 1 and (not best or t.ratio > best.ratio) then
         best = t
      end
   end
   return best or run[#run]
end

--- The text of a drain for a verdict.
-- @param v verdict of policy.decide
-- @param a its action: how often the node was drained for it, and whether it is for good
function findings.reason(d, v, a)
   local c, k = v.c, d.diagnosis:component(v.c)
   local run = d.diagnosis:against(c)
   local test = telling_test(run)
   return reason.format { kind = d.topo:kind(c), part = whole.part_of(d.diagnosis, c),
      state = v.state, left = v.left or 1, test = test, low = #run,
      tests = math.max(d.diagnosis:seen(c).tests, #run),
      job = test and run[#run].job, flaps = a.forever and a.times,
      hard = k.hard and k.hard.left < d.conf.diagnosis.good and k.hard.head or nil,
      cable = d.topo:is_link(c) and "cable " .. d.topo:cable(c) or nil }
end

-- With the reasoning, where it is asked for: sentences of diagnose/words.lua.
local function evidence(d, c, reasoning)
   local k = d.diagnosis:component(c)
   local ids, words = json.array {}, reasoning and json.array {}
   for i, t in ipairs(d.diagnosis:against(c)) do
      ids[i] = t.id
   end
   for i, r in ipairs(reasoning or {}) do
      words[i] = r.text .. (r.ruled_out and r.by and (" (test %d)"):format(r.by) or "")
   end
   return json.encode { state = k.state, tests = ids, left = k.left, busy = k.busy,
      since = k.since, confirmed = #k.confirmed, all = d.diagnosis:seen(c).tests,
      whole = k.whole and (say.whole(k.whole)),
      reasoning = words or nil }
end

--- What stands behind a verdict, for the log of actions.
function findings.evidence(d, v)
   return evidence(d, v.c, d.diagnosis:reasoning(v.c))
end

-- Clean tests of a drained node's component since its drain.
local function clean(d)
   return function(_, component)
      local c = d.topo.component_id[component]
      local k = c and d.diagnosis:component(c)
      return k and k.state == "ok" and d.diagnosis:seen(c).good or nil
   end
end

local function is_decided(k)
   return k.state == "slow" or k.state == "failed"
end

--- Note whether a verdict stands on component c.
function findings.note_state(d, c)
   d.standing[c] = is_decided(d.diagnosis:component(c)) or nil
end

-- Decide about all verdicts that stand, and act.
local function decide(d)
   local verdicts = {}
   for c in pairs(d.standing) do
      local k = d.diagnosis:component(c)
      verdicts[#verdicts + 1] = { c = c, state = k.state, left = k.left, since = k.since,
         whole = k.whole and (say.whole(k.whole)) }
   end
   local wide = d.diagnosis.machine_wide
   local text, subject = nil, nil
   if wide then
      text, subject = say.whole(wide)
   end
   local result = d.act:decide(verdicts, { topology = d.topo, clean = clean(d),
      machine_wide = wide and { of = subject, text = text } })
   for c, why in pairs(result.remarks) do
      if (d.measure_remarks or {})[c] ~= why then
         sys.log("notice", ("%s: %s: %s"):format(d.topo.components[c], result.measures[c], why))
      end
   end
   d.measures, d.measure_remarks = result.measures, result.remarks
end

local function tell_of(d, change, text)
   local c = change.component
   d.tell { event = "verdict", component = d.topo.components[c], was = change.from,
      state = change.to, left = d.diagnosis:component(c).left, reason = text,
      measure = d.measures[c] }
end

-- Say what a change means, after it was decided what follows from it.
local function announce(d, change)
   local c = change.component
   local name, k = d.topo.components[c], d.diagnosis:component(c)
   local text
   if is_decided(k) then
      text = findings.reason(d, { c = c, state = k.state, left = k.left }, {})
      d.act:say(("%s %s: %s [%s]"):format(name, change.to == "failed" and "has failed"
         or "is " .. change.to, text:sub(7), d.measures[c] or "-"))
   elseif change.from == "slow" or change.from == "failed" then
      sys.log("notice", ("%s is %s again"):format(name, change.to))
   elseif change.to == "suspect" then
      sys.log("notice", ("%s is suspect: %d low tests"):format(name, #d.diagnosis:run(c)))
   end
   if is_decided(k) or change.from == "slow" or change.from == "failed" then
      tell_of(d, change, text)
   end
end

-- Verdicts that changed: stored, decided on, said.
local function on_changes(d, changes)
   for _, change in ipairs(changes) do
      local c = change.component
      findings.note_state(d, c)
      d.journal:add("verdict", { time = change.time, component = d.topo.components[c],
         was = change.from, state = change.to, evidence = evidence(d, c) })
   end
   decide(d)
   for _, change in ipairs(changes) do
      announce(d, change)
   end
end

local function remember(d, touched)
   for c in pairs(touched) do
      d.journal:add("component", { name = d.topo.components[c],
         data = memory.pack(d.diagnosis, c) })
   end
end

-- The job's own traffic begins after its check: what the counters were then replaces what they
-- were at HELLO.
local function store_counters(d, s)
   for _, peer in pairs(s.peers) do
      if peer.counters then
         local row = samples.row({ job = s.job, restart = s.restart, node = peer.name,
            boot = peer.boot }, s.purpose, peer.counters, {}, d.topo.rails)
         row.checked = true
         d.journal:add("sample", row)
      end
   end
end

--- What follows from changes, and from a look at the components `touched` (a set).
local function follow(d, changes, touched)
   for _, change in ipairs(changes) do
      touched[change.component] = true
   end
   if #changes > 0 or next(d.act.history.drained) then
      on_changes(d, changes)
   end
   wholes.review(d)
   wholes.sets(d)
   remember(d, touched)
   expected.keep(d)
end

findings.follow = follow

--- Tests of a round of a survey that root or SlurmUser holds, judged already.  All rounds are one
-- event.
function findings.take_survey(d, s, tests)
   if not s.event then
      d.last_event = d.last_event + 1
      s.event = d.last_event
   end
   for _, t in ipairs(tests) do
      t.event, t.job = s.event, s.job
      note_test(d, t)
   end
   d.journal:add("event", { id = s.event, time = s.began, purpose = s.purpose, job = s.job,
      restart = 0, uid = s.uid, nodes = s.nodes_text, expected = #s.wanted, heard = s.count,
      tests = s.tests_run })
   follow(d, d.diagnosis:observe(tests, loop.time()))
end

--- A session is over (rendezvous.lua).
function findings.take(d, s)
   local booted = boots.note(d.boots, s.peers, d.topo)
   if #booted > 0 then
      follow(d, d.diagnosis:began_anew(booted, loop.time()))
   end
   if not s.tests or #s.tests == 0 then
      return
   end
   judge_session(d, s)
   d.marks:note(s.tests, loop.time())
   store_counters(d, s)
   local names = {}
   for i, n in ipairs(s.wanted) do
      names[i] = d.topo.nodes[n]
   end
   d.journal:add("event", { id = d.last_event, time = s.began, purpose = s.purpose,
      job = s.job, restart = s.restart, uid = s.uid, nodes = hostlist.compress(names),
      expected = #s.wanted, heard = s.heard, tests = #s.tests })
   follow(d, d.diagnosis:observe(s.tests, loop.time()))
end

--- Verdicts that stand are looked at again with each news from Slurm: a cap may have room now.
function findings.review(d)
   d.act:reconcile()
   d.events:review()
   decide(d)
   d.meet:forget(loop.time() - 600)
end

-- What spoke against these components is forgotten; they are on probation.
local function forget(d, list)
   local now, changes, touched = loop.time(), {}, {}
   for _, c in ipairs(list) do
      d.diagnosis:forget(c, now, d.conf.policy.probation_h * 3600, changes)
      touched[c] = true
   end
   on_changes(d, changes)
   remember(d, touched)
end

--- Components were repaired: what spoke against them is forgotten.
findings.repaired = forget

--- A node was given back: what spoke against the components it was drained for is forgotten.
function findings.released(d, name, drain)
   local list = {}
   local n = d.topo.node_id[name]
   if n then
      list = { d.topo.tx[n], d.topo.rx[n] }
   end
   local c = drain and d.topo.component_id[drain.component]
   if c and d.topo:is_link(c) then
      list[#list + 1] = c
   end
   forget(d, list)
end

return findings
