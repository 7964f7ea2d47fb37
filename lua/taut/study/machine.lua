-- SPDX-License-Identifier: GPL-2.0-or-later
--- A machine as a study sees it: what its traffic is added up between, which cables may fail, what
-- is where.
local engine = require "taut.study"
local report = require "taut.report"

local machine = {}
local Machine = {}
Machine.__index = Machine

-- Kinds of links between the groups of a dragonfly.
local GLOBAL = { global = true, blue = true }

-- Kinds of study in which these alone fail if not given which.
local BETWEEN = { groups = true, gates = true }

local builders = {}

local function use_own_routes(topo)
   return { kind = "routes", cables = topo.cables }
end

function builders.dragonfly(topo, inside)
   if topo.routing ~= "adaptive" then
      return use_own_routes(topo)
   end
   return { kind = report.text_if(inside, "gates", "groups"), group = topo.group_of,
      cables = topo.cables }
end

function builders.hyperx(topo)
   if topo.routing ~= "doal" then
      return use_own_routes(topo)
   end
   local n = 1
   for _, len in ipairs(topo.dims) do
      n = n * len
   end
   if n ~= topo.routers then
      return nil, ("%d routers in a grid of %d places; a HyperX is studied whole"):format(
         topo.routers, n)
   end
   return { kind = "lines", dims = topo.dims, place = topo.place_of, cables = topo.cables }
end

for _, name in ipairs { "torus", "mesh", "fattree", "graph" } do
   builders[name] = use_own_routes
end

-- Place of each node, from 0: its group, its router, or itself.
local function number_places(topo, level)
   local list = {}
   for r = 0, topo.routers - 1 do
      for _, n in ipairs(topo:on_router(r)) do
         if level == "nodes" then
            list[n] = n - 1
         elseif level == "groups" then
            list[n] = topo.group_of[r + 1] or r
         else
            list[n] = r
         end
      end
   end
   return list
end

--- Make a machine ready to be studied.
-- @param topo topology
-- @param options { inside = of the groups of a dragonfly with adaptive routing, too } or nil
-- @return machine: { topo, level = "groups", "routers" or "nodes", place = of each node, from 0,
--   inject_Bps = the slowest tx, kinds = { kind → links } (waits, threads: see load.lua) },
--   or nil and what is wrong
function machine.new(topo, options)
   topo = topo.traffic or topo -- as jobs are routed
   local builder = builders[topo.kind_name]
   if not builder then
      return nil, ("no classes of ways are known for a %s (known: dragonfly, hyperx, torus, " ..
         "mesh, fattree, graph)"):format(tostring(topo.kind_name))
   end
   local spec, err = builder(topo, options and options.inside)
   local s
   if spec then
      s, err = engine.machine(topo.graph, spec)
   end
   if not s then
      return nil, err
   end
   local self = setmetatable({ topo = topo, study = s, kind = spec.kind, kinds = {} }, Machine)
   self.places, self.level = s:places()
   self.place = number_places(topo, self.level)
   for c = topo.first_link, #topo.components do
      local kind = self.topo:axis(c)
      self.kinds[kind] = self.kinds[kind] or {}
      table.insert(self.kinds[kind], c)
   end
   self.inject_Bps = math.huge
   for n = 1, #topo.nodes do
      self.inject_Bps = math.min(self.inject_Bps, topo.capacity[topo.tx[n]])
   end
   return self
end

--- Names of the kinds of links there are, sorted.
function Machine:kind_names()
   local names = {}
   for k in pairs(self.kinds) do
      names[#names + 1] = k
   end
   table.sort(names)
   return names
end

--- Links that may fail.
-- @param wanted array of kinds, or nil: between the groups of a dragonfly, all links elsewhere
-- @return array of components, or nil and what is known
function Machine:links(wanted)
   local list = {}
   for _, kind in ipairs(wanted or {}) do
      if not self.kinds[kind] then
         return nil, ("no links of kind '%s' (known: %s)"):format(kind,
            table.concat(self:kind_names(), ", "))
      elseif self.kind == "groups" and not GLOBAL[kind] then
         return nil, ("links of kind '%s' are inside groups, which this study does not see " ..
            "without --inside"):format(kind)
      end
   end
   for kind, links in pairs(self.kinds) do
      local is_one = not wanted and (not BETWEEN[self.kind] or GLOBAL[kind])
      for _, k in ipairs(wanted or {}) do
         is_one = is_one or k == kind
      end
      if is_one then
         table.move(links, 1, #links, #list + 1, list)
      end
   end
   table.sort(list)
   return list
end

--- Name of a place.
function Machine:place_name(place)
   if self.level == "groups" then
      return "group " .. place
   elseif self.level == "nodes" then
      return self.topo.nodes[place + 1]
   end
   return self.topo.router_name[place]
end

--- Draw failed, or slow, cables.  Where routes are the machine's own, they follow.
-- @param options { share =, seed =, links = components (nil: all), left = (0), known = map
--   component → share left besides, speed = share of the speed of all links (1) }
-- @return overlay, cables taken; or nil and why not
function Machine:draw(options)
   local overlay, taken = self.study:draw(options.share, options.seed, options.links,
      options.left or 0)
   if not overlay then
      return nil, taken
   end
   if options.known then
      overlay:limit(options.known)
   end
   if options.speed and options.speed < 1 then
      overlay:slow(options.links, options.speed)
   end
   self:follow(overlay)
   return overlay, taken
end

--- What is known to be bad.
-- @param left map component → share
function Machine:overlay(left)
   local overlay = self.study:overlay(left)
   self:follow(overlay)
   return overlay
end

--- Let the machine's own routes go round what has failed in an overlay.
function Machine:follow(overlay)
   if self.kind ~= "routes" then
      return
   end
   local out = {}
   for c, share in pairs(overlay:left()) do
      if share == 0 then
         out[c] = 0
      end
   end
   if next(out) or self.is_rerouted then
      self.topo:set_health(out, { report = false })
      self.is_rerouted = next(out) ~= nil
   end
end

return machine
