-- SPDX-License-Identifier: GPL-2.0-or-later
--- Whether a sweep of an InfiniBand fabric saw the machine that the topology describes: cables
-- between two switches, and which switch each host is on.
local guids = require "taut.topology.import.ib.guids"
local tables = require "taut.base.tables"

local swept = {}

-- "A B" → how many cables, A before B; of the topology's links, and of the sweep's.
local function pair_key(name, other)
   if name < other then
      return name .. " " .. other
   end
   return other .. " " .. name
end

local function cables_of(topo)
   local count = {}
   for c = topo.first_link, #topo.components do
      local from, to = topo.router_name[topo:from(c)], topo.router_name[topo:to(c)]
      if topo:is_there(c) and from < to then
         local k = pair_key(from, to)
         count[k] = (count[k] or 0) + (tables.or_empty(topo.cables)[c] or 1)
      end
   end
   return count
end

local function take_host(topo, out, name, router)
   local host = guids.host(name)
   local n = host and topo.node_id[host]
   if host and not n then
      out.hosts_unknown[#out.hosts_unknown + 1] = host
   elseif n then
      out.hosts[host] = out.hosts[host] or {}
      out.hosts[host][router] = true
   end
end

local function is_on(topo, node, routers)
   for rail = 1, topo.rails do
      if routers[topo.router_name[topo:router(node, rail)]] then
         return true
      end
   end
   return false
end

-- The fabric that a sweep is of: of several the one that has the most of the names it saw.
local function fabric_of(topo, rows)
   local best, most
   for _, f in ipairs(topo.fabrics or {}) do
      local seen = tables.sum(rows, function(link)
         return tables.one_if(topo.router_id[f.name .. ":" .. link.a.node])
            + tables.one_if(topo.router_id[f.name .. ":" .. link.b.node])
      end)
      if not best or seen > most then
         best, most = f, seen
      end
   end
   return best
end

-- One fabric as its own programs call it.
local function bare_names(fabric)
   local id, names = {}, {}
   for r, name in pairs(fabric.topo.router_name) do
      local own = name:sub(#fabric.name + 2)
      id[own], names[r] = r, own
   end
   return setmetatable({ router_id = id, router_name = names }, { __index = fabric.topo })
end

--- Compare.
-- @param rows of `taut fabric links`: { a = { node = name }, b = …, … }
-- @return { cables = how many between switches, differ = { { text =, topology =, swept = }, … },
--   moved = hosts on another switch, hosts_unknown = hosts that the topology does not have }
function swept.compare(topo, rows)
   local f = fabric_of(topo, rows)
   if f then
      topo = bare_names(f)
   end
   local out = { cables = 0, differ = {}, moved = {}, hosts_unknown = {}, hosts = {} }
   local want, have = cables_of(topo), {}
   for _, link in ipairs(rows) do
      local a, b = link.a.node, link.b.node
      if topo.router_id[a] and topo.router_id[b] then
         out.cables = out.cables + 1
         have[pair_key(a, b)] = (have[pair_key(a, b)] or 0) + 1
      elseif topo.router_id[a] then
         take_host(topo, out, b, a)
      elseif topo.router_id[b] then
         take_host(topo, out, a, b)
      end
   end
   for k in pairs(have) do
      want[k] = want[k] or 0
   end
   for k, n in pairs(want) do
      if n ~= (have[k] or 0) then
         out.differ[#out.differ + 1] = { text = k:gsub(" ", " and "), topology = n,
            swept = have[k] or 0 }
      end
   end
   for host, routers in pairs(out.hosts) do
      if not is_on(topo, topo.node_id[host], routers) then
         out.moved[#out.moved + 1] = host
      end
   end
   out.hosts = nil
   table.sort(out.differ, function(one, other) return one.text < other.text end)
   table.sort(out.moved)
   return out
end

return swept
