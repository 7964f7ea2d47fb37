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
local KEPT = 16384 -- ports remembered

local function has_sets(route)
   for _, stage in ipairs(route or {}) do
      if type(stage) == "table" then
         return true
      end
   end
   return false
end

local function is_on(way, c)
   for _, on in ipairs(way) do
      if on == c then
         return true
      end
   end
   return false
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

-- Ask with one port after the other until one takes link c.
-- @return port, way, is_whole
local function aim(self, t, route, ask, tries)
   local key = t.confirms and ("%d>%d>%d"):format(t.src, t.dst, t.confirms)
   local port = key and self.took[key] or self:next_port()
   local best
   for _ = 1, tries do
      local way, is_whole = ways.known(self.topo, route, ask(t.src, t.dst, port))
      best = best or { port = port, way = way, is_whole = is_whole }
      if not key then
         return best
      elseif is_on(way, t.confirms) then
         note(self, key, port)
         return { port = port, way = way, is_whole = is_whole }
      end
      port = self:next_port()
   end
   if key then
      self.took[key] = nil
   end
   return best
end

-- Tests by pair of nodes, in the order of the plan, and how many pairs each source has.
local function by_pair(self, tests)
   local pairs_of, list, sources = {}, {}, {}
   for _, t in ipairs(tests) do
      local key = t.src * (#self.topo.nodes + 1) + t.dst
      if not pairs_of[key] then
         local route = self.topo:route(t.src, t.dst, nil, t.rail)
         pairs_of[key] = { route = route, first = t, is_hashed = has_sets(route) }
         list[#list + 1] = pairs_of[key]
         if pairs_of[key].is_hashed then
            sources[t.src] = (sources[t.src] or 0) + 1
         end
      end
      local p = pairs_of[key]
      p.first = p.first.confirms and p.first or t
      p[#p + 1] = t
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
      if p.is_hashed then
         local t = p.first
         local spare = math.max(0, most - sources[t.src])
         local tries = t.confirms and 1 + spare or 1
         local asked = 0
         local got = aim(self, t, p.route, function(...)
            asked = asked + 1
            return ask(...)
         end, tries)
         sources[t.src] = sources[t.src] + asked - 1
         for _, each in ipairs(p) do
            each.src_port, each.way, each.is_traced = got.port, got.way, got.is_whole
            if each.confirms and not is_on(got.way, each.confirms) then
               each.confirms = nil
            end
         end
      end
   end
end

--- @param topo topology
function ports.new(topo)
   return setmetatable({ topo = topo, at = FIRST, took = {}, kept = 0 }, Ports)
end

return ports
