-- SPDX-License-Identifier: GPL-2.0-or-later
--- Which nodes a communication-heavy job should get, and why.
--
-- A request is narrowed to the nodes it may have (place/request.lua), candidates are looked for by
-- shape (place/), scored by what the pattern's traffic would take on them (place/score.lua), and
-- held beside what Slurm would take (place/slurm.lua).
local choice = require "taut.place.choice"
local describe = require "taut.place.advice.describe"
local fair = require "taut.place.advice.fair"
local hostlist = require "taut.hostlist"
local json = require "taut.json"
local loop = require "taut.loop"
local mark = require "taut.place.steer.mark"
local place = require "taut.place"
local rank = require "taut.place.rank"
local request = require "taut.place.request"
local score = require "taut.place.score"
local slurm = require "taut.place.slurm"
local view = require "taut.place.view"
local worth = require "taut.place.advice.worth"

local advice = {}

local SMALLER = 1.25 -- fewer nodes are better where more make communication so much slower

--- The cluster in node numbers; kept by the daemon.
function advice.view(d)
   if not d.view or d.view.topo ~= d.topo or d.view.cluster ~= d.cluster then
      d.view = view.new(d.topo, d.cluster)
   end
   d.view:update()
   return d.view
end

--- What is left of components that are not well: verdicts, suspicion, hard evidence.
function advice.left(d)
   local map = {}
   for c, k in pairs(d.diagnosis.comp) do
      local left = k.hard and k.hard.left or 1
      if k.state == "slow" or k.state == "failed" then
         left = math.min(left, k.left or 0)
      elseif k.state == "suspect" then
         local run = k.run or {}
         left = math.min(left, #run > 0 and run[#run].ratio or 0.99)
      end
      if left < 1 then
         map[c] = math.max(left, 0)
      end
   end
   return map
end

-- Components whose load is of interest: those that are not well, and those that others use.
local function looked_at(left, background)
   if not background then
      return next(left) and left or nil
   end
   local set = {}
   for _, map in ipairs { left, background } do
      for c in pairs(map) do
         set[c] = true
      end
   end
   return set
end

-- What all of an answer's candidates are looked at with.
local function scene_of(d, req, count)
   local P, err = request.pattern(d, req.spec, count)
   if not P then
      return nil, err
   end
   local background = d.learn and d.learn:background() or nil
   local left = advice.left(d)
   background = background and next(background) and background or nil
   return { d = d, topo = d.topo, free = req.free, count = count, P = P, soon = req.soon,
      left = left, background = background, rank = d.view.rank, hops = true,
      load = looked_at(left, background) }
end

-- What place.slurm is to know.
local function line_of(d, s)
   local config = d.cluster.config or {}
   return { order = d.view.order, rank = d.view.rank,
      memo = s.free == d.view.free and d.view.runs or nil, switches = d.view:switches(),
      dragonfly = (config.topology_param or ""):lower():find("dragonfly", 1, true) ~= nil }
end

-- Slurm's own choice; nil where it would not start the job now.
local function slurms(d, s)
   local nodes = slurm.choice(s.free, s.count, line_of(d, s))
   if not nodes then
      return nil
   end
   local c = describe.set(s, nodes, "Slurm's choice")
   c.score = score.evaluate(s.topo, nodes, s.P, s)
   place.surfaces(s.topo, s.free, { c }, s.version)
   return c
end

-- Candidates for one number of nodes, the best first, Slurm's choice among them where it is as
-- good; and Slurm's choice.
local function search(d, req, count)
   local s, err = scene_of(d, req, count)
   if not s then
      return nil, err
   end
   local found
   s.top, s.exclusive, s.per_router = req.top, req.exclusive, req.per_router
   s.version = req.free == d.view.free and d.view.version or nil
   found, err = rank.best(d.topo, req.free, count, s.P, s)
   if not found then
      return nil, err
   end
   local own = slurms(d, s)
   if own and not req.exclusive and not req.per_router then
      for _, c in ipairs(found) do
         own.is_found = own.is_found or worth.same(c.nodes, own.nodes)
      end
      local at = 1
      while found[at] and rank.is_better(found[at], own) do
         at = at + 1
      end
      if not own.is_found and at <= req.top then
         table.insert(found, at, own)
      end
   end
   for i = #found, req.top + 1, -1 do
      found[i] = nil
   end
   return { s = s, found = found, slurm = own }
end

-- The sizes of a range that are looked at, the largest first.
local function counts(req)
   if req.most == req.count then
      return { req.count }
   end
   local free = 0
   for _ in pairs(req.free) do
      free = free + 1
   end
   local most = math.min(req.most, free)
   local list = { most }
   if (req.count + most) // 2 > req.count then
      list[2] = (req.count + most) // 2
   end
   if req.count < most then
      list[#list + 1] = req.count
   end
   return list
end

local function best_of(d, req)
   local best, err, last
   for _, count in ipairs(counts(req)) do
      local r
      r, err = search(d, req, count)
      if r and (not best or r.found[1].score.ratio * SMALLER < best.found[1].score.ratio) then
         best = r
      end
      last = err or last
   end
   return best, last
end

local function answer(d, r)
   local out = { count = r.s.count, partition = r.partition, pattern = r.s.P.name,
      candidates = json.array {},
      as_of = d.cluster.nodes_at, age_s = math.max(0, loop.time() - (d.cluster.nodes_at or 0)),
      slurm_error = d.cluster.error }
   describe.fragments(r.s, r.found)
   for i, c in ipairs(r.found) do
      out.candidates[i] = describe.row(r.s, c, r.slurm)
   end
   out.slurm = r.slurm and describe.row(r.s, r.slurm) or nil
   out.worth, out.sentence = worth.of(r)
   return out
end

-- A request of a pending job, as Slurm has it; its pattern too, where it said that.
local function of_job(d, args)
   for _, j in ipairs(d.cluster.pending or {}) do
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
            partition = (j.partition or "") ~= "" and j.partition or nil, exclude = j.excluded,
            features = j.features, reservation = j.reservation }, { __index = function(_, k)
               return k ~= "count" and args[k] or nil
            end })
      end
   end
   if d.cluster.seen_running[args.job] then
      return nil, ("job %d runs already"):format(args.job)
   end
   return nil, ("Slurm has no pending job %s"):format(tostring(args.job))
