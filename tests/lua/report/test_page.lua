-- SPDX-License-Identifier: GPL-2.0-or-later
-- A page about a machine as a file: whole, escaped, nothing from outside, no jobs where none are to
-- be.
local chart = require "taut.report.page.chart"
local html = require "taut.report.page.html"
local json = require "taut.json"
local lu = require "luaunit"
local mail = require "taut.cli.page.mail"
local page = require "taut.report.page"
local pages = require "lib.pages"
local public = require "taut.cli.page.public"

local tests = {}

local HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&\u{2028}\0\xff"

local function data(o)
   return pages.data(o.machine or pages.SMALL, { bad = o.bad or {}, drained = o.drained or {},
      texts = o.texts or {}, jobs = o.jobs })
end

-- (luaunit would print all of a page)
local function has(text, word)
   lu.assertTrue(text:find(word, 1, true) ~= nil, word)
end

function tests.test_text_is_escaped_in_every_place()
   lu.assertEquals(html.tag("p", { { "title", HOSTILE } }, "<b>"),
      '<p title="&lt;/script&gt;&lt;script&gt;alert(1)&lt;/script&gt;&lt;img src=x ' ..
      'onerror=alert(2)&gt;&quot;&#39;&amp;\u{2028}\u{fffd}\u{fffd}">&lt;b&gt;</p>')
   lu.assertEquals(html.data { x = "</script>&\u{2028}" },
      '{"x":"\\u003c/script\\u003e\\u0026\\u2028"}')
end

function tests.test_a_page_of_hostile_words_has_only_its_own_program()
   local d = data { bad = { ["r1.0.0/X+"] = "slow", ["n3/tx"] = "failed" },
      drained = { n3 = HOSTILE }, texts = { HOSTILE },
      jobs = { { id = 7, user = HOSTILE, name = HOSTILE, partition = HOSTILE, nodes = "n[0-3]" } } }
   d.cases[1].remark, d.cases[1].action_why, d.cases[1].cable = HOSTILE, HOSTILE, HOSTILE
   d.status.held[1] = { node = "n5", reason = HOSTILE, why = HOSTILE }
   d.status.sets[1], d.note, d.repairs_note = { text = HOSTILE }, HOSTILE, HOSTILE
   d.machine.title, d.machine.subtitle = HOSTILE, HOSTILE
   d.machine.nodes.name[2], d.nodes[2].node = HOSTILE, HOSTILE
   local text, policy = page.make(d)
   local n = 0
   for _ in text:gmatch "<script" do
      n = n + 1
   end
   lu.assertEquals(n, 2) -- data and program
   lu.assertNil(text:find("<img", 1, true))
   lu.assertNil(text:find("<b>", 1, true))
   has(text, html.text(policy))
   has(policy, "default-src 'none'")
   has(policy, "connect-src 'none'")
end

function tests.test_nothing_comes_from_outside()
   local text = page.make(data { bad = { ["r1.0.0/X+"] = "slow" } })
   text = text:gsub('http://www%.w3%.org/2000/svg', "")
   for _, word in ipairs { "http:", "https:", "src=", "@import", "url(", "//cdn" } do
      lu.assertNil(text:find(word, 1, true), word)
   end
   lu.assertNil(text:find "%sstyle=")
   lu.assertNil(text:find "%son%a+=")
end

function tests.test_what_loses_has_its_word_and_its_colour()
   local d = data { bad = { ["r1.0.0/X+"] = "lossy", ["n3/tx"] = "lossy" } }
   local text = page.make(d)
   has(text, '<span class="verdict lossy">loses 1.2 %</span>')
   has(text, '<div class="tile lossy"><dt>links lossy</dt><dd>1</dd></div>')
   has(text, '<span class="key lossy">lossy</span>')
   has(text, '"loss":"1.2 %"')
   for _, class in ipairs { ".tile", ".verdict", ".chart ", ".key" } do
      has(text, class .. ".lossy")
   end
   lu.assertNotNil(d.machine.links.state:find "p")
end

function tests.test_each_page_has_a_nonce_of_its_own()
   local d = data {}
   local _, one = page.make(d)
   local _, two = page.make(d)
   lu.assertNotEquals(one, two)
   has(select(2, page.make(d, 30)), "connect-src 'self'")
