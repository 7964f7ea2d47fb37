-- SPDX-License-Identifier: GPL-2.0-or-later
--- Several fabrics of one machine, as one topology (doc/internals/topology.md).
--
-- Each fabric is a topology of its own, and answers for itself.  The whole counts their nodes,
-- rails, routers and components through, and hands questions on.  Routers and links have the
-- fabric before their names, `eth:leaf2/6`; the parts call them so, too.
local asked = require "taut.topology.fabrics.asked"
local base = require "taut.topology.base"
local dynamic = require "taut.topology.seen.dynamic"
local joined = require "taut.topology.fabrics.joined"
local endpoint_numbers = require "taut.topology.model.endpoint_numbers"
local service_levels = require "taut.topology.service_levels"
local settings = require "taut.topology.fabrics.settings"
local unknown = require "taut.topology.unknown"

local fabrics = {}

local RAILS_MAX = 64 -- as on the wire (wire/protocol.h, TAUT_PLAN_RAILS)

---------------------------------------------------------------- the parts

-- "topology.levels: …" is "fabrics.ib.levels: …" here.
local function in_words(name, err)
   local own = ("fabrics.%s."):format(name)
   return (err:gsub("^topology%.", function() return own end):gsub("^topology: ",
      function() return ("fabrics.%s: "):format(name) end))
end

local function part_of(name, conf, build)
   local own, rest = settings.split(name, conf)
   if not own then
      return nil, rest
   end
   local topo, err = build(rest)
   if not topo then
      local text = in_words(name, err)
      if not text:find "^fabrics%." then
         text = ("fabrics.%s: %s"):format(name, text)
      end
      return nil, text
   end
   own.name, own.topo, own.conf, own.rails = name, topo, rest, topo.rails
   return own
end

-- In the order of their names: where each begins.
local function number_parts(list)
   local whole = { nodes = {}, node_id = {}, routers = 0, rails = 0 }
   for _, f in ipairs(list) do
      f.first_rail, f.first_router = whole.rails, whole.routers
      f.node, f.number = {}, {}
      for n, name in ipairs(f.topo.nodes) do
         local w = whole.node_id[name]
         if not w then
            w = #whole.nodes + 1
            whole.nodes[w], whole.node_id[name] = name, w
         end
         f.node[n], f.number[w] = w, n
      end
      whole.rails, whole.routers = whole.rails + f.rails, whole.routers + f.topo.routers
   end
   local first_link = 2 * #whole.nodes * whole.rails + 1
   for _, f in ipairs(list) do
      f.first_link = first_link
      first_link = first_link + #f.topo.components - f.topo.first_link + 1
   end
   return whole
end

---------------------------------------------------------------- the whole

