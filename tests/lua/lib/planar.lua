-- SPDX-License-Identifier: GPL-2.0-or-later
-- A fabric with planes as ibnetdiscover shows one: adapters with a port for each plane, all of one
-- GUID, each port on an ASIC of its own, ASICs of a box with one system image.
local planar = {}

local function guid(kind, box, plane)
   return ("%02x%06x%08x"):format(kind, box, plane)
end

--- Its text.
-- @param o { planes = 4, leaves = 2, spines = 2, hosts = per leaf 2, rails = adapters of a host 1,
--   cables = between a leaf and a spine 2, no_system = true: no system images,
--   cut = function(kind, a, b, plane, k) → true where a cable is missing; kind "host" (host, rail)
--   or "switch" (leaf, spine), from = function(host, plane) → the leaf that its plane is on }
function planar.text(o)
   local planes, leaves, spines, hosts = o.planes or 4, o.leaves or 2, o.spines or 2, o.hosts or 2
   local rails, cables = o.rails or 1, o.cables or 2
   local ports = {} -- guid → list of lines
   local function add(g, n, text)
      ports[g] = ports[g] or {}
      table.insert(ports[g], ("[%d]%s\n"):format(n, text))
   end
   for leaf = 1, leaves do
      for spine = 1, spines do
         for p = 1, planes do
            for k = 1, cables do
               local a, b = guid(0xa, leaf, p), guid(0xb, spine, p)
               local n, m = 100 + (spine - 1) * cables + k, (leaf - 1) * cables + k
               if not (o.cut and o.cut("switch", leaf, spine, p, k)) then
                  add(a, n, ('\t"S-%s"[%d]\t\t# "spine%d/A%d" lid %d 1xXDR'):format(b, m, spine, p,
                     2000 + spine * 16 + p))
                  add(b, m, ('\t"S-%s"[%d]\t\t# "leaf%d/A%d" lid %d 1xXDR'):format(a, n, leaf, p,
                     1000 + leaf * 16 + p))
               end
            end
         end
      end
   end
   local out = {}
   for h = 1, leaves * hosts do
      for r = 1, rails do
         local leaf, ca = (h - 1) // hosts + 1, guid(0xc, h, r)
         local lid = h * 16 + r
         for p = 1, planes do
            local on = o.from and o.from(h, p) or leaf
            local s, n = guid(0xa, on, p), (h - 1) * rails + r
            if not (o.cut and o.cut("host", h, r, p)) then
               add(ca, p, ('(%s) \t"S-%s"[%d]\t\t# lid %d lmc 0 "leaf%d/A%d" lid %d 1xXDR'):format(
                  ca, s, n, lid, on, p, 1000 + on * 16 + p))
               add(s, n, ('\t"H-%s"[%d](%s)\t\t# "n%d mlx5_%d" lid %d 1xXDR'):format(ca, p, ca, h,
                  r - 1, lid))
            end
         end
         out[#out + 1] = ('caguid=0x%s\nCa\t%d "H-%s"\t\t# "n%d mlx5_%d"\n%s\n'):format(ca, planes,
            ca, h, r - 1, table.concat(ports[ca] or {}))
      end
   end
   local text = {}
   for _, level in ipairs { { 0xa, leaves, "leaf", 1000 }, { 0xb, spines, "spine", 2000 } } do
      for box = 1, level[2] do
         for p = 1, planes do
            local g = guid(level[1], box, p)
            text[#text + 1] = (o.no_system and "" or
               ("sysimgguid=0x%s\n"):format(guid(level[1], box, 0))) ..
               ('switchguid=0x%s(%s)\nSwitch\t144 "S-%s"\t\t# "%s%d/A%d" enhanced port 0 ' ..
               'lid %d lmc 0\n%s\n'):format(g, g, g, level[3], box, p, level[4] + box * 16 + p,
               table.concat(ports[g] or {}))
         end
      end
   end
   return table.concat(text) .. table.concat(out)
end

return planar
