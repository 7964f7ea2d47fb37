-- SPDX-License-Identifier: GPL-2.0-or-later
--- Routing by service level: jobs' packets may be routed adaptively, tests' packets by tables.
--
-- On InfiniBand a subnet manager enables adaptive routing for some service levels; what is on the
-- others goes where the forwarding tables lead.  Tests on one of these know their links, jobs do
-- not go those ways: so there are two topologies of one wiring.  That of the tests is the
-- machine's, which plans, judges and names; that of the jobs, its `traffic`, is asked by whoever
-- computes what jobs send and who depends on what.
local tables = require "taut.base.tables"

local service_levels = {}

local MOST = 15

local function is_level(value)
   return math.type(value) == "integer" and value >= 0 and value <= MOST
end

-- What `routing` says: routing by level, the tests' and the jobs'; or nil and what was expected.
local function read_levels(routing)
   local of, list = {}, {}
   for k, v in pairs(routing) do
      if is_level(k) and type(v) ~= "string" then
         return nil, ("topology.routing[%d]: expected a word in quotes, got %s"):format(k,
            tostring(v))
      elseif is_level(k) then
         of[k] = v
         list[#list + 1] = k
      elseif k ~= "tests" and k ~= "jobs" then
         return nil, ("topology.routing: expected service levels 0 to %d, tests or jobs, got %s")
            :format(MOST, tostring(k))
      end
   end
   table.sort(list)
   if not list[1] then
      return nil, "topology.routing: expected the routing of a service level, [0] = \"adaptive\""
   end
   local levels = { routing = of, jobs = routing.jobs, tests = routing.tests }
   if levels.jobs == nil then
      levels.jobs = list[1]
   end
   if levels.tests == nil then
      levels.tests = levels.jobs
   end
   for _, who in ipairs { "jobs", "tests" } do
      if of[levels[who]] == nil then
         return nil, ("topology.routing.%s: expected one of the service levels %s, got %s"):format(
            who, table.concat(list, ", "), tostring(levels[who]))
      end
   end
   return levels
end

local function build_at_level(conf, level, levels, build)
   local own = tables.copy(conf)
   own.routing = levels.routing[level]
   local topo, err = build(own)
   return topo, err and err:gsub("^topology%.routing", ("topology.routing[%d]"):format(level))
end

-- Methods of the tests' topology that the jobs' answers: what is sent, and who depends on what.
local OF_JOBS = { "load", "behind", "behind_all", "exposed", "exposed_to", "through" }

--- Names, capacities and what is known of them are one and the same.
function service_levels.share(topo)
   local traffic = topo.traffic
   for _, field in ipairs { "components", "component_id", "router_name", "router_id", "capacity",
      "cables", "planes", "learns", "open", "fabric", "node_class" } do
      traffic[field] = topo[field]
   end
end

local function join_topologies(topo, traffic)
   local set_health, changed = topo.set_health, topo.capacities_changed
   topo.traffic = traffic
   service_levels.share(topo)
   for _, name in ipairs(OF_JOBS) do
      topo[name] = function(_, ...)
         return traffic[name](traffic, ...)
      end
   end
   function topo:set_health(left, opt)
      traffic:set_health(left, { report = false })
      return set_health(self, left, opt)
   end
   function topo:capacities_changed()
      traffic:capacities_changed()
      changed(self)
   end
   if next(topo.degraded) then
      traffic:set_health(topo.degraded, { report = false })
   end
end

--- Build the topology of the tests, and of the jobs where these are routed otherwise.
-- @param conf configuration whose `routing` is a table: service level → word, tests = the level
--   that tests are on, jobs = that of jobs (the lowest)
-- @param build function(configuration) → topology, or nil and what is wrong
-- @return topology, with `service_levels` { routing, tests, jobs } and, where jobs are routed
--   otherwise, `traffic`; or nil and what was expected
function service_levels.build(conf, build)
   local levels, err = read_levels(conf.routing)
   local topo, traffic
   if levels then
      topo, err = build_at_level(conf, levels.tests, levels, build)
   end
   if topo and levels.routing[levels.jobs] ~= levels.routing[levels.tests] then
      traffic, err = build_at_level(conf, levels.jobs, levels, build)
   end
   if not topo or err then
      return nil, err
   end
   topo.service_levels = levels
   if traffic then
      join_topologies(topo, traffic)
   end
   return topo
end

return service_levels
