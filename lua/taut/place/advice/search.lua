-- SPDX-License-Identifier: GPL-2.0-or-later
--- Candidates for a request: looked for, scored, and held beside what Slurm would take.
local describe = require "taut.place.advice.describe"
local fabric = require "taut.place.advice.fabric"
local loop = require "taut.loop"
local place = require "taut.place"
local rank = require "taut.place.rank"
local request = require "taut.place.request"
local score = require "taut.place.score"
local slurm = require "taut.place.slurm"
local tables = require "taut.base.tables"
local task = require "taut.base.task"
local worth = require "taut.place.advice.worth"

local search = {}

local PARTITIONS_MAX = 16 -- of one request
local SMALLER = 1.25 -- fewer nodes are better where more make communication so much slower

local function nil_if_empty(map)
   if next(map) then
      return map
   end
   return nil
end

-- Components whose load is of interest: those that are not well, and those that others use.
local function looked_at(left, background)
   if not background then
      return nil_if_empty(left)
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
local function scene_of(advice, req, count)
   task.breathe()
   local P, err = advice.patterns:make(req.spec, count)
   task.breathe()
   if not P then
      return nil, err
   end
   local background = fabric.own(advice, (advice.profiles:background()))
   local left = advice:left()
   background = nil_if_empty(background)
   return { topo = advice.topo, view = advice.view, free = req.free, count = count, P = P,
      soon = req.soon,
      left = left, background = background, rank = advice.view.rank, hops = true,
      load = looked_at(left, background) }
end

--- What place/slurm.lua is to know.
-- @param free the nodes it may choose from
function search.line_of(advice, free)
   local config, memo = advice.cluster.config or {}, nil
   if free == advice.view.free then
      memo = advice.view.runs
   end
   return { order = advice.view.order, rank = advice.view.rank,
      memo = memo, switches = advice.view:switches(),
      dragonfly = (config.topology_param or ""):lower():find("dragonfly", 1, true) ~= nil }
end

-- Slurm's own choice; nil where it would not start the job now.
local function slurms_set(advice, scene)
   task.breathe()
   local nodes = slurm.choice(scene.free, scene.count, search.line_of(advice, scene.free))
   task.breathe()
   if not nodes then
      return nil
   end
   local c = describe.set(scene, nodes, "Slurm's choice")
   task.breathe()
   c.score = score.evaluate(scene.topo, nodes, scene.P, scene)
   place.surfaces(scene.topo, scene.free, { c }, scene.version)
   return c
end

-- Candidates for one number of nodes, the best first, Slurm's choice among them where it is as
-- good; and Slurm's choice.
local function of_count(advice, req, count)
   local s, err = scene_of(advice, req, count)
   if not s then
      return nil, err
   end
   local found
   s.top, s.exclusive, s.per_router = req.top, req.exclusive, req.per_router
   s.version = nil
   if req.free == advice.view.free then
      s.version = advice.view.version
   end
   found, err = rank.best(advice.topo, req.free, count, s.P, s)
   if not found then
      return nil, err
   end
   local own = slurms_set(advice, s)
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
local function counts_to_try(req)
   if req.most == req.count then
      return { req.count }
   end
   local free = tables.size(req.free)
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

local function best_of(advice, req)
   local best, err, last
   for _, count in ipairs(counts_to_try(req)) do
      local r
      r, err = of_count(advice, req, count)
      if r and (not best or r.found[1].score.ratio * SMALLER < best.found[1].score.ratio) then
         best = r
      end
      last = err or last
   end
   return best, last
end

-- What search gives in one partition, or in all the machine.
local function found_in(advice, args)
   task.breathe()
   local req, err = request.check(advice, args, loop.time())
   if req then
      return best_of(advice, req)
   end
   return nil, err
end

-- The names of a list, each once; nil where there are too many: each that is known is a search of
-- its own.
local function partitions(text)
   local names, seen = {}, {}
   for name in text:gmatch "[^,]+" do
      if not seen[name] then
         seen[name] = true
         names[#names + 1] = name
      end
      if #names > PARTITIONS_MAX then
         return nil
      end
   end
   return names
end

--- The candidates for what is asked.  A job that names several partitions starts in one of them:
-- the best answer counts, and says where.
-- @param advice advice: topo, cluster, view, patterns, profiles, left()
-- @param args as of place/request.lua
-- @return { s = scene, found = candidates, the best first, slurm = Slurm's choice or nil,
--   partition = the one of several }; or nil and why there is none
function search.found(advice, args)
   if type(args.partition) ~= "string" or not args.partition:find(",", 1, true) then
      return found_in(advice, args)
   end
   local names, best, last = partitions(args.partition), nil, nil
   if not names then
      return nil, ("--partition: expected at most %d partitions"):format(PARTITIONS_MAX)
   end
   for _, name in ipairs(names) do
      local r, err = found_in(advice, setmetatable({ partition = name }, { __index = args }))
      if r and (not best or r.found[1].score.ratio < best.found[1].score.ratio) then
         best, r.partition = r, name
      end
      last = err or last
   end
   return best, last
end

return search
