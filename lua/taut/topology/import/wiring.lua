-- SPDX-License-Identifier: GPL-2.0-or-later
--- The neutral wiring that every importer returns, and its making.
--
--   source, format   where it comes from
--   routers[i]       { name, guid, ports, lid; hints: level, coord, group, row, col, place;
--                    others: GUIDs of the switches of other planes that it stands for;
--                    renumbered: those of them whose cables are at other ports of it }
--   nodes[i]         { name, guid, rails; hints: coord, place, role, nid, state }
--   rails[k]         of a node: { router = i, port, lid, lmc, guid, width, speed, Bps }; false
--                    where its peers have one and it has none
--   cables[i]        { a = router, a_port, b = router, b_port, width, speed, Bps, kind, down }
--                    (of several planes, rails and cables: width and speed of one, Bps of all,
--                    `planes` how many, `left` the share that is there where some are not)
--   tables           forwarding: tables[router][lid] = port
--   lids             whose each is: lids[lid] = { node = i, rail = k } or { router = i }
--   addresses[i]     { name = "leaf0/3" or "leaf0", address }: who answers for the way; or nil
--   routing          "ecmp" where it says that the routers' ports have addresses of their own, so
--                    that they route, and choose among equal ways by a hash; or nil
--   notes[i]         { line, text, file }: what did not fit and was passed over
local hostlist = require "taut.hostlist"
local source = require "taut.topology.import.source"

local wiring = {}
local Wiring = {}
Wiring.__index = Wiring

local quote = source.quote

-- What a name may have: routers what can be printed, nodes what Slurm takes.
local ROUTER_NAME, NODE_NAME = "^[!-~]+$", "^[%w_.:-]+$"

--- Start one.
-- @param src what is read
-- @param format name of the importer
function wiring.new(src, format)
   return setmetatable({ src = src, format = format, routers = {}, nodes = {}, cables = {},
      router_at = {}, node_at = {}, lines = {} }, Wiring)
end

local function add_thing(self, list, at, what, line, thing)
   local form = ROUTER_NAME
   if what == "node" then
      form = NODE_NAME
   end
   if #thing.name > 255 or not thing.name:find(form) then
      self.src:fail(line, "%s is not a valid name for a %s", quote(thing.name), what)
   end
   local other = at[thing.name]
   if other then
      self.src:fail(line, "%s %s is here and in line %d, expected it once", what,
         quote(thing.name), self.lines[other])
   end
   if #list >= source.limits.names then
      self.src:fail(line, "more than %d of a kind, expected at most that many", #list)
   end
   list[#list + 1] = thing
   at[thing.name] = thing
   self.lines[thing] = line
   return #list, thing
end

--- Add a router; a name that is there already is an error.
-- @return its index and the table
function Wiring:router(line, router)
   local i = add_thing(self, self.routers, self.router_at, "router", line, router)
   router.index = i
   return i, router
end

--- Add a node; a name that is there already is an error.
function Wiring:node(line, node)
   node.rails = node.rails or {}
   return add_thing(self, self.nodes, self.node_at, "node", line, node)
end

function Wiring:cable(cable)
   self.cables[#self.cables + 1] = cable
end

--- Names of a host list, each at most once in it.
-- @param text the list
-- @param what "Nodes", for the error
function Wiring:expand(line, text, what)
   local names, err = hostlist.expand(text, source.limits.names)
   if not names then
      self.src:fail(line, "%s %s: %s", what, quote(text), err)
   end
   if #names == 0 then
      self.src:fail(line, "%s is empty, expected names", what)
   end
   return names
end

--- Hold the nodes against those of the machine (opts.nodes: set of names, or nil).
-- @param strict true: a name in no machine is an error; false: it is left out, with a note
function Wiring:only(known, strict)
   if not known then
      return
   end
   local kept = {}
   for _, n in ipairs(self.nodes) do
      if known[n.name] then
         kept[#kept + 1] = n
      elseif strict then
         self.src:fail(self.lines[n], "node %s is in no machine, expected one of --nodes",
            quote(n.name))
      else
         self.src:note(self.lines[n], "%s is not among --nodes and is left out", quote(n.name))
      end
   end
   self.nodes = kept
   for _, name in ipairs(known) do
      if not self.node_at[name] then
         self.src:note(1, "node %s of the machine is not in this file", quote(name))
      end
   end
end

--- The finished wiring.
function Wiring:finish()
   for _, r in ipairs(self.routers) do
      r.index = nil
   end
   return {
      source = self.src.path, format = self.format, routers = self.routers, nodes = self.nodes,
      cables = self.cables, addresses = self.addresses, routing = self.routing,
      notes = self.src.notes,
   }
end

return wiring
