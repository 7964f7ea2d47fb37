-- SPDX-License-Identifier: GPL-2.0-or-later
--- HyperX: routers in a grid of any number of dimensions, each linked to all others of its row in
-- every dimension.
--
-- Router x.y.z is number (x*Y + y)*Z + z, and leaves for coordinate j of dimension Y by its port
-- `Yj`.  The cables between two routers are one link.  Routing: dimension order, one hop for each
-- coordinate that differs ("dor"), or adaptive with at most one misroute in each dimension
-- ("doal"); see advisor/lib/graph/hyperx/hyperx.c.
local tables = require "taut.base.tables"
local base = require "taut.topology.base"
local shape = require "taut.topology.shape"
local wired = require "taut.topology.wired"

local hyperx = {}
local HyperX = base.class()

local LETTERS = { "X", "Y", "Z", "A", "B", "C", "D", "E" }

local function check_dims(dims)
   if type(dims) ~= "table" or #dims < 1 or #dims > #LETTERS then
      return nil, ("topology.dims: expected a list of 1 to %d lengths, such as { 12, 12, 12 }")
         :format(#LETTERS)
   end
   local routers = 1
   for i, d in ipairs(dims) do
      if math.type(d) ~= "integer" or d < 1 or d > 1024 then
         return nil, ("topology.dims[%d]: expected a whole number 1 to 1024, got %s"):format(i,
            tostring(d))
      end
      routers = routers * d
      if routers > 1 << 20 then
         return nil, "topology.dims: expected at most 1048576 routers"
      end
   end
   return routers
end

-- Cables between two routers of a row, for each dimension.
local function cables_of(conf, dims)
   local given, list = conf.links, {}
   for d = 1, #dims do
      local n = given
      if given == nil then
         n = 1
      elseif type(given) == "table" then
         n = given[d] or given
      end
      if math.type(n) ~= "integer" or n < 1 or n > 1024 then
         return nil, ("topology.links: expected the cables between two routers, 1 to 1024, for "
            .. "dimension %s, got %s"):format(LETTERS[d], tostring(n))
      end
      list[d] = n
   end
   return list
end

local function add_routers(fabric, dims, routers)
   local at = tables.fill(1, #dims, function() return 0 end)
   for _ = 1, routers do
      fabric:router("r" .. table.concat(at, "."))
      local d = #dims
      while d >= 1 do
         at[d] = at[d] + 1
         if at[d] < dims[d] then
            break
         end
         at[d], d = 0, d - 1
      end
   end
end

local function add_links(fabric, conf, dims, count)
   local stride, ports, capacity = {}, {}, {}
   local st = 1
   for d = #dims, 1, -1 do
      stride[d], st = st, st * dims[d]
      local one, err = shape.capacity(conf, LETTERS[d])
      if not one then
         return nil, err
      end
      capacity[d], ports[d] = one * count[d], {}
      for j = 0, dims[d] - 1 do
         ports[d][j] = LETTERS[d] .. j
      end
   end
   for r = 0, fabric.routers - 1 do
      for d, len in ipairs(dims) do
         local step, letter, names, cap = stride[d], LETTERS[d], ports[d], capacity[d]
         local x = r // step % len
         local row = r - x * step
         for j = 0, len - 1 do
            if j ~= x then
               fabric:link(r, row + j * step, names[j], letter, cap, count[d])
            end
         end
      end
   end
   return true
end

-- Routers, links and places of a regular HyperX.
local function make_regular(conf)
   local routers, err = check_dims(conf.dims)
   if not routers then
      return nil, err
   end
   local count
   count, err = cables_of(conf, conf.dims)
   if not count then
      return nil, err
   end
   local s = shape.new()
   local ok
   add_routers(s, conf.dims, routers)
   ok, err = add_links(s, conf, conf.dims, count)
   if not ok then
      return nil, err
   end
   local per
   per, err = shape.whole(conf, "nodes_per_router", 1, 65536)
   if not per then
      return nil, err
   end
   local n
   n, err = shape.nodes(conf, routers * per, ("%s routers of %d nodes"):format(
      table.concat(conf.dims, "x"), per), 1, function(part) return part // per end)
   if not n then
      return nil, err
   end
   local place = tables.fill(1, routers, function(router) return router - 1 end)
   return s, n, conf.dims, place
end

-- The same from a wiring, whose routers have coordinates (counted from 0).
local function from_wiring(conf)
   local w, err = wired.check(conf.wiring)
   if not w then
      return nil, err
   end
   local dims, place, first = {}, {}, w.routers[1] and w.routers[1].coord
   for i, r in ipairs(w.routers) do
      if type(r.coord) ~= "table" or type(first) ~= "table" or #r.coord ~= #first then
         return nil, ("topology.wiring: router '%s' has no coordinates, or not as many as '%s'")
            :format(r.name, w.routers[1].name)
      end
      for d, x in ipairs(r.coord) do
         if math.type(x) ~= "integer" or x < 0 or x > 1023 then
            return nil, ("topology.wiring: router '%s': expected coordinates 0 to 1023, got %s")
               :format(r.name, tostring(x))
         end
         dims[d] = math.max(dims[d] or 1, x + 1)
      end
      place[i] = 0
   end
   local ok
   ok, err = check_dims(dims)
   if not ok then
      return nil, err
   end
   for i, r in ipairs(w.routers) do
      for d, x in ipairs(r.coord) do
         place[i] = place[i] * dims[d] + x
      end
   end
   local function letter_of(from, to)
      local a, b = w.routers[from + 1].coord, w.routers[to + 1].coord
      for d in ipairs(dims) do
         if a[d] ~= b[d] then
            return LETTERS[d]
         end
      end
      return LETTERS[1]
   end
   local s, n = wired.both(w, conf, { merge = true, kind = letter_of })
   if not s then
      return nil, n
   end
   return s, n, dims, place
end

--- Build a HyperX.
-- @param conf { dims = { 12, 12, 12 }, nodes_per_router, nodes (host list), service (host list),
--   links = cables per router pair (a number, or one for each dimension), or `wiring` instead of
--   these; capacity = number, or { tx, rx, link or X, Y, … } in bytes per second of one cable;
--   routing = "dor" | "doal"; misrouted = share (doal) }
-- @return topology, or nil and what was expected
function hyperx.build(conf)
   local routing, err = shape.word(conf, "routing", { "dor", "doal" }, "dor")
   if not routing then
      return nil, err
   end
   local misrouted
   misrouted, err = shape.misrouted(conf, routing == "doal")
   if not misrouted then
      return nil, err
   end
   local make = make_regular
   if conf.wiring then
      make = from_wiring
   end
   local s, n, dims, place = make(conf)
   if not s then
      return nil, n
   end
   local spec = s:spec(n)
   spec.kind_name, spec.engine = "hyperx", "hyperx"
   spec.label = ("hyperx %s, %d nodes, %s"):format(table.concat(dims, "x"), #n.names, routing)
   spec.params = { dims = dims, place = place, adaptive = routing == "doal",
      misrouted = misrouted }
   local at = {}
   for r, p in ipairs(place) do
      at[p] = r - 1
   end
   spec.fields = { dims = dims, place_of = place, router_in = at, routing = routing }
   return wired.with_health(s, base.new(HyperX, spec))
end

--- Coordinates of a router, as an array.
function HyperX:coordinates(router)
   local at, p = {}, self.place_of[router + 1]
   for d = #self.dims, 1, -1 do
      at[d] = p % self.dims[d]
      p = p // self.dims[d]
   end
   return at
end

--- Router at coordinates; nil where there is none.
function HyperX:router_at(at)
   local p = 0
   for d, len in ipairs(self.dims) do
      p = p * len + at[d] % len
   end
   return self.router_in[p]
end

return hyperx
