-- SPDX-License-Identifier: GPL-2.0-or-later
--- Advice on one of several fabrics: its nodes, its routes, its traffic, in its numbers.
local choice = require "taut.topology.fabrics.choice"
local hostlist = require "taut.hostlist"
local tables = require "taut.base.tables"
local view = require "taut.place.view"

local fabric = {}

local NAMES_MAX = 1 << 20

--- The pictures of the cluster that advice looks at: of the machine, and of each of its fabrics, as
-- jobs are routed there.
-- @return array of { topo, view }; those of fabrics also by their entries of `fabrics`
function fabric.views(topo, cluster)
   local jobs = topo.traffic or topo
   local list = { { topo = jobs, view = view.new(jobs, cluster) } }
   for i, f in ipairs(topo.fabrics or {}) do
      local own = f.topo.traffic or f.topo
      list[i + 1] = { topo = own, view = view.new(own, cluster) }
      list[f] = list[i + 1]
   end
   return list
end

--- Take into all of them what Slurm said and what was heard since.
function fabric.update(advice)
   local touched = advice.views[2] and advice.cluster:take_touched() -- each takes these
   for _, v in ipairs(advice.views) do
      v.view:update(touched)
   end
end

local function text_or_nil(value)
   if type(value) == "string" then
      return value
   end
   return nil
end

-- Nodes that a request may be about: those of its partitions, or all; or those that are named.
local function nodes_of(advice, args)
   local list, names = {}, nil
   if args.nodes then
      names = hostlist.expand(args.nodes, NAMES_MAX)
   elseif args.partition then
      names = {}
      for name in args.partition:gmatch "[^,]+" do
         for _, node in ipairs(advice.cluster.partitions[name] or {}) do
            names[#names + 1] = node
         end
      end
   end
   for _, name in ipairs(names or advice.topo.nodes) do
      list[#list + 1] = advice.topo.node_id[name]
   end
   return list
end

-- Is none of these fabrics one of all these nodes?
local function is_apart(advice, list, nodes)
   local names = hostlist.expand(nodes, NAMES_MAX) or {}
   return not tables.any(list, function(part)
      return not tables.any(names, function(name)
         local n = advice.topo.node_id[name]
         return n ~= nil and not part.number[n] -- unknown nodes are reported elsewhere
      end)
   end)
end

--- Advice as it is on the fabric that a request needs: of several fn is called for one after the
-- other, until it returns something.
-- @param advice advice
-- @param args { fabric = its name, or nil; nodes = host list, or partition = names; count, most =
--   how many nodes }
-- @param fn function(a, or of several fabrics a of one, with `fabric`, `topo` and `view`)
-- @return what fn does, of the first where it returns nothing; or nil and what was expected
function fabric.on(advice, args, fn)
   local count -- others' words
   if math.type(args.count) == "integer" then
      count = args.count
   end
   args = { fabric = args.fabric, nodes = text_or_nil(args.nodes),
      partition = text_or_nil(args.partition), count = count }
   if not advice.topo.fabrics then
      if args.fabric ~= nil then
         return nil, "--fabric: this machine has one topology, and no 'fabrics'"
      end
      return fn(advice)
   end
   local list, err = choice.list(advice.topo, { fabric = args.fabric, partition = args.partition,
      nodes = nodes_of(advice, args), count = args.count })
   if list and args.nodes and not args.fabric and is_apart(advice, list, args.nodes) then
      return nil, "no fabric has all of these nodes, and no route leads from one to another"
   end
   local first
   for _, f in ipairs(list or {}) do
      local v = advice.views[f]
      local r, why = fn(setmetatable({ topo = v.topo, view = v.view, fabric = f },
         { __index = advice }))
      if r then
         return r
      end
      first = first or why
   end
   return nil, first or err
end

--- A map by component of the machine as the fabric counts them.
function fabric.own(advice, map)
   if advice.fabric then
      return advice.fabric.machine:for_part(advice.fabric, map) or map
   end
   return map
end

return fabric
