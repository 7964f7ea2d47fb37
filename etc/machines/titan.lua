-- SPDX-License-Identifier: GPL-2.0-or-later
-- Titan (Oak Ridge, 2012 to 2019): Cray XK7, Gemini torus of 25 x 16 x 24 routers, 2 nodes each:
-- 19,200 positions in 200 cabinets (25 columns, 8 rows), 18,688 of them compute nodes.
--
-- The 512 positions of service nodes are an assumption, as the list was never published: of 16 of
-- the 25 columns of cabinets, evenly spread, the lowest module (cage 0, slot 0) of each cabinet,
-- which has 4 nodes.  16 columns x 8 rows x 4 = 512.
--
-- Node ids go round each chassis as described in taut.lua(5), so those of a lowest module are the
-- first two and the last two of the first 32 of its cabinet's 96.  Capacities: per kind of link,
-- M. Ezell, CUG 2013.
local ids, service = { 0, 1, 30, 31 }, {}
for cabinet = 0, 199 do
   if cabinet % 25 * 16 % 25 < 16 then
      for k = 1, 4 do
         service[#service + 1] = ("nid%05d"):format(96 * cabinet + ids[k])
      end
   end
end

topology = torus {
   dims = { 25, 16, 24 },
   nodes_per_router = 2,
   layout = "gemini",
   nodes = "nid[00000-19199]",
   service = service,
}
