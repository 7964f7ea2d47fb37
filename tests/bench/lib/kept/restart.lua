-- SPDX-License-Identifier: GPL-2.0-or-later
-- The part of tests/bench/restart that stops, kills and compares: restart.lua ROUNDS FOLDER.
local figure = require "figure"
local restart = require "lib.restart"
local tables = require "taut.base.tables"

local ROUNDS, FOLDER = tonumber(arg[1]), arg[2]
local SLOW = { "n5/tx", "r2.0.0/X+", "r1.1.1/Z+", "n20/rx", "r3.1.0/Y+", "n11/tx" }

math.randomseed(tonumber(os.getenv "BENCH_SEED" or "") or 1)

local function world(name)
   return { dims = { 4, 2, 2 }, npr = 2, more = restart.quick, path = FOLDER .. "/" .. name }
end

local function some_slow()
   local left = {}
   for _ = 1, 3 do
      left[SLOW[math.random(#SLOW)]] = 0.2 + 0.5 * math.random()
   end
   return left
end

---------------------------------------------------------------- clean stops

local facts, lost = {}, 0

local function clean(i)
   restart.run(world("clean" .. i), function(w)
      w:start()
      w.left = some_slow()
      w:jobs(math.random(5, 60))
      local before = w:facts()
      w:stop()
      w:start()
      local list = restart.differences(before, w:facts())
      for _, text in ipairs(list) do
         print(("clean stop %d: %s"):format(i, text))
      end
      facts[i], lost = tables.size(before), lost + #list
      w:stop()
   end)
end

---------------------------------------------------------------- deaths

-- When a test of it was last planned, which only plans ask for: as of the last snapshot.
local PLANNED = "^last%."

-- Rows added until each batch was handed to the store.
local function watch_batches(j)
   local ends, flush = {}, j.flush
   function j:flush()
      local had = #self.rows
      flush(self)
      if had > 0 and self.writing and #self.rows < had then
         ends[#ends + 1] = self.added - #self.rows
      end
   end
   return ends
end

-- Which of the states that were told stands now; nil for none of them.
local function which(told, now)
   for k = #told, 1, -1 do
      if #restart.differences(told[k].facts, now, PLANNED) == 0 then
         return k
      end
   end
end

-- Batches that rows from..to were, or would have been, in: those cut off, and one for what waited.
local function batches(ends, from, to)
   local n, last = 0, from
   for _, e in ipairs(ends) do
      if e > from and last < to then
         n, last = n + 1, e
      end
   end
   return n + (last < to and 1 or 0)
end

local kill_lost, mixtures = 0, 0

-- What status says at `at`, so that no difference is one of time.
local function facts_at(w, at)
   local now = w.now
   w.now = at
   local f = w:facts()
   w.now = now
   return f
end

local function death(i)
   restart.run(world("death" .. i), function(w)
      w:start()
      w.left = some_slow()
      local ends, told = watch_batches(w.p.journal), {}
      local at = w.now + 10000
      w:jobs(math.random(5, 40))
      w:written()
      told[1] = { facts = facts_at(w, at), rows = w.p.journal.added }
      for k = 2, math.random(4, 10) do
         w:jobs(1)
         told[k] = { facts = facts_at(w, at), rows = w.p.journal.added }
      end
      local at_once = math.random(0, 2)
      w:jobs(at_once) -- and it dies in the same turn
      local all = w.p.journal.added
      w:kill()
      w.now = at
      w:start()
      local k = which(told, w:facts())
      mixtures = mixtures + (k and 0 or 1)
      if k then
         kill_lost = math.max(kill_lost, batches(ends, told[k].rows, all))
         print(("death %d: %d of %d events stand, %d of %d rows"):format(i, k, #told + at_once,
            told[k].rows, all))
      else
         local now, least = w:facts(), nil
         for _, t in ipairs(told) do
            local list = restart.differences(t.facts, now, PLANNED)
            least = (not least or #list < #least) and list or least
         end
         print(("death %d: a mixture: %s"):format(i, table.concat(least, "; ")))
      end
      w:stop()
   end)
end

for i = 1, ROUNDS do
   clean(i)
   death(i)
end

table.sort(facts)
figure("restart_lost", lost, "facts", "<=", 0)
figure("restart_facts", facts[(#facts + 1) // 2], "facts")
figure("kill_lost", kill_lost, "batches", "<=", 1)
figure("kill_known", mixtures, "deaths", "<=", 0)
