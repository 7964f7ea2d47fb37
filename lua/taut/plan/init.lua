-- SPDX-License-Identifier: GPL-2.0-or-later
--- Which pairs of nodes test what, and when.
--
-- The budget of a plan is a number of phases: sets of tests that run together.  It goes, in this
-- order, to
--   what was asked about: suspects and ties, by the pairs that tell most (shortest routes first,
--     no rival and no other suspect on them, far ends not used yet), with anchors for their two
--     nodes and tests over other links of the same routers, so that a busy neighbourhood is seen
--     as one;
--   what a low test has just touched: one more look;
--   routine, in fewer phases: neighbouring routers, anchors (a partner on the same router: no
--     fabric link on the way) where no such test shows the node, and what else the nodes' routes
--     reach, the stalest first, and nothing that was shown within `fresh_h`.
-- No component carries two tests of a phase, but for the deliberate senders over a link that is
-- wider than one node; unless `duplex` is set, no fabric test's data meets another's
-- acknowledgements.  Pairs are found and packed in C (advisor/lib/plan/).
-- Source of the phases: Ezell, CUG 2013 (Cray Gemini, TopoBW).
local boards = require "taut.board"
local ports = require "taut.plan.ports"
local tests = require "taut.tests"

local plan = {}

---------------------------------------------------------------- boards

-- What way each link leaves its router, as small numbers: for straight lines.
local function number_directions(topo)
   local number, list, n = {}, {}, 0
   for i, kind in ipairs(topo.kinds) do
      if not number[kind] then
         n = n + 1
         number[kind] = n
      end
      list[i] = number[kind]
   end
   return list
end

