-- SPDX-License-Identifier: GPL-2.0-or-later
-- A restart resumes: all that was said before a stop is said after it.
local lu = require "luaunit"
local restart = require "lib.restart"

local tests = {}

local BROKEN = { ["n5/tx"] = 0.25, ["r2.0.0/X+"] = 0.3, ["r1.1.1/Z+"] = 0.6 }

-- A database of its own, gone afterwards.
local function with_database(o, body)
   local folder = io.popen("mktemp -d"):read "l"
   o.path = folder .. "/db"
   local ok, err = pcall(restart.run, o, body)
   os.execute("rm -r " .. folder)
   if not ok then
      error(err, 0)
   end
end

local function machine(more)
   math.randomseed(62)
   return { dims = { 4, 2, 2 }, npr = 2, more = restart.quick .. (more or "") }
end

-- Jobs on a machine with something broken, hard evidence, a mark.
local function history(w, jobs)
   w.left = BROKEN
   w:jobs(jobs)
   w.p.events:take({ { source = "fabric", what = "width", class = "degrading", to = w.now,
      left = 0.5, text = "r0.0.0 to r1.0.0: 2 of 4 lanes", components = { "r0.0.0/X+" } } }, true)
   w:ask("verify", { what = "r3.0.0/Y+", component = "r3.0.0/Y+" })
   w.now = w.now + 1
end

-- When a test was last planned, which only plans ask for, is not written with each event.
local PLANNED = "^last%."
local EXPLAINED = { "n5/tx", "r2.0.0/X+", "r1.1.1/Z+", "r0.0.0/X+" }

local function compare(w, before, but)
   local list = restart.differences(before, w:facts(EXPLAINED), but)
   lu.assertEquals(table.concat(list, "\n"), "")
end

-- What is well known is known: there are verdicts, suspects and good ones among the facts.
local function check_there_is_something(w)
   local states = w:ask("status").states
   lu.assertTrue(states.ok > 20 and states.slow > 0 and states.unknown > 0, require("taut.json")
      .encode(states))
end

function tests.test_a_clean_stop_loses_nothing()
   for _, jobs in ipairs { 3, 9, 40 } do
      with_database(machine(), function(w)
         w:start()
         history(w, jobs)
         if jobs == 40 then
            check_there_is_something(w)
         end
         local before = w:facts(EXPLAINED)
         w:stop()
         w:start()
         compare(w, before)
         w:stop() -- and once more: what was read is written as it was
         w:start()
         compare(w, before)
         w:stop()
      end)
   end
end

function tests.test_a_kill_loses_no_more_than_what_was_not_written()
   with_database(machine(), function(w)
      w:start()
      history(w, 30)
      w:written()
      local before = w:facts(EXPLAINED)
      local now = w.now
      w:jobs(1)
      w:kill()
      w.now = now
      w:start()
      compare(w, before, PLANNED)
      w:stop()
   end)
end

function tests.test_rows_about_events_and_all_of_it_come_in_the_order_in_which_they_are_true()
   with_database(machine(), function(w)
      w:start()
      w.left = BROKEN
      w:jobs(10)
      w.p.snapshot:all()
      w:jobs(10)
      w.p.findings:repaired { w.p.site.topo.component_id["n5/tx"] }
      w.now = w.now + 1
      w:written()
      local before = w:facts(EXPLAINED)
      w:kill()
      w:start()
      compare(w, before, PLANNED)
      w:stop()
   end)
end

function tests.test_what_is_learned_of_capacities_is_learned_further()
   for _, jobs in ipairs { 1, 12 } do
      local o = machine()
      o.learns = true
      with_database(o, function(w)
         w:start()
         w:jobs(jobs)
         local before = w:facts()
         w:stop()
         w:start()
         lu.assertEquals(table.concat(restart.differences(before, w:facts()), "\n"), "")
         w:stop()
      end)
   end
end

return tests
