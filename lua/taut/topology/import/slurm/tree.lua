-- SPDX-License-Identifier: GPL-2.0-or-later
--- What Slurm's topology files describe, as wiring: trees of switches, blocks, rings, tori.
--
-- topology.conf and topology.yaml say the same in two ways; both importers end here.  A file of
-- Slurm's knows one parent per switch and no cables, so one cable stands for each pair.
local report = require "taut.report"
local source = require "taut.topology.import.source"
local tables = require "taut.base.tables"
local wiring = require "taut.topology.import.wiring"

local slurm_tree = {}

local quote = source.quote

-- Nodes of a list on a router, one cable each.
local function attach_nodes(made, line, list, router, known)
   local names
   if list:upper() == "ALL" then
      if not known then
         made.src:fail(line, "nodes ALL, expected --nodes to say which they are")
      end
      names = known
   else
      names = made:expand(line, list, "nodes")
   end
   local first = #made.nodes + 1
   for i, name in ipairs(names) do
      made:node(line, { name = name, rails = { { router = router, port = tostring(i) } } })
   end
   return first, #made.nodes
end

--- Names of several routers that are joined by nothing the file tells of: one stands for it.
local function join_routers(made, line, tops, name, why)
   while made.router_at[name] do
      name = name .. "_"
   end
   local level = 0
   for _, r in ipairs(tops) do
      level = math.max(level, made.routers[r].level + 1)
   end
   local top = made:router(line, { name = name, level = level })
   for i, r in ipairs(tops) do
      made:cable { a = r, a_port = "up", b = top, b_port = tostring(i) }
   end
   made.src:note(line, "%s; switch %s stands for what joins the %d", why, quote(name), #tops)
end

-- Depth-first: level of each switch, and cycles.
local function levels_of(made, switches)
   local state = {}
   for _, start in ipairs(switches) do
      local stack = { { start, 1 } }
      state[start] = state[start] or "open"
      while #stack > 0 and state[start] ~= "done" do
         local top = stack[#stack]
         local s, i = top[1], top[2]
         local child = s.children and s.children[i]
         if not child then
            state[s] = "done"
            stack[#stack] = nil
         else
            top[2] = i + 1
            if state[child] == "open" then
               made.src:fail(s.line, "switch %s is below itself by way of %s, expected a tree",
                  quote(child.name), quote(s.name))
            elseif not state[child] then
               state[child] = "open"
               stack[#stack + 1] = { child, 1 }
            end
         end
         if state[s] == "done" then
            s.level = 0
            for _, c in ipairs(s.children or {}) do
               s.level = math.max(s.level, c.level + 1)
            end
         end
      end
   end
end

local function resolve_children(made, switches, at)
   for _, s in ipairs(switches) do
      if s.switches and s.nodes then
         made.src:fail(s.line, "switch %s has both switches and nodes, expected one of them",
            quote(s.name))
      end
      if s.switches then
         s.children = {}
         for i, name in ipairs(made:expand(s.line, s.switches, "switches")) do
            local child = at[name]
            if not child then
               made.src:fail(s.line, "switch %s has below it %s, which no line describes",
                  quote(s.name), quote(name))
            end
            s.children[i] = child
            child.parents = child.parents or {}
            table.insert(child.parents, s)
         end
      end
   end
end

-- Switches that lead to no node: a file has them for nodes that are yet to come.
local function leave_out_empty(made, switches)
   local by_level, kept = table.move(switches, 1, #switches, 1, {}), {}
   table.sort(by_level, function(one, other)
      return one.level < other.level or one.level == other.level and one.line < other.line
   end)
   for _, s in ipairs(by_level) do
      local some = tables.filter(s.children or {}, function(child) return not child.is_empty end)
      s.is_empty = not s.nodes and #some == 0
      s.children = s.children and some
      if s.is_empty then
         made.src:note(s.line, "switch %s leads to no node; it is left out", quote(s.name))
      end
   end
   for _, s in ipairs(switches) do
      if not s.is_empty then
         kept[#kept + 1] = s
      end
   end
   if #kept == 0 then
      made.src:fail(switches[1].line, "no switch leads to a node, expected one that has nodes")
   end
   return kept
end

-- Trees that have no switch in common stay apart, as they do for Slurm: it starts no job across.
local function say_islands(src, switches)
   local of, roots = {}, {}
   local function mark_joined(switch, root)
      local stack = { switch }
      while #stack > 0 do
         local at = table.remove(stack)
         if not of[at] then
            of[at] = root
            table.move(at.children or {}, 1, #(at.children or {}), #stack + 1, stack)
            table.move(at.parents or {}, 1, #(at.parents or {}), #stack + 1, stack)
         end
      end
   end
   for _, s in ipairs(switches) do
      if not s.parents and not of[s] then
         roots[#roots + 1] = quote(s.name)
         mark_joined(s, s)
      end
   end
   if #roots > 1 then
      src:note(switches[1].line, "the file describes %d trees that nothing joins, below %s: " ..
         "no test, job or advice goes from one to another", #roots,
         table.concat(roots, ", ", 1, math.min(#roots, 8)) .. report.text_if(#roots > 8, ", …"))
   end
end

--- A tree.
-- @param switches array of { name, line, switches = host list or nil, nodes = host list or nil }
function slurm_tree.tree(src, format, switches, opts)
   local w, at = wiring.new(src, format), {}
   for _, s in ipairs(switches) do
      if at[s.name] then
         src:fail(s.line, "switch %s is here and in line %d, expected it once", quote(s.name),
            at[s.name].line)
      end
      at[s.name] = s
   end
   resolve_children(w, switches, at)
   levels_of(w, switches)
   switches = leave_out_empty(w, switches)
   for _, s in ipairs(switches) do
      s.index = w:router(s.line, { name = s.name, level = s.level })
   end
   for _, s in ipairs(switches) do
      if s.nodes then
         attach_nodes(w, s.line, s.nodes, s.index, opts.nodes)
      end
      for i, p in ipairs(s.parents or {}) do
         p.used = (p.used or 0) + 1
         w:cable { a = s.index, a_port = report.text_if(i > 1, "up" .. i, "up"), b = p.index,
            b_port = tostring(p.used) }
      end
      if s.parents and #s.parents > 1 then
         src:note(s.line, "switch %s has %d switches above it", quote(s.name), #s.parents)
      end
   end
   say_islands(src, switches)
   w:only(opts.nodes, true)
   return w:finish()
end

-- Blocks that have nodes: a file has others for nodes that are yet to come.
local function with_nodes(src, blocks)
   local kept = tables.filter(blocks, function(block)
      if not block.nodes then
         src:note(block.line, "block %s has no nodes; it is left out", quote(block.name))
      end
      return block.nodes ~= nil
   end)
   if #kept == 0 then
      src:fail(blocks[1].line, "no block has nodes, expected one that has")
   end
   return kept
end

--- Blocks: nodes that are joined closely, and something between them.
-- @param blocks array of { name, line, nodes }
-- @param sizes array of numbers of nodes, smallest first, or nil
function slurm_tree.blocks(src, format, blocks, sizes, sizes_line, opts)
   local w, tops = wiring.new(src, format), {}
   for _, b in ipairs(with_nodes(src, blocks)) do
      local top = w:router(b.line, { name = b.name, level = 0 })
      tops[#tops + 1] = top
      local first, last = attach_nodes(w, b.line, b.nodes, top, opts.nodes)
      if sizes and last - first + 1 < sizes[1] then
         src:note(b.line, "block %s has %d nodes, fewer than the smallest block size of %d",
            quote(b.name), last - first + 1, sizes[1])
      end
   end
   for i, size in ipairs(sizes or {}) do
      local k = size / sizes[1]
      if size < 1 or k < 1 or k ~= math.floor(k) or math.floor(k) & (math.floor(k) - 1) ~= 0 then
         src:fail(sizes_line, "block size %d, expected %d times a power of two", size, sizes[1])
      elseif i > 1 and size <= sizes[i - 1] then
         src:fail(sizes_line, "block size %d after %d, expected growing sizes", size, sizes[i - 1])
      end
   end
   if #tops > 1 then
      join_routers(w, blocks[1].line, tops, "between",
         "the file does not say how blocks are joined")
   end
   w:only(opts.nodes, true)
   return w:finish()
end

--- Rings: each node at a router of its own, in a circle.
-- @param rings array of { name, line, nodes }; at most 16 nodes each, as Slurm has it
function slurm_tree.rings(src, format, rings, opts)
   local w = wiring.new(src, format)
   for _, ring in ipairs(rings) do
      local names = w:expand(ring.line, ring.nodes, "nodes")
      if #names > 16 then
         src:fail(ring.line, "ring %s has %d nodes, expected at most 16", quote(ring.name), #names)
      end
      local first = #w.routers
      for i, name in ipairs(names) do
         local r = w:router(ring.line, { name = ring.name .. "." .. i - 1 })
         w:node(ring.line, { name = name, rails = { { router = r, port = "node" } } })
      end
      local last = #names
      if last <= 2 then
         last = last - 1 -- one cable between two
      end
      for i = 1, last do
         w:cable { a = first + i, a_port = "+", b = first + i % #names + 1, b_port = "-" }
      end
   end
   if #rings > 1 then
      src:note(rings[1].line, "the file does not say how its %d rings are joined", #rings)
   end
   w:only(opts.nodes, true)
   return w:finish()
end

--- All nodes at one switch.
-- @param names array
function slurm_tree.flat(src, format, line, names)
   local w = wiring.new(src, format)
   local r = w:router(line, { name = "flat", level = 0 })
   for i, name in ipairs(names) do
      w:node(line, { name = name, rails = { { router = r, port = tostring(i) } } })
   end
   return w:finish()
end

return slurm_tree
