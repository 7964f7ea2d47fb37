-- SPDX-License-Identifier: GPL-2.0-or-later
--- The nodes' part where routes are hashed: they try the ports of a test until one takes the link
-- that it is about, and say which way it went (doc/protocol.md), by the world's traces.
--
-- A node of this world may ask a few times in an event only, where a real one tries a hundred ports
-- at once.  So it tries a port first that took the link before (there a flow's way does not depend
-- on the port of the far end, which in a real check is another each time), and the second half of a
-- confirming pair leaves by the port of the first.
local probes = {}
local Probes = {}
Probes.__index = Probes

local KEPT = 16384 -- ports remembered

local function key_of(t)
   return t.aim and ("%d>%d>%d"):format(t.src, t.dst, t.aim.link) or t.id
end

-- Addresses of the routers on the way, "" of those that were silent.
local function answers(topo, shown)
   local list = {}
   for i = 1, #shown - 1 do
      list[i] = shown[i] and topo.asked_at.of[shown[i]] or ""
   end
   return list
end

local function remember(self, key, port)
   if port and not self.took[key] then
      self.kept = self.kept + 1
      if self.kept > KEPT then
         self.took, self.kept = {}, 1
      end
   end
   self.took[key] = port
end

-- Ask with one port after the other.
-- @return { port, shown = by stage the link seen or false, is_aimed }, and how often it asked
local function try(self, t, key, trace, most)
   local first
   for n = 1, math.min(most, t.aim and t.aim.ports or 1) do
      local port = n == 1 and self.took[key] or t.src_port + n - 1
      local got = { port = port, shown = trace(t.src, t.dst, port) }
      if t.aim and got.shown[t.aim.hop] == t.aim.link then
         got.is_aimed = true
         remember(self, key, port)
         return got, n
      end
      first = first or got
   end
   remember(self, key, nil)
   return first, most
end

--- Ask for the ways of tests.
-- @param tests of a plan; get `from_port`
-- @param trace function(src, dst, port) → by stage the component seen, or false
-- @param most how often a node may ask
-- @return map id of a test → { way, aimed } of its RESULT
function Probes:ask(tests, trace, most)
   local left, got, told = {}, {}, {}
   for _, t in ipairs(tests) do
      local key = t.asked and key_of(t)
      if key and not got[key] then
         got[key], left[t.src] = true, (left[t.src] or most) - 1
      end
   end
   for _, t in ipairs(tests) do
      local key = t.asked and key_of(t)
      if key then
         if got[key] == true then
            local n
            got[key], n = try(self, t, key, trace, 1 + math.max(0, left[t.src]))
            left[t.src] = left[t.src] - n + 1
         end
         t.from_port = got[key].port
         told[t.id] = { way = answers(self.topo, got[key].shown),
            aimed = got[key].is_aimed and t.streams or 0 }
      end
   end
   return told
end

--- @param topo topology with addresses
function probes.new(topo)
   return setmetatable({ topo = topo, took = {}, kept = 0 }, Probes)
end

return probes
