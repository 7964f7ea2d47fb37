-- SPDX-License-Identifier: GPL-2.0-or-later
-- The part of tests/bench/event_memory that fills a database, and the one that adds up.
local figure = require "figure"
local journal = require "taut.store.journal"
local json = require "taut.json"
local loop = require "taut.loop"
local sys = require "taut.sys"

local NODES, DAYS, JOBS = 1152, 30, 20000

-- An event of a counter, or, once in 500, of a width.
local function observation(i, now)
   local node = "n" .. math.random(0, NODES - 1)
   local to = now - math.random() * DAYS * 86400
   if i % 500 == 0 then
      return { source = "fabric", from = to - 300, to = to, seconds = 300, scope = "node",
         node = node, components = { node .. "/tx", node .. "/rx" }, port = node .. " HCA-1/1",
         far = "leaf" .. i .. "/17", guid = ("0x%016x"):format(i), number = 1, what = "width",
         class = "degrading", left = 0.25, have = "1X EDR", best = "4X EDR",
         text = "narrow: " .. node .. " HCA-1/1 to leaf7/17 is 1X EDR, both ends support 4X EDR" }
   end
   return { source = "node", from = to - 4000, to = to, seconds = 4000, scope = "node",
      node = node, components = { node .. "/rx" }, port = node .. "/hsn0", interface = "hsn0",
      what = "symbol_error", class = "fatal", amount = i, unit = "errors", during = "job",
      jobs = { math.random(1, JOBS) }, limit = "more than 120 an hour",
      text = ("symbol_error of %s/hsn0 grew by %d, more than allowed: more than 120 an hour")
         :format(node, i) }
end

local function rows_of(count, now)
   local i = 0
   return function()
      i = i + 1
      if i <= count then
         local o = observation(i, now)
         if o.left then
            return { "observation", o }, { "evidence", { component = o.components[1],
               origin = "fabric " .. i, data = json.encode { left = o.left, what = o.what,
                  source = o.source, since = o.to, at = o.to, text = o.text } } }
         end
         return { "observation", o }
      elseif i <= count + JOBS then
         return { "event", { id = i, time = now, purpose = "prolog", job = i - count,
            nodes = "n[0-15]", expected = 16, heard = 16, tests = 6 } }
      end
   end
end

local function make(path, per_day)
   math.randomseed(tonumber(os.getenv "BENCH_SEED"))
   local count, now = NODES * DAYS * per_day, os.time()
   local next_row, j = rows_of(count, now), nil
   local function fill()
      local batch = {}
      for _ = 1, 2000 do
         local a, b = next_row()
         batch[#batch + 1] = a
         batch[#batch + 1] = b
      end
      if #batch == 0 then
         return j:stop(loop.stop)
      end
      j.store:ask({ op = "write", rows = batch }, function(_, err)
         assert(not err, err)
         fill()
      end)
   end
   j = journal.start({ sys.paths.program, "--daemon", "--store", path }, fill)
   loop.run()
   print(("%d events of %d nodes in %d days; the database has %.0f MB"):format(count, NODES, DAYS,
      sys.stat(path).size / 1e6))
end

local function median(list)
   table.sort(list)
   return list[(#list + 1) // 2]
end

local function report(path)
   local values = {}
   for line in io.lines(path) do
      local case, moment, tautd, store = line:match "^(%a+) (%a+) (%d+) (%d+)$"
      for name, kB in pairs { tautd = tautd, store = store } do
         local key = ("%s_%s_%s"):format(name, case, moment)
         values[key] = values[key] or {}
         table.insert(values[key], tonumber(kB) / 1e3)
      end
   end
   print(("%-8s %-10s %16s %16s"):format("PROCESS", "DATABASE", "STARTED", "AFTER QUESTIONS"))
   for _, name in ipairs { "tautd", "store" } do
      for _, case in ipairs { "empty", "full" } do
         print(("%-8s %-10s %13.1f MB %13.1f MB"):format(name, case,
            median(values[name .. "_" .. case .. "_started"]),
            median(values[name .. "_" .. case .. "_asked"])))
      end
   end
   print()
   for _, name in ipairs { "tautd", "store" } do
      figure(name .. "_month_of_events", median(values[name .. "_full_asked"]), "MB")
      figure(name .. "_month_more_than_empty", median(values[name .. "_full_started"])
         - median(values[name .. "_empty_started"]), "MB")
   end
end

if arg[1] == "make" then
   make(arg[2], tonumber(arg[3]))
else
   report(arg[2])
end
