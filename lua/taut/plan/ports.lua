-- SPDX-License-Identifier: GPL-2.0-or-later
--- Source ports of tests where the switches choose among links by a hash of the flow, and what is
-- asked about their ways.
--
-- A port that took a link once says nothing about the next check: the far end listens on another
-- port then, and switches are rehashed without anybody being told.  So nothing is remembered; the
-- node that sends tries ports of a test until one takes the link that the test is about, and asks
-- afterwards which way the test went.  A test that is about none tries a few for the link of its
-- way that is due, since by chance alone some links of a set wait long.
local ways = require "taut.topology.ways"

local ports = {}
local Ports = {}
Ports.__index = Ports

local FIRST, LAST = 20000, 31999 -- below those that Linux gives out by itself
local STREAMS = 16               -- of one test
local TRIES = 4                  -- ports for each link of the set and stream
local MOST = 128                 -- ports tried for a test
local ROUTINE = 8                -- of one that is about no link: routers answer only so many
local LARGE = 64                 -- links of a set of which so few ports seldom take a certain one
local ROUTERS = 65536            -- pairs of routers whose routes are remembered
local NONE = {}

-- What lies between the routers of two nodes, to ask about; false where there is no set.
local function find_between(self, test)
   local topo = self.topo
   local from, to = topo:router(test.src, test.rail), topo:router(test.dst, test.rail)
   if from == to or not topo:asked(test.route[1]) then
      return false
   end
   local key = from * topo.routers + to
   local asked = self.between[key]
   if asked == nil then
      if self.n_between >= ROUTERS then
         self.between, self.n_between = {}, 0
      end
      asked = ways.of(topo, test.route) or false
      self.between[key], self.n_between = asked, self.n_between + 1
   end
   return asked
end

-- So many ports in a row: others each time.
local function take_ports(self, count)
   if self.at + count > LAST then
      self.at = FIRST
   end
   self.at = self.at + count
   return self.at - count
end

-- The links by which the test can be aimed at a link of the set at a place. This is that link,
-- whose far router must answer, or the only one before or after it on a way over it, for which
-- another router answers.
local function list_marks(self, asked, place, link)
   local topo, set = self.topo, asked[place]
   local from, to, of = topo:from(link), topo:to(link), topo.asked_at.of
   local before, after = asked[place - 1], asked[place + 1]
   local list = { { link = link, hop = place } }
   if type(before) == "table" and set.from[from] == link and before.to[from] then
      list[#list + 1] = { link = before.to[from], hop = place - 1 }
   end
   if type(after) == "table" and set.to[to] == link and after.from[to] then
      list[#list + 1] = { link = after.from[to], hop = place + 1 }
   end
   local known = {}
   for _, mark in ipairs(list) do
      if of[mark.link] then
         known[#known + 1] = mark
      end
   end
   return known
end

-- How to aim at a link of a set: who keeps silent is not known, so each pair in its own way, and
-- another one in the next plan; both directions of a pair alike.
local function aim_at_link(self, asked, test, link, most)
   for i = 2, asked.n - 1 do
      local set = asked[i]
      local marks = type(set) == "table" and set.is[link] and list_marks(self, asked, i, link)
      if marks and #marks > 0 then
         local mark = marks[(test.src + test.dst + self.plans) % #marks + 1]
         mark.ports = math.min(most, TRIES * set.n * (test.streams or 1))
         return mark
      end
   end
   return nil
end

-- The link of its sets that no test has gone over for the longest time, of those that the fewest
-- tests of this plan are aimed at.
local function find_stalest(self, asked)
   local aimed, coverage, best, least, since = self.aimed, self.coverage, nil, math.huge, nil
   for i = 2, asked.n - 1 do
      local set = asked[i]
      local members = NONE
      if type(set) == "table" and set.n <= LARGE then
         members = set.members or NONE
      end
      for k = 1, #members do
         local c = members[k]
         local n, tested = aimed[c] or 0, coverage:tested(c)
         if n < least or n == least and tested < since then
            best, least, since = c, n, tested
         end
      end
   end
   return best
end

-- A test that is about no link goes over one that is due.
local function aim_at_due(self, asked, test)
   local c, shown = find_stalest(self, asked), {}
   if not c then
      return nil
   end
   for i = 2, asked.n - 1 do
      shown[i] = false
      if type(asked[i]) == "table" and asked[i].is[c] then
         shown[i] = c
      end
   end
   for _, link in ipairs((ways.known(self.topo, asked, shown))) do -- all that it then takes
      if link then
         self.aimed[link] = (self.aimed[link] or 0) + 1
      end
   end
   return aim_at_link(self, asked, test, c, ROUTINE)
end

--- A plan begins.
function Ports:begin()
   self.plans, self.aimed = self.plans + 1, {}
end

--- Have the way of a planned test asked for, if it goes over sets.
-- @param test gets `asked` (see ways.of), `src_port`, `trace` (how many routers there are to ask)
--   and, `aim` { link = the one that the test is about or that is due, or one that tells it, hop =
--   which router is at its end, ports = how many may be tried }
function Ports:ask(test)
   local asked = find_between(self, test)
   if asked then
      test.asked, test.trace = asked, asked.n - 1
      if test.confirms then
         test.aim = aim_at_link(self, asked, test, test.confirms, MOST) or nil
      else
         test.aim = aim_at_due(self, asked, test) or nil
      end
      local count = STREAMS
      if test.aim then
         count = math.max(count, test.aim.ports or 0)
      end
      test.src_port = take_ports(self, count)
   end
end

--- @param topo topology
-- @param coverage says when links were tested
function ports.new(topo, coverage)
   return setmetatable({ topo = topo, coverage = coverage, at = FIRST, plans = 0, aimed = {},
      between = {}, n_between = 0 }, Ports)
end

return ports
