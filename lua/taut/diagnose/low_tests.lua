-- SPDX-License-Identifier: GPL-2.0-or-later
--- The low tests of runs, as tables for a store and back: a test stands in the runs of several
-- components, and is one again.
--
-- What a test showed of each component on its way, and which component explains it, are numbers;
-- where components have others by now a map says which.
local stages = require "taut.topology.stages"
local tables = require "taut.base.tables"

local low_tests = {}

local FIELDS = { "id", "event", "time", "bw_Bps", "expected_Bps", "ratio", "share", "streams",
   "flows", "job", "rail", "links", "by_ack", "is_counted", "port", "src_name",
   "dst_name", "class" }
local OF_A_RUN = { "confirms", "explained_by" } -- components
local NUMBERS = { "id", "event", "time", "bw_Bps", "expected_Bps", "ratio", "streams" }

---------------------------------------------------------------- out

--- A test without what else was on its way.
function low_tests.pack(test)
   return tables.of_names(test, FIELDS)
end

-- A map from components as { c, value, c, value, … }.
local function flatten_map(map)
   local list = {}
   for c, v in pairs(map) do
      list[#list + 1], list[#list + 2] = c, v
   end
   return list
end

--- A test as it stands in a run.
function low_tests.pack_of_run(test)
   local out = low_tests.pack(test)
   for _, f in ipairs(OF_A_RUN) do
      out[f] = test[f]
   end
   out.on, out.acks = test.on and flatten_map(test.on), test.acks and flatten_map(test.acks)
   return out
end

---------------------------------------------------------------- back

--- Raise an error where one of these fields is not a number.
function low_tests.check_numbers(fields, names)
   for _, name in ipairs(names) do
      if type(fields[name]) ~= "number" then
         error(name .. " is not a number", 0)
      end
   end
end

local function number_or(value, fallback)
   if type(value) == "number" then
      return value
   end
   return fallback
end

-- What pack made of a map; components that no longer exist are left out.
local function restore_map(list, topo, map)
   local out = {}
   list = tables.or_empty(list)
   for i = 1, #list - 1, 2 do
      local c, v = tables.renumbered(map, list[i]), list[i + 1]
      if math.type(c) == "integer" and topo.components[c]
         and (v == true or type(v) == "number") then
         out[c] = v
      end
   end
   if next(out) then
      return out
   end
   return nil
end

-- The ends of a test; nil where the topology no longer has a node, or a route between them.
local function resolve_ends(test, context)
   local topo = context.topo
   test.src_name, test.dst_name = context.node(test.src_name), context.node(test.dst_name)
   test.src, test.dst = topo.node_id[test.src_name], topo.node_id[test.dst_name]
   if not test.src or not test.dst or not topo:route(test.src, test.dst, nil, test.rail) then
      return nil
   end
   return test
end

-- Components of the ways there and back.
local function list_crossed(test, topo)
   local set = tables.set(stages.all(topo:route(test.src, test.dst, nil, test.rail)))
   for _, c in ipairs(test.acks and stages.all(topo:route(test.dst, test.src, nil, test.rail) or {})
      or {}) do
      set[c] = true
   end
   return set
end

-- Does a test of another machine say the same now?  All that it spoke against is on its way, and
-- nothing on its way is new.
-- @param spoken what it spoke against, as kept: { number then, share, … }
local function still_stands(test, spoken, context)
   if not context.map then
      return true
   end
   local set = list_crossed(test, context.topo)
   spoken = tables.or_empty(spoken)
   for i = 1, #spoken - 1, 2 do
      if not set[context.map[spoken[i]] or 0] then
         return false
      end
   end
   for _, c in ipairs(stages.sure(context.topo:route(test.src, test.dst, nil, test.rail))) do
      if not context.was[c] then
         return false
      end
   end
   return true
end

--- Tests as they stood in one component's run: its share is its own.
-- @param context { topo, node = function(name then) → name now; of another machine also map (number
--   then → number now), was (set of the components that it had, by their numbers now) }
-- @param is_of_verdict they are what a verdict rests on, which stands wherever they went
function low_tests.unpack_run(list, context, is_of_verdict)
   local out = {}
   for _, t in ipairs(list) do
      low_tests.check_numbers(t, NUMBERS)
      local spoken = t.on
      t.share = number_or(t.share, t.ratio)
      t.on = restore_map(t.on, context.topo, context.map)
      t.acks = restore_map(t.acks, context.topo, context.map)
      for _, f in ipairs(OF_A_RUN) do
         local c = math.type(t[f]) == "integer" and t[f]
         t[f] = nil
         if c then
            t[f] = tables.renumbered(context.map, c)
         end
      end
      out[#out + 1] = resolve_ends(t, context)
         and (is_of_verdict or still_stands(t, spoken, context)) and t or nil
   end
   return out
end

--- One test of a pair that confirmed: `seen` keeps it one table.
function low_tests.shared(test, context)
   low_tests.check_numbers(test, NUMBERS)
   if context.seen[test.id] == nil then
      context.seen[test.id] = resolve_ends(test, context) and still_stands(test, nil, context)
         and test or false
   end
   return context.seen[test.id] or nil
end

---------------------------------------------------------------- into the runs

local function begin_restored(test)
   return { id = test.id, event = test.event, time = test.time, src = test.src, dst = test.dst,
      rail = number_or(test.rail, 1), job = number_or(test.job, 0), bw_Bps = test.bw_Bps,
      expected_Bps = test.expected_Bps, flows = number_or(test.flows, 1),
      streams = number_or(test.streams, 1), links = number_or(test.links),
      is_counted = test.is_counted == true or nil,
      port = (test.port == "src" or test.port == "dst") and test.port or nil,
      confirms = test.confirms, explained_by = test.explained_by, on = test.on or {},
      acks = test.acks or {}, runs = {} }
end

--- Of one test, what a component's run says of it.
-- @param pending what finish() takes
function low_tests.collect(pending, component, test)
   local key = ("%d:%d:%d:%s"):format(test.event, test.src, test.dst, test.id)
   local p = pending[key]
   if not p then
      p = begin_restored(test)
      pending[key], pending[#pending + 1] = p, p
   end
   p.on[component], p.runs[component] = test.share, true
   p.acks[component] = test.by_ack == true or nil
end

-- What a loaded port showed stands in its own run only; what else was on the way may explain it.
local function add_way(topo, test)
   for _, c in ipairs(test.port and topo:route(test.src, test.dst, nil, test.rail) or {}) do
      if type(c) == "number" then
         test.on[c] = test.on[c] or test.bw_Bps / topo.capacity[c]
      end
   end
end

--- Put the tests back, in their order.
-- @param evidence of topo
function low_tests.finish(pending, evidence, topo)
   local serial, event = evidence:serial(), nil
   table.sort(pending, function(first, second)
      return first.time < second.time or first.time == second.time
         and (first.event < second.event or first.event == second.event and first.id < second.id)
   end)
   for _, t in ipairs(pending) do
      if t.event ~= event then
         serial, event = serial + 1, t.event
      end
      t.serial = serial
      add_way(topo, t)
      evidence:restore(t)
   end
end

return low_tests
