-- SPDX-License-Identifier: GPL-2.0-or-later
--- Cabinets and leaves that are slow as a whole while their links are clean: throttled.
--
-- A blade controller out of contact throttles by itself and cannot log it (M. Ezell, CUG 2013): all
-- tests inside come out low at once, and neither counters nor logs speak against anything there.
local json = require "taut.json"
local numbering = require "taut.topology.numbering"
local tables = require "taut.base.tables"
local whole = require "taut.diagnose.whole"

local throttle = {}

local NODES_MIN = 4    -- nodes with tests, before a group is a group
local SHARE = 0.75     -- of them low at once
local LOW_MIN = 2      -- low tests since the last that cleared
local CLEAN_S = 86400  -- nothing spoke against a component for so long

local function low(diagnosis, c)
   return diagnosis.evidence:low(c) >= LOW_MIN
end

-- tx and rx of all rails of a node, or of one.
local function ends(topo, n, only)
   if only then
      return { numbering.ports_of_rail(#topo.nodes, n, only) }
   end
   return numbering.ports_of_node(#topo.nodes, n, topo.rails)
end

local function add_node(g, o, n, rail)
   local tested, is_low, best = false, false, 0
   for _, c in ipairs(ends(o.topology, n, rail)) do
      tested = tested or o.diagnosis.evidence:tested(c) > -math.huge
      is_low = is_low or low(o.diagnosis, c)
      for _, t in ipairs(low(o.diagnosis, c) and o.diagnosis:run(c) or {}) do
         best = math.max(best, t.ratio)
      end
      g.clean = g.clean and o.events:is_clean(c, o.now, CLEAN_S)
   end
   g.tested, g.low = g.tested + (tested and 1 or 0), g.low + (is_low and 1 or 0)
   g.best = math.max(g.best, best)
end

-- fn(node, rail, name of its group), of several fabrics for each rail.
local function each_member(topo, fn)
   for rail = 1, topo.fabrics and topo.rails or 1 do
      for n in ipairs(topo.nodes) do
         local name = whole.group_of(topo, n, rail)
         if name then
            fn(n, rail, name)
         end
      end
   end
end

-- The links inside a group are to be clean, too.
local function check_links(groups, o)
   local topo = o.topology
   local of_router = {}
   each_member(topo, function(n, rail, name)
      of_router[topo:router(n, rail)] = groups[name]
   end)
   for c in pairs(o.events:accused()) do
      local g = not o.events:is_clean(c, o.now, CLEAN_S) and of_router[topo:from(c)]
      if g and g == of_router[topo:to(c)] then
         g.clean = false
      end
   end
end

--- Groups of nodes that are throttled, as it seems.
-- @param o { topology, diagnosis, events, now }
-- @return array of { group, nodes (tested), low, best (the best ratio among the low tests) }
function throttle.find(o)
   local list, groups = json.array {}, {}
   if #o.diagnosis.evidence:open(LOW_MIN) == 0 then
      return list -- nothing is low anywhere
   end
   each_member(o.topology, function(n, rail, name)
      groups[name] = groups[name] or { group = name, tested = 0, low = 0, best = 0, clean = true }
      add_node(groups[name], o, n, o.topology.fabrics and rail or nil)
   end)
   check_links(groups, o)
   for _, g in pairs(groups) do
      if g.clean and g.tested >= NODES_MIN and g.low >= SHARE * g.tested then
         list[#list + 1] = { group = g.group, nodes = g.tested, low = g.low, best = g.best }
      end
   end
   -- all of the machine at once is no cabinet: the network is busy, or the expectation is wrong
   local many = tables.size(groups)
   if many > 2 and #list > many / 2 then
      return json.array {}
   end
   table.sort(list, function(a, b) return a.group < b.group end)
   return list
end

return throttle