-- Bytes per second as a model gives them: below 0 where they are learned.
local function add_links(links, fabric)
   local topo, first = fabric.topo, #links.from
   for c = topo.first_link, #topo.components do
      local from, back = topo:from(c), topo:opposite(c)
      local i = #links.from + 1
      links.from[i], links.to[i] = fabric.first_router + from, fabric.first_router + topo:to(c)
      links.port[i] = topo.components[c]:sub(#topo.router_name[from] + 2)
      links.kind[i], links.class[i] = topo:kind(c), fabric.name .. " " .. topo:class(c)
      links.capacity[i], links.cables[i] = unknown.made_capacity(topo, c), topo.cables[c]
      links.back[i] = false
      if back then
         links.back[i] = first + back - topo.first_link + 1
      end
   end
end

-- Where each port is, also those of rails that are not used: no rail has these, unless another
-- fabric does, of the same wiring.  One that two fabrics use, or two nodes have, tells nothing.
local function add_guids(guids, fabric, whole)
   for guid, at in pairs(fabric.topo.port_guids) do
      local known, is_used = guids[guid], at and at.rail <= fabric.rails
      if not at or known and known.rail <= whole.rails and is_used then
         guids[guid] = false
      elseif known == nil or known and is_used then
         local before = whole.rails -- of a rail that is not used
         if is_used then
            before = fabric.first_rail
         end
         guids[guid] = { node = fabric.node[at.node], rail = before + at.rail }
      end
   end
end

-- Where each node's rails are; of those that it has not, any capacity.
local function add_ends(spec, fabric, whole)
   local count = #whole.nodes
   for n, w in ipairs(fabric.node) do
      for k = 1, fabric.rails do
         local e = endpoint_numbers.endpoint_of(count, w, fabric.first_rail + k)
         local tx, rx = endpoint_numbers.ports_of_rail(#fabric.topo.nodes, n, k)
         local r = fabric.topo:router(n, k)
         spec.router_of[e] = false
         if r then
            spec.router_of[e] = fabric.first_router + r
         end
         spec.tx[e] = unknown.made_capacity(fabric.topo, tx)
         spec.rx[e] = unknown.made_capacity(fabric.topo, rx)
      end
   end
   for guid, name in pairs(fabric.topo.other_planes) do
      spec.other_planes[guid] = fabric.name .. ":" .. name
   end
   add_guids(spec.port_guids, fabric, whole)
   for _, m in ipairs(fabric.topo.missing_rails) do
      table.insert(spec.missing_rails, { node = fabric.node[m.node],
         rail = fabric.first_rail + m.rail })
   end
end

local function spec_of(list, whole)
   local spec = { kind_name = "fabrics", rails = whole.rails, nodes = whole.nodes,
      missing_rails = {}, port_guids = {}, other_planes = {},
      router_of = {}, tx = {}, rx = {}, router_name = {},
      links = { from = {}, to = {}, port = {}, kind = {}, class = {}, capacity = {}, cables = {},
         back = {} }, engine = "joined", params = { parts = {}, wirings = {} },
      fields = { fabrics = list, fabric_named = {}, fabric_of_rail = {} } }
   local words = {}
   for e = 1, #whole.nodes * whole.rails do
      spec.router_of[e], spec.tx[e], spec.rx[e] = false, 1, 1
   end
   for i, f in ipairs(list) do
      for r = 0, f.topo.routers - 1 do
         spec.router_name[f.first_router + r] = f.name .. ":" .. f.topo.router_name[r]
      end
      add_links(spec.links, f)
      add_ends(spec, f, whole)
      local from_0 = {}
      for n, w in ipairs(f.node) do
         from_0[n] = w - 1
      end
      spec.params.parts[i] = { graph = f.topo.graph, nodes = from_0 }
      spec.params.wirings[i] = f.name .. " " .. f.topo.wiring
      words[i] = f.name .. ": " .. f.topo.wiring:gsub(" %[%x+%]$", "")
      spec.fields.fabric_named[f.name] = f
      spec.fields.is_hashed = spec.fields.is_hashed or f.topo.is_hashed
      for k = 1, f.rails do
         spec.fields.fabric_of_rail[f.first_rail + k] = f
      end
   end
   spec.label = ("%d fabrics (%s)"):format(#list, table.concat(words, "; "))
   return spec
end

-- The parts call things as the whole does.
local function name_parts(whole)
   for _, f in ipairs(whole.fabrics) do
      local topo = f.topo
      topo.router_id, topo.component_id, topo.fabric, f.machine = {}, {}, f, whole
      for r = 0, topo.routers - 1 do
         local name = whole.router_name[f.first_router + r]
         topo.router_name[r], topo.router_id[name] = name, r
      end
      for c in ipairs(topo.components) do
         local name = whole.components[whole:of_part(f, c)]
         topo.components[c], topo.component_id[name] = name, c
      end
      if topo.traffic then
         service_levels.share(topo)
      end
   end
end

-- Guesses of learned capacities are those of the parts, and so is health from the file.
local function take_over(whole)
   local left = {}
   for _, f in ipairs(whole.fabrics) do
      for c in pairs(f.topo.learns or {}) do
         local w = whole:of_part(f, c)
         whole.capacity[w] = f.topo.capacity[c]
         whole.graph:set_capacity(w, f.topo.capacity[c])
      end
      for c, planes in pairs(f.topo.planes) do
         local w = whole:of_part(f, c)
         whole.planes[w], whole.planes_up[w] = planes, f.topo.planes_up[c]
      end
      for c, v in pairs(f.topo.degraded) do
         left[whole:of_part(f, c)] = v
      end
   end
   if next(left) then
      whole:set_health(left, { report = false })
   end
end

--- Build a machine of several fabrics.
-- @param conf { fabrics = map name → topology with settings of settings.lua }
-- @param build function(configuration of a topology) → topology, or nil and what is wrong
-- @return topology: `fabrics` is an array of { name, topo, conf, rails, first_rail, first_router
--   (what comes before its own), node (number there → here), number (here → there), interfaces,
--   networks, partitions, transport, machine = this topology }; or nil and what is wrong
function fabrics.build(conf, build)
   local names, err = settings.names(conf.fabrics)
   local list = {}
   for i, name in ipairs(names or {}) do
      list[i], err = part_of(name, conf.fabrics[name], build)
      if not list[i] then
         return nil, err
      end
   end
   if not names then
      return nil, err
   end
   local whole = number_parts(list)
   if whole.rails > RAILS_MAX then
      return nil, ("fabrics: expected at most %d rails in all, got %d"):format(RAILS_MAX,
         whole.rails)
   end
   local topo
   topo, err = base.new(joined.class, spec_of(list, whole))
   if not topo then
      return nil, err
   end
   name_parts(topo)
   take_over(topo)
   dynamic.join(topo)
   local ok
   ok, err = asked.join(topo)
   return ok and topo, err
end

return fabrics
