-- SPDX-License-Identifier: GPL-2.0-or-later
--- A machine as its page draws it: where routers, cables and nodes are, in columns of numbers, so
-- that the largest machines fit into a file that a browser reads at once.
local draw = require "taut.topology.draw"
local json = require "taut.json"
local tables = require "taut.base.tables"

local layout = {}

-- Verdicts as letters of one text.
local LETTER = { ok = "o", suspect = "s", slow = "l", lossy = "p", failed = "f",
   unknown = "u" }

local NOWHERE = -1 -- the number of what is not drawn

local function round_to_half(value)
   return math.floor(value * 2 + 0.5) / 2
end

local function shorten_number(value)
   value = round_to_half(value)
   return math.tointeger(value) or value
end

local function routers_of(canvas, topo)
   local out = { name = json.array {}, x = json.array {}, y = json.array {}, hollow = json.array {},
      size = 0 }
   if canvas.routers[1] then
      out.size = shorten_number(canvas.routers[1].size)
   end
   local at = {}
   for i, q in ipairs(canvas.routers) do
      out.name[i], out.x[i], out.y[i] = topo.router_name[q.r], shorten_number(q.x),
         shorten_number(q.y)
      out.hollow[i] = tables.one_if(q.hollow)
      at[q.r] = i - 1
   end
   return out, at
end

-- Links by columns; `number` is of each component, from 0.
local function links_of(topo, rows, at)
   local out = { name = json.array {}, from = json.array {}, to = json.array {},
      tests = json.array {}, low = json.array {}, last = json.array {} }
   local number, state = {}, {}
   for i, l in ipairs(rows) do
      local c = topo.component_id[l.component]
      number[c or 0] = i - 1
      out.name[i] = l.component
      out.from[i], out.to[i] = NOWHERE, NOWHERE
      if c then
         out.from[i], out.to[i] = at[topo:from(c)] or NOWHERE, at[topo:to(c)] or NOWHERE
      end
      out.tests[i], out.low[i] = l.low_of or l.tests or 0, l.low or 0
      out.last[i] = math.floor(l.last or 0)
      state[i] = LETTER[l.state] or "u"
   end
   out.state = table.concat(state)
   return out, number
end

-- Each piece: link, link back or -1, curved, how many cables it stands for (0: it is not drawn, a
-- line beside stands for it), points.
local function pieces_of(canvas, topo, number)
   local list, where = json.array {}, {}
   for _, q in ipairs(canvas.routers) do
      where[q.r] = { q.x, q.y }
   end
   for _, k in ipairs(canvas.cables) do
      local p, thick = k.p, tonumber(k.bundle) or 1
      local a, b = where[topo:from(k.a)], where[topo:to(k.a)]
      if #p == 0 and a and b then
         p, thick = { a[1], a[2], b[1], b[2] }, 0
      end
      local back = NOWHERE
      if k.b then
         back = number[k.b] or NOWHERE
      end
      local piece = json.array { number[k.a] or NOWHERE, back, tables.one_if(k.curved), thick }
      for i, v in ipairs(p) do
         piece[4 + i] = shorten_number(v)
      end
      if #p > 0 and number[k.a] then
         list[#list + 1] = piece
      end
   end
   return list
end

-- How a node is in Slurm, as one letter: free, busy, drained, out of order.
local function letter_of(node)
   local state = node.slurm or ""
   if node.drain then
      return "d"
   elseif state == "idle" then
      return "i"
   elseif state:find "alloc" or state:find "mix" then
      return "b"
   elseif state == "" then
      return "?"
   end
   return "x"
end

-- State of a node's tx or rx; of several fabrics that of one where it is not well.
local function letter_on(node, way)
   local letter = LETTER[node[way].state] or "u"
   for _, r in ipairs(node.rails or {}) do
      local other = LETTER[r[way].state] or "u"
      if (letter == "o" or letter == "u") and other ~= "u" then
         letter = other
      end
   end
   return letter
end

local function nodes_of(topo, rows, at)
   local out = { name = json.array {}, router = json.array {} }
   local tx, rx, slurm, number = {}, {}, {}, {}
   for i, n in ipairs(rows) do
      local id = topo.node_id[n.node]
      number[id or 0] = i - 1
      out.name[i] = n.node
      out.router[i] = NOWHERE
      if id then
         out.router[i] = at[topo:home(id)] or NOWHERE
      end
      tx[i], rx[i] = letter_on(n, "tx"), letter_on(n, "rx")
      slurm[i] = letter_of(n)
   end
   out.tx, out.rx, out.slurm = table.concat(tx), table.concat(rx), table.concat(slurm)
   return out, number
end

local function dots_of(canvas, number)
   local out = json.array {}
   for _, d in ipairs(canvas.dots) do
      if number[d[4]] then
         table.move({ number[d[4]], shorten_number(d[1]), shorten_number(d[2]) }, 1, 3, #out + 1,
            out)
      end
   end
   return out
end

local function labels_of(canvas)
   local out = json.array {}
   for i, l in ipairs(canvas.labels) do
      local a = l[4]
      out[i] = json.array { shorten_number(l[1]), shorten_number(l[2]), tostring(l[3]),
         a.size or 12, a.anchor or "start", a.turn or 0, tables.one_if(a.bold) }
   end
   return out
end

local function boxes_of(canvas)
   local out = json.array {}
   for i, b in ipairs(canvas.boxes) do
      out[i] = json.array { shorten_number(b[1]), shorten_number(b[2]), shorten_number(b[3]),
         shorten_number(b[4]) }
   end
   return out
end

--- @param scene of taut.cli.topology.scene
-- @param links, nodes rows of `taut links` and `taut nodes`
-- @return columns: width, height (pixels), title, subtitle, thin, routers, links, pieces, nodes,
--   dots, labels, boxes; numbers in them count from 0; or nil and what is wrong
function layout.of(scene, links, nodes)
   local c, err = draw.layout(scene)
   if not c then
      return nil, err
   end
   local topo = scene.topo
   local routers, at = routers_of(c, topo)
   local title = c.o.title:gsub("^taut: ", "") -- of a file taut.lua
   local out = { width = math.ceil(c.width), height = math.ceil(c.height), title = title,
      subtitle = c.o.subtitle, thin = c.o.thin or 1.2, routers = routers, labels = labels_of(c),
      boxes = boxes_of(c) }
   local number
   out.links, number = links_of(topo, links, at)
   out.pieces = pieces_of(c, topo, number)
   out.nodes, number = nodes_of(topo, nodes, at)
   out.dots = dots_of(c, number)
   return out
end

return layout
