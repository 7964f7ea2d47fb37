-- SPDX-License-Identifier: GPL-2.0-or-later
-- time limit: 600 s
-- Whatever a node says, it is taken or refused, and never an error in tautd.
local audit = require "taut.survey.audit"
local coverage = require "taut.plan.coverage"
local hello = require "taut.wire.hello"
local json = require "taut.json"
local judge = require "taut.diagnose.judge"
local lu = require "luaunit"
local memory = require "taut.diagnose.memory"
local node_lists = require "taut.wire.node_lists"
local result = require "taut.wire.result"
local seal = require "taut.seal"
local sim = require "lib.sim"
local survey = require "taut.survey"
local wire = require "taut.wire"

local tests = {}

local function odd_value(depth)
   local kinds = {
      function() return math.random(-1 << 40, 1 << 40) end,
      function() return math.random() * 1e300 end,
      function() return math.random() < 0.5 end,
      function() return ("x"):rep(math.random(0, 300)) end,
      function() return "\0\27[31m|\n" end,
      function() return json.null end,
      function() return math.mininteger end,
      function() return json.array {} end,
      function() return { a = odd_value(depth + 1) } end,
      function() return json.array { odd_value(depth + 1), odd_value(depth + 1) } end,
   }
   return kinds[math.random(1, depth > 3 and 8 or 10)]()
end

-- A copy with some values, at any depth, replaced or removed.
local function mutate(v)
   if type(v) ~= "table" then
      return math.random() < 0.15 and odd_value(1) or v
   end
   local copy = setmetatable({}, getmetatable(v))
   for k, x in pairs(v) do
      if math.random() > 0.04 then
         copy[k] = mutate(x)
      end
   end
   return copy
end

-- As it would come over the wire.
local function through_json(v)
   local text = json.encode(v)
   return text and json.decode(text)
end

local HELLO = { v = 1, purpose = "prolog", job = 5, restart = 0, uid = 1000, node = "n1",
   nodes = "n[0-3]", endpoint = "10.0.0.1:4000", budget_ms = 900, boot = "x",
   key = ("a"):rep(64), readings = "netdev hsn0 rx_bytes=1\n" ..
   "ib hsn0 symbol_error=0 state='ACTIVE' t=1.5" }

local RESULT = { v = 1, refused = 0, readings = "", tests = json.array {
   { id = 1, role = "send", bytes = 1, window_ns = 1, busy_ns = 1, rtt_ns = 1 },
   { id = 1, role = "recv", bytes = 1, window_ns = 1, sub_bytes = json.array { 1, 1, 1, 1 } },
   { id = 2, role = "recv", error = "no" } } }

function tests.test_hello()
   math.randomseed(1)
   local taken, lists = 0, node_lists.new(function() return 4 end)
   for _ = 1, 20000 do
      local h = through_json(mutate(HELLO))
      if hello.check(h) then
         taken = taken + (lists:of_hello(h) and 1 or 0)
      end
   end
   lu.assertTrue(taken > 100, taken)
end

function tests.test_result_up_to_its_judgement()
   math.randomseed(2)
   local topo, taken = sim.torus({ 4, 2, 2 }, 2), 0
   for _ = 1, 20000 do
      local by = result.read(through_json(mutate(RESULT)))
      if by then
         taken = taken + 1
         for id = 1, 2 do
            local t = judge.test({ src = 1, dst = 3, route = topo:route(1, 3), dur_ms = 25 },
               by["send:" .. id], by["recv:" .. id], topo, sim.quick)
            lu.assertTrue(t.class == "good" or t.class == "low" or t.class == "void")
         end
      end
   end
   lu.assertTrue(taken > 100, taken)
end

local SURVEY = { v = 1, purpose = "audit", job = 5, step = 0, procid = 0, node = "n1",
   nodes = "n[0-3]", endpoint = "10.0.0.1:4000", budget_ms = 900, key = ("a"):rep(64),
   options = { solo = true, test_ms = 10, tag = "x" } }

