-- SPDX-License-Identifier: GPL-2.0-or-later
--- Is it a torus, a mesh or a HyperX, and which router is where?
local report = require "taut.report"
local tables = require "taut.base.tables"
local dimensions = require "taut.topology.import.recognise.dimensions"
local graph = require "taut.topology.import.recognise.graph"
local numbering = require "taut.topology.import.recognise.numbering"

local product = {}

-- Joins two rings of two into one of four where they use the same ports.
local function merge_pairs(fabric, dim_of, layers)
   local by_ports, gone = {}, {}
   for d = 1, #layers do
      if layers[d].count == 2 then
         local word = dimensions.port_words(fabric, dim_of, d)
         if by_ports[word] then
            local other = by_ports[word]
            by_ports[word], gone[d] = nil, other
         else
            by_ports[word] = d
         end
      end
   end
   if not next(gone) then
      return dim_of, nil
   end
   local number, count, out = {}, 0, {}
   for d = 1, #layers do
      if not gone[d] then
         count = count + 1
         number[d] = count
      end
   end
   for i, d in ipairs(dim_of) do
      out[i] = number[gone[d] or d]
   end
   return out, count
end

-- Layers of each dimension: what hangs together without its links.
local function layers_of(fabric, dim_of, count)
   local layers = {}
   for d = 1, count do
      local part, parts = graph.parts(fabric, function(edge) return dim_of[edge.index] ~= d end)
      layers[d] = { part = part, count = parts }
   end
   return layers
end

-- Which layers of a dimension are joined: by at least half as many links as a layer could have.
local function quotient_graph(fabric, dim_of, dim, layer)
   local joined, links, size = {}, {}, fabric.routers / layer.count
   for l = 1, layer.count do
      joined[l], links[l] = {}, {}
   end
   for i, e in ipairs(fabric.edges) do
      local a, b = layer.part[e.a], layer.part[e.b]
      if dim_of[i] == dim and a ~= b then
         links[a][b] = (links[a][b] or 0) + 1
         links[b][a] = links[a][b]
      end
   end
   for l = 1, layer.count do
      for m, n in pairs(links[l]) do
         if n >= 0.5 * size then
            table.insert(joined[l], m)
         end
      end
      table.sort(joined[l])
   end
   return joined
end

-- Ring, line or complete graph, by the degrees of the layers.
local function shape_of(joined)
   local n, ends = #joined, 0
   local complete, ring = true, true
   for l = 1, n do
      complete = complete and #joined[l] == n - 1
      ring = ring and #joined[l] == 2
      if #joined[l] == 1 then
         ends = ends + 1
      end
      if #joined[l] == 0 or #joined[l] > 2 and not complete then
         return nil
      end
   end
   if n == 2 or n == 3 and complete then
      return "short"
   elseif complete then
      return "complete"
   elseif ring then
      return "ring"
   elseif ends == 2 then
      return "line"
   end
   return nil
end

local function key_of(at)
   return table.concat(at, ".")
end

-- Place → router, and how many places have none; or nil where two are at one place.
local function routers_by_place(fabric, dims, misfits)
   local at_key, points = {}, 1
   for r = 1, fabric.routers do
      local k = key_of(dims.at[r])
      if at_key[k] then
         return nil
      end
      at_key[k] = r
   end
   for _, d in ipairs(dims) do
      points = points * d.count
   end
   if points > fabric.routers then
      misfits.add("%d of %d places have no router", points - fabric.routers, points)
   end
   return at_key, math.max(0, points - fabric.routers)
end

