-- SPDX-License-Identifier: GPL-2.0-or-later
-- What the diagnosis holds of a component: which of it ends with what.
local lu = require "luaunit"
local record = require "taut.diagnose.record"

local tests = {}

local function suspect()
   local k = record.new "ok"
   k.since, k.hard, k.probation_until = 5, { left = 0.5 }, 7
   k.missing, k.tied, k.busy, k.confirmed = { what = "far" }, { { component = 3 } }, 2, { {} }
   return k
end

function tests.test_a_verdict_wants_nothing_any_more()
   local k = suspect()
   record.decide(k, { left = 0.25, case = { score = 9 } })
   lu.assertEquals({ k.left, k.case.score, k.missing, k.tied, k.busy }, { 0.25, 9, nil, nil, 2 })
end

-- One that loses, and then gets a ceiling, is named for the ceiling alone.
function tests.test_a_verdict_replaces_another()
   local k = suspect()
   record.decide(k, { left = 0.9, loss = { share = 0.01 } })
   record.decide(k, { left = 0.25, case = { score = 9 } })
   lu.assertNil(k.loss)
end

function tests.test_what_is_well_keeps_what_was_found()
   local k = suspect()
   record.decide(k, { left = 0.25, case = { score = 9 }, evidence = {} })
   record.clear(k)
   lu.assertEquals(k, { state = "ok", since = 5, hard = { left = 0.5 }, probation_until = 7,
      confirmed = {}, busy = 0 })
end

function tests.test_only_fields_of_a_record_come_back()
   lu.assertEquals(record.restore { state = "slow", left = 0.5, loss_run = {}, tests = 4 },
      { state = "slow", left = 0.5 })
end

function tests.test_plain_fields_are_fields()
   local map = {}
   for _, name in ipairs(record.PLAIN) do
      map[name] = 1
   end
   lu.assertEquals(record.restore(map), map)
end

return tests
