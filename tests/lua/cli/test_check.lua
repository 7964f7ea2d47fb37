-- SPDX-License-Identifier: GPL-2.0-or-later
-- `taut check`: what is worth a look, what has to be acted on, and the line of a plugin.
local check = require "taut.cli.state.check"
local lu = require "luaunit"

local tests = {}

-- An answer of `status` in which all is well, but for these fields.
local function status(fields)
   local s = { now = 1e6, since = 0, mode = "enable", switch = "on", capped = {}, silent = {},
      store = { lost = 0, waiting = 0 }, on_event = {}, verdicts = {}, sets = {}, drained = {},
      held = {}, coverage = 0.99, jobs_started = 5, tests = { good = 1, low = 2, void = 3 },
      states = { ok = 9, suspect = 0, slow = 0, failed = 0, unknown = 0 } }
   for k, v in pairs(fields or {}) do
      s[k] = v
   end
   return s
end

function tests.test_all_is_well()
   local code, texts = check.judge(status())
   lu.assertEquals(code, 0)
   lu.assertEquals(texts, {})
   lu.assertEquals(check.line(0, texts, "a=1"),
      "TAUT OK - nothing slow, nothing held back | a=1")
   lu.assertEquals((check.judge(status { verdicts = { { component = "n1/tx", state = "slow",
      known = { ticket = "T1" } } } })), 0)
   -- a node that is drained for such once kept the service at WARNING until it was repaired
   local row = { node = "n1", component = "n1/tx", known = { ticket = "T1" } }
   lu.assertEquals({ check.judge(status { drained = { row }, held = { row } }) }, { 0, {} })
   -- … and for which it then said that nothing was slow
   lu.assertEquals(check.line(0, {}, "a=1", check.known(status { verdicts = {
      { component = "n2/tx", state = "slow", known = row.known },
      { component = "n3/tx", state = "suspect", known = row.known },
      { component = "n4/tx", state = "slow" } }, drained = { row }, held = { row } })),
      "TAUT OK - acknowledged: n1/tx, n2/tx | a=1")
   -- a suspect is nobody's business yet, nor is a young tautd's coverage
   lu.assertEquals((check.judge(status { verdicts = { { component = "n1/tx", state = "suspect" } },
      coverage = 0.1, since = 1e6 - 3600 })), 0)
end

function tests.test_worth_a_look()
   for text, fields in pairs {
      ["slow, lossy or failed: leaf2/6, n5/tx, n7/rx"] = { verdicts = {
         { component = "leaf2/6", state = "slow" }, { component = "n5/tx", state = "failed" },
         { component = "n6/tx", state = "suspect" }, { component = "n7/rx", state = "lossy" } } },
      ["one of 18 uplinks of leaf7"] = { sets = { { text = "one of 18 uplinks of leaf7" } } },
      ["drained: n5"] = { drained = { { node = "n5" } } },
      ["would be drained: n5"] = { held = { { node = "n5", why = "cap" } } },
      ["checks are off"] = { switch = "off" },
      ["no prolog heard of: n1, n2"] = { silent = { "n1", "n2" } },
      ["only 50% tested lately"] = { coverage = 0.5 },
      ["the database refused 3 rows"] = { store = { lost = 0, queued = { refused = 2,
         left_out = 1 } } },
      ["clocks off, refused by MUNGE: n5, n6"] = { clocks_refused = { { node = "n5" },
         { node = "n6" } } },
      ["this host's clock was set"] = { clock = "this host's clock was set" },
      ["on_event: ended with status 1"] = { on_event = { error = "ended with status 1" } },
      ["configuration not taken: x"] = { config_error = "x" },
      ["cannot serve metrics"] = { metrics_error = "cannot serve metrics" } } do
      local code, texts = check.judge(status(fields))
      lu.assertEquals(code, 1, text)
      lu.assertEquals(texts, { text })
   end
end

function tests.test_act_now()
   for text, fields in pairs {
      ["stopped: 9 verdicts; `taut policy continue` goes on"] = {
         stopped = { why = "9 verdicts" } },
      ["at a cap: 8 nodes; `taut policy continue` goes on"] = {
         capped = { batch = { why = "8 nodes" } } },
      ["slurm: does not answer: x"] = { slurm_error = "x" },
      ["database: cannot be written: full; 2 rows wait in memory"] = { store = { error = "full",
         waiting = 2, lost = 0 } },
      ["database: is away: no route"] = { store = { away = "no route", lost = 0 } },
      ["database: is damaged: page 3"] = { database = { damage = "page 3" } },
      ["lost: 3 rows for the database"] = { store = { lost = 3 } },
      ["brakes: both lost"] = { brakes = "both lost" },
      ["changed: changed everywhere"] = { machine_wide = "changed everywhere" } } do
      local code, texts = check.judge(status(fields))
      lu.assertEquals(code, 2, text)
      lu.assertEquals(texts, { text })
   end
end

function tests.test_the_worst_comes_first()
   local code, texts = check.judge(status { switch = "off", slurm_error = "away" })
   lu.assertEquals(code, 2)
   lu.assertEquals(check.line(code, texts),
      "TAUT CRITICAL - slurm: does not answer: away; checks are off")
end

-- A bar would begin the performance data, a line's end would hide the rest.
function tests.test_no_text_breaks_the_line()
   lu.assertEquals(check.line(1, { "a|b\nc" }, "x=1"), "TAUT WARNING - a b c | x=1")
end

return tests
