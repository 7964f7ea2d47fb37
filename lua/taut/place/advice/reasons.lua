-- SPDX-License-Identifier: GPL-2.0-or-later
--- Why a set is good or not, in phrases with numbers.
local hostlist = require "taut.hostlist"
local report = require "taut.report"

local reasons = {}

local NAMED = 3 -- links that are named; the rest is counted

-- The coordinates of a set in a dimension as runs between the gaps of the ring:
-- array of { first, last, nodes = array }, the one with most nodes first.
local function runs_in(topo, nodes, dim)
   local len, at = topo.dims[dim], {}
   for _, n in ipairs(nodes) do
      local x = topo:coordinates(topo:router(n))[dim]
      at[x] = at[x] or {}
      table.insert(at[x], n)
   end
   local runs, run = {}, nil
   for x = 0, len - 1 do
      if not at[x] then
         run = nil
      else
         if not run then
            run = { first = x, nodes = {} }
            runs[#runs + 1] = run
         end
         run.last = x
         table.move(at[x], 1, #at[x], #run.nodes + 1, run.nodes)
      end
   end
   local head, tail = runs[1], runs[#runs]
   if #runs > 1 and topo.wrap[dim] and head.first == 0 and tail.last == len - 1 then
      tail.last = head.last
      table.move(head.nodes, 1, #head.nodes, #tail.nodes + 1, tail.nodes)
      table.remove(runs, 1)
   end
   table.sort(runs, function(one, other)
      return #one.nodes > #other.nodes or #one.nodes == #other.nodes and one.first < other.first
   end)
   return runs
end

-- Hops between two runs of a ring, from the nearer ends.
local function hops_apart(topo, dim, run, other)
   local len = topo.dims[dim]
   local up, down = (other.first - run.last) % len, (run.first - other.last) % len
   if topo.wrap[dim] then
      return math.min(up, down)
   end
   return math.max(other.first - run.last, run.first - other.last)
end

local function names_of(topo, nodes)
   local list = table.move(nodes, 1, #nodes, 1, {})
   table.sort(list)
   for i, n in ipairs(list) do
      list[i] = topo.nodes[n]
   end
   return hostlist.compress(list)
end

-- In a torus: who lies away from the rest, in the dimension where that is worst.
local function stragglers(topo, nodes)
   local worst, text = 2, nil
   if #nodes <= 1 or #nodes > 4096 then
      return nil
   end
   for d = 1, #(topo.dims or {}) do
      local runs = runs_in(topo, nodes, d)
      local other, far = runs[2], 0
      if other then
         far = hops_apart(topo, d, runs[1], other)
      end
      if far > worst then
         worst = far
         local names = names_of(topo, other.nodes)
         if #names > 60 then
            names = report.count(#other.nodes, "node")
         end
         text = ("%s %s %d hops from the others along %s"):format(names,
            report.text_if(#other.nodes == 1, "sits", "sit"), far, ("XYZABC"):sub(d, d))
      end
   end
   return text
end

-- In how many parts of a machine with groups or leaves it lies.
local function count_parts(topo, candidate)
   local seen, n = {}, 0
   for _, node in ipairs(candidate.nodes) do
      local g = topo:router(node)
      if topo.group then
         g = topo:group(g) or g
      end
      if not seen[g] then
         n, seen[g] = n + 1, true
      end
   end
   if topo.group then
      return ("it lies in %s"):format(report.count(n, "group"))
   elseif topo.level_of then
      return ("it lies on %s"):format(report.text_if(n == 1, "one leaf", n .. " leaves"))
   end
   return ("it lies on %s"):format(report.count(n, "router"))
end

local function component_in_words(scene, comp)
   local topo = scene.topo
   local c = topo.component_id[comp]
   if topo:is_link(c) then
      return ("%s link %s"):format(topo:kind(c), comp)
   end
   return comp
end

local function list_ill(scene, list, verb)
   local out = {}
   for i, x in ipairs(list) do
      if i <= NAMED then
         out[#out + 1] = ("%s at %s"):format(component_in_words(scene, x.component),
            report.percent(x.left))
      end
   end
   if #list > NAMED then
      out[#out + 1] = ("%d more"):format(#list - NAMED)
   end
   if #out == 0 then
      return nil
   end
   return ("%s %s"):format(table.concat(out, ", "), verb)
end

--- @param scene scene
-- @param candidate candidate
-- @param row what describe.row has of it
-- @param own Slurm's choice; nil of that itself
-- @return array of phrases
function reasons.of(scene, candidate, row, own)
   local out = {}
   local function add_reason(text)
      out[#out + 1] = text
   end
   if row.lost and row.lost > 0 then
      add_reason(("%d pairs of its ranks have no route"):format(row.lost))
   elseif row.score then
      add_reason(("%.2fx ideal time"):format(row.score))
   end
   if row.fair then
      add_reason(("%.2fx at max-min fair rates, where a message takes %s of that on average")
         :format(row.fair.ratio, report.percent(row.fair.mean)))
   elseif row.fair_error then
      add_reason(row.fair_error)
   end
   if not scene.topo.dims then
      add_reason(count_parts(scene.topo, candidate))
   end
   add_reason(("density %.2f, %s"):format(row.density, report.text_if(row.strangers > 0,
      report.count(row.strangers, "node") .. " inside not free", "no other jobs inside")))
   if row.mean_hops and row.max_hops then
      add_reason(("%.1f hops on average, %d at most"):format(row.mean_hops, row.max_hops))
   elseif row.mean_hops then
      add_reason(("%.1f hops on average"):format(row.mean_hops))
   end
   if row.slowest and row.score and row.score > 1.005 then
      add_reason(("bottleneck %s"):format(component_in_words(scene, row.slowest)))
   end
   if (not own or own == candidate) and scene.topo.coordinates and scene.topo.dims
      and scene.topo.wrap then
      add_reason(stragglers(scene.topo, candidate.nodes))
   end
   add_reason(list_ill(scene, row.crossed, "crossed"))
   add_reason(list_ill(scene, row.avoids, "avoided"))
   if row.shared_links > 0 then
      add_reason(("%s shared with jobs that communicate"):format(report.count(row.shared_links,
         "link")))
   end
   if row.dense_after and row.dense_before > 0 then
      add_reason(("leaves %d of %d nodes in large free submeshes"):format(row.dense_after,
         row.dense_before))
   end
   if row.start then
      add_reason(("its last nodes come free at %s"):format(os.date("%H:%M", math.floor(row.start))))
   end
   -- what stands under every candidate says nothing: only where it differs
   if own and own ~= candidate and own.score and row.score and own.score.ratio < math.huge
      and ("%.2f"):format(own.score.ratio) ~= ("%.2f"):format(row.score) then
      add_reason(("Slurm's choice %.2fx"):format(own.score.ratio))
   end
   return out
end

return reasons
