-- SPDX-License-Identifier: GPL-2.0-or-later
-- Two fabrics in one lab (lab up --fabrics): a tree whose destinations choose the cable, as
-- InfiniBand's, and one whose switches choose by a hash, as Ethernet's.  n2 to n5 are on both.  The
-- lab's packets are those of service level 1, which tests are on; jobs' are said to be adaptive.
fabrics = {
   ib = fattree {
      nodes_per_leaf = 2, levels = { { down = 3, up = 2 } }, nodes = "n[0-5]",
      capacity = 12.5 * MB, routing = { [0] = "adaptive", [1] = "dmodk", tests = 1 },
      networks = { "10.71.0.0/16" }, partitions = { "fast" },
   },
   eth = fattree {
      nodes_per_leaf = 2, levels = { { down = 3, up = 2 } }, nodes = "n[2-7]",
      capacity = 12.5 * MB, routing = "ecmp",
      networks = { "10.64.0.0/16" },
      -- ADDRESSES eth
   },
}
