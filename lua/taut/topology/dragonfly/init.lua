-- SPDX-License-Identifier: GPL-2.0-or-later
--- Dragonfly: groups of routers, every group linked to every other.
--
-- Inside a group either all routers are linked to each other (Slingshot: `routers`), or they stand
-- in rows and columns, each linked to all of its row (green) and of its column (black) (Aries:
-- `rows`, `columns`).  Links between groups are blue, or global.  Router g.r is number
-- g*routers + r, router g.row.column is g*rows*columns + row*columns + column.  Several cables
-- between two routers are one link.
local base = require "taut.topology.base"
local global = require "taut.topology.dragonfly.global"
local shape = require "taut.topology.shape"
local tables = require "taut.base.tables"
local wired = require "taut.topology.wired"

local dragonfly = {}
local Dragonfly = base.class()

-- Inside of a group: routers, and what its links are called.
local function group_of(conf)
   local g = { aries = conf.rows ~= nil or conf.columns ~= nil }
   local err
   if not g.aries then
      g.routers, err = shape.whole(conf, "routers", 1, 4096)
      g.kinds = { row = "local", global = "global" }
      return g.routers and g, err
   end
   if conf.routers ~= nil then
      return nil, "topology.routers: not together with rows and columns"
   end
   g.rows, err = shape.whole(conf, "rows", 1, 256)
   if g.rows then
      g.columns, err = shape.whole(conf, "columns", 1, 256)
   end
   if not g.columns then
      return nil, err
   end
   g.routers = g.rows * g.columns
   g.kinds = { row = "green", column = "black", global = "blue" }
   return g
end

