-- SPDX-License-Identifier: GPL-2.0-or-later
--- Results of several runs added up, and shown.
local figure = require "figure"
local world = require "world"

local tally = {}

local SUMS = { "faults", "counting", "judged", "recalled", "named", "exact", "two", "never", "old",
   "reached", "verdicts", "right", "drains", "false_drains", "jobs", "tests", "flows", "disturbed",
   "hours", "events", "job_tests", "idle_tests", "cpu_s", "gc_s", "plan_s", "world_s", "wall_s",
   "node_verdicts", "drains_held", "policy_stops", "sets_right", "sets_wrong", "kind_right",
   "lossy_verdicts", "lossy_right" }
local KINDS = { "slow", "lossy", "flapping" }
local OF_KIND = { "faults", "counting", "judged", "recalled", "named", "exact", "old", "reached",
   "kind_right" }

-- What else a world is, in a word or two: "lossy", "lossy 0.5 rdma".
local function world_of(r)
   local words = {}
   for _, kind in ipairs { "lossy", "flapping" } do
      local share = r[kind] or 0
      words[#words + 1] = share == 1 and kind or share > 0 and ("%s %g"):format(kind, share) or nil
   end
   words[#words + 1] = r.transport ~= "tcp" and r.transport or nil
   words[#words + 1] = r.counts ~= nil and (r.counts and "counts" or "no counts") or nil
   return table.concat(words, " ")
end

-- Faults of one kind in several runs.
local function add_kind(list, kind)
   local sum, has = {}, false
   for _, name in ipairs(OF_KIND) do
      sum[name] = 0
      for _, r in ipairs(list) do
         local k = r.kinds and r.kinds[kind]
         has = has or k ~= nil
         sum[name] = sum[name] + (k and k[name] or 0)
      end
   end
   return has and sum or nil
end

--- One result from those of several runs of one player in one kind of world.
function tally.add(list)
   local sum = { seeds = {}, jobs_to_name = {}, events_to_name = {}, peak_kb = 0, runs = #list,
      player = list[1].player, topo = list[1].topo, at_once = list[1].at_once,
      healthy = list[1].healthy, liars = list[1].liars, steady = list[1].steady, unfinished = 0,
      world = world_of(list[1]), kinds = {} }
   for _, kind in ipairs(KINDS) do
      sum.kinds[kind] = add_kind(list, kind)
   end
   for _, name in ipairs(SUMS) do
      sum[name] = 0
   end
   for _, r in ipairs(list) do
      for _, name in ipairs(SUMS) do
         sum[name] = sum[name] + (r[name] or 0)
      end
      for _, name in ipairs { "jobs_to_name", "events_to_name" } do
         table.move(r[name], 1, #r[name], #sum[name] + 1, sum[name])
      end
      sum.peak_kb = math.max(sum.peak_kb, r.peak_kb)
      sum.seeds[#sum.seeds + 1] = r.seed
      sum.unfinished = sum.unfinished + (r.unfinished and 1 or 0)
   end
   table.sort(sum.jobs_to_name)
   table.sort(sum.events_to_name)
   table.sort(sum.seeds)
   return sum
end

--- Results by world and player, in a fixed order.
-- @return array of sums
function tally.pool(list)
   local by, keys, sums = {}, {}, {}
   for _, r in ipairs(list) do
      local key = ("%s %s %s %04d %s %d %g"):format(r.topo, r.healthy and "healthy" or "faults",
         world_of(r), r.at_once, r.player, r.liars or 0, r.steady or 0)
      -- what is not at its end has no score, but that all verdicts are wrong on a healthy machine
      if r.healthy or r.judged then
         if not by[key] then
            by[key] = {}
            keys[#keys + 1] = key
         end
         table.insert(by[key], r)
      end
   end
   table.sort(keys)
   for i, key in ipairs(keys) do
      sums[i] = tally.add(by[key])
   end
   return sums
end

local function share(k, n)
   return n > 0 and k / n or 0
end

local RATES = { { "recall", "recalled", "judged" }, { "precision", "right", "verdicts" },
   { "exact", "exact", "named" }, { "set of two", "two", "named" }, { "reach", "reached", "old" } }

local function at(list, q)
   return list[math.max(1, math.ceil(q * #list))] or 0
end

local function print_rates(s)
   for _, r in ipairs(RATES) do
      local k, n = s[r[2]], s[r[3]]
      print(("   %-11s %d/%d = %.4f (95 %%: at least %.4f)"):format(r[1], k, n, share(k, n),
         world.wilson(k, n)))
   end
end

-- By kind of fault, and whether verdicts said which it was.
local function print_kinds(s)
   for _, kind in ipairs(KINDS) do
      local k = s.kinds[kind]
      if k then
         print(("   %s: %d faults, %d counted; recall %d/%d = %.4f, exact %d/%d, reach %d/%d, kind "
            .. "said right %d/%d"):format(kind, k.faults, k.counting, k.recalled, k.judged,
            share(k.recalled, k.judged), k.exact, k.named, k.reached, k.old, k.kind_right, k.named))
      end
   end
end

local function print_healthy(s)
   local wrong = s.verdicts
   print(("   wrong verdicts %d, %d of them on links; a million jobs: %.2f (95 %%: at most %.2f)")
      :format(wrong, wrong - s.node_verdicts, 1e6 * share(wrong, s.jobs),
      1e6 * world.wilson(wrong, s.jobs, true)))
end

--- A table of one sum.
function tally.print(s)
   local what = s.healthy and "healthy" or ("%d faults at once"):format(s.at_once)
   local more = { s.world ~= "" and " (" .. s.world .. ")" or "",
      (s.steady or 0) > 0 and (", %g of what is busy steady"):format(s.steady) or "",
      (s.liars or 0) > 0 and (", %d liars"):format(s.liars) or "" }
   print(("%s on a %s, %s%s, seed%s %s%s"):format(s.player, s.topo, what, table.concat(more),
      #s.seeds > 1 and "s" or "", table.concat(s.seeds, " "),
      s.unfinished > 0 and (" (%d not at their end)"):format(s.unfinished) or ""))
   print(("   %d jobs, %.0f hours, %d tests (%d of jobs, %d of idle nodes) with %d flows"):format(
      s.jobs, s.hours, s.tests, s.job_tests, s.idle_tests, s.flows))
   if s.healthy then
      print_healthy(s)
   else
      print(("   %d faults, %d counted, %d given up uncounted"):format(s.faults, s.counting,
         s.never))
      print_rates(s)
      print_kinds(s)
      print(("   to the name: %d jobs of the machine (90 %%: %d), %d events that crossed it (90 %%:"
         .. " %d)"):format(at(s.jobs_to_name, 0.5), at(s.jobs_to_name, 0.9),
         at(s.events_to_name, 0.5), at(s.events_to_name, 0.9)))
   end
   print(("   drains %d (held back %d times, policy stopped %d), false %d: of jobs at most %.2g "
      .. "(95 %%)"):format(s.drains, s.drains_held, s.policy_stops,
      s.false_drains, world.wilson(s.false_drains, s.jobs, true)))
   if s.topo == "dragonfly" then
      print(("   sets of global links: %d verdicts right, %d wrong"):format(s.sets_right,
         s.sets_wrong))
   end
   print(("   its processor time %.1f s (plan %.1f, garbage %.1f), %.2f us a test; the world's "
      .. "%.1f s; all in %d s; %d MB with the world"):format(s.cpu_s, s.plan_s, s.gc_s,
      1e6 * share(s.cpu_s, s.tests), s.world_s, s.wall_s, s.peak_kb // 1000))
end

-- What a player's processor time is held against: the world's own, so many times.
local CPU_MOST = { torus = 1, tree = 2, hashed = 2, dragonfly = 2 }

-- What issues ask for, by world.
local LIMITS = { slow = { recall = 0.99, kind = 0.9 }, lossy = { recall = 0.97, kind = 0.9 },
   flapping = { recall = 0.85, kind = 0.9 }, lossy_rdma_no_counts = { recall = 0.9, kind = 0 } }
LIMITS.lossy_0_5, LIMITS.lossy_rdma_counts = LIMITS.lossy, LIMITS.lossy
LIMITS.lossy_rdma = LIMITS.lossy_rdma_no_counts

local function cpu_ratio(s)
   return share(s.cpu_s, s.world_s)
end

local function figures_of(s)
   local kind = s.world:gsub("[^%w]+", "_")
   local name = ("campaign_%s_%s"):format(s.topo, s.healthy and ((s.liars or 0) > 0 and "liars"
      or "healthy") or kind ~= "" and kind or s.at_once)
   local least = LIMITS[kind] or LIMITS.slow
   local function state(what, value, unit, op, limit)
      figure(name .. "_" .. what, value, unit, op, limit)
   end
   if s.healthy then
      state("jobs", s.jobs, "jobs", ">=", (s.liars or 0) > 0 and 20000 or 1e5)
      state("false_drains", s.false_drains, "nodes", "<=", 0)
      state("wrong", s.verdicts, "verdicts", "<=", 0)
      state("memory", s.peak_kb / 1000, "MB", "<=", 300)
   else
      state("counting", s.counting, "faults", ">=", kind ~= "" and 200 or s.at_once > 1 and 300
         or 100)
      state("recall", share(s.recalled, s.judged), "share", ">=", least.recall)
      state("precision", share(s.right, s.verdicts), "share", ">=", 0.999)
      state("exact", share(s.exact, s.named), "share", ">=", 0.95)
      state("two", share(s.two, s.named), "share", ">=", 0.99)
      state("reach", share(s.reached, s.old), "share", ">=", 0.95)
      if kind ~= "" then
         state("kind", share(s.kind_right, s.right), "share", ">=", least.kind)
      end
      state("jobs_to_name", at(s.jobs_to_name, 0.5), "jobs")
   end
   if s.topo == "dragonfly" then
      state("sets_wrong", s.sets_wrong, "verdicts", "<=", 0)
   end
   state("cpu", 1e6 * share(s.cpu_s, s.tests), "us/test")
   state("cpu_ratio", cpu_ratio(s), "of the world's", "<=", CPU_MOST[s.topo])
end

-- The worst of several machines.
local function fabrics(sums)
   local worst = {}
   local function note(what, value, better)
      if value and (not worst[what] or better(worst[what], value)) then
         worst[what] = value
      end
   end
   local function less(a, b) return b < a end
   local function more(a, b) return b > a end
   for _, s in ipairs(sums) do
      if s.healthy then
         note((s.liars or 0) > 0 and "liars_wrong" or "healthy_wrong", s.verdicts + s.drains, more)
      else
         note("recall", share(s.recalled, s.judged), less)
         note("precision", share(s.right, s.verdicts), less)
         note("exact", share(s.exact, s.named), less)
         note("reach", share(s.reached, s.old), less)
      end
      note("cpu_ratio", cpu_ratio(s) / CPU_MOST[s.topo], more)
   end
   return worst
end

local FABRICS = { { "recall", "share", ">=", 0.99 }, { "precision", "share", ">=", 0.999 },
   { "exact", "share", ">=", 0.95 }, { "reach", "share", ">=", 0.95 },
   { "healthy_wrong", "verdicts", "<=", 0 }, { "liars_wrong", "verdicts", "<=", 0 },
   { "cpu_ratio", "of the limit", "<=", 1 } }

local function rate(s, k, n)
   return s[n] > 0 and ("%.4f (%d/%d, ≥ %.4f)"):format(s[k] / s[n], s[k], s[n],
      world.wilson(s[k], s[n])) or "-"
end

local function row(...)
   print("| " .. table.concat({ ... }, " | ") .. " |")
end

-- Worlds with faults, a line each, as doc/campaign.md shows them.
local function rows(sums)
   row("world", "player", "recall", "precision", "exact", "set of two", "reach", "drains, false",
      "jobs, crossing events to the name")
   print("|---|---|---|---|---|---|---|---|---|")
   for _, s in ipairs(sums) do
      if not s.healthy then
         row(("%s, %d at once, %d jobs"):format(s.topo, s.at_once, s.jobs), s.player,
            rate(s, "recalled", "judged"), rate(s, "right", "verdicts"), rate(s, "exact", "named"),
            rate(s, "two", "named"), rate(s, "reached", "old"), ("%d, %d"):format(s.drains,
            s.false_drains), ("%d, %d"):format(at(s.jobs_to_name, 0.5),
            at(s.events_to_name, 0.5)))
      end
   end
end

--- Tables of all, then the figures of Taut's own.
-- @param in_rows also as a table of lines
function tally.show(list, in_rows)
   local sums = tally.pool(list)
   for _, s in ipairs(sums) do
      tally.print(s)
   end
   if in_rows then
      print()
      rows(sums)
   end
   print()
   local own, machines, n = {}, {}, 0
   for _, s in ipairs(sums) do
      if s.player == "taut" then
         figures_of(s)
         own[#own + 1] = s
         n = n + (machines[s.topo] and 0 or 1)
         machines[s.topo] = true
      end
   end
   local worst = n > 1 and fabrics(own) or {}
   for _, f in ipairs(FABRICS) do
      if worst[f[1]] then
         figure("fabrics_" .. f[1], worst[f[1]], f[2], f[3], f[4])
      end
   end
end

return tally
