-- SPDX-License-Identifier: GPL-2.0-or-later
-- Who floods, who invents jobs or addresses, who never answers, and where a port proves nothing:
-- each is seen by `taut status` and by `taut doctor`, of tautd's real parts.
local base_ask = require "taut.base.ask"
local doctor = require "taut.cli.doctor"
local json = require "taut.json"
local looptest = require "lib.looptest"
local lu = require "luaunit"
local parts = require "lib.parts"
local status = require "taut.cli.state.status"
local sys = require "taut.sys"

local tests = {}

local function ask(p, cmd)
   local got
   p.query:answer({ reply = function(_, text) got = json.decode(text) end },
      json.encode { cmd = cmd, args = {} }, 0)
   looptest.until_true(function() return got end)
   assert(got.ok, got.error)
   return base_ask.plain(got.data) -- as all commands take it
end

local function printed(fn, ...)
   local show, out = print, {}
   rawset(_G, "print", function(text) out[#out + 1] = text end)
   local ok, err = pcall(fn, ...)
   rawset(_G, "print", show)
   assert(ok, err)
   return (table.concat(out, " "):gsub("%s+", " "))
end

-- What `taut status` prints.
local function shown(p)
   return printed(status.show, ask(p, "status"))
end

-- What `taut doctor` finds, one after the other.
local function found(p)
   local d = ask(p, "doctor")
   local list = {}
   for _, f in ipairs(doctor.findings(d, { where = "x", version = d.daemon.version,
      asked_at = d.now, server = true })) do
      list[#list + 1] = f.level ~= "ok" and f.about .. ": " .. f.text .. " | " .. (f.mend or "")
         or nil
   end
   return table.concat(list, "\n")
end

-- Both say it, and neither did before it happened.
local function both_say(happens, in_status, in_doctor)
   local p = parts.new()
   lu.assertNotStrContains(shown(p), in_status)
   lu.assertNotStrContains(found(p), in_doctor)
   looptest.quietly(function() happens(p) end)
   lu.assertStrContains(shown(p), in_status)
   lu.assertStrContains(found(p), in_doctor)
end

function tests.test_who_floods()
   both_say(function(p)
      p.addresses:take { { name = "n1", addr = "10.0.0.7" } }
      for port = 1, 150 do
         p.refusals:note("10.0.0.7:" .. port, "HELLO: odd")
      end
   end, "flood 10.0.0.7 (n1): 150", "flood: 10.0.0.7 (n1): 150")
end

-- Those for whom there was no time were one more sender, of no node.
function tests.test_who_calls_too_often_to_be_heard_is_the_same_one()
   both_say(function(p)
      p.addresses:take { { name = "n1", addr = "10.0.0.7" } }
      p.refusals:note("10.0.0.7:700", "HELLO: too many before it", 60)
      p.refusals:note("10.0.0.7:?", "called when too many did: no time for it in 400 ms", 60)
   end, "flood 10.0.0.7 (n1): 120 messages refused", "flood: 10.0.0.7 (n1): 120 messages refused")
end

function tests.test_a_user_here_who_floods()
   both_say(function(p) p.refusals:note("uid 1000", "no place", 150) end,
      "flood uid 1000: 150 messages refused", "flood: uid 1000: 150 messages refused")
end

function tests.test_who_invents_jobs()
   both_say(function(p)
      for id = 501, 520 do
         p.cluster.claims:add("n2", id)
      end
      p.cluster.claims:settle(math.huge, function() return false end, function() end)
   end, "invented n2 named 20 jobs that Slurm does not have there, the last 5",
      "invented: n2 named 20 jobs that Slurm does not have there, the last 5")
end

function tests.test_who_names_others_addresses()
   both_say(function(p)
      p.networks:confine { name = "n3", conn = {},
         endpoints = { { ["if"] = "hsn0", tcp = "127.0.0.1:7778" } } }
   end, "endpoint n3 names 127.0.0.1:7778 as its endpoint",
      "endpoint: n3 names 127.0.0.1:7778 as its endpoint")
end

function tests.test_who_never_answers()
   both_say(function(p)
      for _ = 1, 6 do
         p.no_results:note { peers = { [1] = {}, [2] = {} }, results = { [2] = {} } }
      end
   end, "no results n0 (6 plans)",
      "results: tests are planned on 1 node, but no RESULT arrives: n0")
end

function tests.test_where_a_port_proves_nothing()
   both_say(function(p) p.cluster:users_call_from("n1", 0) end,
      "ports users may call from ports below 1024 on n1: there a port tells nothing of root",
      "ports: any user may call from ports below 1024 on 1 node: n1")
   local p = parts.new { more = 'node_ports = "any"' }
   p.cluster:users_call_from("n1", 0)
   lu.assertNotStrContains(shown(p), "below 1024")
   lu.assertNotStrContains(found(p), "below 1024")
end

-- A machine of which each node has that sysctl has a line, not a page.
function tests.test_of_many_nodes_some_are_named()
   local p = parts.new { dims = { 4, 4, 2 } }
   for i = 0, 31 do
      p.cluster:users_call_from("n" .. i, 0)
   end
   lu.assertStrContains(shown(p), " and 16 more: there a port tells nothing")
end

-- What a bad root or a user says is shown, and does nothing to the terminal of who looks.
function tests.test_their_words_do_nothing_to_a_terminal()
   local p = parts.new()
   looptest.quietly(function()
      p.networks:confine { name = "n3", conn = {},
         endpoints = { { ["if"] = "hsn0", tcp = "\27[2J\u{202e}1.0.0.127:1" } } }
      p.refusals:note("10.0.0.7:1", "HELLO: node '\27]0;x\7 \u{2066}n\u{43e}de'", 150)
   end)
   for _, text in ipairs { shown(p), found(p) } do
      lu.assertStrContains(text, "n3 names")
      lu.assertEquals(sys.plain((text:gsub("\n", " "))), (text:gsub("\n", " ")))
   end
end

return tests
