-- SPDX-License-Identifier: GPL-2.0-or-later
--- A three-dimensional torus as Slurm's topology/torus3d (26.05) wants it.
--
-- A place there holds one node, so several nodes of a router stand side by side in x; shapes of
-- jobs are then whole routers wide.
local report = require "taut.report"

local slurm_torus3d = {}

-- Shapes of jobs: powers of two of routers, each as close to a cube as it gets, then the whole.
local function shapes_of_jobs(dims)
   local list, at = {}, { 1, 1, 1 }
   list[1] = { 1, 1, 1 }
   while true do
      local best
      for d = 1, 3 do
         if at[d] * 2 <= dims[d] and (not best or at[d] < at[best]) then
            best = d
         end
      end
      if not best then
         break
      end
      at[best] = at[best] * 2
      list[#list + 1] = { at[1], at[2], at[3] }
   end
   local last = list[#list]
   if last[1] ~= dims[1] or last[2] ~= dims[2] or last[3] ~= dims[3] then
      list[#list + 1] = { dims[1], dims[2], dims[3] }
   end
   return list
end

local function places_in_torus(topo, per_router)
   local list, dims = {}, topo.dims
   for z = 0, dims[3] - 1 do
      for y = 0, dims[2] - 1 do
         for x = 0, dims[1] - 1 do
            local on = topo:on_router(topo:router_at { x, y, z })
            if #on ~= per_router then
               return nil, ("torus3d: router (%d,%d,%d) has %d nodes, router (0,0,0) has %d; " ..
                  "Slurm has no empty places"):format(x, y, z, #on, per_router)
            end
            for _, n in ipairs(on) do
               list[#list + 1] = topo.nodes[n]
            end
         end
      end
   end
   return list
end

--- @return { dims = { x, y, z }, nodes = names in the order of the places (x fastest),
--   placements = array of dims }, or nil and why it cannot be
function slurm_torus3d.of(topo)
   if topo.kind_name ~= "torus" or #topo.dims ~= 3 then
      return nil, ("torus3d: expected a torus of 3 dimensions, got %s%s"):format(
         report.text_with("", topo.dims and #topo.dims, " dimensions, "), topo.kind_name)
   end
   local per_router = #topo:on_router(0)
   if per_router == 0 then
      return nil, "torus3d: router (0,0,0) has no node; Slurm has no empty places"
   end
   local list, err = places_in_torus(topo, per_router)
   if not list then
      return nil, err
   end
   local placements = shapes_of_jobs(topo.dims)
   for _, p in ipairs(placements) do
      p[1] = p[1] * per_router
   end
   return { dims = { topo.dims[1] * per_router, topo.dims[2], topo.dims[3] }, nodes = list,
      placements = placements }
end

return slurm_torus3d
