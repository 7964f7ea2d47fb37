-- SPDX-License-Identifier: GPL-2.0-or-later
--- What is known of one job, put together for causes.lua: its facts, what is wrong on its ways, its
-- neighbours, its earlier runs, and what the model says of all that.
--
-- `w` is that of init.lua: site, cluster, diagnosis, journal, advice, profiles, patterns.
local causes = require "taut.why.causes"
local earlier = require "taut.why.earlier"
local facts = require "taut.why.facts"
local hostlist = require "taut.hostlist"
local loop = require "taut.loop"
local mark = require "taut.slurm.mark"
local predict = require "taut.why.predict"
local privacy = require "taut.slurm.privacy"
local rights = require "taut.base.rights"
local sys = require "taut.sys"
local tables = require "taut.base.tables"
local verdict = require "taut.why.verdict"
local ways = require "taut.why.ways"

local case = {}

local EARLIER = 50       -- runs
local NEIGHBOURS, SENT = 16, 0.01 -- jobs, and the share of their injection that counts
local SECOND = 1         -- to which Slurm's times are known
local LONG_S = 7 * 86400 -- jobs that ended so much later are not looked for
local TESTS = 10000
local LATELY, LATELY_S = 100, 7 * 86400 -- jobs, of any user, whose counters are a measure

--- Node numbers of a host list; nil where one is not one of the topology's.
function case.numbers_of(topo, text, most)
   local names = hostlist.expand(text or "", most or 1 << 20)
   if not names or #names == 0 then
      return nil
   end
   local list = {}
   for i, name in ipairs(names) do
      list[i] = topo.node_id[name]
      if not list[i] then
         return nil
      end
   end
   return list
end

--- What --comm said of a job of taut-slurm, or nil.
function case.comm_of(job)
   local m = mark.parse(job.comment)
   return m and m.comm
end

--- Several questions to the store, one after the other: fn(results by name), or fn(nil, why).
-- @param wanted array of { name of the result, question, arguments }
function case.ask(parts, wanted, fn, index, out)
   index, out = index or 1, out or {}
   local q = wanted[index]
   if not q then
      return fn(out)
   end
   parts.journal:query(q[2], q[3], function(rows, err)
      if not rows then
         return fn(nil, err)
      end
      out[q[1]] = rows
      case.ask(parts, wanted, fn, index + 1, out)
   end)
end

