-- SPDX-License-Identifier: GPL-2.0-or-later
--- Routing by the forwarding tables that a subnet manager wrote.
local base = require "taut.topology.base"
local wired = require "taut.topology.wired"

local tables = {}

-- Where each destination's entry stands: for each endpoint, then for each router, its lid.
local function lids_of(nodes, wiring)
   local list = {}
   for k = 1, nodes.rails do
      for i = 1, #nodes.names do
         list[(k - 1) * #nodes.names + i] = nodes.lid[k][i] or false
      end
   end
   for _, r in ipairs(wiring.routers) do
      list[#list + 1] = r.lid or false
   end
   return list
end

-- The tables as text, so that other ones are another epoch.
local function fingerprint(wiring)
   local text = {}
   for i in ipairs(wiring.routers) do
      local list = {}
      for lid, port in pairs(wiring.tables[i] or {}) do
         list[#list + 1] = ("%d:%s"):format(lid, port)
      end
      table.sort(list)
      text[i] = table.concat(list, ",")
   end
   return text
end

local function check_tables(wiring)
   if type(wiring.tables) ~= "table" or next(wiring.tables) == nil then
      return nil, "topology.wiring: expected tables, one for each router"
   end
   for i, t in pairs(wiring.tables) do
      if math.type(i) ~= "integer" or not wiring.routers[i] or type(t) ~= "table" then
         return nil, ("topology.wiring: tables[%s]: expected the number of a router and its table")
            :format(tostring(i))
      end
      for lid, port in pairs(t) do
         if math.type(lid) ~= "integer" or math.type(port) ~= "integer" then
            return nil, ("topology.wiring: tables[%d]: expected [lid] = port, got [%s] = %s")
               :format(i, tostring(lid), tostring(port))
         end
      end
   end
   return true
end

-- Where the tables lead from a router to a lid, in words, when they do not get there.
local function explain_table(self, router, to, lid, whose)
   local seen = {}
   while router ~= to do
      local port = (self.fdb[router + 1] or {})[lid]
      local name = self.router_name[router]
      if not port then
         return ("the table of %s has no entry for %s (lid %s)"):format(name, whose, lid)
      end
      local l = self.port_link[router][tostring(port)]
      if not l then
         return ("the table of %s sends what is for %s (lid %s) to port %d, where no "
            .. "router is"):format(name, whose, lid, port)
      end
      if seen[router] then
         return ("the tables go round in circles at %s for %s (lid %s)"):format(name,
            whose, lid)
      end
      seen[router] = true
      router = self:to(self.first_link + l - 1)
   end
end

-- A class that explains with the tables what failed links do not.
local function explaining(class)
   local own = setmetatable({}, { __index = class })
   own.__index = own
   function own:because(from, to, node, rail)
      local why, n = class.because(self, from, to, node, rail), node or self:on_router(to)[1]
      if why then
         return why
      end
      local lid = self.lids[n or 0] or not node and self.lids[#self.nodes * self.rails + to + 1]
      if lid then
         return explain_table(self, from, to, lid, self.nodes[n or 0] or self.router_name[to])
      elseif node then
         return self.nodes[node] .. " has no lid"
      end
      return nil
   end
   return own
end

--- Build a topology that routes by tables.
-- @param class of base.class()
-- @param spec for base.new, but for the engine
-- @param shape shape made by wired.shape without merging
-- @param nodes nodes made by wired.nodes
-- @param wiring wiring: its `tables` are { [router] = { [lid] = port } }
-- @return topology, or nil and what was expected
function tables.build(class, spec, shape, nodes, wiring)
   local ok, err = check_tables(wiring)
   if not ok then
      return nil, err
   end
   local lids, first, row = lids_of(nodes, wiring), 2 * #nodes.names * nodes.rails, {}
   spec.engine = "tables"
   spec.fields.fdb, spec.fields.port_link, spec.fields.lids = wiring.tables, shape.port_link, lids
   spec.params = { tables = fingerprint(wiring), row = function(router)
      local entries, ports = wiring.tables[router + 1] or {}, shape.port_link[router]
      for i, lid in ipairs(lids) do
         local port = lid and entries[lid]
         local l = port and ports[tostring(port)]
         row[i] = l and first + l
         if not l then
            row[i] = false
         end
      end
      return row
   end }
   return wired.with_health(shape, base.new(explaining(class), spec))
end

return tables
