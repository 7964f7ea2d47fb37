-- SPDX-License-Identifier: GPL-2.0-or-later
--- What the advice file says, out of verdicts and of what Slurm said last.
local gain = require "taut.place.steer.gain"
local hostlist = require "taut.hostlist"
local loop = require "taut.loop"
local tables = require "taut.base.tables"

local picture = {}
local Picture = {}
Picture.__index = Picture

local MOST_LIST = 2000 -- bytes of a list of nodes to exclude
local WEIGHED = 2      -- components that are weighed at one look: each takes up to 50 ms
local GRAIN = 0.1      -- of the capacity left: what differs less is not weighed again

-- Slow, lossy and failed components, the worst first.
local function avoided_components(self)
   local list = tables.map(self.diagnosis:verdicts(), function(verdict)
      local left = verdict.left or 0
      if verdict.state == "failed" then
         left = 0
      end
      return { c = verdict.component, left = left }
   end)
   table.sort(list, function(one, other)
      return one.left < other.left or one.left == other.left and one.c < other.c
   end)
   return list
end

-- Nodes exposed to a component; asked of the topology once per component and routing.
local function exposed_nodes(self, component)
   local memo = self.exposed
   if not memo or memo.signature ~= self.topo.signature then
      memo = { signature = self.topo.signature }
      self.exposed = memo
   end
   memo[component] = memo[component] or self.topo:exposed(component)
   return memo[component]
end

-- Nodes in the order of Slurm's table: all of them, since what is weighed is remembered, and which
-- are usable changes.
local function line_of(self)
   return tables.map(self.cluster.order or self.topo.nodes, function(name)
      return self.topo.node_id[name]
   end)
end

-- Does excluding a component's nodes help?  Remembered until it or the routes change; one that has
-- not had its turn is taken to.
-- @param look { weighed = how many so far, line = once there }
local function does_it_help(self, avoided, look)
   local memo = self.gains
   if not memo or memo.signature ~= self.topo.signature then
      memo = { signature = self.topo.signature }
      self.gains = memo
   end
   local left = math.floor(avoided.left / GRAIN + 0.5) * GRAIN
   local known = memo[avoided.c]
   if (not known or known.left ~= left) and look.weighed < WEIGHED then
      look.weighed = look.weighed + 1
      look.line = look.line or line_of(self)
      known = { left = left, gain = gain.of(self.topo, look.line, avoided.c, left,
         exposed_nodes(self, avoided.c)) }
      memo[avoided.c] = known
   end
   return not known or known.gain >= gain.LEAST, known and known.gain
end

-- What jobs may ask of a node, as one text; our own features do not count.
local function make_of(node)
   local features = node.features or ""
   if features:find("taut_cell_", 1, true) then
      features = ("," .. features):gsub(",taut_cell_%d+", ""):sub(2)
   end
   return (node.cpus or 1) .. "|" .. (node.memory_MB or 0) .. "|" .. (node.disk_MB or 0) .. "|" ..
      (node.gres or "") .. "|" .. features
end

--- Usable nodes: name → make; and how many.
local function usable_nodes(self)
   local map, count = {}, 0
   for name, node in pairs(self.cluster.nodes) do
      if self.cluster:is_usable(name) then
         map[name] = make_of(node)
         count = count + 1
      end
   end
   return map, count
end

--- Usable nodes exposed to what is avoided: node name → level, from 1 on: with the worst component
-- first, that of the component which concerns it first.
-- @param usable set of names, count how many
-- @param most_share at most this share of them
-- @return map, components by level { c, left, nodes = count, gain }
local function levels_of(self, usable, count, most_share)
   local level_of, levels, sum, look = {}, {}, 0, { weighed = 0 }
   for _, a in ipairs(avoided_components(self)) do
      local new = {}
      for _, n in ipairs(exposed_nodes(self, a.c)) do
         local name = self.topo.nodes[n]
         if not level_of[name] and usable[name] then
            new[#new + 1] = name
         end
      end
      local is_help, much
      if #new > 0 and sum + #new <= most_share * count then
         is_help, much = does_it_help(self, a, look)
      end
      if is_help then
         levels[#levels + 1] = { c = a.c, left = a.left, nodes = #new, gain = much }
         sum = sum + #new
         for _, name in ipairs(new) do
            level_of[name] = #levels
         end
      end
   end
   return level_of, levels
end

-- How many usable nodes each level leaves, and which to exclude; `names` by level.
local function rows_of(usable, names, levels)
   local rows, sofar = {}, {}
   for l = 1, #levels do
      for _, name in ipairs(names[l] or {}) do
         sofar[#sofar + 1] = name
      end
      local list
      if #sofar > 0 then
         list = hostlist.compress(sofar)
      end
      if list and #list > MOST_LIST then
         break
      end
      rows[l] = { left = usable - #sofar, list = list }
   end
   return rows
end

-- One partition; `partition` of Slurm's answer, `members` its nodes' names.
local function part_of(self, partition, members, usable, level_of, levels)
   local count, first, even, cpus, names = 0, nil, true, nil, {}
   for _, name in ipairs(members) do
      local make, level = usable[name], level_of[name]
      if make then
         count = count + 1
         if make ~= first then
            even, first = first == nil, first or make
            local c = self.cluster.nodes[name].cpus or 1
            cpus = math.min(cpus or c, c)
         end
      end
      if level then
         names[level] = names[level] or {}
         table.insert(names[level], name)
      end
   end
   return { name = partition.name, nodes = partition.nodes, usable = count, cpus = cpus or 1,
      even = even,
      levels = rows_of(count, names, levels) }
end

local function same_partitions(list, other)
   for i, p in ipairs(list) do
      local q = other[i]
      if not q or p.name ~= q.name or p.nodes ~= q.nodes or p.up ~= q.up then
         return false
      end
   end
   return #list == #other
end

-- Does what was worked out last hold?  Walks over a large machine's partitions take a while, and
-- nodes are drained rarely.
local function does_it_hold(last, partitions, usable, level_of)
   return last and same_partitions(last.partitions, partitions) and tables.same(last.usable, usable)
      and tables.same(last.exposed, level_of)
end

--- Everything the file says but serial, patterns and features.
-- @param partitions of taut-slurm's answer: { name, nodes, up }
-- @param settings the `steer` section
-- @return { time, parts, levels, exposed = map }
function Picture:take(partitions, settings)
   local usable, count = usable_nodes(self)
   local level_of, levels = {}, {}
   if settings.exclude then
      level_of, levels = levels_of(self, usable, count, settings.most_excluded)
   end
   local parts, last = {}, self.last
   if does_it_hold(last, partitions, usable, level_of) then
      parts = last.parts
   else
      for _, p in ipairs(partitions) do
         if p.up and p.nodes ~= "" then
            parts[#parts + 1] = part_of(self, p, self.cluster.partitions[p.name] or {}, usable,
               level_of, levels)
         end
      end
   end
   self.last = { parts = parts, levels = levels,
      exposed = level_of, usable = usable, partitions = partitions,
      -- slurmctld asks the wall clock how old it is
      time = math.floor(self.cluster.nodes_at + loop.ahead()) }
   return self.last
end

--- The configuration was read again.
function Picture:reload(topo)
   self.topo = topo
end

--- @param options { topology, cluster, diagnosis }
function picture.new(options)
   return setmetatable({ topo = options.topology, cluster = options.cluster,
      diagnosis = options.diagnosis }, Picture)
end

return picture
