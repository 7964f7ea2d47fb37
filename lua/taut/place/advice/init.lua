-- SPDX-License-Identifier: GPL-2.0-or-later
--- Which nodes a communication-heavy job should get, and why.
--
-- A request is narrowed to the nodes it may have (place/request.lua), candidates are looked for by
-- shape (place/), scored by what the pattern's traffic would take on them (place/score.lua), and
-- held beside what Slurm would take (place/slurm.lua).
local ask = require "taut.place.advice.ask"
local choice = require "taut.place.choice"
local describe = require "taut.place.advice.describe"
local fabric = require "taut.place.advice.fabric"
local fair = require "taut.place.advice.fair"
local hostlist = require "taut.hostlist"
local json = require "taut.json"
local loop = require "taut.loop"
local mark = require "taut.slurm.mark"
local pattern = require "taut.place.pattern"
local predict = require "taut.place.advice.predict"
local request = require "taut.place.request"
local score = require "taut.place.score"
local search = require "taut.place.advice.search"
local tables = require "taut.base.tables"
local task = require "taut.base.task"
local worth = require "taut.place.advice.worth"
local verdicts = require "taut.report.verdicts"

local advice = {}
local Advice = {}
Advice.__index = Advice

--- What is left of components that are not well: verdicts, suspicion, hard evidence; in the numbers
-- of the fabric that it is advice on.
function Advice:left()
   local map = {}
   for c, k in self.diagnosis:each() do
      local left = tables.or_empty(k.hard).left or 1
      if verdicts.is_verdict(k.state) then
         left = math.min(left, k.left or 0)
      elseif k.state == "suspect" then
         local run = self.diagnosis:run(c)
         left = math.min(left, tables.or_empty(run[#run]).ratio or 0.99)
      end
      if left < 1 then
         map[c] = math.max(left, 0)
      end
   end
   return fabric.own(self, map)
end

local function answer_of(cluster, result)
   local of = result.s.topo.fabric
   local out = { count = result.s.count, partition = result.partition, fabric = of and of.name,
      pattern = result.s.P.name, candidates = json.array {},
      as_of = cluster.nodes_at, age_s = math.max(0, loop.time() - (cluster.nodes_at or 0)),
      slurm_error = cluster.error, alps = cluster:alps() }
   describe.fragments(result.s, result.found)
   for i, c in ipairs(result.found) do
      task.breathe()
      out.candidates[i] = describe.row(result.s, c, result.slurm)
   end
   if result.slurm then
      out.slurm = describe.row(result.s, result.slurm)
   end
   out.worth, out.sentence = worth.of(result)
   return out
end

-- A request of a pending job, as Slurm has it; its pattern too, where it said that.
local function of_job(cluster, args)
   for _, j in ipairs(cluster.pending or {}) do
      if j.id == args.job then
         if (j.required or "") ~= "" then
            return nil, ("job %d names its nodes itself: %s"):format(j.id, j.required)
         end
         local most = math.max(j.max_nodes or 0, j.num_nodes)
         local said = mark.parse(j.comment) -- what --comm said, where steering is on
         if said and not args.pattern and said.comm:find "^matrix" then
            return nil, ("job %d said --comm=%s, a file that only its user may read: --pattern " ..
               "is needed"):format(j.id, said.comm)
         end
         return setmetatable({ min = j.num_nodes, max = most,
            pattern = args.pattern or said and said.comm,
            partition = tables.unless_blank(j.partition), exclude = j.excluded,
            features = j.features, reservation = j.reservation }, { __index = function(_, k)
               if k == "count" then
                  return nil
               end
               return args[k] or nil
            end })
      end
   end
   if cluster.seen_running[args.job] then
      return nil, ("job %d runs already"):format(args.job)
   end
   return nil, ("Slurm has no pending job %s"):format(tostring(args.job))
end

--- Look at a set somebody else names.
-- @param scene third result of give
-- @param list host list
-- @param what for messages
-- @return row of describe, or nil and what is wrong with the list
function Advice.look_at(_, scene, list, what)
   local shape = "where Slurm would start it"
   if what then
      shape = "the set given"
   end
   local nodes, err = request.numbers(scene.topo, list, what or "Slurm's answer")
   if not nodes then
      return nil, err
   elseif #nodes ~= scene.count then
      return nil, ("%s: %d nodes asked for, the list has %d"):format(what or "Slurm's answer",
         scene.count, #nodes)
   end
   table.sort(nodes, function(one, other) return scene.rank[one] < scene.rank[other] end)
   local c = describe.set(scene, nodes, shape)
   c.score = score.evaluate(scene.topo, nodes, scene.P, scene)
   return describe.row(scene, c, nil)
end

local NOT_YET = "Slurm has not answered yet: which nodes are free is not known"

--- Answer `taut advise`.
-- @param args as of place.request, or { job = id } and the rest of it; compare = host list,
--   fair = true for max-min fair rates, too; fabric = the one of several it is to be on
-- @return { count, partition (where several were named), fabric (where there are several), pattern,
--   candidates (the best first), slurm, compare, worth, sentence, as_of, age_s }, or nil and why
--   there is no advice; third what it was looked at with (look_at)
function Advice:give(args)
   -- another configuration may come while this goes on in turns
   self = setmetatable({ topo = self.topo, view = self.view, views = self.views },
      { __index = self })
   if not self.cluster.nodes_at then
      return nil, NOT_YET
   end
   fabric.update(self)
   local r, err
   if args.job then
      if args.count or args.min then
         return nil, "--job: the job says how many nodes it wants; give either it or -N"
      end
      args, err = of_job(self.cluster, args)
   elseif type(args.compare) == "string" and not (args.count or args.min) then
      local list, why = hostlist.expand(args.compare, #self.topo.nodes)
      if not list then
         return nil, "--compare: " .. why
      end
      args = setmetatable({ count = math.max(1, #list) }, { __index = args })
   end
   if args then
      r, err = fabric.on(self, { fabric = args.fabric, partition = args.partition,
         nodes = args.compare, count = args.count or args.min },
         function(asked) return search.found(asked, args) end)
   end
   if not r then
      return nil, err
   end
   worth.settle(r)
   if args.fair then
      fair.add(r)
   end
   local out = answer_of(self.cluster, r)
   if args.compare then
      out.compare, err = self:look_at(r.s, args.compare, "--compare")
      if not out.compare then
         return nil, err
      end
   end
   return out, nil, r.s
end

--- Answer `taut advise` (ask.lua).
Advice.ask = ask.answer

--- For steering: the nodes a job is put on, so that it gains more than those that come later lose.
-- @param args as of give, without job and compare
-- @return { nodes = host list, score, slurm = score of Slurm's choice }; or nil and why it is left
--   to Slurm
function Advice:pick(args)
   if not self.cluster.nodes_at then
      return nil, NOT_YET
   end
   fabric.update(self)
   local a
   local r, err = fabric.on(self, { partition = args.partition, count = args.count or args.min },
      function(on)
         a = on
         return search.found(on, args)
      end)
   if not r then
      return nil, err
   elseif not r.slurm then
      return nil, "Slurm would not start it now"
   end
   local s, own = r.s, r.slurm
   local best = choice.best(s.topo, s.free, s.P, r.found, own, s, search.line_of(a, s.free))
   if best == own or best.score.ratio == math.huge then
      return nil, "Slurm's choice is as good, or other nodes would break up more than it gains"
   end
   return { nodes = describe.nodelist(s, best), score = best.score.ratio, slurm = own.score.ratio }
end

--- Of a job that has its nodes: what its pattern takes on them, and would on others (predict.lua).
function Advice:predict(job, comm)
   fabric.update(self)
   return (fabric.on(self, { partition = job.partition, nodes = job.nodes },
      function(on) return predict.of(on, job, comm) end))
end

--- The leaf switches of Slurm's own topology, or nil.
function Advice:switches()
   fabric.update(self)
   return self.view:switches()
end

--- What place/slurm.lua is to know of a set of free nodes.
function Advice:line_of(free)
   return search.line_of(self, free)
end

--- Slurm was asked: what is derived of its answer is made now, not when somebody waits for it.
function Advice:refreshed()
   fabric.update(self)
end

--- The configuration was read again.
function Advice:reload(topo)
   self.topo, self.views = topo.traffic or topo, fabric.views(topo, self.cluster)
   self.view = self.views[1].view
end

--- @param options { topology, cluster, diagnosis, slurm = helper (taut-slurm), profiles =
--   of events/profiles.lua }
function advice.new(options)
   local self = setmetatable({ cluster = options.cluster, diagnosis = options.diagnosis,
      slurm = options.slurm,
      profiles = options.profiles, patterns = pattern.cache(), asked = {} }, Advice)
   self:reload(options.topology)
   return self
end

return advice
