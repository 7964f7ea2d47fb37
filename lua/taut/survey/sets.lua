-- SPDX-License-Identifier: GPL-2.0-or-later
--- Which sets of links have a slow one, by an audit's own flows.
--
-- Where routes are hashed each flow takes one link of a set, and it is not known which.  A pair
-- sends several, one after the other; where some are low and some are well, one of a set on their
-- way is slow.  It is not one of a set through which another pair had all of its flows well.  Of
-- the sets that are left the one that explains most pairs is named, with those it cannot be told
-- from.
local json = require "taut.json"
local rounds = require "taut.survey.rounds"
local stages = require "taut.topology.stages"
local tables = require "taut.base.tables"
local text = require "taut.diagnose.sets.text"

local sets = {}

local MEASURED = 0.75 -- of the flows that were planned

---------------------------------------------------------------- pairs of nodes

-- Flows of a pair through some sets.
local function pair_of(by, list, test)
   local key = ("%d>%d %d"):format(test.src, test.dst, test.rail or 1)
   local pair = by[key]
   if not pair then
      pair = { test = test, flows = 0, low = {}, planned = 0, sets = {} }
      by[key], list[#list + 1] = pair, pair
      for _, stage in ipairs(test.route) do
         if type(stage) == "table" then
            pair.sets[#pair.sets + 1] = stage
         end
      end
   end
   return pair
end

local function pairs_of(survey)
   local by, list = {}, {}
   for _, t in survey.each(survey.results) do
      if t.flow then
         local pair = pair_of(by, list, t)
         pair.planned = math.max(pair.planned, t.flow)
         if t.class ~= "void" then
            pair.flows = pair.flows + 1
         end
         if t.class == "low" then
            pair.low[#pair.low + 1] = t
         end
      end
   end
   return list
end

-- Some flows low, some well: at least `needed` low ones, half of them near the best of these.
local function is_mixed(pair, survey)
   local best = 0
   for _, t in ipairs(pair.low) do
      best = math.max(best, t.ratio or 0)
   end
   local near = tables.count(pair.low, function(test)
      return (test.ratio or 0) >= (1 - survey.diagnosis.ceiling) * best
   end)
   return #pair.low > 0 and #pair.low < pair.flows and near * 2 >= #pair.low
end

---------------------------------------------------------------- sets

-- What is known of each set: { members, flows, planned, mixed = array of pairs, is_well }.
local function collect_sets(survey)
   local by, list = {}, {}
   for _, pair in ipairs(pairs_of(survey)) do
      for _, members in ipairs(pair.sets) do
         local set = by[members]
         if not set then
            set = { members = members, flows = 0, planned = 0, mixed = {}, low = 0 }
            by[members], list[#list + 1] = set, set
         end
         set.flows, set.planned = set.flows + pair.flows, math.max(set.planned, pair.planned)
         if is_mixed(pair, survey) then
            set.mixed[#set.mixed + 1] = pair
         elseif #pair.low == 0 and pair.flows >= MEASURED * pair.planned then
            set.is_well = true
         end
      end
   end
   table.sort(list, function(one, other) return one.members[1] < other.members[1] end)
   return list
end

local function least_capacity(survey, members)
   local least = math.huge
   for _, c in ipairs(members) do
      least = math.min(least, survey.topo.capacity[c])
   end
   return least
end

local function describe_set(survey, set, ties)
   local low, flows, best, names = 0, 0, nil, json.array {}
   for _, pair in ipairs(set.mixed) do
      low, flows = low + #pair.low, flows + pair.flows
      for _, t in ipairs(pair.low) do
         if not best or t.bw_Bps > best.bw_Bps then
            best = t
         end
      end
   end
   for i, other in ipairs(ties) do
      names[i] = stages.text({ other.members }, survey.topo.components)
   end
   local cap = least_capacity(survey, set.members)
   return { component = stages.text({ set.members }, survey.topo.components),
      left = math.min(1, best.bw_Bps / cap), measured_Bps = best.bw_Bps, capacity_Bps = cap,
      tests = low, ["or"] = names, src = best.src_name, dst = best.dst_name,
      kind = survey.topo:kind(set.members[1]), of = #set.members,
      where = ("%s: %d of %d flows"):format(text.of(survey.topo, set.members), low, flows) }
end

-- How many pairs of a list are unexplained.
local function open_pairs(set, explained)
   return tables.count(set.mixed, function(pair) return not explained[pair] end)
end

local function low_flows(set)
   local n = 0
   for _, pair in ipairs(set.mixed) do
      n = n + #pair.low
   end
   return n
end

--- @param survey topo, results (judged tests), diagnosis (settings), needed, each(list): an
--   iterator like ipairs
-- @return rows as those of slow.lua; { all, measured = with flows enough } of sets; map link → true
--   of those in measured sets
function sets.of(survey)
   local list, rows, measured, n = collect_sets(survey), json.array {}, {},
      { all = 0, measured = 0 }
   local explained, suspects = {}, {}
   for _, set in ipairs(list) do
      local is_measured = set.flows >= MEASURED * set.planned
      n.all = n.all + 1
      if is_measured then
         n.measured = n.measured + 1
         rounds.each({ set.members }, function(component) measured[component] = true end)
      end
      if #set.mixed > 0 and not set.is_well and low_flows(set) >= survey.needed then
         suspects[#suspects + 1] = set
      end
   end
   while true do
      local best, most = nil, 0
      for _, set in ipairs(suspects) do
         local open = open_pairs(set, explained)
         if open > most then
            best, most = set, open
         end
      end
      if not best then
         break
      end
      local ties = tables.filter(suspects, function(set)
         return set ~= best and open_pairs(set, explained) == most
      end)
      rows[#rows + 1] = describe_set(survey, best, ties)
      for _, set in ipairs({ best, table.unpack(ties) }) do
         for _, pair in ipairs(set.mixed) do
            explained[pair] = true
         end
      end
   end
   return rows, n, measured
end

return sets