-- Jobs that ran at the same time: those that ended, by what they counted; those that run still, by
-- their earlier runs.
local function neighbours(parts, known, rows, uid)
   local list, from, to = {}, known.from, known.to
   local length = math.max(1, to - from)
   local at_own = tables.set(case.numbers_of(parts.site.topo, known.f.nodes) or {})
   local own = uid and sys.user_name(rights.user(uid))
   local function add_neighbour(other, nodes_text, begun, ended)
      local nodes = case.numbers_of(parts.site.topo, nodes_text, predict.MOST * 4)
      local meanwhile = math.min(to, ended) - math.max(from, begun) - SECOND
      if nodes and #nodes > 1 and other.Bps > 0 and meanwhile > 0
         and not tables.any(nodes, function(node) return at_own[node] end) then
         other.nodes, other.share = nodes, math.min(1, (meanwhile + SECOND) / length)
         list[#list + 1] = other
      end
   end
   local seen = {}
   for _, r in ipairs(rows) do
      seen[r.id] = true
      local owner
      if uid ~= nil and r.user == own then
         owner = rights.user(uid)
      end
      add_neighbour({ id = r.id, user = r.user, name = r.name, Bps = r.sent_Bps or 0,
         is_hidden = uid ~= nil and privacy.is_hidden(parts.cluster, uid, owner) },
         facts.read(r.facts).nodes, r.begin, r.time)
   end
   for id, job in pairs(parts.cluster.seen_running) do
      local begun = (job.start or 0) - loop.ahead()
      local user = sys.user_name(job.user_id)
      local p = id ~= known.job.id and not seen[id] and begun < to and parts.profiles:profile(user,
         job.name or "")
      if p and p.share >= SENT then
         add_neighbour({ id = id, user = user, name = job.name, Bps = p.sent_Bps or 0,
            is_estimate = true,
            is_hidden = uid ~= nil and privacy.is_hidden(parts.cluster, uid, job.user_id) },
            job.nodes, begun, loop.time())
      elseif id ~= known.job.id and not seen[id] and begun < to and (job.num_nodes or 0) > 1 then
         known.others_running = true
      end
   end
   return list
end

--- Why nothing is predicted of a job on a machine of several fabrics; nil: there is one.  What a
-- node counted is not kept by fabric, and the model is of one.
function case.of_several(topo)
   if topo.fabrics then
      return "the machine has several fabrics, and what the job sent over each is not kept"
   end
   return nil
end

-- What is missing for a prediction; nil where nothing is.
local function why_not_predicted(known, traffic)
   if not traffic then
      return "its nodes' counters were not read"
   elseif not known.ideal_s then
      return "what its nodes can inject is not known"
   elseif #known.times == 0 then
      return "there are no routes between all of its nodes"
   end
   return nil
end

-- What the model says of it.
local function add_model(parts, known)
   local topo, t = parts.site.topo, known.f.traffic
   if topo.fabrics then
      known.not_predicted = case.of_several(topo)
      return
   end
   local nodes = case.numbers_of(topo, known.f.nodes, predict.MOST)
   if known.nodes > predict.MOST and #(nodes or {}) ~= known.nodes then
      known.not_predicted = ("it has more than %d nodes"):format(predict.MOST)
   elseif not nodes or #nodes ~= known.nodes then
      known.not_predicted = "its nodes are not all of the machine as it is described now"
   elseif known.nodes > 1 then
      local list, is_said = predict.patterns(parts.patterns, known.comm, known.nodes)
      known.is_said = is_said
      known.times = predict.times(topo, nodes, list, known.bad, known.others, parts.patterns)
      known.ideal_s = t and predict.ideal_s(topo, nodes, t.busiest)
      known.not_predicted = why_not_predicted(known, t)
   end
end

--- What is wrong on its ways now, of a host list; and what is only suspected.
function case.bad_now(parts, text)
   local nodes = case.numbers_of(parts.site.topo, text)
   if not nodes or #nodes < 2 then
      return {}, {}
   end
   return ways.bad(parts.site.topo, parts.diagnosis, nodes),
      ways.suspects(parts.site.topo, parts.diagnosis, nodes)
end

--- All that is known of a job that ended.
-- @param row of the table `job`; f = its facts
-- @param uid whose rights count, or nil: nobody reads it
-- @param rows { lately, earlier, others } of the store
function case.of(parts, row, told, uid, rows)
   local c = { job = row, nodes = row.nodes or 0, run_s = row.run_s, f = told, comm = row.comm,
      from = row.begin or row.time - (row.seconds or 0), to = row.time, now = loop.time(),
      no_place = told.no_place or case.of_several(parts.site.topo),
      name_of = function(index) return parts.site.topo.components[index] end }
   local now
   now, c.suspects = case.bad_now(parts, told.nodes)
   c.bad = ways.during(told.bad or (told.nodes and {}), now, c.to)
   c.others = neighbours(parts, c, rows.others, uid)
   c.class = earlier.of_class(rows.lately)
   add_model(parts, c)
   c.e = earlier.compare(rows.earlier, c.run_s, told, c.times and c.times[1] and c.times[1].name)
   return c
end

--- What the store is asked for case.of; and, of a job whose check counts, that.
function case.questions(row, with_check)
   local from = row.begin or row.time - (row.seconds or 0)
   return { { "lately", "counted_lately", { since = row.time - LATELY_S, before = row.time,
         id = row.id, limit = LATELY } },
      { "earlier", "earlier_runs", { user = row.user, name = row.name, nodes = row.nodes,
         before = row.time, id = row.id, restart = row.restart, limit = EARLIER } },
      { "others", "at_the_same_time", { from = from, to = row.time, till = row.time + LONG_S,
         share = SENT, id = row.id, limit = NEIGHBOURS } },
      with_check and { "events", "events_of_job", { job = row.id } },
      with_check and { "tests", "tests_of_job", { job = row.id, limit = TESTS } } }
end

--- @return verdict, findings
function case.judge(known)
   local list = causes.of(known)
   return verdict.of(known, list), list
end

return case
