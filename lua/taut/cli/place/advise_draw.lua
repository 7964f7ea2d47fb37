-- SPDX-License-Identifier: GPL-2.0-or-later
--- The picture of `taut advise --draw`: where the best set lies, and what it keeps away from.
local draw = require "taut.topology.draw"
local hostlist = require "taut.hostlist"
local scene = require "taut.cli.topology.scene"

local advise_draw = {}

--- @param args parsed command line
-- @param answer answer of tautd
-- @return SVG text, or nil and what is wrong
function advise_draw.picture(args, answer)
   local s, err = scene.open(setmetatable({ fabric = answer.fabric }, { __index = args }))
   if not s then
      return nil, err
   end
   local best = answer.candidates[1]
   s.marked = {}
   for _, name in ipairs(hostlist.expand(best.nodelist, 1 << 20) or {}) do
      local n = s.topo.node_id[name]
      if not n then
         return nil, ("%s has no node '%s': tautd has another topology"):format(s.path, name)
      end
      s.marked[s.topo:router(n)] = true
   end
   return draw.picture(s, { title = ("%d nodes for %s: %s, blue"):format(answer.count,
      answer.pattern, best.shape) })
end

return advise_draw
