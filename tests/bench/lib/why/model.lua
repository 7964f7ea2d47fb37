-- SPDX-License-Identifier: GPL-2.0-or-later
-- Jobs of the replay's mix on a modelled tree and torus, with causes drawn, and what tautd's own
-- parts answer of them; for the benchmark why.  model.lua JOBS
--
-- How long a job takes is max-min fair rates for every message (flow:fair), not the model that
-- `taut why` predicts by, and noise of 2 %; what it computes is as the mix says.
local facts = require "taut.why.facts"
local figure = require "figure"
local hostlist = require "taut.hostlist"
local json = require "taut.json"
local load_rails = require "taut.topology.load_rails"
local loop = require "taut.loop"
local numbers = require "taut.why.numbers"
local parts = require "lib.parts"
local pattern = require "taut.place.pattern"
local profile = require "taut.events.profile"
local score = require "taut.place.score"
local workload = require "replay.workload"

local JOBS, SEED = tonumber(arg[1]), tonumber(os.getenv "BENCH_SEED" or "") or 1
local CAPACITY, RUN_S, NOISE, RUNS = 1e9, 600, 0.02, 8
local LEAST = 0.1 -- of the run: what costs less is no cause
local SAID = 0.7  -- share of the jobs that say --comm
local SIZES = { 8, 16, 27, 32, 64 }

math.randomseed(SEED)

local MACHINES = {
   { name = "tree", text = 'fattree { nodes_per_leaf = 16, levels = { { down = 16, up = 8 } }, ' ..
      'nodes = "n[0-255]", capacity = 1e9 }' },
   { name = "torus", text = 'torus { dims = { 8, 8, 4 }, nodes_per_router = 2, ' ..
      'nodes = "n[0-511]", capacity = 1e9 }' },
}
local KINDS = { "healthy", "elsewhere", "node", "input", "component", "placement", "neighbours" }
local NETWORK = { component = true, placement = true, neighbours = true }

-- About normal, of a spread of 1.
local function normal()
   return math.sqrt(-2 * math.log(1 - math.random())) * math.cos(2 * math.pi * math.random())
end

local function noisy(t)
   return t * (1 + NOISE * normal())
end

