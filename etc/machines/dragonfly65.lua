-- SPDX-License-Identifier: GPL-2.0-or-later
-- A dragonfly of 65 groups of 512 endpoints: 32 routers in each group, all linked to each other,
-- 16 nodes on each router, 33,280 nodes; 4 cables between each pair of groups.  Links of 200 Gb/s.
topology = dragonfly {
   groups = 65,
   routers = 32,
   nodes_per_router = 16,
   global_links = 4,
   nodes = "x[00000-33279]",
   capacity = 25 * GB,
}