-- The board of a topology and its times; made once.
local function find_board(topo, coverage)
   local kept = coverage.board
   if not kept or kept.topo ~= topo or kept.epoch ~= topo.epoch then
      coverage:fit(#topo.components)
      kept = { topo = topo, epoch = topo.epoch, suspects = {},
         board = boards.new(topo.graph, coverage.times, number_directions(topo), topo.nodes,
            topo.epoch) }
      kept.ports = topo.asked_at and ports.new(topo, coverage)
      coverage.board = kept
   end
   return kept
end

---------------------------------------------------------------- what is asked about

-- Mark all that is asked about, so that tests of one avoid the others.
local function mark_suspects(kept, list)
   if kept.marked == list and kept.version == list.version and kept.count == #list then
      return
   end
   local suspects = kept.suspects -- the same table: nearly every plan makes it anew
   for i = 1, math.max(#list, #suspects) do
      suspects[i] = list[i] and list[i].component
   end
   kept.board:suspects(suspects)
   kept.marked, kept.version, kept.count = list, list.version, #list
end

-- Lay out the tests that decide about one component.
local function lay_out_component(board, entry, kind, options)
   if entry.after and entry.after > options.now then
      return 0
   end
   return board:confirm(entry.component, entry.tests or 1, entry.streams or options.streams, 1,
      options.around, kind, entry.rivals, entry.seen and entry.seen())
end

-- The same for all of a list that the plan's nodes can test.
-- @param late those that come after routine tests, or those before
-- @param options { streams =, around =, first_only =, now = }
-- @return whether there are others
local function lay_out_asked(board, list, late, options)
   local others = false
   if #list == 0 then
      return others
   end
   for _, i in ipairs(board:reached() or {}) do
      if (list[i].late or false) ~= late then
         others = true
      elseif lay_out_component(board, list[i], "confirm", options) > 0 and options.first_only then
         break
      end
   end
   return others
end

local NOTHING, WATCH = {}, { streams = 1, around = 0 }

local spare, SPARE = {}, 8192 -- tests that are over, and how many of them are kept

-- One plan on a board.
-- @param options table: topology, coverage, nodes, now, phases, wanted, watched, routine (phases
--   for it), confirm (see above), rules for the board
-- @return array of phases, each an array of tests
local function lay_out(options)
   local kept = find_board(options.topology, options.coverage)
   local board, how = kept.board, options.confirm
   board:begin(options.nodes, options.rules)
   local wanted = options.wanted or NOTHING
   mark_suspects(kept, wanted)
   how.now, how.first_only = options.rules.now, options.rules.first_only
   local has_late = lay_out_asked(board, wanted, false, how)
   for _, w in ipairs(options.watched or NOTHING) do
      if not (how.first_only and board:count() > 0) then
         lay_out_component(board, w, "watch", WATCH)
      end
   end
   if options.routine > 0 and not (how.first_only and board:count() > 0) then
      board:routine(options.routine)
   end
   if has_late and not (how.first_only and board:count() > 0) then
      lay_out_asked(board, wanted, true, how)
   end
   return board:finish(spare)
end

---------------------------------------------------------------- plans

-- How many phases there are in so many milliseconds.
local function count_phases(checks, ms)
   local phase_ms = (checks.test_ms or 25) + (checks.gap_ms or 4)
   return math.max(0, (ms - (checks.lead_ms or 10)) // phase_ms)
end

-- What make is asked, as lay_out wants it.
local function make_question(options)
   local c = options.checks
   local phases = math.min(count_phases(c, options.budget_ms), boards.MOST_PHASES)
   local quiet = c.quiet_ms and count_phases(c, c.quiet_ms)
   local watched, routine = options.watched, math.min(quiet or phases, phases)
   if options.routine == false then
      watched, routine = nil, 0
   end
   return { topology = options.topology, coverage = options.coverage, nodes = options.nodes,
      wanted = options.wanted, watched = watched or nil, routine = routine,
      confirm = { streams = c.confirm_streams, around = c.around or 0 },
      rules = { phases = phases, wide = c.wide_phases, senders = c.senders or 1, duplex = c.duplex,
         longest = c.longest, good = options.good or 0.75,
         first_only = options.first_only, test_s = c.test_ms / 1000, now = options.now,
         fresh_s = (c.fresh_h or 0) * 3600, retry_s = (c.retry_h or 0) * 3600,
         seed = options.seed or math.floor(options.now) } }
end

--- Make a plan.
-- @param options table:
--   topology; nodes (array of node numbers that take part, ascending); coverage (coverage.lua);
--   wanted: what is asked about, array of { component; and as of Diagnosis:wanted() rivals, seen,
--     tests (default: 1), streams (default: as `checks` has it), after, late }, the same table
--     while nothing in it changed;
--   watched: components with low tests that are no suspects yet, array of { component };
--   checks: settings; budget_ms: for all phases; now: seconds; seed (default: of `now`);
--   routine: false to test suspects only (idle checks)
-- @return array of phases, each an array of tests (taut.tests) { src, dst, route, streams, kind,
--   confirms, rail; shares, through, group where several nodes send over one link on purpose;
--   asked, src_port, trace, aim where its way can be asked for (plan/ports.lua) }
function plan.make(options)
   local phases = lay_out(make_question(options))
   local asking = find_board(options.topology, options.coverage).ports
   if not asking then
      return phases
   end
   asking:begin()
   for _, phase in ipairs(phases) do
      for _, t in ipairs(phase) do
         asking:ask(t)
      end
   end
   return phases
end

--- Would a plan test anything?
-- @param options as for make
function plan.is_due(options)
   local q, board = make_question(options), find_board(options.topology, options.coverage).board
   q.rules.first_only = true
   -- nearly always a routine test is, and it is found soonest
   board:begin(options.nodes, q.rules)
   return board:routine(q.routine) > 0 or #lay_out(q) > 0
end

--- Tests have ended and are not needed any more: later plans reuse their memory, which would be
-- most of the garbage that a check makes.  Not of tests that were asked for: they may speak for a
-- verdict for a long time.
-- @param list of plan.schedule, judged
function plan.give_back(list)
   tests.give_back(list, spare, SPARE)
end

--- Number the tests of a plan, give each its offset, and reserve their components.
-- @param made what make returned
-- @param options the same table as for make
-- @param next_id function that returns a new test id
-- @return flat array of tests with id, phase, start_ms, dur_ms; milliseconds until the last ends
function plan.schedule(made, options, next_id)
   local c = options.checks
   return tests.schedule(made, options.coverage.times, next_id, options.now, c.lead_ms, c.test_ms,
      c.gap_ms)
end

--- Nodes that tests of some components want.
-- @param options { topology, coverage, nodes = those there are, ascending }
-- @param list of components
-- @param most nodes per component, up to 64
-- @return set of nodes
function plan.helpers(options, list, most)
   local board, set = find_board(options.topology, options.coverage).board, {}
   board:begin(options.nodes, { good = 0.75 })
   for _, c in ipairs(list) do
      for _, n in ipairs(board:helpers(c, most)) do
         set[n] = true
      end
   end
   board:finish()
   return set
end

return plan