local function add_routers(fabric, groups, grouping)
   for n = 0, groups - 1 do
      for r = 0, grouping.routers - 1 do
         if grouping.aries then
            fabric:router(("r%d.%d.%d"):format(n, r // grouping.columns, r % grouping.columns))
         else
            fabric:router(("r%d.%d"):format(n, r))
         end
      end
   end
end

local function names_of(kind, count)
   return tables.fill(0, count - 1, function(index) return kind .. index end)
end

local function add_local(fabric, groups, grouping, capacity)
   local rows, columns = grouping.rows or 1, grouping.columns or grouping.routers
   local row, column = grouping.kinds.row, grouping.kinds.column
   local row_ports = names_of(row, columns)
   local column_ports = column and names_of(column, rows)
   for n = 0, groups - 1 do
      for y = 0, rows - 1 do
         local first = n * grouping.routers + y * columns
         for x = 0, columns - 1 do
            for j = 0, columns - 1 do
               if j ~= x then
                  fabric:link(first + x, first + j, row_ports[j], row, capacity[row])
               end
            end
            for j = 0, rows - 1 do
               if column and j ~= y then
                  fabric:link(first + x, first + x + (j - y) * columns, column_ports[j], column,
                     capacity[column])
               end
            end
         end
      end
   end
end

-- Routers, links, nodes and groups of a regular dragonfly.
local function make_regular(conf)
   local groups, err = shape.whole(conf, "groups", 1, 4096)
   if not groups then
      return nil, err
   end
   local g, capacity
   g, err = group_of(conf)
   if not g then
      return nil, err
   end
   local kinds = { g.kinds.row, g.kinds.column }
   kinds[#kinds + 1] = g.kinds.global
   capacity, err = shape.capacities(conf, kinds)
   if not capacity then
      return nil, err
   end
   local s = shape.new()
   local ok
   add_routers(s, groups, g)
   add_local(s, groups, g, capacity)
   ok, err = global.add(s, conf, groups, g, capacity)
   if not ok then
      return nil, err
   end
   local per, n
   per, err = shape.whole(conf, "nodes_per_router", 1, 65536)
   if not per then
      return nil, err
   end
   n, err = shape.nodes(conf, s.routers * per, ("%d groups of %d routers of %d nodes"):format(
      groups, g.routers, per), 1, function(part) return part // per end)
   if not n then
      return nil, err
   end
   local group, at = {}, {}
   for r = 0, s.routers - 1 do
      group[r + 1] = r // g.routers
      local m = r % g.routers
      at[r + 1] = { r // g.routers, m }
      if g.aries then
         at[r + 1] = { r // g.routers, m // g.columns, m % g.columns }
      end
   end
   return s, n, group, at
end

-- The same from a wiring, whose routers have a group (and a row and a column, or a coord).
local function from_wiring(conf)
   local w, err = wired.check(conf.wiring)
   if not w then
      return nil, err
   end
   local group, at, members = {}, {}, {}
   for i, r in ipairs(w.routers) do
      local g = r.group
      if math.type(g) ~= "integer" or g < 0 or g > 4095 then
         return nil, ("topology.wiring: router '%s': expected a group 0 to 4095, got %s"):format(
            r.name, tostring(g))
      end
      members[g] = (members[g] or 0) + 1
      group[i] = g
      at[i] = { g, members[g] - 1 }
      if r.row ~= nil or r.col ~= nil then
         if math.type(r.row) ~= "integer" or math.type(r.col) ~= "integer" then
            return nil, ("topology.wiring: router '%s': expected row and col as whole numbers, got "
               .. "%s and %s"):format(r.name, tostring(r.row), tostring(r.col))
         end
         at[i] = { g, r.row, r.col }
      end
   end
   local s, n = wired.both(w, conf, { merge = true, kind = function(from, to, cable)
      if not cable.kind and group[from + 1] == group[to + 1] then
         return "local"
      end
      return cable.kind or "global"
   end })
   if not s then
      return nil, n
   end
   return s, n, group, at
end

--- Build a dragonfly.
-- @param conf { groups, routers (in each group, all linked) or rows and columns, nodes_per_router,
--   nodes (host list), service (host list), global_links = cables per pair of groups, or
--   { default =, { g, h, cables }, … }, arrangement = "absolute" | "relative", or `wiring` instead
--   of these; capacity = number, or { tx, rx, link or local, global, green, black, blue } in bytes
--   per second, of one cable where it is global; routing = "adaptive" | "minimal" | "valiant";
--   misrouted = share (adaptive) }
-- @return topology, or nil and what was expected
function dragonfly.build(conf)
   local routing, err = shape.word(conf, "routing", { "adaptive", "minimal", "valiant" },
      "adaptive")
   if not routing then
      return nil, err
   end
   local misrouted
   misrouted, err = shape.misrouted(conf, routing == "adaptive")
   if not misrouted then
      return nil, err
   end
   local make = make_regular
   if conf.wiring then
      make = from_wiring
   end
   local s, n, group, at = make(conf)
   if not s then
      return nil, n
   end
   local groups, router_in = {}, {}
   for r, g in ipairs(group) do
      local key = table.concat(at[r], ".")
      if router_in[key] then
         return nil, ("topology.wiring: routers '%s' and '%s' are both at %s"):format(
            s.router_name[router_in[key]], s.router_name[r - 1], key)
      end
      groups[g], router_in[key] = true, r - 1
   end
   local count = tables.size(groups)
   local spec = s:spec(n)
   spec.kind_name, spec.engine = "dragonfly", "dragonfly"
   spec.label = ("dragonfly of %d groups, %d routers, %d nodes, %s"):format(count, s.routers,
      #n.names, routing)
   spec.params = { group = group, mode = routing, misrouted = misrouted }
   spec.fields = { groups = count, group_of = group, at = at, router_in = router_in,
      routing = routing }
   return wired.with_health(s, base.new(Dragonfly, spec))
end

--- Group of a router.
function Dragonfly:group(router)
   return self.group_of[router + 1]
end

--- Coordinates of a router: group, row and column, or group and number in it.
function Dragonfly:coordinates(router)
   return { table.unpack(self.at[router + 1]) }
end

--- Router at coordinates; nil where there is none.
function Dragonfly:router_at(at)
   return self.router_in[table.concat(at, ".")]
end

return dragonfly
