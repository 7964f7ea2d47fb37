-- SPDX-License-Identifier: GPL-2.0-or-later
-- `taut events`: what it asks for, what tautd answers, and how a terminal shows it.
local cluster = require "taut.slurm.cluster"
local events = require "taut.cli.state.events"
local lu = require "luaunit"
local observations = require "taut.events.observations"

local tests = {}

-- A store that has `have` events; what it was asked for last is in d.asked.
local function store(have)
   local d = {}
   local journal = { flush = function() end, query = function(_, _, args, fn)
      d.asked = args
      local rows = {}
      for i = 1, math.min(have, args.limit) do
         rows[i] = { id = i, source = "node", time = 1e9, class = "degrading", text = "t",
            more = i == 1 and '{"components":["n5/tx"]}' or '{"components":[]}',
            places = "n5 n5/hsn0 r1/X+" }
      end
      fn(rows)
   end }
   d.list = observations.new { journal = journal, cluster = cluster.new(),
      topology = { node_id = { n5 = 1 }, component_id = { ["n5/tx"] = 1, ["r1/X+"] = 2 } } }
   return d
end

local function ask(d, args)
   local data, err
   d.list:list(args, 0, function(_, fn) fn(true) end, function(a, b) data, err = a, b end)
   return data, err
end

function tests.test_a_list_that_was_cut_says_so()
   local d = store(12)
   local data = ask(d, { limit = 12 })
   lu.assertEquals({ #data.observations, data.more }, { 12, false })
   data = ask(d, { limit = 11 })
   lu.assertEquals({ #data.observations, data.more }, { 11, true })
   ask(d, {})
   lu.assertEquals(d.asked.limit, 1001)
end

-- A limit of 0 was a thousand, and job 0 all jobs.
function tests.test_what_is_no_number_is_refused()
   local d = store(1)
   for _, limit in ipairs { 0, -1, 1e9, 1.5, "7", {} } do
      lu.assertEquals({ ask(d, { limit = limit }) }, { nil, "limit: expected 1 to 100000" })
   end
   for _, job in ipairs { 0, -4, 1 << 32, "x", {} } do
      lu.assertEquals({ ask(d, { job = job }) }, { nil, "job: expected 1 to 4294967295" })
   end
   lu.assertNil(d.asked)
   lu.assertEquals({ ask(d, { node = "n[1-2]" }) },
      { nil, "node 'n[1-2]' is not in the topology (one node, not a list)" })
   lu.assertEquals({ ask(d, { link = 7 }) }, { nil, "link: expected a name" })
end

function tests.test_a_component_that_was_named_later_is_shown()
   local list = ask(store(2), {}).observations
   lu.assertEquals(list[1].components, { "n5/tx" })
   lu.assertEquals(list[2].components, { "r1/X+" })
end

function tests.test_a_terminal_of_80_columns_holds_all_of_an_event()
   local time = os.time { year = 2026, month = 3, day = 5, hour = 14, min = 30, sec = 9 }
   local e = { to = time, from = time - 7200, source = "node", class = "degrading",
      components = { "n5/tx", "n5/rx" }, jobs = { 4711 }, text = "carrier_changes of n5/hsn0 grew "
      .. "by 10, more than allowed: more than 9 a day, which is one of the longer sentences" }
   lu.assertEquals(events.lines(e), {
      "03-05 12:30-14:30  node      degrading   n5/tx n5/rx  job 4711",
      "    carrier_changes of n5/hsn0 grew by 10, more than allowed: more than 9 a",
      "    day, which is one of the longer sentences" })
   e.from, e.jobs, e.left, e.text = time - 3, { 1, 2, 3, 4, 5, 6 }, 11 / 12, "short"
   lu.assertEquals(events.lines(e), {
      "03-05 14:30:09     node      degrading   n5/tx n5/rx  92% left  jobs 1 2 3 4 +2",
      "    short" })
   e.jobs, e.left, e.during, e.components, e.node = {}, nil, "idle", {}, "n5"
   lu.assertEquals(events.lines(e)[1], "03-05 14:30:09     node      degrading   n5  idle")
   e.during, e.components = nil, { ("c"):rep(70), ("d"):rep(70) }
   for _, line in ipairs(events.lines(e)) do
      lu.assertTrue(#line < 80, line)
   end
end

return tests
