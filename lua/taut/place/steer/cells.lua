-- SPDX-License-Identifier: GPL-2.0-or-later
--- Cells: runs of nodes that lie together, as features of Slurm's nodes that jobs can prefer.
--
-- Opt-in (`steer.prefer_nodes`): tautd gives each node the feature taut_cell_N, and job_submit.lua
-- lets small jobs prefer `[taut_cell_0|taut_cell_1|…]`, which is "all nodes of one cell".  Only
-- with SchedulerParameters=ignore_prefer_validation: without it a job is refused when a feature
-- that it prefers is gone, as after a reconfiguration of Slurm.
local order = require "taut.topology.order"
local sys = require "taut.sys"

local cells = {}

local CHUNK = 64      -- nodes of one request: two questions to Slurm each
local MOST_TEXT = 1000 -- bytes; Slurm takes 1024

-- Node name → cell, and cells: { feature, names }.
local function cut(d, size)
   local memo = d.cells_memo
   if memo and memo.topo == d.topo and memo.size == size then
      return memo
   end
   memo = { topo = d.topo, size = size, of = {}, list = {} }
   local orders = order.candidates(d.topo) -- the first is that of the names
   for i, n in ipairs((orders[2] or orders[1]).nodes) do
      local k = (i - 1) // size + 1
      local cell = memo.list[k] or { feature = "taut_cell_" .. k - 1, names = {} }
      memo.list[k] = cell
      table.insert(cell.names, d.topo.nodes[n])
      memo.of[d.topo.nodes[n]] = cell
   end
   d.cells_memo = memo
   return memo
end

local function has(node, feature)
   return ("," .. (node.features or "") .. ","):find("," .. feature .. ",", 1, true) ~= nil
end

local function is_allowed(d)
   local params = d.cluster.config and d.cluster.config.scheduler_parameters or ""
   return params:find("ignore_prefer_validation", 1, true) ~= nil
end

--- The cells that Slurm knows whole and that have room for a job.
-- @return { nodes = most of a job, features = "[taut_cell_0|…]" }, or nil
function cells.prefer(d)
   local size = d.conf.steer.prefer_nodes
   if not size or not is_allowed(d) then
      return nil
   end
   local names, length = {}, 2
   for _, cell in ipairs(cut(d, size).list) do
      local usable, known = 0, true
      for _, name in ipairs(cell.names) do
         local node = d.cluster.nodes[name]
         known = known and (not node or has(node, cell.feature))
         usable = usable + (d.cluster:is_usable(name) and 1 or 0)
      end
      if known and usable == size and length + #cell.feature + 1 <= MOST_TEXT then
         names[#names + 1] = cell.feature
         length = length + #cell.feature + 1
      end
   end
   return #names > 0 and { nodes = size, features = "[" .. table.concat(names, "|") .. "]" }
      or nil
end

-- As Slurm will have it at the next look.
local function note(d, names, feature)
   for _, name in ipairs(names) do
      local node = d.cluster.nodes[name]
      if node then
         node.features = feature
      end
   end
end

local function give(self, names, feature, wanted)
   self.cells_busy = true
   self.slurm:ask({ op = "feature", nodes = names, feature = feature }, function(reply, err)
      self.cells_busy = false
      if err then
         sys.log("warning", ("steer: features of nodes: %s"):format(err))
         return
      elseif reply.changed > 0 then
         sys.log("info", ("steer: feature '%s' on %d nodes"):format(feature, reply.changed))
      end
      note(self.d, names, feature)
      self.step_cells(self, wanted)
   end, 60000)
end

-- The first nodes that lack the feature wanted(name), or have one of ours though none is wanted.
local function next_wrong(d, wanted)
   local names, feature = {}, nil
   for name, node in pairs(d.cluster.nodes) do
      local want = wanted(name)
      local wrong = want == "" and (node.features or ""):find("taut_cell_", 1, true)
         or want ~= "" and not has(node, want)
      if wrong and (not feature or feature == want) and #names < CHUNK then
         names[#names + 1], feature = name, want
      end
   end
   return names, feature
end

-- Some nodes at a time, so that other requests come in between.
local function step(self, wanted)
   if self.cells_busy then
      return
   end
   local names, feature = next_wrong(self.d, wanted)
   if feature then
      self.step_cells = step
      give(self, names, feature, wanted)
   end
end

--- See to it that nodes have their cells, some nodes at a time.
-- @param self steer
function cells.keep(self)
   local d = self.d
   local size = d.conf.steer.prefer_nodes
   if not size then
      return cells.clear(self)
   elseif not is_allowed(d) then
      if not self.cells_said then
         self.cells_said = true
         sys.log("warning", "steer: prefer_nodes needs ignore_prefer_validation in " ..
            "SchedulerParameters: without it Slurm refuses jobs whose cells are gone")
      end
      return
   end
   local of = cut(d, size).of
   step(self, function(name) return of[name] and of[name].feature or "" end)
end

--- Take the features away again.
function cells.clear(self)
   step(self, function() return "" end)
end

return cells
