-- SPDX-License-Identifier: GPL-2.0-or-later
--- Whether a sweep of an InfiniBand fabric saw the machine that the topology describes: cables
-- between two switches, and which switch each host is on.
local guids = require "taut.topology.import.ib.guids"

local swept = {}

-- "A B" → how many cables, A before B; of the topology's links, and of the sweep's.
local function key(a, b)
   return a < b and a .. " " .. b or b .. " " .. a
end

local function cables_of(topo)
   local count = {}
   for c = topo.first_link, #topo.components do
      local from, to = topo.router_name[topo:from(c)], topo.router_name[topo:to(c)]
      if topo:is_there(c) and from < to then
         local k = key(from, to)
         count[k] = (count[k] or 0) + (topo.cables and topo.cables[c] or 1)
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

local function is_on(topo, n, routers)
   for rail = 1, topo.rails do
      if routers[topo.router_name[topo:router(n, rail)]] then
         return true
      end
   end
   return false
end

--- Compare.
-- @param rows of `taut fabric links`: { a = { node = name }, b = …, … }
-- @return { cables = how many between switches, differ = { { text =, topology =, swept = }, … },
--   moved = hosts on another switch, hosts_unknown = hosts that the topology does not have }
function swept.compare(topo, rows)
   local out = { cables = 0, differ = {}, moved = {}, hosts_unknown = {}, hosts = {} }
   local want, have = cables_of(topo), {}
   for _, link in ipairs(rows) do
      local a, b = link.a.node, link.b.node
      if topo.router_id[a] and topo.router_id[b] then
         out.cables = out.cables + 1
         have[key(a, b)] = (have[key(a, b)] or 0) + 1
      elseif topo.router_id[a] or topo.router_id[b] then
         take_host(topo, out, topo.router_id[a] and b or a, topo.router_id[a] and a or b)
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
   table.sort(out.differ, function(x, y) return x.text < y.text end)
   table.sort(out.moved)
   return out
end

return swept
