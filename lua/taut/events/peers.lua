-- SPDX-License-Identifier: GPL-2.0-or-later
--- A PCIe link narrower than card and slot could do is a fault of its node only where it is
-- narrower than those of its peers, too: a whole class may be built, or set, that way.
local peers = {}

local SAME = 0.01 -- shares that differ less are the same

local function is_compared_kind(evidence)
   return evidence.via == "pcie"
end

-- What is compared: one finding in one class.
local function finding_key(topo, component, evidence)
   return ("%s %s %d"):format(topo:class(component), evidence.what,
      math.floor(evidence.left / SAME + 0.5))
end

--- Count: of each class the components whose node was heard, or of which something stands; and how
-- many have the same finding.
-- @param standing map component → origin → evidence
-- @param heard map node name → anything
-- @return for peers.is_own; nil where nothing has to be compared
function peers.census(topo, standing, heard)
   local same, known, any = {}, {}, false
   for c, all in pairs(standing) do
      for _, e in pairs(all) do
         if is_compared_kind(e) and topo:node_of(c) then
            local key = finding_key(topo, c, e)
            same[key], any = (same[key] or 0) + 1, true
         end
      end
   end
   if not any then
      return nil
   end
   for c = 1, topo.first_link - 1 do
      local node = topo.nodes[topo:node_of(c)]
      if heard[node] or standing[c] then
         local class = topo:class(c)
         known[class] = (known[class] or 0) + 1
      end
   end
   return { topo = topo, same = same, known = known }
end

--- Is what was found the component's own, or is it so with most of its peers, as far as known?
-- @param census of peers.census, or nil
function peers.is_own(census, component, evidence)
   if not census or not is_compared_kind(evidence) or not census.topo:node_of(component) then
      return true
   end
   local same = census.same[finding_key(census.topo, component, evidence)]
   return 2 * same <= census.known[census.topo:class(component)]
end

return peers
