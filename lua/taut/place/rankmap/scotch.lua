-- SPDX-License-Identifier: GPL-2.0-or-later
--- Scotch's static mapping of the ranks' graph onto the nodes (F. Pellegrini, J. Roman, "SCOTCH: a
-- software package for static mapping by dual recursive bipartitioning", HPCN 1996).
--
-- Its program scotch_gmap is run, where it is installed (Debian: scotch).  Nothing of Scotch is
-- linked, since its licence (CeCILL-C) does not go together with the GPL.  What it gives may have
-- a rank too many here and there: these move to the nearest node that has room.
local boxes = require "taut.place.rankmap.boxes"
local tables = require "taut.base.tables"
local quoted = require("taut.report.save").quoted

local scotch = {}

local MOST_NODES = 2048     -- distances are n² / 2 numbers in a text file
local MOST_PAIRS = 1 << 21
local SECONDS = 60
local MOST_WEIGHT = 1000000 -- of an edge

---------------------------------------------------------------- the ranks' graph

-- edges[a][b] = bytes both ways in all steps; or nil and why not.
local function graph_of(pattern)
   local edges, pairs_n = {}, 0
   for r = 1, pattern.ranks do
      edges[r] = {}
   end
   for _, s in ipairs(pattern.steps) do
      if s.kind ~= "pairs" then
         return nil, "everybody talks to everybody"
      end
      for k, a in ipairs(s.src) do
         local b = s.dst[k]
         local bytes = s.bytes
         if type(bytes) == "table" then
            bytes = bytes[k]
         end
         bytes = bytes * s.times
         if a ~= b and bytes > 0 then
            if not edges[a][b] then
               pairs_n = pairs_n + 1
            end
            edges[a][b] = (edges[a][b] or 0) + bytes
            edges[b][a] = (edges[b][a] or 0) + bytes
         end
      end
   end
   if pairs_n == 0 then
      return nil, "there is no traffic"
   elseif pairs_n > MOST_PAIRS then
      return nil, ("%d pairs of ranks, at most %d are given to Scotch"):format(pairs_n, MOST_PAIRS)
   end
   return edges
end

-- Scotch's graph format: version; vertices and arcs; base 0 and flags 010 (weights of edges); a
-- line for each vertex: arcs, then weight and neighbour of each.
local function write_graph(file, edges)
   local arcs, most = 0, 0
   for _, row in ipairs(edges) do
      for _, bytes in pairs(row) do
         arcs, most = arcs + 1, math.max(most, bytes)
      end
   end
   file:write(("0\n%d %d\n0 010\n"):format(#edges, arcs))
   for _, row in ipairs(edges) do
      local list = tables.keys(row)
      local words = { tostring(#list) }
      for _, b in ipairs(list) do
         words[#words + 1] = ("%d %d"):format(math.max(1, row[b] * MOST_WEIGHT // most), b - 1)
      end
      file:write(table.concat(words, " "), "\n")
   end
end

---------------------------------------------------------------- the nodes

-- Nodes so that halves of the list are halves of the set.
local function nodes_in_halves(job)
   local at, axes = boxes.nodes(job.topo, job.nodes)
   if not at then
      return job.nodes
   end
   return boxes.order(job.nodes, at, axes)
end

-- Scotch's numbers of a tree of halves: the children of i are 2i and 2i + 1.
local function number_halves(first, last, number, out)
   if first == last then
      out[first] = number
      return number
   end
   local middle = (first + last) // 2
   local a = number_halves(first, middle, 2 * number, out)
   local b = number_halves(middle + 1, last, 2 * number + 1, out)
   return math.max(a, b)
end

-- A "deco 0" target: nodes with their room and their place in the tree, then their distances.
local function write_target(file, job, nodes)
   local numbers = {}
   local most = number_halves(1, #nodes, 1, numbers)
   file:write(("deco 0\n%d %d\n"):format(#nodes, most))
   for i, n in ipairs(nodes) do
      file:write(("%d %d %d\n"):format(i - 1, job.per_node[n], numbers[i]))
   end
   for i = 2, #nodes do
      local row = {}
      for k = 1, i - 1 do
         local hops = job.topo:hops(nodes[i], nodes[k])
         row[k] = 1000
         if hops < math.huge then
            row[k] = hops + 1
         end
      end
      file:write(table.concat(row, " "), "\n")
   end
end

---------------------------------------------------------------- running it

local function write_file(name, fn, ...)
   local f, err = io.open(name, "w")
   if not f then
      return nil, err
   end
   fn(f, ...)
   return f:close()
end

-- "RANKS", then a line "RANK NODE" for each, in any order.
local function read_map(name, ranks, nodes)
   local f, err = io.open(name)
   if not f then
      return nil, err
   end
   local order, count = {}, f:read("n")
   local last = 0
   if count == ranks then
      last = ranks
   end
   for _ = 1, last do
      local r, n = f:read("n", "n")
      if not r or not nodes[(n or -1) + 1] or r < 0 or r >= ranks then
         break
      end
      order[math.tointeger(r) + 1] = nodes[math.tointeger(n) + 1]
   end
   f:close()
   for r = 1, ranks do
      if not order[r] then
         return nil, ("its answer has no node for rank %d"):format(r - 1)
      end
   end
   return order
end

local function run_scotch(job, edges, nodes, files)
   local ok, err = write_file(files[1], write_graph, edges)
   if ok then
      ok, err = write_file(files[2], write_target, job, nodes)
   end
   if not ok then
      return nil, err
   end
   local program = job.scotch or "scotch_gmap"
   local done, _, status = os.execute(("timeout %d %s %s %s %s -b0.01 -Cf >/dev/null 2>&1"):format(
      SECONDS, quoted(program), quoted(files[1]), quoted(files[2]), quoted(files[3])))
   if not done and status == 127 then
      return nil, program .. " is not installed"
   elseif not done and status == 124 then
      return nil, ("%s took longer than %d s"):format(program, SECONDS)
   elseif not done then
      return nil, ("%s ended with status %s"):format(program, tostring(status))
   end
   return read_map(files[3], job.P.ranks, nodes)
end

---------------------------------------------------------------- ranks too many

-- Each rank that found no room goes to the nearest node with some.
local function even_out(job, order)
   local room, homeless = {}, {}
   for n, per in pairs(job.per_node) do
      room[n] = per
   end
   for r, n in ipairs(order) do
      room[n] = room[n] - 1
      if room[n] < 0 then
         homeless[#homeless + 1] = r
      end
   end
   for _, r in ipairs(homeless) do
      local best, near
      for _, n in ipairs(job.nodes) do
         local hops = room[n] > 0 and job.topo:hops(order[r], n)
         if hops and (not near or hops < near) then
            best, near = n, hops
         end
      end
      order[r] = best
      room[best] = room[best] - 1
   end
   return order
end

function scotch.map(job)
   if #job.nodes < 2 or #job.nodes > MOST_NODES then
      return nil, ("%d nodes, Scotch is asked for 2 to %d"):format(#job.nodes, MOST_NODES)
   end
   local edges, err = graph_of(job.P)
   if not edges then
      return nil, err
   end
   local files = { os.tmpname(), os.tmpname(), os.tmpname() }
   local order
   order, err = run_scotch(job, edges, nodes_in_halves(job), files)
   for _, name in ipairs(files) do
      os.remove(name)
   end
   if not order then
      return nil, err
   end
   return { { name = "scotch", about = "Scotch's mapping", order = even_out(job, order) } }
end

return scotch