function tests.test_hello_of_a_survey()
   math.randomseed(4)
   local topo, taken, begun = sim.torus({ 2, 2, 1 }, 1), 0, 0
   for _ = 1, 20000 do
      local h = through_json(mutate(SURVEY))
      if hello.check(h) and hello.is_survey(h.purpose) then
         taken = taken + 1
         local work, why = audit.begin { topology = topo, nodes = { 1, 2, 3, 4 }, settings = {},
            diagnosis = sim.quick, options = h.options or {}, missing = {}, unknown = {} }
         lu.assertTrue(work ~= nil or type(why) == "string")
         begun = begun + (work and 1 or 0)
      end
   end
   lu.assertTrue(taken > 100 and begun > 100, taken .. " " .. begun)
end

-- A survey that is answered with odd results, and stopped with odd stops, comes to its end.
function tests.test_what_nodes_of_a_survey_say()
   math.randomseed(5)
   local key, topo, id = ("k"):rep(32), sim.torus({ 2, 2, 1 }, 1), 0
   for _ = 1, 60 do
      local surveys = survey.new { topology = topo, coverage = coverage.new(false),
         lists = node_lists.new(function() return 4 end),
         cluster = { is_admin = function() return true end }, checks = {}, diagnosis = sim.quick,
         settings = { test_ms = 5, gap_ms = 0, lead_ms = 0, round_ms = 100, gather_ms = 1000,
            confirm = 1 }, checks_on = function() return true end, keep = function() end,
         history = function(_, fn) fn {} end, next_test = function() id = id + 1; return id end }
      local conns = {}
      for n = 0, 3 do
         local conn = { opened = 0, sealed = 0, plans = {} }
         function conn:send(kind, bytes)
            local text = seal.open(key, kind, bytes, self.opened)
            self.opened = self.opened + 1
            self.plans[#self.plans + 1] = kind == 2 and json.decode(text) or nil
         end
         function conn:close() self.closed = true end
         function conn.timeout() end
         function conn.peer() return "x" end
         conns[n] = conn
         surveys:hello(conn, { purpose = "audit", job = 1, step = 0, procid = n, node = "n" .. n,
            nodes = "n[0-3]", endpoint = "10.0.0.1:1", key = seal.hex(key),
            options = n == 0 and {} or nil }, 0, nil, true)
      end
      for _ = 1, 40 do
         for _, conn in pairs(conns) do
            local plan = table.remove(conn.plans, 1)
            if plan and #plan.tests > 0 and not conn.closed then
               local list = json.array {}
               for i, t in ipairs(plan.tests) do
                  list[i] = { id = t.id, role = t.role, bytes = 10000, window_ns = 1000000 }
               end
               local what = math.random() < 0.3 and mutate or function(v) return v end
               local r = what { v = 1, refused = 0, tests = list }
               local ok = surveys:frame(conn, wire.RESULT,
                  seal.seal(key, wire.RESULT, json.encode(r) or "", conn.sealed))
               conn.sealed = conn.sealed + 1
               if not ok or math.random() < 0.02 then
                  surveys:gone(conn) -- what intake.lua comes to
                  conn.closed = true
               end
            end
         end
         if math.random() < 0.05 and surveys:has(conns[0]) then
            surveys:frame(conns[0], wire.STOP, seal.seal(key, wire.STOP,
               json.encode(odd_value(1)) or "", conns[0].sealed))
            conns[0].sealed = conns[0].sealed + 1
         end
      end
      surveys:stop({}, 0)
      for n = 0, 3 do
         surveys:gone(conns[n])
      end
      lu.assertNil(next(surveys.by_conn))
   end
end

function tests.test_what_the_database_holds()
   math.randomseed(3)
   local w = sim.new { seed = 1 }
   w.left[w:c "n5/tx"] = 0.25
   for _ = 1, 20 do
      w:check(sim.run_of(1, 8))
   end
   local good = json.decode(memory.pack(w.diagnosis, w:c "n5/tx"))
   for _ = 1, 3000 do
      memory.unpack(json.encode(mutate(good)) or "", w.topo, {})
   end
end

return tests
