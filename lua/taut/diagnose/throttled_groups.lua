-- SPDX-License-Identifier: GPL-2.0-or-later
--- Cabinets and leaves that are slow as a whole while their links are clean: throttled.
--
-- A blade controller out of contact throttles by itself and cannot log it (M. Ezell, CUG 2013): all
-- tests inside come out low at once, and neither counters nor logs speak against anything there.
local json = require "taut.json"
local endpoint_numbers = require "taut.topology.model.endpoint_numbers"
local tables = require "taut.base.tables"
local whole_groups = require "taut.diagnose.whole_groups"

local throttled_groups = {}

local NODES_MIN = 4    -- nodes with tests, before a group is a group
local SHARE = 0.75     -- of them low at once
local LOW_MIN = 2      -- low tests since the last that cleared
local CLEAN_S = 86400  -- nothing spoke against a component for so long

local function has_low_run(diagnosis, component)
   return diagnosis.evidence:low(component) >= LOW_MIN
end

-- tx and rx of all rails of a node, or of one.
local function list_ports(topo, node, only)
   if only then
      return { endpoint_numbers.ports_of_rail(#topo.nodes, node, only) }
   end
   return endpoint_numbers.ports_of_node(#topo.nodes, node, topo.rails)
end

local function add_node(group, context, node, rail)
   local tested, is_low, best = false, false, 0
   for _, c in ipairs(list_ports(context.topology, node, rail)) do
      tested = tested or context.diagnosis.evidence:tested(c) > -math.huge
      is_low = is_low or has_low_run(context.diagnosis, c)
      for _, t in ipairs(has_low_run(context.diagnosis, c) and context.diagnosis:run(c) or {}) do
         best = math.max(best, t.ratio)
      end
      group.clean = group.clean and context.events:is_clean(c, context.now, CLEAN_S)
   end
   if tested then
      group.tested = group.tested + 1
   end
   if is_low then
      group.low = group.low + 1
   end
   group.best = math.max(group.best, best)
end

-- fn(node, rail, name of its group), of several fabrics for each rail.
local function each_member(topo, fn)
   for rail = 1, topo.fabrics and topo.rails or 1 do
      for n in ipairs(topo.nodes) do
         local name = whole_groups.group_of(topo, n, rail)
         if name then
            fn(n, rail, name)
         end
      end
   end
end

-- The links inside a group are to be clean, too.
local function check_links(groups, context)
   local topo = context.topology
   local of_router = {}
   each_member(topo, function(node, rail, name)
      of_router[topo:router(node, rail)] = groups[name]
   end)
   for c in pairs(context.events:accused()) do
      local g = not context.events:is_clean(c, context.now, CLEAN_S) and of_router[topo:from(c)]
      if g and g == of_router[topo:to(c)] then
         g.clean = false
      end
   end
end

--- Groups of nodes that are throttled, as it seems.
-- @param context { topology, diagnosis, events, now }
-- @return array of { group, nodes (tested), low, best (the best ratio among the low tests) }
function throttled_groups.find(context)
   local list, groups = json.array {}, {}
   if #context.diagnosis.evidence:open(LOW_MIN) == 0 then
      return list -- nothing is low anywhere
   end
   each_member(context.topology, function(node, rail, name)
      groups[name] = groups[name] or { group = name, tested = 0, low = 0, best = 0, clean = true }
      add_node(groups[name], context, node, context.topology.fabrics and rail or nil)
   end)
   check_links(groups, context)
   for _, g in pairs(groups) do
      if g.clean and g.tested >= NODES_MIN and g.low >= SHARE * g.tested then
         list[#list + 1] = { group = g.group, nodes = g.tested, low = g.low, best = g.best }
      end
   end
   -- all of the machine at once is not a cabinet: the network is busy, or the expectation is wrong
   local many = tables.size(groups)
   if many > 2 and #list > many / 2 then
      return json.array {}
   end
   table.sort(list, function(first, second) return first.group < second.group end)
   return list
end

return throttled_groups
