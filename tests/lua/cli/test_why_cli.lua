-- SPDX-License-Identifier: GPL-2.0-or-later
-- What `taut why` prints: lines of 79 columns, what others wrote being text; and its arguments.
local ask = require "taut.base.ask"
local lu = require "luaunit"
local why = require "taut.cli.state.why"

local tests = {}

-- What it prints for an answer, its status, and what it asked.
local function run(args, data)
   local before_ask, before_print, lines, asked = ask.tautd, print, {}, nil
   ask.tautd = function(_, cmd, params)
      asked = { cmd, params }
      return ask.plain(data), 1
   end
   rawset(_G, "print", function(text) lines[#lines + 1] = text or "" end)
   local ok, status = pcall(why.run, args)
   rawset(_G, "print", before_print)
   ask.tautd = before_ask
   assert(ok, status)
   return table.concat(lines, "\n"), status, asked
end

local function quietly(fn)
   local before = io.stderr
   rawset(io, "stderr", { write = function() end })
   local results = table.pack(fn())
   rawset(io, "stderr", before)
   return table.unpack(results)
end

local function data(change)
   local d = { now = 1790000000, job = { id = 1234, name = "cfd", user = "alice", nodes = 64,
         state = "ended", result = "completed", ended = 1790000000, run_s = 3672.5, sent = 1e12,
         received = 1e12 },
      verdict = { text = "Yes: leaf2/6 between its nodes was slow and can explain all of the " ..
         "18 s " ..
         "by which it took longer than its earlier runs." },
      findings = { { cause = "earlier", how = "measured", sure = "high", lo_s = 18, hi_s = 18,
            text = "slower than 10 of 10 earlier runs" },
         { cause = "component", how = "predicted", sure = "medium", lo_s = 3, hi_s = 17,
            text = ("leaf2/6 was slow at 25%; "):rep(8) },
         { cause = "node", how = "measured", sure = "low", lo_s = 0, hi_s = 2, text = "n5" },
         { cause = "placement", how = "not known", text = "not known because of something" } } }
   for k, v in pairs(change or {}) do
      d.job[k] = v
   end
   return d
end

-- Past bug: "1234.0" was taken for a number, "1234.1" for none.
function tests.test_a_step_is_answered_by_its_job()
   for name, expected in pairs { ["1234.0"] = { job = 1234 }, ["1234.batch"] = { job = 1234 },
      ["1234_7.1"] = { label = "1234_7" }, ["1234+1"] = { label = "1234+1" } } do
      local text, status, asked = run({ job = name }, data())
      lu.assertEquals({ status, asked }, { 0, { "why", expected } }, name)
      lu.assertEquals(text:find "Step %w+: " ~= nil, name:find "%." ~= nil, name)
   end
   for _, name in ipairs { "1234.", "0", "x", "1_", "1234..1", "-1", "1e3", "0x10", ".1" } do
      local status = quietly(function() return (select(2, run({ job = name }, data()))) end)
      lu.assertEquals(status, 2, name)
   end
end

function tests.test_an_answer_fits_a_terminal()
   local text, status, asked = run({ job = "1234" }, data())
   lu.assertEquals({ status, asked }, { 0, { "why", { job = 1234 } } })
   for line in text:gmatch "[^\n]*" do
      lu.assertTrue(utf8.len(line) <= 79, line)
   end
   for _, words in ipairs { "job 1234, cfd of alice, 64 nodes, 61 min, completed",
      "moved 2.0 TB", "\n\nYes: leaf2/6", "earlier runs: +18 s, measured, confidence high",
      "component: +3.0 s to +17 s, predicted, confidence medium",
         "one node: up to +2.0 s, measured",
      "placement: not known because of something" } do
      lu.assertStrContains(text, words)
   end
end

function tests.test_hostile_words_are_text()
   local text = run({}, data { name = "\27[31m%s%n\u{202e}x", label = "7_3" })
   lu.assertStrContains(text, "job 7_3, ")
   lu.assertNil(text:find "\27")
   lu.assertNil(text:find("\u{202e}", 1, true))
end

function tests.test_running_and_pending()
   lu.assertStrContains(run({}, data { state = "running", begin = 1790000000, sent = 0 }),
      "running since")
   lu.assertStrContains(run({}, data { state = "pending" }), "pending")
end

function tests.test_arguments()
   for _, args in ipairs { { job = "x" }, { job = "0" }, { job = "1_" }, { job = "1", slow = true },
      { since = "2d" }, { slow = true, since = "soon" } } do
      local _, status = quietly(function() return run(args, data()) end)
      lu.assertEquals(status, 2)
   end
   local _, _, asked = run({ job = "12_7" }, data())
   lu.assertEquals(asked[2], { label = "12_7" })
end

function tests.test_those_that_lost_most()
   local rows = { { id = 5, user = "bob", name = "x", nodes = 8, ended = 1790000000, run_s = 60,
      cause = "component", component = "leaf2/6", lost_node_s = 7200 } }
   local text, status, asked = run({ slow = true, since = "24h" }, { jobs = rows, since = 0 })
   lu.assertEquals({ status, asked[1] }, { 0, "jobs_that_lost" })
   lu.assertStrContains(text, "leaf2/6")
   lu.assertStrContains(text, "2.00")
   lu.assertStrContains(run({ slow = true }, { jobs = {}, since = 0 }),
      "no job is known to have lost")
end

return tests