end

function tests.test_the_data_are_all_of_the_machine()
   local d = data { bad = { ["r1.0.0/X+"] = "slow", ["n3/tx"] = "failed" } }
   local text = page.make(d):match '<script type="application/json" id="data">(.-)</script>'
   local m = assert(json.decode(text)).machine
   lu.assertEquals({ #m.links.name, #m.links.state, #m.nodes.name, #m.nodes.tx, #m.routers.name },
      { #d.links, #d.links, 32, 32, 16 })
   for i, name in ipairs(m.links.name) do
      lu.assertEquals(m.links.state:sub(i, i), name == "r1.0.0/X+" and "l" or "o")
   end
   lu.assertEquals(m.nodes.tx:sub(1, 5), "ooofo")
   for _, p in ipairs(m.pieces) do
      lu.assertTrue(#p >= 8 and #p % 2 == 0)
      lu.assertTrue(p[1] >= 0 and p[1] < #d.links and p[2] < #d.links)
   end
end

function tests.test_every_kind_of_machine_has_a_picture()
   for kind, text in pairs {
      fattree = 'topology = fattree { nodes_per_leaf = 4, levels = { { down = 8, up = 4 } }, ' ..
         'nodes = "n[0-31]", capacity = 1 * GB }',
      dragonfly = 'topology = dragonfly { groups = 4, routers = 4, nodes_per_router = 2, ' ..
         'nodes = "n[0-31]", capacity = 1 * GB }',
      hyperx = 'topology = hyperx { dims = { 4, 4 }, nodes_per_router = 2, nodes = "n[0-31]", ' ..
         'capacity = 1 * GB }' } do
      local d = data { machine = text }
      lu.assertTrue(#d.machine.pieces > 0, kind)
      lu.assertEquals(#d.machine.nodes.name, 32)
      if kind == "fattree" then
         lu.assertEquals(#d.machine.dots, 3 * 32)
      end
   end
end

function tests.test_repairs_stand_by_what_they_bring()
   local d = data { bad = { ["r1.0.0/X+"] = "slow", ["n3/tx"] = "failed", ["n9/rx"] = "suspect" },
      drained = { n3 = "taut: tx at 25%" } }
   local link, node = table.unpack(d.repairs)
   lu.assertEquals({ link.what, link.nodes, node.what, node.nodes, #d.repairs },
      { "r1.0.0/X+", 0, "n3", 1, 2 })
   lu.assertAlmostEquals(node.hours, 24, 1e-9)
   lu.assertAlmostEquals(link.hours, 24 * 32 * link.gain, 1e-9)
   lu.assertTrue(link.hours > node.hours)
   d = data { drained = { n3 = "taut: tx at 25%", n4 = "taut: tx at 25%" },
      bad = { ["n3/tx"] = "failed", ["n3/rx"] = "slow" } }
   lu.assertEquals({ #d.repairs, d.repairs[1].left, d.repairs[1].nodes }, { 1, 0, 1 })
end

-- The page hid "at a cap", and said "every component tested is well" above a slow set.
function tests.test_alarms_come_first_and_a_slow_set_is_not_all_well()
   local d = data { bad = {}, drained = {} }
   lu.assertNil(page.make(d):find('id="alarms"', 1, true))
   d.status.cluster = "alpha"
   has(page.make(d), "<h1>Taut: alpha, ")
   d.status.capped = { batch = { why = "8 nodes of batch are drained" } }
   d.status.sets = { { text = "one of 4 uplinks of leaf1 is slow: 9 of 40 flows got 25%" } }
   d.status.links_in_sets, d.status.set_states = 32, { all = 8, ok = 7, suspect = 0, slow = 1,
      failed = 0, unknown = 0 }
   local text = page.make(d)
   local at = text:find("at a cap: 8 nodes of batch are drained; `taut policy continue` goes on", 1,
      true)
   lu.assertTrue(at < text:find('id="summary"', 1, true))
   has(text, "Of these sets one link is slow")
   lu.assertNil(text:find("Every component that was tested is well", 1, true))
   has(text, "sets with a slow link")
end

-- A link that a sweep named out of its set made "-1 links never tested".
function tests.test_a_link_named_out_of_its_set_is_counted_once()
   local d = data { bad = {}, drained = {} }
   local links = #d.links
   for _, l in ipairs(d.links) do
      l.state, l.in_set = "unknown", true
   end
   d.links[1].state = "slow"
   d.status.links_in_sets, d.status.unknown_in_sets = links, links - 1
   d.status.set_states = { all = 8, ok = 8, suspect = 0, slow = 0, failed = 0, unknown = 0 }
   local text = page.make(d)
   has(text, "<dt>links slow</dt><dd>1</dd>")
   has(text, "<dt>links never tested</dt><dd>0</dd>")
   has(text, ("<dt>links tested in sets only</dt><dd>%d</dd>"):format(links - 1))
end

-- A node in service at a quarter of its rate read "0 node-hours a day".
function tests.test_a_slow_node_in_service_is_worth_what_it_lacks()
   local d = data { bad = { ["n3/tx"] = "slow" }, drained = {} }
   local r = d.repairs[1]
   lu.assertEquals({ r.what, r.nodes }, { "n3", 0 })
   lu.assertAlmostEquals(r.alone_hours, 24 * (1 - r.left), 1e-9)
   lu.assertTrue(r.alone_hours > 0)
end

-- Behind another bottleneck the gain of a repair was hidden: each of two brought "0".
function tests.test_a_repair_has_its_gain_alone_and_that_of_the_list_up_to_it()
   local bad = {}
   for _, name in ipairs { "r1.0.0/X+", "r2.0.0/X+", "r1.1.0/X+" } do
      bad[name] = "slow"
   end
   local list = data({ bad = bad, drained = {} }).repairs
   lu.assertEquals(#list, 3)
   local sum = 0
   for _, r in ipairs(list) do
      sum = sum + r.hours
      lu.assertAlmostEquals(r.together_hours, sum, 1e-9)
      lu.assertTrue(r.alone_hours <= list[3].together_hours + 1e-9)
   end
   lu.assertAlmostEquals(list[1].alone_hours, list[1].hours, 1e-9)
   lu.assertTrue(list[3].together_hours > list[1].alone_hours)
end

function tests.test_jobs_stand_where_they_are()
   local d = data { jobs = { { id = 7, user = "alice", nodes = "n[0-3]", count = 4 },
      { id = 8, user = "bob", nodes = "n[0,31],gone", count = 3 } } }
   local a, b = table.unpack(d.jobs)
   lu.assertEquals({ #a.members, a.routers, a.hops_most }, { 4, 2, 1 })
   lu.assertEquals({ #b.members, b.routers, b.hops_most }, { 2, 2, 3 })
   has(page.make(d), "This page names users and jobs")
   d.jobs, d.private = nil, false
   local text = page.make(d)
   lu.assertNil(text:find("alice", 1, true))
   lu.assertNil(text:find('id="jobs"', 1, true))
   has(text, "names no users and no jobs")
end

function tests.test_jobs_that_lost_time_are_linked_to_what_cost_it()
   local d = data { jobs = {} }
   d.lost = { { id = 7, user = HOSTILE, name = HOSTILE, nodes = 8, ended = pages.AT, run_s = 60,
      lost_node_s = 7200, cause = "component", component = "r1.0.0/X+", is_link = true },
      { id = 8, label = "8_1", cause = "node", node = "n3", nodes = 4, run_s = 5 } }
   local text = page.make(d)
   for _, words in ipairs { "Jobs that lost time", "2.00", "r1.0.0/X+", "8_1", "one node" } do
      has(text, words)
   end
   lu.assertNil(text:find("<img src=x", 1, true))
   d.lost = {}
   has(page.make(d), "No job is known to have lost time.")
   d.lost = nil -- not for this user
   lu.assertNil(page.make(d):find('id="lost"', 1, true))
end

function tests.test_what_anybody_may_read_names_no_jobs()
   lu.assertEquals(public.text "tx at 25%; n5 -> n6, 3/12 GB/s, 4 of 9 tests, last job 1234",
      "tx at 25%; n5 -> n6, 3/12 GB/s, 4 of 9 tests")
   lu.assertEquals(public.text "job 17 came before it; jobs 3 4, 5 too",
      "job came before it; jobs too")
   lu.assertNil(public.reason("", true))
   lu.assertEquals(public.reason("bob broke it", false), "not Taut's (shown with --private)")
   lu.assertEquals(public.reason("bob broke it", true), "not Taut's (shown with --private)")
   lu.assertEquals(public.reason("taut: tx at 25%; last job 9", true), "taut: tx at 25%;")
   local actions = { { who = "bob", reason = "last job 3", result = "left alone: bob's",
      evidence = {} } }
   public.actions(actions)
   lu.assertEquals(actions, { { reason = "" } })
end

function tests.test_a_page_by_mail()
   for text, coded in pairs { [""] = "\n", f = "Zg==\n", fo = "Zm8=\n", foobar = "Zm9vYmFy\n" } do
      lu.assertEquals(mail.base64(text), coded) -- RFC 4648, 10
   end
   lu.assertEquals(mail.base64(("x"):rep(58)):find "\n", 77)
   for text, is in pairs { root = true, ["ops@site.example"] = true, ["a.b+c@d"] = true,
      ["-oQ/tmp"] = false, ["a b"] = false, ["a\nBcc: b"] = false, ["a@b@c"] = false,
      ["a,b"] = false, [""] = false, ["@x"] = false, ["a@"] = false } do
      lu.assertEquals(mail.is_address(text), is, text)
   end
   local text = mail.message { to = { "a@b", "c" }, subject = "x\nBcc: y", text = "t", page = "p" }
   local head = text:match "^(.-)\n\n"
   has(head, "To: a@b, c\nSubject: x?Bcc: y\nMIME-Version")
   local border = head:match 'boundary="([^"]+)"'
   local _, n = text:gsub("\n%-%-" .. border:gsub("%-", "%%-"), "")
   lu.assertEquals(n, 3)
   has(text, "\n\ncA==\n--" .. border .. "--\n")
end

function tests.test_a_chart_of_any_numbers()
   for _, v in ipairs { 0, 1, 7, 99, 123456789 } do
      local text = chart.bars { title = "<t>", days = { "01-02" },
         series = { { name = "x", class = "ok", values = { v } } } }
      lu.assertNil(text:find "nan" or text:find "inf" or text:find "<t>")
      lu.assertEquals(text:find '<rect class="ok"' ~= nil, v > 0)
   end
end

function tests.test_a_machine_of_two_fabrics_has_both_on_its_page()
   local d = data { machine = [[fabrics = {
         ib = fattree { nodes_per_leaf = 2, levels = { { down = 3, up = 1 } }, nodes = "n[0-5]",
            capacity = 1 * GB },
         eth = fattree { nodes_per_leaf = 2, levels = { { down = 3, up = 1 } }, nodes = "n[4-9]",
            capacity = 1 * GB },
      }]], bad = { ["ib:leaf0/3"] = "slow", ["eth:leaf2/3"] = "slow" },
      jobs = { { id = 7, user = "alice", name = "x", partition = "all", nodes = "n[0-1,4]" },
         { id = 8, user = "alice", name = "y", partition = "all", nodes = "n[8-9]" } } }
   local text = page.make(d)
   has(text, "eth:leaf2/3")
   has(text, "ib:leaf0/3")
   lu.assertEquals(#d.machine.nodes.name, 10)
   for i, r in ipairs(d.machine.nodes.router) do
      lu.assertTrue(r >= 0, d.machine.nodes.name[i])
   end
   lu.assertEquals({ d.jobs[1].routers, d.jobs[2].routers }, { 2, 1 })
   lu.assertAlmostEquals(d.jobs[1].hops_mean, 4 / 3, 1e-9)
   -- repairs of each are compared with the traffic on it
   lu.assertNil(d.repairs_note)
   lu.assertEquals(#d.repairs, 2)
   for _, r in ipairs(d.repairs) do
      lu.assertTrue(r.gain > 0.1, r.what)
   end
end

return tests
