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
function low_tests.pack(t)
   local out = {}
   for _, f in ipairs(FIELDS) do
      out[f] = t[f]
   end
   return out
end

-- A map from components as { c, value, c, value, … }.
local function flat(map)
   local list = {}
   for c, v in pairs(map) do
      list[#list + 1], list[#list + 2] = c, v
   end
   return list
end

--- A test as it stands in a run.
function low_tests.pack_of_run(t)
   local out = low_tests.pack(t)
   for _, f in ipairs(OF_A_RUN) do
      out[f] = t[f]
   end
   out.on, out.acks = t.on and flat(t.on), t.acks and flat(t.acks)
   return out
end

---------------------------------------------------------------- back

--- Raise an error where one of these fields of t is no number.
function low_tests.check_numbers(t, names)
   for _, name in ipairs(names) do
      if type(t[name]) ~= "number" then
         error(name .. " is no number", 0)
      end
   end
end

-- What pack made of a map; components that are none any more are left out.
local function unflat(list, topo, map)
   local out = {}
   for i = 1, type(list) == "table" and #list - 1 or 0, 2 do
      local c, v = map and map[list[i]] or not map and list[i], list[i + 1]
      if math.type(c) == "integer" and topo.components[c]
         and (v == true or type(v) == "number") then
         out[c] = v
      end
   end
   return next(out) and out or nil
end

-- The ends of a test; nil where the topology no longer has a node, or a route between them.
local function ends(t, o)
   local topo = o.topo
   t.src_name, t.dst_name = o.node(t.src_name), o.node(t.dst_name)
   t.src, t.dst = topo.node_id[t.src_name], topo.node_id[t.dst_name]
   if not t.src or not t.dst or not topo:route(t.src, t.dst, nil, t.rail) then
      return nil
   end
   return t
end

-- Components of the ways there and back.
local function crossed(t, topo)
   local set = tables.set(stages.all(topo:route(t.src, t.dst, nil, t.rail)))
   for _, c in ipairs(t.acks and stages.all(topo:route(t.dst, t.src, nil, t.rail) or {}) or {}) do
      set[c] = true
   end
   return set
end

-- Does a test of another machine say the same now?  All that it spoke against is on its way, and
-- nothing on its way is new.
-- @param spoken what it spoke against, as kept: { number then, share, … }
local function stands(t, spoken, o)
   if not o.map then
      return true
   end
   local set = crossed(t, o.topo)
   for i = 1, type(spoken) == "table" and #spoken - 1 or 0, 2 do
      if not set[o.map[spoken[i]] or 0] then
         return false
      end
   end
   for _, c in ipairs(stages.sure(o.topo:route(t.src, t.dst, nil, t.rail))) do
      if not o.was[c] then
         return false
      end
   end
   return true
end

--- Tests as they stood in one component's run: its share is its own.
-- @param o { topo, node = function(name then) → name now; of another machine also map (number then
--   → number now), was (set of the components that it had, by their numbers now) }
-- @param is_of_verdict they are what a verdict rests on, which stands wherever they went
function low_tests.unpack_run(list, o, is_of_verdict)
   local out = {}
   for _, t in ipairs(list) do
      low_tests.check_numbers(t, NUMBERS)
      local spoken = t.on
      t.share = type(t.share) == "number" and t.share or t.ratio
      t.on, t.acks = unflat(t.on, o.topo, o.map), unflat(t.acks, o.topo, o.map)
      for _, f in ipairs(OF_A_RUN) do
         local c = math.type(t[f]) == "integer" and t[f]
         t[f] = c and (o.map and o.map[c] or not o.map and c) or nil
      end
      out[#out + 1] = ends(t, o) and (is_of_verdict or stands(t, spoken, o)) and t or nil
   end
   return out
end

--- One test of a pair that confirmed: `seen` keeps it one table.
function low_tests.shared(t, o)
   low_tests.check_numbers(t, NUMBERS)
   if o.seen[t.id] == nil then
      o.seen[t.id] = ends(t, o) and stands(t, nil, o) and t or false
   end
   return o.seen[t.id] or nil
end

---------------------------------------------------------------- into the runs

local function number(v, fallback)
   return type(v) == "number" and v or fallback
end

local function begin(t)
   return { id = t.id, event = t.event, time = t.time, src = t.src, dst = t.dst,
      rail = number(t.rail, 1), job = number(t.job, 0), bw_Bps = t.bw_Bps,
      expected_Bps = t.expected_Bps, flows = number(t.flows, 1), streams = number(t.streams, 1),
      links = number(t.links), is_counted = t.is_counted == true or nil,
      port = (t.port == "src" or t.port == "dst") and t.port or nil,
      confirms = t.confirms, explained_by = t.explained_by, on = t.on or {}, acks = t.acks or {},
      runs = {} }
end

--- Of one test, what component c's run says of it.
-- @param pending what finish() takes
function low_tests.collect(pending, c, t)
   local key = ("%d:%d:%d:%s"):format(t.event, t.src, t.dst, t.id)
   local p = pending[key]
   if not p then
      p = begin(t)
      pending[key], pending[#pending + 1] = p, p
   end
   p.on[c], p.runs[c] = t.share, true
   p.acks[c] = t.by_ack == true or nil
end

-- What a loaded port showed stands in its own run only; what else was on the way may explain it.
local function add_way(topo, t)
   for _, c in ipairs(t.port and topo:route(t.src, t.dst, nil, t.rail) or {}) do
      if type(c) == "number" then
         t.on[c] = t.on[c] or t.bw_Bps / topo.capacity[c]
      end
   end
end

--- Put the tests back, in their order.
-- @param evidence of topo
function low_tests.finish(pending, evidence, topo)
   local serial, event = evidence:serial(), nil
   table.sort(pending, function(a, b)
      return a.time < b.time or a.time == b.time and (a.event < b.event or
         a.event == b.event and a.id < b.id)
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
