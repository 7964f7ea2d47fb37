-- SPDX-License-Identifier: GPL-2.0-or-later
-- Taut's routes: taut --lua ways.lua CONF n0:n7 …  prints "n0 n7 LINK LINK|LINK …", the links of
-- each stage, those that may be taken parted by |, and |? after them where there are ways without
-- any of them.
local config = require "taut.config"

local topo = assert(config.load(arg[1], { rundir = "", statedir = "" })).topology
for i = 2, #arg do
   local from, to = arg[i]:match "^(.*):(.*)$"
   local words = { from, to }
   for _, stage in ipairs(topo:route(topo.node_id[from], topo.node_id[to])) do
      local names, share = {}, 0
      for k, c in ipairs(type(stage) == "table" and stage or { stage }) do
         names[#names + 1] = topo:is_link(c) and topo.components[c] or nil
         share = share + (type(stage) == "table" and stage.w[k] or 1)
      end
      if #names > 0 and share < 0.999 then
         names[#names + 1] = "?"
      end
      words[#words + 1] = #names > 0 and table.concat(names, "|") or nil
   end
   print(table.concat(words, " "))
end
