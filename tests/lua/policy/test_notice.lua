-- SPDX-License-Identifier: GPL-2.0-or-later
-- What others are told of an event: people's words, a key that begins and ends the same trouble.
local lu = require "luaunit"
local notice = require "taut.policy.notice"

local tests = {}

local function of(event)
   event.time = event.time or 1760000000.75
   return notice.of(event, "alpha")
end

function tests.test_words_are_those_that_people_read()
   for word, read in pairs { release = "resume", resume = "continue", drain = "drain",
      ["mode enable"] = "mode drain", verdict = "verdict" } do
      lu.assertEquals(of { event = word, node = "n5" }.event, read)
   end
   lu.assertEquals(math.type(of { event = "drain", node = "n5" }.time), "integer")
end

-- A pager that knows the key closes what it opened.
function tests.test_a_trouble_ends_under_the_key_that_it_began_with()
   for _, pair in ipairs {
      { { event = "drain", node = "n5", component = "leaf1/3" },
         { event = "release", node = "n5" } },
      { { event = "would drain", node = "n5" }, { event = "resumed", node = "n5" } },
      { { event = "drain", node = "n5" }, { event = "taken over", node = "n5" } },
      { { event = "drain", node = "n5" },
         { event = "repaired", node = "n5", component = "n5/tx" } },
      { { event = "verdict", component = "leaf1/3", state = "slow" },
         { event = "verdict", component = "leaf1/3", state = "ok" } },
      { { event = "stop" }, { event = "resume", who = "root" } },
      { { event = "capped" }, { event = "resume", who = "root" } },
      { { event = "alert", component = "leaf1/3", about = "one of 4 uplinks of leaf1 is slow" },
         { event = "alert", component = "leaf1/3", about = "one of 4 uplinks of leaf1 is slow",
            over = true } },
      { { event = "database", state = "damaged" }, { event = "database", state = "whole" } } } do
      local begun, over = of(pair[1]), of(pair[2])
      lu.assertEquals({ begun.key, begun.severity }, { over.key, over.severity }, begun.event)
      lu.assertEquals({ begun.status, over.status }, { "firing", "resolved" }, begun.event)
   end
end

function tests.test_keys_differ_where_troubles_do()
   local seen = {}
   for _, event in ipairs { { event = "drain", node = "n5" }, { event = "drain", node = "n6" },
      { event = "drain failed", node = "n5" }, { event = "verdict", component = "n5/tx",
      state = "slow" }, { event = "stop" }, { event = "alert", component = "n5/tx" } } do
      local key = of(event).key
      lu.assertNil(seen[key], key)
      seen[key] = true
   end
   lu.assertNotEquals(notice.of({ event = "stop", time = 1 }, "beta").key,
      of({ event = "stop" }).key)
end

function tests.test_what_begins_nothing_is_a_note()
   for _, event in ipairs { { event = "mode observe" }, { event = "ack", component = "n5/tx" },
      { event = "relearn" }, { event = "repaired", component = "leaf1/3" } } do
      local n = of(event)
      lu.assertEquals({ n.severity, n.status }, { "info", "note" }, event.event)
   end
end

-- Whoever gave it keeps what it gave.
function tests.test_the_event_itself_stays()
   local event = { event = "alert", over = true, time = 1.5 }
   lu.assertNil(notice.of(event, nil).over)
   lu.assertEquals(event, { event = "alert", over = true, time = 1.5 })
   lu.assertEquals(notice.of(event, nil).key, "?/alert")
end

function tests.test_fields_of_journald()
   local f = notice.fields { event = "release", node = "n5", who = "root" }
   lu.assertEquals({ f.TAUT_EVENT, f.TAUT_NODE, f.TAUT_WHO }, { "resume", "n5", "root" })
   lu.assertStrMatches(f.MESSAGE_ID, "%x+")
   lu.assertEquals(#f.MESSAGE_ID, 32)
   lu.assertNil(notice.fields({ event = "ack" }).MESSAGE_ID)
end

-- Who filters by a MESSAGE_ID has it from tautd(8).
function tests.test_tautd_8_has_the_message_ids()
   local top, listed, used = os.getenv "TAUT_SRCDIR" or ".", {}, {}
   for line in io.lines(top .. "/doc/tautd.8") do
      local id = line:match "^%.It Li (%x+) Ta "
      listed[id or ""] = true
   end
   for _, name in ipairs { "policy/notice.lua", "store/housekeeping.lua" } do
      for line in io.lines(("%s/lua/taut/%s"):format(top, name)) do
         for id in line:gmatch '"(%x+)"' do
            used[id] = #id == 32 or nil
         end
      end
   end
   listed[""] = nil
   lu.assertEquals(listed, used)
end

return tests
