-- SPDX-License-Identifier: GPL-2.0-or-later
-- tautd that writes down what its checks were given and what came of it, a line of JSON each:
--    taut --lua record.lua OUT -c taut.lua
-- tests/lua/core/test_replay.lua plays such a file again; tests/data/replay has one.
--
--    job    it begins: job, names of its nodes
--    left   an epilog was heard: job, node
--    plan   number of the session, job, present (nodes), budget_ms, lead_ms (or none), and the
--           tests that were made: { id, src, dst, phase, streams, kind, confirms }
--    over   number of the session, results by node as RESULTs had them, and the changes of state
--           that followed: { component, from, to }
-- Each with `at`, the time that the parts were told meanwhile.
local check = require "taut.core.check"
local cluster = require "taut.slurm.cluster"
local findings = require "taut.core.findings"
local json = require "taut.json"
local loop = require "taut.loop"
local records = require "taut.core.records"

local out = assert(io.open(arg[1], "w"))
local clock, held = loop.time, nil
local changes, topo, sessions = json.array {}, nil, 0

function loop.time()
   return held or clock()
end

-- Have `object` say what it was called with; the clock stands still in between.
local function note(object, name, fn)
   local own = object[name]
   object[name] = function(...)
      local outer = held
      held = outer or math.floor(clock() * 1e6) / 1e6
      local at, results = held, table.pack(own(...))
      held = outer
      local line = fn(results, ...)
      if line then
         line.at = at
         out:write(json.encode(line), "\n")
         out:flush()
      end
      return table.unpack(results, 1, results.n)
   end
end

-- Have each object that a module makes changed by fn.
local function made(module, fn)
   local new = module.new
   function module.new(...)
      local object = new(...)
      fn(object)
      return object
   end
end

local function names_of(nodes)
   local list = json.array {}
   for i, n in ipairs(nodes) do
      list[i] = topo.nodes[n]
   end
   return list
end

local function plan_of(tests)
   local list = json.array {}
   for i, t in ipairs(tests) do
      list[i] = { id = t.id, src = topo.nodes[t.src], dst = topo.nodes[t.dst], phase = t.phase,
         streams = t.streams, kind = t.kind, confirms = t.confirms and topo.components[t.confirms] }
   end
   return list
end

made(check, function(c)
   local known = {}
   topo = c.topo
   note(c, "job", function(_, _, h, names)
      local first = not known[h.job]
      known[h.job] = true
      return first and { op = "job", job = h.job, names = json.array(names) }
   end)
   note(c, "plan", function(_, _, s, present, budget_ms, lead_ms)
      sessions = sessions + 1
      s.number = sessions
      return { op = "plan", session = s.number, job = s.job, present = names_of(present),
         budget_ms = budget_ms, lead_ms = lead_ms, tests = plan_of(s.tests) }
   end)
end)
made(cluster, function(c)
   note(c, "epilog", function(_, _, job, node)
      return { op = "left", job = job, node = node }
   end)
end)
made(records, function(r)
   note(r, "verdict", function(_, _, change)
      changes[#changes + 1] = { component = topo.components[change.component],
         from = change.from, to = change.to }
   end)
end)
made(findings, function(f)
   note(f, "session", function(_, _, s)
      local results, all = {}, changes
      for n, r in pairs(s.results) do
         results[topo.nodes[n]] = r
      end
      changes = json.array {}
      return s.number and { op = "over", session = s.number, results = results, changes = all }
   end)
end)

os.exit(require("taut.core.daemon").main(table.move(arg, 2, #arg, 1, {})))
