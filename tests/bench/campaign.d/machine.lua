-- SPDX-License-Identifier: GPL-2.0-or-later
--- Machines of the campaign: the world's and Taut's own topology of the same, and which component
-- of one is which of the other.
--
-- The topology is loaded as a site's taut.lua is, so that every setting stands as in production.
local addresses = require "taut.topology.addresses"
local config = require "taut.config"
local cabinets = require "taut.topology.cabinets"
local sys = require "taut.sys"

local machine = {}

local function hosts(names)
   return ('nodes = "%s"'):format(table.concat(names, ","))
end

-- The world's node i is called n<i>; node ids of a Gemini go round the chassis, so the list of
-- names that a site would give has them in another order.
local function torus_text(o)
   local layout, err = cabinets.layout("gemini", o.dims, o.nodes_per_router)
   if not layout then
      return nil, "a torus of the campaign is one of Gemini routers: " .. err
   end
   local names = {}
   for nid = 0, o.dims[1] * o.dims[2] * o.dims[3] * 2 - 1 do
      local router, k = layout.router_of_nid(nid)
      names[nid + 1] = "n" .. router * 2 + k
   end
   return ('topology = torus { layout = "gemini", nodes_per_router = 2, dims = { %s }, %s }')
      :format(table.concat(o.dims, ", "), hosts(names))
end

-- The world's spines by destination are d-mod-k, as OpenSM's.
local function tree_text(routing)
   return function(o)
      return ([[topology = fattree { nodes_per_leaf = %d, levels = { { down = %d, up = %d } },
         nodes = "n[0-%d]", capacity = 12.5e9, routing = "%s" }]]):format(o.nodes_per_leaf,
         o.leaves, o.spines, o.leaves * o.nodes_per_leaf - 1, routing)
   end
end

-- The world's port p of a group goes to the p-th next group, round by round: Taut's "relative".
-- Routes inside a group are direct, which misrouted = 0 says; that three in ten between groups go
-- over a third one it does not say, but of those routes it takes no link for surely used, anyway.
local function dragonfly_text(o)
   local cables = o.routers * o.global // (o.groups - 1)
   if cables * (o.groups - 1) ~= o.routers * o.global then
      return nil, "dragonfly: expected routers * global to be a multiple of groups - 1"
   end
   return ([[topology = dragonfly { groups = %d, routers = %d, nodes_per_router = %d,
      global_links = %d, arrangement = "relative", nodes = "n[0-%d]", capacity = 12.5e9,
      routing = "adaptive", misrouted = 0 }]]):format(o.groups, o.routers, o.nodes_per_router,
      cables, o.groups * o.routers * o.nodes_per_router - 1)
end

local KINDS = {
   torus = { text = torus_text, world = { dims = { 25, 16, 24 }, nodes_per_router = 2 } },
   tree = { text = tree_text "dmodk", kind = "fattree",
      world = { leaves = 72, spines = 18, nodes_per_leaf = 16, routing = "dmodk" } },
   hashed = { text = tree_text "ecmp", kind = "fattree",
      world = { leaves = 72, spines = 18, nodes_per_leaf = 16 } },
   dragonfly = { text = dragonfly_text, world = { groups = 33, routers = 16, nodes_per_router = 8,
      global = 8 } },
}

-- The world's rules, which no site has: a node sends and receives at once; a phase in which anybody
-- has several streams counts as two; an idle cycle has four phases, and a job is one event.
local RULES = { duplex = true, wide_phases = 1, idle_budget_ms = 10 + 4 * (25 + 4), group = 1024 }

-- taut.lua is refused in a folder that others may write to, as /tmp is.
local function with_folder(fn)
   local name = os.tmpname()
   local dir = name .. ".d"
   assert(sys.mkdir(dir, 448))
   local results = table.pack(fn(dir .. "/taut.lua"))
   os.remove(dir .. "/taut.lua")
   os.remove(dir)
   os.remove(name)
   return table.unpack(results, 1, results.n)
end

-- Which component of Taut's is called what in the world: nodes' by their names, a torus' links,
-- too; others by the routers at their ends.
local function name_in_world(kind, topo, c)
   if kind == "torus" or not topo:is_link(c) then
      return topo.components[c]
   end
   local from, to = topo.router_name[topo:from(c)], topo.router_name[topo:to(c)]
   if kind == "tree" or kind == "hashed" then
      return ("%s/%s"):format(from, to:match "%d+$")
   end
   local group, other = topo:group(topo:from(c)), topo:group(topo:to(c))
   return ("r%d/%s%d"):format(topo:from(c), group == other and "L" or "G", topo:to(c))
end

-- Each port of a switch has an address, by which it answers traces.
local function add_addresses(topo)
   local map = {}
   for c = topo.first_link, #topo.components do
      map[topo.components[c]] = ("10.%d.%d.%d"):format(c >> 16 & 255, c >> 8 & 255, c & 255)
   end
   assert(addresses.apply(topo, map))
end

--- Hold Taut's picture against what the world tells of the machine, and make the maps.
-- @param kind of machine
-- @param topo Taut's
-- @param site what world:machine() gave
-- @return { node = array: node number of the world's node i at i + 1, place = the way back
--   (counted from 0), name = array by component: its name in the world, component = the way back }
function machine.maps(kind, topo, site)
   local m = { node = {}, place = {}, name = {}, component = {} }
   assert(#topo.nodes == site.nodes and #topo.components == #site.names,
      "Taut's machine has another size than the world's")
   for i = 0, site.nodes - 1 do
      local n = assert(topo.node_id["n" .. i])
      m.node[i + 1], m.place[n] = n, i
   end
   for c = 1, #topo.components do
      m.name[c] = name_in_world(kind, topo, c)
      m.component[m.name[c]] = c
   end
   for w, name in ipairs(site.names) do
      local c = assert(m.component[name], name)
      assert(topo.capacity[c] == site.capacity_Bps[w], name .. ": another capacity")
   end
   return m
end

--- A configuration out of the text of a taut.lua.
-- @return as config.load
function machine.configuration(text)
   return with_folder(function(path)
      local f = assert(io.open(path, "w"))
      f:write(text, "\n")
      f:close()
      return config.load(path, { rundir = "/run", statedir = "/var/lib/taut" })
   end)
end

--- Load a machine.
-- @param kind "torus", "tree" (static routes), "hashed" (a tree) or "dragonfly"
-- @param size fields that replace those of the full size, such as { dims = { 4, 4, 24 } }
-- @param settings text of a taut.lua without its topology: what is to be other than the defaults
-- @return { kind, world = what world.new takes as machine, conf = the configuration, topo }, or nil
--   and what was expected
function machine.load(kind, size, settings)
   local k = KINDS[kind]
   if not k then
      return nil, ("machine '%s' is not known (known: torus, tree, hashed, dragonfly)"):format(kind)
   end
   local spec = { kind = k.kind or kind }
   for name, value in pairs(k.world) do
      spec[name] = size and size[name] or value
   end
   local text, err = k.text(spec)
   if not text then
      return nil, err
   end
   local conf
   conf, err = machine.configuration((settings or "") .. "\n" .. text)
   if not conf then
      return nil, err
   end
   for name, value in pairs(RULES) do
      conf.checks[name] = value
   end
   if kind == "hashed" then
      add_addresses(conf.topology)
   end
   return { kind = kind, world = spec, conf = conf, topo = conf.topology }
end

return machine