-- Nodes in a row of the table, or drawn at random.
local function some_nodes(topo, count, is_scattered, but)
   local all, list, taken = #topo.nodes, {}, {}
   local first = math.random(0, all - 1)
   for i = 0, all - 1 do
      local n = (is_scattered and math.random(0, all - 1) or first + i) % all + 1
      if #list < count and not taken[n] and not (but and but[n]) then
         list[#list + 1], taken[n] = n, true
      end
   end
   while #list < count do
      local n = math.random(1, all)
      if not taken[n] and not (but and but[n]) then
         list[#list + 1], taken[n] = n, true
      end
   end
   table.sort(list)
   return list, taken
end

local function names_of(topo, nodes)
   local names = {}
   for i, n in ipairs(nodes) do
      names[i] = topo.nodes[n]
   end
   return hostlist.compress(names)
end

local function fair(topo, nodes, P, o)
   local s = score.evaluate(topo, nodes, P, { left = o.left, background = o.background,
      fair = true })
   return s.fair and s.fair.ratio or nil
end

local function usage_of(topo, nodes, bytes, seconds, cpu_s, odd)
   local list = {}
   for i, n in ipairs(nodes) do
      list[i] = { node = topo.nodes[n], seconds = seconds, sent = bytes, received = bytes,
         cpu_s = i == odd and 3 * cpu_s or cpu_s }
   end
   return { nodes = list, summary = { nodes = #nodes, seconds = seconds, sent = bytes * #nodes,
      received = bytes * #nodes, errors = 0, by_error = {}, stalls = {}, segments = 1,
      notes = {} } }
end

-- A job, and what its time is: job, usage, rows of the store, the loss that was made.
local function draw(p, kind, id)
   local topo = p.site.topo
   local name, computes = workload.pattern(SEED, id, 1):match "^([^:]+):.*compute=([%d.]+)"
   local count = SIZES[math.random(#SIZES)]
   local P = pattern.make(name, count)
   if not P then
      return nil
   end
   local usual = some_nodes(topo, count, false)
   local nodes, o, input = usual, {}, 1
   local ideal_s = RUN_S * (1 - tonumber(computes))
   local rest_s, others, bad = RUN_S - ideal_s, {}, nil
   if kind == "component" then
      local load = score.evaluate(topo, nodes, P, { load = true }).load
      local list = {}
      for c in pairs(load) do
         list[#list + 1] = c
      end
      table.sort(list)
      bad = list[math.random(#list)]
      o.left = { [bad] = 0.1 + 0.5 * math.random() }
   elseif kind == "placement" then
      nodes = some_nodes(topo, count, true)
   elseif kind == "neighbours" then
      local taken
      nodes, taken = some_nodes(topo, count, true)
      usual = nodes
      local theirs = some_nodes(topo, 64, true, taken)
      local flat, Bps = {}, CAPACITY * (0.3 + 0.7 * math.random())
      profile.spread(flat, theirs, Bps)
      o.background = load_rails.pairs(topo, flat)
      others[1] = { id = 9, user = "bob", name = "loud", nodes = 64, time = os.time() + 9,
         begin = os.time() - 4 * RUN_S, sent_Bps = Bps, share = Bps / CAPACITY,
         facts = facts.text { nodes = names_of(topo, theirs) } }
   elseif kind == "input" then
      input = 2
   end
   local before, now = fair(topo, usual, P, {}), fair(topo, nodes, P, o)
   if not before or not now then
      return nil
   end
   local cpu_s = rest_s * 0.8
   local base = rest_s + ideal_s * before
   local delay = (kind == "elsewhere" or kind == "node") and base * (0.2 + 0.5 * math.random()) or 0
   local took = noisy(input * (rest_s + ideal_s * now) + delay)
   local bytes = ideal_s * CAPACITY
   local usage = usage_of(topo, nodes, input * bytes, took, input * cpu_s,
      kind == "node" and math.random(count))
   if kind == "node" then -- what it computes longer is what the others wait
      for _, n in ipairs(usage.nodes) do
         n.cpu_s = n.cpu_s > cpu_s and cpu_s + delay or n.cpu_s
      end
   end
   local said = math.random() < SAID
   local assumed = said and P or pattern.make("all-to-all", count)
   local rows, ratio = {}, score.evaluate(topo, usual, assumed, {}).ratio
   for i = 1, RUNS do
      local f = { traffic = { told = count, sent = bytes * count, received = bytes * count,
         busiest = bytes, cpu = { median = cpu_s, out = {} }, can_stall = true, stalls = {} },
         model = { name = assumed.name, healthy = ratio, bad = ratio, others = ratio,
            all = ratio } }
      rows[i] = { id = i, restart = 0, time = os.time() - 1e4 * i, run_s = noisy(base),
         facts = facts.text(f) }
   end
   local stamp = os.time()
   return { job = { id = id, user_id = 0, name = "x", num_nodes = count, partition = "all",
         nodes = names_of(topo, nodes), start = stamp - math.floor(took), ["end"] = stamp,
         comment = said and "taut: comm=" .. name or nil, result = "completed" }, usage = usage,
      earlier = rows, others = others, bad = bad, left = bad and o.left[bad],
      lost = input * (rest_s + ideal_s * now) + delay - base, base = base, said = said }
end

local function set_bad(p, c, left)
   local k = p.diagnosis:component(c)
   if not k then
      p.diagnosis:hard(c, left or 1, { why = "x", head = "x", since = os.time() - 9999 }, os.time())
      k = p.diagnosis:component(c)
   end
   k.hard = nil
   k.state, k.left, k.since = left and "slow" or "ok", left, os.time() - 9999
   p.diagnosis.decided[c] = left and true or nil
end

local function until_set(t)
   while not t.done do
      loop.timer(5, loop.stop)
      loop.run()
   end
   return t.done
end

-- The answer of tautd's own parts.
local function answer(p, d)
   local stored = p.journal.stored
   stored.earlier_runs, stored.at_the_same_time = d.earlier, d.others
   stored.events_of_job = { { id = 1, purpose = "prolog", expected = 2, heard = 2 } }
   stored.tests_of_job = { { event = 1, class = "good" } }
   if d.bad then
      set_bad(p, d.bad, d.left)
   end
   local row, got = p.profiles:take(d.job, d.usage.nodes, nil), {}
   p.why:over(d.job, d.usage, row, function() got.done = true end)
   until_set(got)
   stored.job_row, got = { row }, {}
   p.query:answer({ reply = function(_, text) got.done = json.decode(text) end },
      json.encode { cmd = "why", args = { job = d.job.id } }, 0)
   local reply = until_set(got)
   if d.bad then
      set_bad(p, d.bad, nil)
   end
   return assert(reply.data, reply.error)
end

local all, right, innocent, blamed, errors, table_of = 0, 0, 0, 0, {}, {}

local function judge(machine, kind, d, data)
   local v = data.verdict
   local is_cause = d.lost >= LEAST * d.base
   local is_blamed = v.network == "yes" or v.network == "partly"
   local wants = NETWORK[kind] and is_cause
   if NETWORK[kind] and not is_cause and d.lost > 0.02 * d.base then
      return -- neither a cause nor none
   end
   local ok = wants and is_blamed and v.cause == kind
      or not wants and not is_blamed and (kind ~= "node" or v.cause == "node")
   local key = ("%-6s %s"):format(machine, wants and kind or NETWORK[kind] and "no effect" or kind)
   local t = table_of[key] or { n = 0, right = 0, said = {} }
   table_of[key] = t
   local word = v.network .. (v.cause and ", " .. v.cause or "")
   t.n, t.right, t.said[word] = t.n + 1, t.right + (ok and 1 or 0), (t.said[word] or 0) + 1
   all, right = all + 1, right + (ok and 1 or 0)
   if not wants then
      innocent, blamed = innocent + 1, blamed + (is_blamed and 1 or 0)
   elseif d.said then
      for _, f in ipairs(data.findings) do
         if f.cause == kind and f.hi_s then
            errors[#errors + 1] = math.abs((f.lo_s + f.hi_s) / 2 - d.lost) / d.lost
            break
         end
      end
   end
end

for _, m in ipairs(MACHINES) do
   local p = parts.new { topology = m.text }
   local n, id = 0, 0
   while n < JOBS / #MACHINES do
      id = id + 1
      local kind = KINDS[id % #KINDS + 1]
      local d = draw(p, kind, id)
      if d then
         n = n + 1
         judge(m.name, kind, d, answer(p, d))
      end
   end
end

local keys = {}
for key in pairs(table_of) do
   keys[#keys + 1] = key
end
table.sort(keys)
print(("%-20s %4s %5s  %s"):format("machine, cause", "jobs", "right", "said"))
for _, key in ipairs(keys) do
   local t, words = table_of[key], {}
   for word, n in pairs(t.said) do
      words[#words + 1] = ("%s %d"):format(word, n)
   end
   table.sort(words)
   print(("%-20s %4d %5d  %s"):format(key, t.n, t.right, table.concat(words, "; ")))
end
print(("%d jobs without a network cause, or with one that cost nothing"):format(innocent))
figure("why.model_right", right / all, "share", ">=", 0.9)
figure("why.model_false_network", blamed, "jobs", "<=", math.ceil(innocent / 60))
figure("why.model_lost_error", numbers.quantile(errors, 0.5), "share", "<=", 0.2)