end

--- Look at a set somebody else names.
-- @param scene third result of advice.give
-- @param list host list
-- @param what for messages
-- @return row of describe, or nil and what is wrong with the list
function advice.look_at(d, scene, list, what)
   local nodes, err = request.numbers(d.topo, list, what or "Slurm's answer")
   if not nodes then
      return nil, err
   elseif #nodes ~= scene.count then
      return nil, ("%s: %d nodes asked for, the list has %d"):format(what or "Slurm's answer",
         scene.count, #nodes)
   end
   table.sort(nodes, function(a, b) return scene.rank[a] < scene.rank[b] end)
   local c = describe.set(scene, nodes, what and "the set given" or "where Slurm would start it")
   c.score = score.evaluate(d.topo, nodes, scene.P, scene)
   return describe.row(scene, c, nil)
end

-- What search gives in one partition, or in all the machine.
local function found_in(d, args)
   local req, err = request.check(d, args, loop.time())
   if req then
      return best_of(d, req)
   end
   return nil, err
end

-- What search gives for what is asked.  A job that names several partitions starts in one of them:
-- the best answer counts, and says where.
local function found_for(d, args)
   if type(args.partition) ~= "string" or not args.partition:find(",", 1, true) then
      return found_in(d, args)
   end
   local best, last
   for name in args.partition:gmatch "[^,]+" do
      local r, err = found_in(d, setmetatable({ partition = name }, { __index = args }))
      if r and (not best or r.found[1].score.ratio < best.found[1].score.ratio) then
         best, r.partition = r, name
      end
      last = err or last
   end
   return best, last
end

local NOT_YET = "Slurm has not answered yet: which nodes are free is not known"

--- Answer `taut advise`.
-- @param d daemon
-- @param args as of place.request, or { job = id } and the rest of it; compare = host list,
--   fair = true for max-min fair rates, too
-- @return { count, partition (where several were named), pattern, candidates (the best first),
--   slurm, compare, worth, sentence, as_of, age_s }, or nil and why there is no advice; third what
--   it was looked at with (look_at)
function advice.give(d, args)
   if not d.cluster.nodes_at then
      return nil, NOT_YET
   end
   advice.view(d)
   local r, err
   if args.job then
      if args.count or args.min then
         return nil, "--job: the job says how many nodes it wants; give either it or -N"
      end
      args, err = of_job(d, args)
   elseif type(args.compare) == "string" and not (args.count or args.min) then
      local list = hostlist.expand(args.compare, 1 << 20) or {}
      args = setmetatable({ count = math.max(1, #list) }, { __index = args })
   end
   if args then
      r, err = found_for(d, args)
   end
   if not r then
      return nil, err
   end
   worth.settle(r)
   if args.fair then
      fair.add(r)
   end
   local out = answer(d, r)
   if args.compare then
      out.compare, err = advice.look_at(d, r.s, args.compare, "--compare")
      if not out.compare then
         return nil, err
      end
   end
   return out, nil, r.s
end

--- For steering: the nodes a job is put on, so that it gains more than those that come later lose.
-- @param d, args as of advice.give, without job and compare
-- @return { nodes = host list, score, slurm = score of Slurm's choice }; or nil and why it is left
--   to Slurm
function advice.pick(d, args)
   if not d.cluster.nodes_at then
      return nil, NOT_YET
   end
   advice.view(d)
   local r, err = found_for(d, args)
   if not r then
      return nil, err
   elseif not r.slurm then
      return nil, "Slurm would not start it now"
   end
   local s, own = r.s, r.slurm
   local best = choice.best(s.topo, s.free, s.P, r.found, own, s, line_of(d, s))
   if best == own or best.score.ratio == math.huge then
      return nil, "Slurm's choice is as good, or other nodes would break up more than it gains"
   end
   return { nodes = describe.nodelist(s, best), score = best.score.ratio, slurm = own.score.ratio }
end

return advice
