-- SPDX-License-Identifier: GPL-2.0-or-later
-- Theta (Argonne, 2016 to 2023): Cray XC40, Aries dragonfly of 12 groups (two cabinets each) of
-- 6 chassis with 16 routers, 4 nodes each: 4,608 positions, 4,392 of them compute nodes.
--
-- Which 216 positions were service nodes or empty is an assumption, as the list is not public:
-- the first blades (a router and its 4 nodes) of each group, 4 of them in even groups and 5 in
-- odd ones.  (6 x 4 + 6 x 5) x 4 = 216.
--
-- Cables between each pair of groups: 12, an assumption too.  Capacities per direction: 3 lanes of
-- 14 Gb/s of a green link, three times that of a black one (3 cables), 3 lanes of 12.5 Gb/s of a
-- blue cable (B. Alverson et al., "Cray XC Series Network", 2012); 10 GB/s of a node is assumed.
local service = {}
for group = 0, 11 do
   for position = 0, 4 * (4 + group % 2) - 1 do
      service[#service + 1] = ("nid%05d"):format(384 * group + position)
   end
end

topology = dragonfly {
   groups = 12,
   rows = 6,
   columns = 16,
   nodes_per_router = 4,
   global_links = 12,
   nodes = "nid[00000-04607]",
   service = service,
   capacity = { tx = 10 * GB, rx = 10 * GB, green = 5.25 * GB, black = 15.75 * GB,
      blue = 4.7 * GB },
}
