-- SPDX-License-Identifier: GPL-2.0-or-later
-- Whatever a node says is taken or refused with a reason, and never an error: HELLO and RESULT,
-- changed at random.  FUZZ_ROUNDS: how often (default 3000).
local hello = require "taut.wire.hello"
local import_fuzz = require "lib.import_fuzz"
local json = require "taut.json"
local lu = require "luaunit"
local result = require "taut.wire.result"

local tests = {}

local ROUNDS = tonumber(os.getenv "FUZZ_ROUNDS" or "3000")

local HELLO = json.encode { v = 1, purpose = "audit", job = 5, restart = 0, uid = 1000, node = "n1",
   nodes = "n[0-3]", endpoint = "10.0.0.1:4000", budget_ms = 900, boot = "x", step = 0,
   procid = 3, key = ("a"):rep(64),
   endpoints = { { ["if"] = "hsn0", tcp = "10.0.0.1:4000", ofi = "10.0.0.1:1" } },
   options = {},
   readings = "netdev hsn0 rx_bytes=12 state='up'" }
local RESULT = json.encode { v = 1, refused = 1,
   readings = "ib hsn0 port_xmit_data=7 state='ACTIVE' t=1.5\nnetdev hsn0 rx_bytes=7",
   tests = {
      { id = 1, role = "recv", bytes = 900, window_ns = 20000, looks = 2,
         sub_bytes = { 1, 2 }, segments = 800, disordered = 7, pruned = 0 },
      { id = 2, role = "send", bytes = 1, window_ns = 9,
         lat_ns = { n = 1, median = 2, p99 = 3 }, segments = 806, resent = 6, spurious = 0,
         min_rtt_ns = 59000, congestion = "cubic" },
   } }

local function taken(message, read)
   local h = json.decode(message)
   local ok, why = read(h)
   assert(ok or type(why) == "string" and #why < 300 and not why:find "%c", why)
   return ok and h
end

local function try(one, other, read, check)
   math.randomseed(#one)
   local most = 0
   for _ = 1, ROUNDS do
      local changed = import_fuzz.mutate(one, other)
      local fine, why = pcall(function()
         local h = taken(changed, read)
         if h then
            most = most + 1
            check(h)
         end
      end)
      if not fine then
         lu.fail(("%s\n%q"):format(why, changed))
      end
   end
   lu.assertTrue(most > 0) -- else nothing but JSON's errors was tried
end

function tests.test_hello()
   try(HELLO, RESULT, hello.check, function(h)
      assert(#h.node <= 255 and #h.key == 64 and math.type(h.job) == "integer")
   end)
end

function tests.test_result()
   try(RESULT, HELLO, result.read, function(r)
      for _, t in ipairs(r.tests) do
         assert(math.type(t.id) == "integer" and (t.role == "send" or t.role == "recv"))
      end
   end)
end

return tests
