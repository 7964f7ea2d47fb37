-- SPDX-License-Identifier: GPL-2.0-or-later
--- Cells: runs of nodes that lie together, as features of Slurm's nodes that jobs can prefer.
--
-- Opt-in (`steer.prefer_nodes`): tautd gives each node the feature taut_cell_N, and job_submit.lua
-- lets small jobs prefer `[taut_cell_0|taut_cell_1|…]`, which is "all nodes of one cell".  Only
-- with SchedulerParameters=ignore_prefer_validation: without it a job is refused when a feature
-- that it prefers is gone, as after a reconfiguration of Slurm.
local choice = require "taut.topology.fabrics.choice"
local order = require "taut.topology.order"
local sys = require "taut.sys"
local tables = require "taut.base.tables"

local cells = {}
local Cells = {}
Cells.__index = Cells

local CHUNK = 64      -- nodes of one request: two questions to Slurm each
local MOST_TEXT = 1000 -- bytes; Slurm takes 1024

-- Node name → cell, and cells: { feature, names }.
local function cut_into_cells(self, size)
   local memo = self.memo
   if memo and memo.topo == self.topo and memo.size == size then
      return memo
   end
   memo = { topo = self.topo, size = size, of = {}, list = {} }
   -- of several fabrics nodes are in cells of the one that the most of them are on
   local topo = self.topo
   if topo.fabrics then
      topo = choice.of(topo, { nodes = tables.map(topo.nodes, function(_, node)
         return node
      end) }).topo
   end
   local orders = order.candidates(topo) -- the first is that of the names
   for i, n in ipairs((orders[2] or orders[1]).nodes) do
      local k = (i - 1) // size + 1
      local cell = memo.list[k] or { feature = "taut_cell_" .. k - 1, names = {} }
      memo.list[k] = cell
      table.insert(cell.names, topo.nodes[n])
      memo.of[topo.nodes[n]] = cell
   end
   self.memo = memo
   return memo
end

local function has_feature(node, feature)
   return ("," .. (node.features or "") .. ","):find("," .. feature .. ",", 1, true) ~= nil
end

local function is_allowed(self)
   local params = tables.or_empty(self.cluster.config).scheduler_parameters or ""
   return params:find("ignore_prefer_validation", 1, true) ~= nil
end

--- The cells that Slurm knows whole and that have room for a job.
-- @param size of a cell in nodes; nil for none
-- @return { nodes = most of a job, features = "[taut_cell_0|…]" }, or nil
function Cells:prefer(size)
   if not size or not is_allowed(self) then
      return nil
   end
   local names, length = {}, 2
   for _, cell in ipairs(cut_into_cells(self, size).list) do
      local usable, known = 0, true
      for _, name in ipairs(cell.names) do
         local node = self.cluster.nodes[name]
         known = known and (not node or has_feature(node, cell.feature))
         usable = usable + tables.one_if(self.cluster:is_usable(name))
      end
      if known and usable == size and length + #cell.feature + 1 <= MOST_TEXT then
         names[#names + 1] = cell.feature
         length = length + #cell.feature + 1
      end
   end
   if #names == 0 then
      return nil
   end
   return { nodes = size, features = "[" .. table.concat(names, "|") .. "]" }
end

local function give_feature(self, names, feature, wanted, step)
   self.busy = true
   self.slurm:ask({ op = "feature", nodes = names, feature = feature }, function(reply, err)
      self.busy = false
      if err then
         sys.log("warning", ("steer: features of nodes: %s"):format(err))
         return
      elseif reply.changed > 0 then
         sys.log("info", ("steer: feature '%s' on %d nodes"):format(feature, reply.changed))
      end
      self.cluster:note_feature(names, feature)
      step(self, wanted)
   end, 60000)
end

-- The first nodes that lack the feature wanted(name), or have one of ours though none is wanted.
local function next_wrong(self, wanted)
   local names, feature = {}, nil
   for name, node in pairs(self.cluster.nodes) do
      local want = wanted(name)
      local wrong
      if want == "" then
         wrong = (node.features or ""):find("taut_cell_", 1, true)
      else
         wrong = not has_feature(node, want)
      end
      if wrong and (not feature or feature == want) and #names < CHUNK then
         names[#names + 1], feature = name, want
      end
   end
   return names, feature
end

-- Some nodes at a time, so that other requests come in between.
local function next_step(self, wanted)
   if self.busy then
      return
   end
   local names, feature = next_wrong(self, wanted)
   if feature then
      give_feature(self, names, feature, wanted, next_step)
   end
end

--- See to it that nodes have their cells, some nodes at a time.
-- @param size of a cell; nil for none
function Cells:keep(size)
   if not size then
      return self:clear()
   elseif not is_allowed(self) then
      if not self.said then
         self.said = true
         sys.log("warning", "steer: prefer_nodes needs ignore_prefer_validation in " ..
            "SchedulerParameters: without it Slurm refuses jobs whose cells are gone")
      end
      return
   end
   local of = cut_into_cells(self, size).of
   next_step(self, function(name) return tables.or_empty(of[name]).feature or "" end)
end

--- Take the features away again.
function Cells:clear()
   next_step(self, function() return "" end)
end

--- The configuration was read again.
function Cells:reload(topo)
   self.topo = topo
end

--- @param options { topology, cluster, slurm = helper (taut-slurm) }
function cells.new(options)
   return setmetatable({ topo = options.topology, cluster = options.cluster,
      slurm = options.slurm }, Cells)
end

return cells
