-- SPDX-License-Identifier: GPL-2.0-or-later
-- A HyperX of 12 x 12 x 12 routers with 20 nodes each, 34,560 nodes; one cable between any two
-- routers of a row.  Links of 100 Gb/s.
topology = hyperx {
   dims = { 12, 12, 12 },
   nodes_per_router = 20,
   nodes = "h[00000-34559]",
   capacity = 12.5 * GB,
}
