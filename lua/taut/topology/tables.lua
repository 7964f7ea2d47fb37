-- SPDX-License-Identifier: GPL-2.0-or-later
--- Routing by the forwarding tables that a subnet manager wrote.
local base = require "taut.topology.base"
local wired = require "taut.topology.wired"

local tables = {}

-- Where each destination's entry stands: for each endpoint, then for each router, its lid.
local function lids_of(n, w)
   local list = {}
   for k = 1, n.rails do
      for i = 1, #n.names do
         list[(k - 1) * #n.names + i] = n.lid[k][i] or false
      end
   end
   for _, r in ipairs(w.routers) do
      list[#list + 1] = r.lid or false
   end
   return list
end

-- The tables as text, so that other ones are another epoch.
local function fingerprint(w)
   local text = {}
   for i in ipairs(w.routers) do
      local list = {}
      for lid, port in pairs(w.tables[i] or {}) do
         list[#list + 1] = ("%d:%s"):format(lid, port)
      end
      table.sort(list)
      text[i] = table.concat(list, ",")
   end
   return text
end

local function check(w)
   if type(w.tables) ~= "table" or next(w.tables) == nil then
      return nil, "topology.wiring: expected tables, one for each router"
   end
   for i, t in pairs(w.tables) do
      if math.type(i) ~= "integer" or not w.routers[i] or type(t) ~= "table" then
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

-- Where the tables lead from router r to a lid, in words, when they do not get there.
local function explain(self, r, s, lid, whose)
   local seen = {}
   while r ~= s do
      local port = (self.fdb[r + 1] or {})[lid]
      local name = self.router_name[r]
      if not port then
         return ("the table of %s has no entry for %s (lid %s)"):format(name, whose, lid)
      end
      local l = self.port_link[r][tostring(port)]
      if not l then
         return ("the table of %s sends what is for %s (lid %s) to port %d, where no "
            .. "router is"):format(name, whose, lid, port)
      end
      if seen[r] then
         return ("the tables go round in circles at %s for %s (lid %s)"):format(name,
            whose, lid)
      end
      seen[r] = true
      r = self:to(self.first_link + l - 1)
   end
end

-- A class that explains with the tables what failed links do not.
local function explaining(class)
   local own = setmetatable({}, { __index = class })
   own.__index = own
   function own:because(r, s, b, rail)
      local why, n = class.because(self, r, s, b, rail), b or self:on_router(s)[1]
      if why then
         return why
      end
      local lid = self.lids[n or 0] or not b and self.lids[#self.nodes * self.rails + s + 1]
      if lid then
         return explain(self, r, s, lid, n and self.nodes[n] or self.router_name[s])
      end
      return b and self.nodes[b] .. " has no lid" or nil
   end
   return own
end

--- Build a topology that routes by tables.
-- @param class of base.class()
-- @param spec for base.new, but for the engine
-- @param s shape made by wired.shape without merging
-- @param n nodes made by wired.nodes
-- @param w wiring: its `tables` are { [router] = { [lid] = port } }
-- @return topology, or nil and what was expected
function tables.build(class, spec, s, n, w)
   local ok, err = check(w)
   if not ok then
      return nil, err
   end
   local lids, first, row = lids_of(n, w), 2 * #n.names * n.rails, {}
   spec.engine = "tables"
   spec.fields.fdb, spec.fields.port_link, spec.fields.lids = w.tables, s.port_link, lids
   spec.params = { tables = fingerprint(w), row = function(r)
      local entries, ports = w.tables[r + 1] or {}, s.port_link[r]
      for i, lid in ipairs(lids) do
         local port = lid and entries[lid]
         local l = port and ports[tostring(port)]
         row[i] = l and first + l or false
      end
      return row
   end }
   return wired.with_health(s, base.new(explaining(class), spec))
end

return tables
