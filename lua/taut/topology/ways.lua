-- SPDX-License-Identifier: GPL-2.0-or-later
--- The way that one flow took where routes are sets, as somebody asked for it: a trace names the
-- links it saw, and the wiring tells of those between.
local tables = require "taut.base.tables"

local ways = {}

-- The only link at a router; false where there are more.
local function take_only(links, router, link)
   if links[router] == nil then
      links[router] = link
   else
      links[router] = false
   end
end

-- Members of a set, and the only one that leaves, or reaches, each router: false where there are
-- several.  Made once for each set.
local function index_of(topo, stage)
   local index = { members = stage, is = {}, from = {}, to = {}, n = #stage }
   for _, c in ipairs(stage) do
      local from, to = topo:from(c), topo:to(c)
      index.is[c] = true
      take_only(index.from, from, c)
      take_only(index.to, to, c)
   end
   return index
end

--- A route to ask about ways on.
-- @param route stages of the topology, from tx to rx
-- @return the same, for `known`; nil where it has no sets
function ways.of(topo, route)
   local asked, any = { n = #route }, false
   for i, stage in ipairs(route) do
      asked[i] = stage
      if type(stage) == "table" then
         asked[i], any = index_of(topo, stage), true
      end
   end
   if any then
      return asked
   end
   return nil
end

-- The only member of a set that fits between its neighbours on the way, or nil.
local function fitting_member(topo, index, before, after)
   local a = before and topo:is_link(before) and index.from[topo:to(before)]
   local b = after and topo:is_link(after) and index.to[topo:from(after)]
   if a and b and a ~= b then
      return nil
   end
   return a or b or nil
end

-- Links that were seen one after the other, and do not meet: one of their routers answered as
-- another, or the way changed meanwhile.  It is not known which.
local function drop_torn(topo, asked, way)
   for i = 2, asked.n - 2 do
      local a, b = way[i], way[i + 1]
      if a and b and topo:to(a) ~= topo:from(b) then
         way[i] = type(asked[i]) ~= "table" and a
         way[i + 1] = type(asked[i + 1]) ~= "table" and b
      end
   end
end

--- What is known of a way.
-- @param asked of ways.of
-- @param shown by stage the component that a trace saw there, or false; nil: it was not traced
-- @return array by stage: the component that the flow crossed, false where it is not known; whether
--   all of it is known
function ways.known(topo, asked, shown)
   local way, missing = {}, 0
   for i = 1, asked.n do
      local stage, seen = asked[i], shown and shown[i]
      way[i] = false
      if type(stage) ~= "table" then
         way[i] = stage
      elseif seen and stage.is[seen] then
         way[i] = seen
      end
   end
   drop_torn(topo, asked, way)
   for i = 1, asked.n do
      if not way[i] then
         missing = missing + 1
      end
   end
   local again = missing > 0
   while again do
      again = false
      for i = 1, asked.n do
         local c = not way[i] and fitting_member(topo, asked[i], way[i - 1], way[i + 1])
         if c then
            way[i], missing, again = c, missing - 1, true
         end
      end
   end
   return way, missing == 0
end

--- What routers answered, in links.
-- @param answers by router on the way, the first being the sender's own: its address, "" of one
--   that was silent; or nil
-- @return by stage the link that was seen there, or false; nil if it was not traced
function ways.shown(topo, asked, answers)
   if not answers then
      return answers
   end
   local at, shown = topo.asked_at, {}
   for i = 1, asked.n do
      local stage, router = asked[i], at.router[answers[i]]
      shown[i] = at.link[answers[i]] or false
      if not shown[i] and router and type(stage) == "table" then
         shown[i] = stage.to[router] or false
      end
   end
   return shown
end

-- What is sure of all streams of a test.  The port that was aimed with has answered for the link,
-- unless what was asked afterwards says otherwise; of several streams no more is known.
local function what_is_sure(test, shown, aimed)
   local aim, seen = test.aim, nil
   if aim and aimed ~= 0 then
      seen = shown and shown[aim.hop]
   end
   if (test.streams or 1) > 1 then
      shown = nil -- one answer does not speak for several streams
   end
   if not aim or aimed == 0 then
      return shown or nil
   elseif seen and seen ~= aim.link then
      return nil
   end
   shown = shown or {}
   shown[aim.hop] = aim.link
   return shown
end

--- Take in what was learned of a test's way: it then clears and accuses what it crossed.
-- @param test test with `asked` and perhaps `aim` (plan/ports.lua); its `route` gets the links that
--   are known in place of their sets; `way` and `is_traced` say the same, by stage, false where
--   nobody knows; `streams` those that took the link aimed at; `confirms` goes where that is not
--   known to be on the way
-- @param shown by stage the link that was seen there, or false; or nil
-- @param aimed how many streams took the link aimed at
function ways.take(topo, test, shown, aimed)
   local several = (test.streams or 1) > 1
   local way, is_whole = ways.known(topo, test.asked, what_is_sure(test, shown, aimed))
   local route, is_confirming = {}, false
   for i, stage in ipairs(test.route) do
      if type(stage) ~= "table" then
         way[i] = stage
      end
      route[i] = way[i] or stage
      is_confirming = is_confirming or way[i] == test.confirms
   end
   test.way, test.is_traced, test.route = way, is_whole, route
   if several and aimed > 0 then
      test.streams = math.min(aimed, test.streams)
   end
   if not is_confirming then
      test.confirms = nil
   end
end

--- Tests of one phase that turned out to go over the same link had a part of it each.
-- @param tests of an event, after `take`; get `shares` and `through` as those of deliberate senders
function ways.share(tests)
   local users = {}
   for _, t in ipairs(tests) do
      for i = 2, #(t.way or {}) - 1 do
         local key = t.way[i] and t.phase .. ":" .. t.way[i]
         if key then
            users[key] = users[key] or { c = t.way[i] }
            table.insert(users[key], t)
         end
      end
   end
   for _, list in pairs(users) do
      for _, t in ipairs(tables.or_empty(#list > 1 and list)) do
         t.shares = t.shares or {}
         t.shares[list.c], t.through = #list, t.shares
      end
   end
end

return ways
