--- Which nodes a communication-heavy job should get, and why.
local hostlist = require "taut.hostlist"
local json = require "taut.json"
local place = require "taut.place"
local score = require "taut.place.score"

local advice = {}

local function hostlist_of(d, nodes)
   local names = {}
   for i, n in ipairs(nodes) do
      names[i] = d.topo.nodes[n]
   end
   return hostlist.compress(names)
end

-- Components placement steers around, and what is left of them.
local function avoided(d)
   local map = {}
   for c, k in pairs(d.diagnosis.comp) do
      if k.state == "slow" or k.state == "failed" then
         map[c] = k.left or 0
      elseif k.state == "suspect" then
         map[c] = math.min(1, #k.run > 0 and k.run[#k.run].ratio or 1)
      end
   end
   return map
end

local function free_nodes(d, partition)
   local free, members = {}, nil
   if partition then
      if not d.cluster.partitions[partition] then
         return nil, ("partition '%s' is not known"):format(partition)
      end
      members = {}
      for _, name in ipairs(d.cluster.partitions[partition]) do
         members[name] = true
      end
   end
   for n, name in ipairs(d.topo.nodes) do
      local tx, rx = d.diagnosis:state(d.topo.tx[n]), d.diagnosis:state(d.topo.rx[n])
      local well = tx ~= "slow" and tx ~= "failed" and rx ~= "slow" and rx ~= "failed"
         and tx ~= "suspect" and rx ~= "suspect"
      if d.cluster:is_free(name) and well and (not members or members[name]) then
         free[n] = true
      end
   end
   return free
end

-- What Slurm takes without a topology plugin: the first free nodes in name order.
local function slurm_choice(d, free, count)
   local list = {}
   for n = 1, #d.topo.nodes do
      if free[n] and #list < count then
         list[#list + 1] = n
      end
   end
   return list
end

local function crossed(d, through)
   local names = json.array {}
   for c in pairs(through) do
      names[#names + 1] = d.topo.components[c]
   end
   table.sort(names)
   return names
end

-- Does a link begin or end at a router of these nodes?
local function is_near(d, comp, set)
   local at = {}
   for _, n in ipairs(set) do
      at[d.topo:router(n)] = true
   end
   return at[d.topo:from(comp)] or at[d.topo:to(comp)] or false
end

local function describe(d, c, avoid)
   local away = json.array {}
   for comp in pairs(avoid) do
      if d.topo:is_link(comp) and not c.through[comp] and is_near(d, comp, c.nodes) then
         away[#away + 1] = { component = d.topo.components[comp], left = avoid[comp] }
      end
   end
   table.sort(away, function(a, b) return a.component < b.component end)
   return { nodelist = hostlist_of(d, c.nodes), at = c.at, shape = c.shape and
      table.concat(c.shape, "x"), density = c.density, mean_hops = c.mean_hops,
      max_hops = c.max_hops, crossing = c.crossing, slowest = c.slowest,
      crosses = crossed(d, c.through), avoids = away }
end

--- Answer `taut advise`.
-- @param d daemon
-- @param args { count, partition (optional), top (optional) }
-- @return { count, candidates (the best first), slurm }, or nil and why there is no advice
function advice.give(d, args)
   local count = args.count
   if math.type(count) ~= "integer" or count < 1 or count > #d.topo.nodes then
      return nil, ("-N: expected a number of nodes from 1 to %d, got %s"):format(#d.topo.nodes,
         tostring(count))
   end
   local top = args.top or 5
   if math.type(top) ~= "integer" or top < 1 then
      return nil, "--top: expected a number from 1 on, got " .. tostring(top)
   end
   if not d.cluster.nodes_at then
      return nil, "Slurm has not answered yet: which nodes are free is not known"
   end
   local free, err = free_nodes(d, args.partition)
   if not free then
      return nil, err
   end
   local avoid = avoided(d)
   local found
   found, err = place.search(d.topo, free, count, { avoid = avoid, top = top })
   if not found then
      return nil, err
   end
   local taken = slurm_choice(d, free, count)
   local s = score.of(d.topo, taken, avoid)
   s.nodes = taken
   if s.crossing < found[1].crossing or
      s.crossing == found[1].crossing and s.mean_hops < found[1].mean_hops then
      table.insert(found, 1, s) -- nothing beats what Slurm takes by itself
   end
   local out = { count = count, candidates = json.array {}, slurm = describe(d, s, avoid) }
   for i, c in ipairs(found) do
      out.candidates[i] = describe(d, c, avoid)
   end
   return out
end

return advice
