-- SPDX-License-Identifier: GPL-2.0-or-later
-- A fat tree of two levels of the size of Atlas (Livermore, 2006): 96 leaves of 24 ports, 12 of
-- them for nodes, and 4 spines of 288 ports; each leaf has 3 cables to each spine.  1,152 nodes.
-- InfiniBand 4X; the cards could do DDR, the fabric ran at SDR: 8 Gb/s of data.
topology = fattree {
   nodes_per_leaf = 12,
   levels = { { down = 96, up = 4, parallel = 3 } },
   nodes = "atlas[1-1152]",
   capacity = 1 * GB,
}
