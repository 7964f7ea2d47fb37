-- SPDX-License-Identifier: GPL-2.0-or-later
--- Source ports of tests where the switches choose among links by a hash of the flow: which port
-- takes which way is asked for, flow by flow, with the test's own header.
--
-- A test about one link of a set tries a few ports until one takes that link; any other test takes
-- the first.  What a way is known from is the trace of that very event, since switches are rehashed
-- without anybody being told; a port that took a link before is merely tried first.
local ways = require "taut.topology.ways"

local ports = {}
local Ports = {}
Ports.__index = Ports

local FIRST, LAST = 20000, 59999
local KEPT = 16384    -- ports remembered
local ROUTERS = 65536 -- pairs of routers whose routes are remembered

local function is_on(way, c)
   for i = 2, #way - 1 do
      if way[i] == c then
         return true
      end
   end
   return false
end

-- What lies between the routers of two nodes, to ask about; false where there is no set.
local function between(self, t)
   local topo = self.topo
   local from, to = topo:router(t.src, t.rail), topo:router(t.dst, t.rail)
   if not from or not to or from == to then
      return false
   end
   local key = from * topo.routers + to
   local asked = self.between[key]
   if asked == nil then
      if self.n_between >= ROUTERS then
         self.between, self.n_between = {}, 0
      end
      local route = topo:route(t.src, t.dst, nil, t.rail)
      asked = route and ways.of(topo, route) or false
      self.between[key], self.n_between = asked, self.n_between + 1
   end
   return asked
end

-- A port for a pair of nodes: another one each time.
function Ports:next_port()
   self.at = self.at >= LAST and FIRST or self.at + 1
   return self.at
end

local function note(self, key, port)
   if not self.took[key] then
      if self.kept >= KEPT then
         self.took, self.kept = {}, 0
      end
      self.kept = self.kept + 1
   end
   self.took[key] = port
end

local function ask_once(self, p, ask, port)
   local t, topo = p.first, self.topo
   local way, is_whole = ways.known(topo, p.asked, ask(t.src, t.dst, port))
   local rail = ((t.rail or 1) - 1) * 2 * #topo.nodes
   way[1], way[#way] = topo.tx[t.src] + rail, topo.rx[t.dst] + rail
   return { port = port, way = way, is_whole = is_whole }
end

-- Ask with one port after the other until one takes the link that the test is about.
-- @return { port, way, is_whole }, and how often it asked
local function aim(self, p, ask, tries)
   local t = p.first
   if not t.confirms or not self.topo:is_link(t.confirms) then
      return ask_once(self, p, ask, self:next_port()), 1
   end
   local key = ("%d>%d>%d"):format(t.src, t.dst, t.confirms)
   local port, first = self.took[key] or self:next_port(), nil
   for n = 1, tries do
      local got = ask_once(self, p, ask, port)
      if is_on(got.way, t.confirms) then
         note(self, key, port)
         return got, n
      end
      first, port = first or got, self:next_port()
   end
   self.took[key] = nil
   return first, tries
end

-- Tests by pair of nodes, in the order of the plan, where there is something to ask; and how many
-- such pairs each source has.
local function by_pair(self, tests)
   local pair_of, list, sources = {}, {}, {}
   for _, t in ipairs(tests) do
      local asked = between(self, t)
      if asked then
         local key = t.src * (#self.topo.nodes + 1) + t.dst
         local p = pair_of[key]
         if not p then
            p = { asked = asked, first = t }
            pair_of[key], list[#list + 1] = p, p
            sources[t.src] = (sources[t.src] or 0) + 1
         end
         p.first = p.first.confirms and p.first or t
         p[#p + 1] = t
      end
   end
   return list, sources
end

--- Give tests their ports and what is known of their ways.
-- @param tests of a plan; get `src_port` and, by stage, `way` (topology/ways.lua); a test asked for
--   about a link that it did not take is no such test any more (`confirms` goes)
-- @param ask function(src, dst, port) → by stage the component seen there, or false; or nil
-- @param most how often a source may ask
function Ports:assign(tests, ask, most)
   local list, sources = by_pair(self, tests)
   for _, p in ipairs(list) do
      local src = p.first.src
      local got, n = aim(self, p, ask, 1 + math.max(0, most - sources[src]))
      sources[src] = sources[src] + n - 1
      for _, t in ipairs(p) do
         t.src_port, t.way, t.is_traced = got.port, got.way, got.is_whole
         if t.confirms and self.topo:is_link(t.confirms)
            and not is_on(got.way, t.confirms) then
            t.confirms = nil
         end
      end
   end
end

--- @param topo topology
function ports.new(topo)
   return setmetatable({ topo = topo, at = FIRST, took = {}, kept = 0, between = {},
      n_between = 0 }, Ports)
end

return ports
