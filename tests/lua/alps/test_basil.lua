-- SPDX-License-Identifier: GPL-2.0-or-later
-- What apbasil answers is taken, or refused with a reason that can be printed.
local basil = require "taut.alps.basil"
local import_fuzz = require "lib.import_fuzz"
local lu = require "luaunit"

local tests = {}
local corpus = (os.getenv "TAUT_SRCDIR" or ".") .. "/tests/fuzz/corpus/import/basil/inventory"

local ROUNDS = 2000

local function response(body, status)
   return ('<?xml version="1.0"?><BasilResponse protocol="1.3"><ResponseData status="%s" ' ..
      'method="QUERY">%s</ResponseData></BasilResponse>'):format(status or "SUCCESS", body)
end

local INVENTORY = response [[<Inventory mpp_host="x" timestamp="1"><NodeArray>
   <Node node_id="2" name="c0-0c0s1n0" architecture="XT" role="BATCH" state="UP"><SocketArray>
     <Processor ordinal="0"><ProcessorAllocation reservation_id="7"/></Processor>
     <Processor ordinal="1"/></SocketArray></Node>
   <Node node_id="3" name="c0-0c0s1n1" architecture="XT" role="BATCH" state="ADMIN"/></NodeArray>
   <ReservationArray><Reservation reservation_id="7" user_name="frodo" batch_id="123.sdb"
     time_stamp="1358437232"/></ReservationArray></Inventory>]]

function tests.test_an_inventory()
   local i = basil.read(INVENTORY)
   lu.assertEquals(#i.nodes, 2)
   lu.assertEquals(i.nodes[1], { nid = 2, name = "nid00002", cname = "c0-0c0s1n0", role = "BATCH",
      state = "UP", cpus = 2, reservation = 7 })
   lu.assertEquals(i.nodes[2].state, "ADMIN")
   lu.assertEquals(basil.nodes_of(i, 7), { "nid00002" })
   lu.assertEquals(basil.job_of(i.reservations[1]), 123)
   lu.assertNil(basil.job_of { batch = "UNKNOWN" })
end

function tests.test_what_alps_refuses_is_said_in_its_words()
   local _, why = basil.read(response(
      '<Message severity="ERROR">ALPS error: apsched: No entry\nfor resId 9</Message>', "FAILURE"))
   lu.assertEquals(why, "apbasil: ALPS error: apsched: No entry for resId 9")
   _, why = basil.read(response("", "FAILURE"))
   lu.assertStrContains(why, "apbasil: ")
end

function tests.test_what_is_no_answer_is_refused()
   for text, expected in pairs {
      ["x"] = "not XML", ["<a/>"] = "no BasilResponse", [""] = "not XML",
      ['<!DOCTYPE a [<!ENTITY b "c">]><BasilResponse/>'] = "a DOCTYPE",
      [response '<Inventory><NodeArray><Node node_id="x"/></NodeArray></Inventory>'] = "node_id",
      [response '<Inventory><Node node_id="1"/><Node node_id="1"/></Inventory>'] = "twice",
      [response '<Node node_id="1"/>'] = "node_id",
      [("<BasilResponse>"):rep(30)] = "too deeply" } do
      local got, why = basil.read(text)
      lu.assertNil(got)
      lu.assertStrContains(why, expected)
   end
end

function tests.test_fuzz()
   local texts = { INVENTORY, import_fuzz.slurp(corpus) }
   math.randomseed(18)
   local taken = 0
   for n = 1, ROUNDS do
      local text = import_fuzz.mutate(texts[n % #texts + 1], texts[(n + 1) % #texts + 1])
      local got, why = basil.read(text)
      taken = taken + (got and 1 or 0)
      if not got then
         lu.assertTrue(#why < 700 and not why:find "[^ -~]", why)
      end
      for _, node in ipairs(got and got.nodes or {}) do
         lu.assertTrue(math.type(node.nid) == "integer" and type(node.state) == "string")
      end
   end
   lu.assertTrue(taken > 0 and taken < ROUNDS)
end

return tests
