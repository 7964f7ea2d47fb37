-- SPDX-License-Identifier: GPL-2.0-or-later
--- Which nodes Slurm itself would take, as its select plugins do it (read in Slurm 22.05 to 24.11:
-- _eval_nodes, _eval_nodes_topo and _eval_nodes_dfly of select/cons_tres, alike in select/linear).
--
-- Without a topology, or with one that is an order of the nodes (3d_torus, SwitchAsNodeRank), the
-- table of nodes is a line. Of its runs of free nodes Slurm takes the smallest sufficient one, from
-- its beginning. If there is none, it takes the largest, and then the best for the rest.  With
-- topology/tree the lowest switch with enough free nodes, of those the one with fewest, and below
-- it leaves in the same way as runs.  With TopologyParam=Dragonfly, where one leaf does not do, a
-- node of each leaf in turn.
local tables = require "taut.base.tables"
local task = require "taut.base.task"

local slurm = {}

-- Sets by how many nodes they have, and these numbers ascending: the plugins look through all sets
-- for each they take, which a list of thousands of runs would make slow.
local function by_count(sets)
   local at, counts = {}, {}
   for _, s in ipairs(sets) do
      if s.count > 0 then
         if not at[s.count] then
            at[s.count] = {}
            counts[#counts + 1] = s.count
         end
         table.insert(at[s.count], s)
      end
   end
   table.sort(counts)
   return { at = at, counts = counts }
end

-- The set the plugins call the best fit for `want`: the smallest that suffices, else the largest;
-- the first among equals.  `used` says how many of each count are gone.
local function best_fit(index, used, want)
   local largest
   for _, n in ipairs(index.counts) do
      local next_one = (used[n] or 0) + 1
      if index.at[n][next_one] then
         largest = n
         if n >= want then
            break
         end
      end
   end
   if not largest then
      return nil
   end
   used[largest] = (used[largest] or 0) + 1
   return index.at[largest][used[largest]]
end

local function take_from(index, count)
   local out, used = {}, {}
   while #out < count do
      local s = best_fit(index, used, count - #out)
      if not s then
         return out
      end
      task.breathe()
      for _, n in ipairs(s.nodes) do
         if #out < count then
            out[#out + 1] = n
         end
      end
   end
   return out
end

-- Runs of free nodes in Slurm's table; nodes of another weight end a run, and lighter ones go
-- first.
local function runs_of(order, free, weight)
   local runs, run = {}, nil
   for _, n in ipairs(order) do
      if not free[n] then
         run = nil
      else
         local w = 1
         if weight then
            w = weight[n] or w
         end
         if not run or run.weight ~= w then
            task.breathe()
            run = { nodes = {}, count = 0, weight = w }
            runs[#runs + 1] = run
         end
         run.count = run.count + 1
         run.nodes[run.count] = n
      end
   end
   return runs
end

-- Runs by weight: array of { weight, index }, the lightest first.
local function lines_of(options, free)
   local by, list = {}, {}
   for _, run in ipairs(runs_of(options.order, free, options.weight)) do
      if not by[run.weight] then
         by[run.weight] = { weight = run.weight }
         list[#list + 1] = by[run.weight]
      end
      table.insert(by[run.weight], run)
   end
   table.sort(list, function(one, other) return one.weight < other.weight end)
   for _, l in ipairs(list) do
      task.breathe()
      l.index = by_count(l)
   end
   return list
end

local function kept_lines(options, free)
   local memo = options.memo or {}
   if memo.lines_of ~= free then
      memo.lines_of, memo.lines = free, lines_of(options, free)
   end
   return memo.lines
end

local function on_a_line(options, free, count)
   local out = {}
   for _, l in ipairs(kept_lines(options, free)) do
      local part = take_from(l.index, count - #out)
      table.move(part, 1, #part, #out + 1, out)
      if #out == count then
         return out
      end
   end
   return nil
end

-- Free nodes under each switch, in the order of the table.
local function fill_switches(options, free)
   local list = {}
   for i, s in ipairs(options.switches) do
      task.breathe()
      local nodes = tables.filter(s.nodes, function(node) return free[node] end)
      list[i] = { level = s.level, nodes = nodes, count = #nodes, name = s.name }
   end
   return list
end

local function take_in_turn(leaves, count)
   local out, k, more = {}, 1, true
   while #out < count and more do
      more = false
      for _, s in ipairs(leaves) do
         if s.nodes[k] and #out < count then
            out[#out + 1], more = s.nodes[k], true
         end
      end
      k = k + 1
   end
   if #out == count then
      return out
   end
   return nil
end

local function in_a_tree(options, free, count)
   local all, best = fill_switches(options, free), nil
   for _, s in ipairs(all) do
      if s.count >= count and (not best or s.level < best.level or
         s.level == best.level and s.count < best.count) then
         best = s
      end
   end
   if not best then
      return nil
   end
   local inside, leaves = {}, {}
   for _, n in ipairs(best.nodes) do
      inside[n] = true
   end
   for _, s in ipairs(all) do
      if s.level == 0 and s.count > 0 and inside[s.nodes[1]] then
         leaves[#leaves + 1] = s
      end
   end
   if options.dragonfly and #leaves > 1 then
      return take_in_turn(leaves, count)
   end
   return take_from(by_count(leaves), count)
end

--- The pieces of the table that it fills: runs of free nodes, or the leaves' free nodes.
-- @param free, options as of slurm.choice
-- @return array of { nodes, count, is_whole = a hole in it does not matter }
function slurm.pieces(free, options)
   local list = {}
   if options.switches and #options.switches > 0 then
      for _, s in ipairs(fill_switches(options, free)) do
         s.is_whole = true
         if s.level == 0 and s.count > 0 then
            list[#list + 1] = s
         end
      end
      return list
   end
   for _, l in ipairs(kept_lines(options, free)) do
      table.move(l, 1, #l, #list + 1, list)
   end
   return list
end

--- @param free set of node numbers
-- @param count how many
-- @param options table: order = array of all nodes in the order of Slurm's table; weight = map node
--   → number or nil; switches = array of { name, level (0 = leaf), nodes = array in that order } or
--   nil; dragonfly = TopologyParam=Dragonfly; memo = table in which what is worked out of `free` is
--   kept, to be thrown away when that changes
-- @return array of nodes in the order of the table, or nil where it would not start the job
function slurm.choice(free, count, options)
   local choose = on_a_line
   if options.switches and #options.switches > 0 then
      choose = in_a_tree
   end
   local nodes = choose(options, free, count)
   if nodes and options.rank then
      table.sort(nodes, function(one, other) return options.rank[one] < options.rank[other] end)
   end
   return nodes
end

return slurm