-- Mark the cables of a dimension that should be there.
-- @return how many there should be, how many are not, and how many the usual one is
local function mark_along(fabric, dims, dim, at_key, misfits, missing)
   local routers, counts, expected, wrong = fabric.wiring.routers, {}, 0, 0
   for r = 1, fabric.routers do
      for _, m in ipairs(dims[dim].after[dims.at[r][dim]]) do
         local at = table.move(dims.at[r], 1, #dims, 1, {})
         at[dim] = m
         local s = at_key[key_of(at)]
         local e = s and s > r and fabric.edge[r][s]
         if s and s > r then
            expected = expected + 1
         end
         if e then
            e.fits, e.dim = true, dim
            counts[#counts + 1] = e.cables
         elseif s and s > r then
            wrong = wrong + 1
            missing[#missing + 1] = { r, s, dim }
            misfits.add("no cable between %s and %s", routers[r].name, routers[s].name)
         end
      end
   end
   return expected, wrong, graph.mode(counts)
end

-- Cables that join no neighbours, and those of another number than is usual.
local function count_others(fabric, usual, misfits)
   local routers, wrong = fabric.wiring.routers, 0
   for _, e in ipairs(fabric.edges) do
      if not e.fits then
         wrong = wrong + 1
         misfits.add("the cable between %s and %s joins no neighbours", routers[e.a].name,
            routers[e.b].name)
      elseif e.cables ~= usual[e.dim] then
         misfits.add("%d cables between %s and %s, others have %d", e.cables, routers[e.a].name,
            routers[e.b].name, usual[e.dim])
      end
      e.fits, e.dim = nil, nil
   end
   return wrong
end

-- What does not fit a numbering; returns how much of it there is, relative to what should be.
local function check_numbering(fabric, dims, misfits)
   local at_key, wrong = routers_by_place(fabric, dims, misfits)
   if not at_key then
      return math.huge
   end
   local usual, expected, missing = {}, 0, {}
   for d = 1, #dims do
      local should, lacks
      should, lacks, usual[d] = mark_along(fabric, dims, d, at_key, misfits, missing)
      expected, wrong = expected + should, wrong + lacks
   end
   dims.usual, dims.missing, dims.expected = usual, missing, expected
   return (wrong + count_others(fabric, usual, misfits)) / math.max(1, expected)
end

-- Puts the dimensions into order: of the names' fields, else of their lowest ports.
local function in_order(dims)
   table.sort(dims, function(one, other)
      if (one.field ~= nil) ~= (other.field ~= nil) then
         return one.field ~= nil
      elseif one.field and one.field ~= other.field then
         return one.field < other.field
      elseif one.port ~= other.port then
         return one.port < other.port
      end
      return one.d < other.d
   end)
end

local KIND = { ring = "torus", line = "mesh", complete = "hyperx" }

local function kind_of(dims, ports_are_directions)
   local kind
   for _, d in ipairs(dims) do
      local k = KIND[d.shape]
      if k and kind and k ~= kind then
         return nil
      end
      kind = kind or k
   end
   for _, d in ipairs(dims) do
      if kind == "mesh" and d.count == 3 and d.shape == "short" then
         return nil
      end
   end
   return kind or report.text_if(ports_are_directions, "torus", "hyperx")
end

-- A short ring whose links all use one pair of ports, one for each direction.
local function has_directions(fabric, dim_of, dims)
   for _, d in ipairs(dims) do
      local words = dimensions.port_words(fabric, dim_of, d.d)
      local a, b = words:match "^(%S+)|(%S+)$"
      if d.count == 3 and not (a and a ~= b) then
         return false
      elseif d.count == 2 and not a then
         return false
      end
   end
   return true
end

local function attempt_dims(fabric, dim_of, count)
   if not dim_of or count > 12 then
      return nil
   end
   local layers = layers_of(fabric, dim_of, count)
   local merged, less = merge_pairs(fabric, dim_of, layers)
   if less then
      dim_of, count = merged, less
      layers = layers_of(fabric, dim_of, count)
   end
   local dims, taken, points = {}, {}, 1
   for d, layer in ipairs(layers) do
      points = points * layer.count
      if layer.count < 2 or points > 2 * fabric.routers then
         return nil
      end
      local joined = quotient_graph(fabric, dim_of, d, layer)
      local shape = shape_of(joined)
      if not shape then
         return nil
      end
      local value, field, port = numbering.layers(fabric, dim_of, d, layer, joined, shape, taken)
      local after = {}
      for l, v in pairs(value) do
         after[v] = {}
         for i, m in ipairs(joined[l]) do
            after[v][i] = value[m]
         end
      end
      dims[d] = { d = d, count = layer.count, shape = shape, value = value, part = layer.part,
         field = field, port = port, after = after }
   end
   in_order(dims)
   dims.at = {}
   for r = 1, fabric.routers do
      dims.at[r] = {}
      for i, dim in ipairs(dims) do
         dims.at[r][i] = dim.value[dim.part[r]]
      end
   end
   return dims, has_directions(fabric, dim_of, dims)
end

--- Look.
-- @param fabric graph, connected
-- @return what was found, or nil
function product.find(fabric)
   if fabric.routers < 3 then
      return nil
   end
   local best
   for _, by in ipairs { dimensions.by_squares, dimensions.by_ports } do
      local dims, directed = attempt_dims(fabric, by(fabric))
      local kind = dims and kind_of(dims, directed)
      if kind then
         local misfits = graph.misfits()
         local wrong = check_numbering(fabric, dims, misfits)
         if wrong <= 0.1 and (not best or wrong < best.wrong) then
            best = { wrong = wrong, kind = kind, dims = dims, misfits = misfits }
         end
      end
   end
   if not best then
      return nil
   end
   local lengths = tables.map(best.dims, function(dim) return dim.count end)
   return { kind = best.kind, dims = lengths, coord = best.dims.at, links = best.dims.usual,
      misfits = best.misfits.list(), missing = best.dims.missing, expected = best.dims.expected,
      is_whole = best.misfits.count() == #best.dims.missing, named = best.dims[1].field ~= nil }
end

return product
