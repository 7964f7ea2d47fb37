-- SPDX-License-Identifier: GPL-2.0-or-later
--- What a job asks for, and the nodes it may have: every constraint is a step, so that what cannot
-- be had is said with the step that made it impossible.
local features = require "taut.place.features"
local hostlist = require "taut.hostlist"
local pattern = require "taut.place.pattern"
local report = require "taut.report"
local tables = require "taut.base.tables"

local request = {}

local NAMES_MAX = 1 << 20
-- What may be said in words, and how long it may be: every name in it is looked for.
local TEXTS = { fabric = 64, partition = 4096, features = 1024, reservation = 1024,
   exclude = NAMES_MAX, compare = NAMES_MAX }
local WITHIN_MIN = 30 -- --start soon: how soon

local function is_whole(value, least)
   return math.type(value) == "integer" and value >= least
end

-- Count and most from { count } or { min, max }, on whatever machine.
local function range_of(args)
   local count, most = args.count or args.min, args.max or args.count
   if not is_whole(count, 1) or not is_whole(most, 1) or count > most then
      local got = tostring(count)
      if count ~= most then
         got = got .. "-" .. tostring(most)
      end
      return nil, "-N: expected a number of nodes or a range such as 32-64, got " .. got
   end
   return count, most
end

local function check_sizes(topo, args)
   local count, most = range_of(args)
   if not count then
      return nil, most
   elseif count > #topo.nodes then
      return nil, ("-N: expected a number of nodes from 1 to %d, which is all there are%s, got %d")
         :format(#topo.nodes, report.text_with(" on fabric ", topo.fabric and topo.fabric.name),
         count)
   end
   return count, math.min(most, #topo.nodes)
end

--- Node numbers of a host list.
-- @param topo topology; of one of several fabrics its own
-- @param what for the message: "--exclude"
-- @param may_lack nodes of other fabrics are left out; else they are wrong
-- @return array, or nil and which name is wrong
function request.numbers(topo, list, what, may_lack)
   local machine = tables.or_empty(topo.fabric).machine or topo
   local names, err = hostlist.expand(list, #machine.nodes)
   if not names then
      return nil, ("%s: %s"):format(what, err)
   end
   local out, seen = {}, {}
   for _, name in ipairs(names) do
      local n = topo.node_id[name]
      if not n and not machine.node_id[name] then
         return nil, ("%s: node '%s' is not in the topology"):format(what, name)
      elseif not n and not may_lack then
         return nil, ("%s: '%s' is not on fabric %s"):format(what, name, topo.fabric.name)
      elseif n and not seen[n] then
         seen[n] = true
         out[#out + 1] = n
      end
   end
   return out
end

local function find_reservation(cluster, name)
   return tables.find(cluster.reservations or {}, function(reservation)
      return reservation.name == name
   end)
end

-- The steps: { words, test(n) }, each a set that must have the node.
local function steps_of(advice, args, now)
   local steps, topo = {}, advice.topo
   local function add_step(words, test)
      steps[#steps + 1] = { words = words, test = test }
   end
   if args.partition then
      local members = advice.view:partition(args.partition)
      if not members then
         return nil, ("partition '%s' is not known"):format(tostring(args.partition))
      end
      add_step(("partition '%s'"):format(args.partition), function(node) return members[node] end)
   end
   if args.features then
      local any, err = features.parse(args.features)
      if not any then
         return nil, err
      end
      local name = features.unknown(advice.cluster.nodes, any)
      if name then
         return nil, ("--constraint: no node has the feature '%s'"):format(name)
      end
      add_step(("feature '%s'"):format(args.features), function(node)
         return features.has(advice.cluster.nodes[topo.nodes[node]], any)
      end)
   end
   if args.reservation then
      local r = find_reservation(advice.cluster, args.reservation)
      if not r then
         return nil, ("reservation '%s' is not known"):format(tostring(args.reservation))
      elseif args.start ~= "soon" and (r.start or 0) > now then
         return nil, ("reservation '%s' begins in %d min, and the job is to start now"):format(
            args.reservation, math.ceil((r.start - now) / 60))
      end
      local set = {}
      for _, name in ipairs(hostlist.expand(r.nodes or "", NAMES_MAX) or {}) do
         set[topo.node_id[name] or 0] = true
      end
      add_step(("reservation '%s'"):format(args.reservation), function(node) return set[node] end)
   end
   if args.exclude and args.exclude ~= "" then
      local list, err = request.numbers(topo, args.exclude, "--exclude", true)
      if not list then
         return nil, err
      end
      local out = tables.set(list)
      add_step("not excluded", function(node) return not out[node] end)
   end
   return steps
end

-- Nodes that could start the job: now, or with `soon` by that time.
local function available(advice, args, soon)
   local set = {}
   for n in pairs(advice.view.free) do
      set[n] = true
   end
   for n in pairs(tables.or_empty(args.reservation and advice.view.reserved)) do
      set[n] = true
   end
   for n in pairs(tables.or_empty(args.off and advice.view.asleep)) do
      set[n] = true
   end
   for n, time in pairs(tables.or_empty(soon and advice.view:ending())) do
      set[n] = set[n] or time <= soon or nil
   end
   return set
end

local function too_few(count, words, left)
   return ("%d nodes asked for, %d are left: %s"):format(count, left, words)
end

-- Go through the steps; the nodes that are left, or which step leaves too few.
local function narrow_nodes(advice, args, count, steps, soon)
   if #steps == 0 and not soon and not args.reservation and not args.off then
      local n = 0
      for _ in pairs(advice.view.free) do
         n = n + 1
         if n == count then
            break
         end
      end
      if n < count then
         return nil, ("%d nodes asked for, %d are free and healthy"):format(count, n)
      end
      return advice.view.free
   end
   local able, usable, set, words = available(advice, args, soon), 0, {}, {}
   local left = {}
   for n in ipairs(advice.topo.nodes) do
      left[#left + 1] = n
   end
   for _, step in ipairs(steps) do
      local rest = tables.filter(left, function(node) return step.test(node) end)
      left = rest
      words[#words + 1] = step.words
      if #left < count then
         return nil, too_few(count, table.concat(words, ", "), #left)
      end
   end
   for _, n in ipairs(left) do
      if able[n] then
         set[n], usable = true, usable + 1
      end
   end
   if usable < count then
      words[#words + 1] = report.text_if(soon, "free soon enough", "free")
      return nil, too_few(count, table.concat(words, ", "), usable)
   end
   return set
end

local function check_options(args)
   local top = args.top or 5
   if not is_whole(top, 1) or top > 100 then
      return "--top: expected a number from 1 to 100, got " .. tostring(top)
   elseif args.start and args.start ~= "now" and args.start ~= "soon" then
      return "--start: expected now or soon, got " .. tostring(args.start)
   elseif args.within ~= nil and not is_whole(args.within, 1) then
      return "--within: expected minutes, got " .. tostring(args.within)
   elseif args.within and args.start ~= "soon" then
      return "--within: only together with --start soon"
   elseif args.per_router ~= nil and not is_whole(args.per_router, 1) then
      return "--per-router: expected a number of nodes, got " .. tostring(args.per_router)
   elseif args.per_router and args.exclusive then
      return "--per-router and --exclusive contradict each other: a submesh of its own has all " ..
         "nodes of its routers"
   end
   for name, most in pairs(TEXTS) do
      if args[name] ~= nil and type(args[name]) ~= "string" then
         return ("%s: expected a text"):format(name)
      elseif #(args[name] or "") > most then
         return ("%s: expected a text of at most %d characters, got %d"):format(name, most,
            #args[name])
      end
   end
   return nil
end

local function error_unless(ok, err)
   if ok then
      return nil
   end
   return err
end

local function bad_list(args, name)
   if (args[name] or "") == "" then
      return nil
   end
   local ok, err = hostlist.expand(args[name], NAMES_MAX)
   if ok then
      return nil
   end
   return ("--%s: %s"):format(name, err)
end

local function bad_job(args)
   if not args.job or is_whole(args.job, 1) then
      return nil
   end
   return "--job: expected a number of a job, got " .. tostring(args.job)
end

--- Errors in a request on any machine: `taut advise` reports them before it asks.
-- @param args as for request.check; without a count where a job or nodes to compare say it
-- @return nil, or what is wrong
function request.wrong(args)
   local err = check_options(args)
   if not err and (args.count or args.min) then
      err = error_unless(range_of(args))
   end
   err = err or bad_job(args)
   if not err and args.features then
      err = error_unless(features.parse(args.features))
   end
   err = err or bad_list(args, "exclude") or bad_list(args, "compare")
   if not err and args.pattern then
      err = error_unless(pattern.motif(args.pattern))
   end
   return err or nil
end

--- Look at a request.
-- @param advice { topo, cluster, view (place/view.lua, up to date), patterns (pattern.cache()) }
-- @param args { count or min and max, pattern, partition, exclude, features, reservation,
--   exclusive, per_router, off = those that are switched off, too,
--   start = "now"|"soon", within = minutes, top }
-- @param now seconds
-- @return { count, most, spec = pattern's, free = set, soon = time or nil, top, exclusive,
--   per_router }, or nil and what is wrong with it
function request.check(advice, args, now)
   local err = check_options(args)
   local count, most
   if not err then
      count, most = check_sizes(advice.topo, args)
      err = error_unless(count, most)
   end
   local spec = not err and (args.pattern or "all-to-all")
   if spec then
      local P, why = advice.patterns:make(spec, count)
      err = error_unless(P, why)
   end
   local steps
   if not err then
      steps, err = steps_of(advice, args, now)
   end
   if not steps then
      return nil, err
   end
   local soon
   if args.start == "soon" then
      soon = now + 60 * (args.within or WITHIN_MIN)
   end
   local free
   free, err = narrow_nodes(advice, args, count, steps, soon)
   if not free then
      return nil, err
   end
   return { count = count, most = most, spec = spec, free = free, soon = soon,
      top = args.top or 5, exclusive = not not args.exclusive or nil,
      per_router = args.per_router }
end

return request
