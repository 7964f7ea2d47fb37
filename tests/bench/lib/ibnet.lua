-- SPDX-License-Identifier: GPL-2.0-or-later
--- Writes a two-level fat tree as ibsim reads it: ibnet.lua LEAVES SPINES HOSTS_PER_LEAF UPLINKS.
local leaves, spines, hosts, uplinks = tonumber(arg[1]), tonumber(arg[2]), tonumber(arg[3]),
   tonumber(arg[4])
local PORTS = 40
local ports, next_port, lid = {}, {}, 0

local function id_of(switch)
   return ("S-%016x"):format(0x20000000 + switch * 64)
end

local function host_id(leaf, h)
   return ("H-%016x"):format(0x1000000000 + (leaf * 256 + h) * 16)
end

local function join(a, pa, b, pb)
   ports[a], ports[b] = ports[a] or {}, ports[b] or {}
   ports[a][pa], ports[b][pb] = ('"%s"[%d]'):format(b, pb), ('"%s"[%d]'):format(a, pa)
end

for leaf = 1, leaves do
   for h = 1, hosts do
      join(id_of(leaf), h, host_id(leaf, h), 1)
   end
   for u = 0, uplinks - 1 do
      local spine = leaves + 1 + (leaf * 7 + u) % spines
      next_port[spine] = (next_port[spine] or 0) + 1
      join(id_of(leaf), hosts + 1 + u, id_of(spine), next_port[spine])
   end
end

local function put(kind, id, count, name)
   lid = lid + 1
   print(("vendid=0x2c9\ndevid=0x%x\nsysimgguid=0x%s"):format(kind == "Switch" and 0xbd36 or 0x673c,
      id:sub(3)))
   print(kind == "Switch" and ("switchguid=0x%s(%s)"):format(id:sub(3), id:sub(3))
      or ("caguid=0x%s"):format(id:sub(3)))
   print(('%s\t%d "%s"\t\t# "%s" lid %d lmc 0'):format(kind, count, id, name, lid))
   for p = 1, count do
      if ports[id][p] then
         print(('[%d]\t%s\t\t# "-" lid 0 4xEDR'):format(p, ports[id][p]))
      end
   end
   print ""
end

for switch = 1, leaves + spines do
   put("Switch", id_of(switch), PORTS, switch <= leaves and "leaf" .. switch
      or "spine" .. switch - leaves)
end
for leaf = 1, leaves do
   for h = 1, hosts do
      put("Ca", host_id(leaf, h), 1, ("n%d mlx5_0"):format((leaf - 1) * hosts + h))
   end
end
