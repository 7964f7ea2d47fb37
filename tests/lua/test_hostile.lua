-- Whatever a node says, it is taken or refused, and never an error in tautd.
local hello = require "taut.hello"
local json = require "taut.json"
local judge = require "taut.judge"
local lu = require "luaunit"
local memory = require "taut.memory"
local rendezvous = require "taut.rendezvous"
local result = require "taut.result"
local sim = require "sim"

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

local HELLO = { v = 2, purpose = "prolog", job = 5, restart = 0, uid = 1000, node = "n1",
   nodes = "n[0-3]", endpoint = "10.0.0.1:4000", budget_ms = 900, boot = "x",
   key = ("a"):rep(64), counters = json.array { { ["if"] = "hsn0", rx_bytes = 1 } } }

local RESULT = { v = 2, refused = 0, counters = json.array {}, tests = json.array {
   { id = 1, role = "send", bytes = 1, window_ns = 1, busy_ns = 1, rtt_ns = 1 },
   { id = 1, role = "recv", bytes = 1, window_ns = 1, sub_bytes = json.array { 1, 1, 1, 1 } },
   { id = 2, role = "recv", error = "no" } } }

function tests.test_hello()
   math.randomseed(1)
   local taken = 0
   for _ = 1, 20000 do
      local h = through_json(mutate(HELLO))
      if hello.check(h) then
         taken = taken + (rendezvous.names(h) and 1 or 0)
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

function tests.test_what_the_database_holds()
   math.randomseed(3)
   local w = sim.new { seed = 1 }
   w.left[w:c "n5/tx"] = 0.25
   for _ = 1, 20 do
      w:check(sim.run_of(1, 8))
   end
   local good = json.decode(memory.pack(w.diagnosis:component(w:c "n5/tx"), w.topo))
   for _ = 1, 3000 do
      memory.unpack(json.encode(mutate(good)) or "", w.topo, {})
   end
end

return tests
