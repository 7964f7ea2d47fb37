-- SPDX-License-Identifier: GPL-2.0-or-later
-- fabric/: links, findings, growth and changes of a small fabric.
local queries = require "taut.fabric.queries"
local changes = require "taut.fabric.changes"
local check = require "taut.fabric.check"
local errors = require "taut.fabric.errors"
local hostlist = require "taut.hostlist"
local json = require "taut.json"
local load = require "taut.fabric.load"
local lu = require "luaunit"
local mcast = require "taut.fabric.mcast"
local model = require "taut.fabric.model"
local names = require "taut.topology.import.ib.guids"
local show = require "taut.cli.fabric.fabric_show"
local sim = require "lib.fabricsim"
local state = require "taut.fabric.state"
local watch = require "taut.fabric.watch"

local tests = {}
local folder

local function file(text)
   folder = folder or io.popen("mktemp -d"):read "l"
   local path = folder .. "/file"
   if text then
      local f = assert(io.open(path, "wb"))
      f:write(text)
      f:close()
   end
   return path
end

function tests.tearDown()
   if folder then
      os.execute("rm -r '" .. folder .. "'")
      folder = nil
   end
end

local function kinds(list)
   local words = {}
   for i, f in ipairs(list) do
      words[i] = f.kind .. ": " .. f.text
   end
   return words
end

---------------------------------------------------------------- model, check

function tests.test_a_healthy_fabric_has_nothing_to_say()
   local fabric = sim.fabric(sim.parts())
   lu.assertEquals(#fabric.links, 6)
   lu.assertEquals(check.find(fabric), {})
   local link = fabric.links[1]
   lu.assertEquals({ link.a.node.name, link.a.number, link.b.node.name, link.lanes,
      link.speed.name, link.between }, { "leaf1", 1, "n1 mlx5_0", 4, "QDR", "host" })
   local n = check.counts(fabric)
   lu.assertEquals({ n.ports, n.linked, n.down, n.disabled, n.set }, { 16, 12, 4, 0, 0 })
end

function tests.test_links_below_what_both_ends_support()
   local cases = {
      { "x1", "1X: leaf1/5 to leaf2/5 is 1X QDR, both ends support 4X QDR" },
      { "x1_set", "1X: leaf1/5 to leaf2/5 is 1X QDR, both ends support 4X QDR (set so at the " ..
         "ends)" },
      { "ddr", "slow: leaf1/5 to leaf2/5 is 4X DDR, both ends support 4X QDR" },
      { "ddr_set" }, { "ddr_only" }, { "edr" }, { "xdr" }, { "xdr_plane" },
      { "xdr_ndr", "slow: leaf1/5 to leaf2/5 is 4X NDR, both ends support 4X XDR" },
   }
   for _, c in ipairs(cases) do
      local parts = sim.parts()
      local p, q = sim.ends(parts, "leaf1", 5)
      p.info, q.info = sim.info[c[1]], sim.info[c[1]]
      lu.assertEquals(kinds(check.find(sim.fabric(parts))), { c[2] }, c[1])
   end
end

function tests.test_xdr_is_read_as_rdma_core_reads_it()
   local parts = sim.parts()
   local p, q = sim.ends(parts, "leaf1", 5)
   p.info, q.info = sim.info.xdr, sim.info.xdr
   for _, link in ipairs(sim.fabric(parts).links) do
      if link.a.number == 5 then
         lu.assertEquals({ link.lanes, link.speed.name, link.Bps }, { 4, "XDR", 100e9 })
         return
      end
   end
   error "no such link"
end

function tests.test_what_is_left_of_a_link()
   local parts = sim.parts()
   local p, q = sim.ends(parts, "leaf1", 5)
   p.info, q.info = sim.info.x1, sim.info.x1
   lu.assertEquals(check.find(sim.fabric(parts))[1].left, 0.25)
end

function tests.test_disabled_silent_inactive_disagreeing_and_unread()
   local parts = sim.parts()
   parts.leaf1.ports[3].info = sim.info.disabled
   parts.leaf1.ports[4].info, parts.leaf1.ports[4].silent = sim.info.up, true
   local p, q = sim.ends(parts, "leaf1", 5)
   p.info, q.info = sim.info.init, sim.info.init
   p = sim.ends(parts, "leaf1", 6)
   p.info = sim.info.x1
   parts.leaf2.ports[3].info, parts.leaf2.ports[3].error = nil, "no answer"
   parts.leaf2.ports[1].pm_error, parts.leaf2.ports[1].read = "no answer", nil
   lu.assertItemsEquals(kinds(check.find(sim.fabric(parts))), {
      "disabled: leaf1/3 is disabled",
      "silent: leaf1/4 is connected, but what is there does not answer",
      "not active: leaf1/5 to leaf2/5 is trained, but Init (no subnet manager?)",
      "1X: leaf1/6 to leaf2/6 is 1X QDR, both ends support 4X QDR",
      "disagree: leaf1/6 says it is 1X QDR, leaf2/6 at its other end 4X QDR",
      "unread: leaf2/3: its state: no answer",
      "uncounted: leaf2/1: its counters: no answer",
   })
end

function tests.test_one_guid_twice()
   local parts = sim.parts()
   -- leaf2/4 claims n1's only port, which leaf1/1 has
   local p = parts.leaf2.ports[4]
   p.far, p.far_port, p.info = parts["n1 mlx5_0"].guid, 1, sim.info.up
   local clash = { guid = p.far, port = 1, first = { guid = parts.leaf1.guid, port = 1 },
      second = { guid = parts.leaf2.guid, port = 4 } }
   local fabric = sim.fabric(parts, 300, { clashes = { clash, { guid = "0x9", port = 1,
      first = json.null, second = json.null } } })
   lu.assertEquals(#fabric.links, 7)
   local said = kinds(check.find(fabric))
   lu.assertStrContains(said[1], "clash: GUID 0x0000000000001000 (n1 mlx5_0) port 1 is seen " ..
      "from leaf1/1 and from leaf2/4")
   lu.assertStrContains(said[2], "from elsewhere and from elsewhere")
end

-- What taut-ib printed of a simulated fabric with faults in it.
local function recorded_sweep()
   local nodes, reply = {}, nil
   local root = os.getenv "TAUT_SRCDIR" or "."
   for line in io.lines(root .. "/tests/data/infiniband/taut-ib-x5.jsonl") do
      local t = assert(json.decode(line))
      nodes[#nodes + 1], reply = t.part, t
   end
   reply.nodes, reply.boot, reply.finish = nodes, "b", reply["end"]
   return reply
end

function tests.test_a_recorded_sweep_of_a_fat_tree()
   local fabric = model.build(recorded_sweep(), nil, 4)
   lu.assertEquals({ #fabric.nodes, #fabric.links }, { 99, 157 })
   lu.assertEquals(kinds(check.find(fabric)), { "1X: S-0008f10500108098/26 to " ..
      "S-0008f10500200b50/18 is 1X QDR, both ends support 4X QDR (set so at the ends)" })
   local kept = sim.state()
   watch.take(kept, fabric)
   local seen = {}
   for _, e in ipairs(errors.find(fabric, kept)) do
      seen[#seen + 1] = ("%s %s/%d %s=%d"):format(e.verdict, e.node, e.port, e.counter, e.value)
   end
   lu.assertEquals(seen, { "undated S-0008f10500200b50/16 link_error_recovery=7",
      "undated S-0008f10500200b50/16 symbol_error=1234",
      "ignorable S-0008f10500200b50/17 port_xmit_wait=5000000" })
   -- the same counters a second time have not grown
   local again = recorded_sweep()
   again.counted, again.counted_mono = again.counted + 300, again.counted_mono + 300
   lu.assertEquals(watch.take(kept, model.build(again, nil, 4)), {})
end

---------------------------------------------------------------- names

function tests.test_names_by_map_by_description_by_guid()
   local parts = sim.parts()
   parts["n2 mlx5_0"].desc, parts["n3 mlx5_0"].desc = "MT25408 ConnectX", "MT25408 ConnectX"
   parts["n4 mlx5_0"].desc = ""
   local fabric = sim.fabric(parts, 300, { names = { [parts.leaf1.guid] = 'the "wopr" switch' } })
   local got = {}
   for _, node in ipairs(fabric.nodes) do
      got[#got + 1] = node.name
   end
   lu.assertEquals(got, { "H-0000000000002000", "H-0000000000003000", "H-0000000000004000", "leaf2",
      "n1 mlx5_0", 'the "wopr" switch' })
end

function tests.test_hosts_in_descriptions()
   for desc, host in pairs { n12 = "n12", ["n12 HCA-1"] = "n12", ["n-1.x mlx5_0"] = "n-1.x",
      ["n1 hfi1_0"] = "n1" } do
      lu.assertEquals(names.host(desc), host, desc)
   end
   for _, desc in ipairs { "", "MT25408 ConnectX Mellanox Technologies", "Quantum Mellanox" } do
      lu.assertNil(names.host(desc), desc)
   end
end

function tests.test_a_node_name_map()
   local map = assert(names.read(file [[
# comment
0x0008f10400411b18 "wopr switch, "base""
0x8f10400411b19	"spine 1" # second
  8f10400411b1a plain

]]))
   lu.assertEquals(map, { ["0x0008f10400411b18"] = 'wopr switch, "base"',
      ["0x0008f10400411b19"] = "spine 1", ["0x0008f10400411b1a"] = "plain" })
end

function tests.test_a_bad_node_name_map_names_the_line()
   local cases = {
      { "0xzz \"a\"", ':1: expected 0xGUID "name", got "0xzz "a""' },
      { "0x1 \"a\"\n0x12345678123456789 \"b\"", ":2: expected" },
      { "0x1\n", ":1: expected" }, { "0x1 \"\"\n", ":1: expected" },
      { "0x1 a\n0x1 b\n", ":2: 0x0000000000000001 is \"b\" here and \"a\" above" },
      { ("x"):rep(100000), ":1: expected" }, { "\0\1\2", ':1: expected 0xGUID "name", got "???"' },
   }
   for _, c in ipairs(cases) do
      local map, err = names.read(file(c[1]))
      lu.assertNil(map)
      lu.assertStrContains(err, c[2])
   end
   lu.assertNil((names.read "/nonexistent/map"))
end

---------------------------------------------------------------- growth

local function set(parts, desc, port, list)
   parts[desc].ports[port].counters = list
end

local function verdicts(fabric, kept)
   local out = {}
   for i, e in ipairs(errors.find(fabric, kept)) do
      out[i] = ("%s %s/%d %s=%d"):format(e.verdict, e.node, e.port, e.counter, e.value)
   end
   return out
end

function tests.test_the_first_sweep_dates_nothing()
   local parts, kept = sim.parts(), sim.state()
   set(parts, "leaf1", 5, { symbol_error = 65535, port_xmit_wait = 9, port_xmit_data = 5 })
   set(parts, "leaf1", 1, { symbol_error = 4, port_rcv_switch_relay_errors = 290 })
   set(parts, "leaf1", 3, { symbol_error = 65535, link_downed = 1 })
   local fabric = sim.fabric(parts)
   lu.assertEquals(watch.take(kept, fabric), {})
   lu.assertEquals(verdicts(fabric, kept), {
      "undated leaf1/1 symbol_error=4", "undated leaf1/5 symbol_error=65535",
      "ignorable leaf1/1 port_rcv_switch_relay_errors=290", "ignorable leaf1/3 link_downed=1",
      "ignorable leaf1/3 symbol_error=65535", "ignorable leaf1/5 port_xmit_wait=9" })
end

local function wide(parts, desc, port, words)
   local p = parts[desc].ports[port]
   p.read, p.counters64 = 64, { port_xmit_data = words }
end

function tests.test_what_links_carried_between_two_sweeps()
   local parts = sim.parts()
   -- 4X QDR: 4 GB/s, which is 1e9 words
   wide(parts, "leaf1", 5, 1000)
   wide(parts, "leaf1", 1, 0)
   wide(parts, "n1 mlx5_0", 1, 1 << 62)
   wide(parts, "leaf2", 1, 5000)
   local list, kept = load.take(nil, sim.fabric(parts))
   lu.assertEquals(list, {})
   wide(parts, "leaf1", 5, 1000 + 300 * 800000000)
   wide(parts, "leaf1", 1, 300 * 90000000) -- 9 %
   wide(parts, "n1 mlx5_0", 1, (1 << 62) + 300 * 500000000)
   wide(parts, "leaf2", 1, 3) -- somebody reset it
   set(parts, "leaf1", 6, { port_xmit_data = 4294967295 }) -- narrow
   list, kept = load.take(kept, sim.fabric(parts, 300))
   table.sort(list, function(a, b) return a.component < b.component end)
   lu.assertEquals(list, { { component = "leaf1/5", Bps = 3.2e9 },
      { component = "n1/tx", Bps = 2e9 } })
   list = load.take(kept, sim.fabric(parts, 600))
   lu.assertEquals(list, {})
end

-- Only where all links are counted does the list say that the others carried little.
function tests.test_what_is_not_counted_may_carry_anything()
   local parts = sim.parts()
   local function take(kept, words)
      for _, node in ipairs(parts) do
         for i, p in ipairs(node.ports) do
            if p.far then
               wide(parts, node.desc, i, words)
            end
         end
      end
      return load.take(kept, sim.fabric(parts, 300))
   end
   local _, kept, all = take(nil, 5)
   lu.assertFalse(all) -- a first look knows no rates
   _, kept, all = take(kept, 6)
   lu.assertTrue(all) -- what leads nowhere does not matter
   _, kept, all = take(kept, 3)
   lu.assertFalse(all) -- somebody reset them
   parts.leaf1.ports[5].read, parts.leaf1.ports[5].counters64 = 32, nil
   _, _, all = load.take(kept, sim.fabric(parts, 300))
   lu.assertFalse(all)
end

function tests.test_growth_is_told_with_its_window_and_where_it_belongs()
   local parts, kept = sim.parts(), sim.state()
   watch.take(kept, sim.fabric(parts))
   set(parts, "leaf1", 5, { symbol_error = 500 })
   set(parts, "leaf2", 1, { link_downed = 1 })
   set(parts, "n1 mlx5_0", 1, { symbol_error = 200 })
   set(parts, "leaf1", 6, { port_xmit_wait = 1000000, port_rcv_switch_relay_errors = 7,
      symbol_error = 3 })
   local fabric = sim.fabric(parts, 300)
   local seen = watch.take(kept, fabric)
   table.sort(seen, function(a, b) return a.port < b.port end)
   lu.assertEquals(#seen, 3)
   local o = seen[1]
   lu.assertEquals({ o.what, o.amount, o.class, o.scope, o.port, o.far, o.to - o.from, o.seconds },
      { "symbol_error", 500, "fatal", "link", "leaf1/5", "leaf2/5", 300, 300 })
   -- what leaf1 receives through port 5 is what leaf2 sends through its port
   lu.assertEquals(o.components, { "leaf2/5" })
   lu.assertEquals({ seen[2].node, seen[2].components }, { "n3", { "n3/rx", "n3/tx" } })
   lu.assertEquals({ seen[3].node, seen[3].components }, { "n1", { "n1/rx" } })
   lu.assertEquals(verdicts(fabric, kept), {
      "real leaf1/5 symbol_error=500", "real leaf2/1 link_downed=1",
      "real n1 mlx5_0/1 symbol_error=200",
      "ignorable leaf1/6 port_rcv_switch_relay_errors=7",
      "ignorable leaf1/6 port_xmit_wait=1000000",
      "ignorable leaf1/6 symbol_error=3" })
   -- five minutes later nothing has grown; it is still real, for a day
   lu.assertEquals(watch.take(kept, sim.fabric(parts, 300)), {})
   lu.assertEquals(verdicts(sim.fabric(parts, 0), kept)[1], "real leaf1/5 symbol_error=500")
   fabric = sim.fabric(parts, 90000)
   lu.assertEquals(watch.take(kept, fabric), {})
   lu.assertEquals(verdicts(fabric, kept)[1], "ignorable leaf1/5 symbol_error=500")
end

function tests.test_a_reset_by_somebody_else_is_no_growth()
   local parts, kept = sim.parts(), sim.state()
   set(parts, "leaf1", 5, { symbol_error = 40000, link_downed = 9 })
   watch.take(kept, sim.fabric(parts))
   set(parts, "leaf1", 5, nil)
   lu.assertEquals(watch.take(kept, sim.fabric(parts)), {})
   set(parts, "leaf1", 5, { symbol_error = 3 })
   lu.assertEquals(watch.take(kept, sim.fabric(parts)), {})
   lu.assertEquals(kept.units[parts.leaf1.guid].ports["5"].last.symbol_error.amount, 3)
end

function tests.test_a_full_counter_is_a_lower_bound_then_unknown()
   local parts, kept = sim.parts(), sim.state()
   watch.take(kept, sim.fabric(parts))
   set(parts, "leaf1", 5, { symbol_error = 65535 })
   local o = watch.take(kept, sim.fabric(parts))[1]
   lu.assertEquals({ o.amount, o.at_least }, { 65535, true })
   lu.assertStrContains(o.text, "at least 65535")
   lu.assertEquals(watch.take(kept, sim.fabric(parts)), {})
   local fresh = sim.state()
   watch.take(fresh, sim.fabric(parts))
   local fabric = sim.fabric(parts)
   watch.take(fresh, fabric)
   local e = errors.find(fabric, fresh)[1]
   lu.assertEquals({ e.verdict, e.saturated }, { "undated", true })
   lu.assertStrContains(e.why, "stands at its highest value, 65535")
end

function tests.test_a_port_that_could_not_be_read_is_compared_with_what_it_was_then()
   local parts, kept = sim.parts(), sim.state()
   watch.take(kept, sim.fabric(parts))
   parts.leaf1.ports[5].read = nil
   lu.assertEquals(watch.take(kept, sim.fabric(parts, 300)), {})
   lu.assertEquals(watch.take(kept, sim.fabric(parts, 300)), {})
   parts.leaf1.ports[5].read = 32
   set(parts, "leaf1", 5, { symbol_error = 5000 })
   local o = watch.take(kept, sim.fabric(parts, 300))[1]
   lu.assertEquals({ o.amount, o.seconds }, { 5000, 900 })
end

function tests.test_a_port_never_read_before_has_no_growth()
   local parts, kept = sim.parts(), sim.state()
   parts.leaf1.ports[5].read = nil
   watch.take(kept, sim.fabric(parts))
   parts.leaf1.ports[5].read = 32
   set(parts, "leaf1", 5, { symbol_error = 5000 })
   lu.assertEquals(watch.take(kept, sim.fabric(parts)), {})
   -- and neither has a node that came later
   local all = sim.parts()
   set(all, "n4 mlx5_0", 1, { symbol_error = 5000 })
   local late = all["n4 mlx5_0"]
   for i, node in ipairs(all) do
      if node == late then
         table.remove(all, i)
      end
   end
   kept = sim.state()
   watch.take(kept, sim.fabric(all))
   table.insert(all, late)
   lu.assertEquals(watch.take(kept, sim.fabric(all)), {})
end

---------------------------------------------------------------- faults that come and go

function tests.test_a_slow_port_of_a_host_is_evidence_for_its_node()
   local parts, kept = sim.parts(), sim.state()
   watch.take(kept, sim.fabric(parts))
   local p, q = sim.ends(parts, "leaf1", 2)
   p.info, q.info = sim.info.x1, sim.info.x1
   local o = watch.take(kept, sim.fabric(parts))
   lu.assertEquals(#o, 1)
   lu.assertEquals({ o[1].what, o[1].left, o[1].scope, o[1].node, o[1].class, o[1].have,
      o[1].best }, { "width", 0.25, "node", "n2", "degrading", "1X QDR", "4X QDR" })
   lu.assertItemsEquals(o[1].components, { "n2/tx", "n2/rx" })
   -- told once, until it is mended
   lu.assertEquals(watch.take(kept, sim.fabric(parts)), {})
   p.info, q.info = sim.info.up, sim.info.up
   o = watch.take(kept, sim.fabric(parts))
   lu.assertEquals({ #o, o[1].what, o[1].left, o[1].class }, { 1, "width", 1, "harmless" })
   lu.assertEquals(watch.take(kept, sim.fabric(parts)), {})
end

function tests.test_a_slow_link_between_switches_is_evidence_for_both_its_directions()
   local parts, kept = sim.parts(), sim.state()
   local p, q = sim.ends(parts, "leaf1", 5)
   p.info, q.info = sim.info.ddr, sim.info.ddr
   local o = watch.take(kept, sim.fabric(parts))[1]
   lu.assertEquals({ o.what, o.left, o.scope, o.node }, { "speed", 0.5, "link", nil })
   lu.assertItemsEquals(o.components, { "leaf1/5", "leaf2/5" })
end

function tests.test_links_lost_and_back()
   local parts, kept = sim.parts(), sim.state()
   watch.take(kept, sim.fabric(parts))
   local whole = sim.parts()
   sim.cut(parts, "leaf1", 5)
   sim.cut(parts, "leaf1", 1)
   local seen = watch.take(kept, sim.fabric(parts))
   table.sort(seen, function(a, b) return a.port < b.port end)
   lu.assertEquals(#seen, 2)
   lu.assertEquals({ seen[1].what, seen[1].node, seen[1].left, seen[1].class },
      { "link", "n1", 0, "fatal" })
   lu.assertEquals(seen[1].components, { "n1/tx", "n1/rx" })
   lu.assertEquals(seen[2].components, { "leaf1/5", "leaf2/5" })
   lu.assertEquals(watch.take(kept, sim.fabric(parts)), {})
   seen = watch.take(kept, sim.fabric(whole))
   lu.assertEquals(#seen, 2)
   lu.assertEquals({ seen[1].class, seen[1].left }, { "harmless", 1 })
end

function tests.test_an_incomplete_sweep_mends_nothing()
   local parts, kept = sim.parts(), sim.state()
   local p, q = sim.ends(parts, "leaf1", 5)
   p.info, q.info = sim.info.x1, sim.info.x1
   watch.take(kept, sim.fabric(parts))
   local half = sim.parts()
   for _, node in ipairs { half.leaf1, half.leaf2 } do
      node.ports[5] = { port = 5, error = "not asked: others went unanswered" }
   end
   lu.assertEquals(watch.take(kept, sim.fabric(half, 300, { incomplete = true, why = "time" })), {})
   lu.assertNotNil(next(kept.standing))
   lu.assertEquals(watch.take(kept, sim.fabric(parts)), {})
end

---------------------------------------------------------------- the recorded fabric

local function recorded(parts)
   local path = file()
   assert(state.record(path, sim.fabric(parts)))
   return assert(state.load_record(path))
end

function tests.test_what_changed_since_it_was_recorded()
   local was = recorded(sim.parts())
   lu.assertEquals(changes.find(was, sim.fabric(sim.parts())), {})
   local cases = {
      { function(p) sim.cut(p, "leaf1", 5) end, { "lost cable: leaf1/5 to leaf2/5 is Polling" } },
      { function(p)
         sim.cut(p, "leaf1", 1)
         table.remove(p, 3)
      end, { "missing host: n1 mlx5_0 is not in the fabric" } },
      { function(p)
         local a, b = sim.ends(p, "leaf1", 5)
         a.info, b.info = sim.info.x1_set, sim.info.x1_set
      end, { "slower: leaf1/5 is 1X QDR, was 4X QDR" } },
      { function(p)
         local _, n1 = sim.ends(p, "leaf1", 1)
         sim.cut(p, "leaf1", 1)
         local l = p.leaf1.ports[3]
         l.far, l.far_port, l.info = p["n1 mlx5_0"].guid, 1, sim.info.up
         n1.far, n1.far_port, n1.info = p.leaf1.guid, 3, sim.info.up
      end, { "moved cable: n1 mlx5_0/1 goes to leaf1/3, went to leaf1/1" } },
      { function(p) p.leaf1.desc = "leaf one" end, { "renamed: leaf one was called leaf1" } },
      { function(p)
         local _, q = sim.ends(p, "leaf1", 1)
         p["n1 mlx5_0"].guid, q.guid = "0x0000000000009000", "0x0000000000009001"
         p.leaf1.ports[1].far = "0x0000000000009000"
      end, { "replaced: n1 mlx5_0 has another adapter: GUID 0x0000000000009000 was " ..
         "0x0000000000001000" } },
      { function(p)
         local l = p.leaf1.ports[3]
         l.far, l.far_port, l.info = "0x0000000000009000", 1, sim.info.up
         table.insert(p, { type = "ca", guid = l.far, desc = "n9 mlx5_0", num_ports = 1, lid = 0,
            ports = { { port = 1, info = sim.info.up, far = p.leaf1.guid, far_port = 3 } } })
      end, { "new host: n9 mlx5_0 is new" } },
      { function(p) p.leaf1.ports[3].info = sim.info.disabled end, {} },
      { function(p)
         sim.cut(p, "leaf1", 5)
         p.leaf1.ports[5].info = sim.info.disabled
      end, { "disabled: leaf1/5 to leaf2/5 is Disabled" } },
   }
   for i, c in ipairs(cases) do
      local parts = sim.parts()
      c[1](parts)
      lu.assertEquals(kinds(changes.find(was, sim.fabric(parts))), c[2], "case " .. i)
   end
end

function tests.test_cables_of_two_ports_exchanged()
   local was, parts = recorded(sim.parts()), sim.parts()
   local a, x = sim.ends(parts, "leaf1", 5)
   local b, y = sim.ends(parts, "leaf1", 6)
   a.far_port, x.far_port, b.far_port, y.far_port = 6, 6, 5, 5
   lu.assertEquals(#changes.find(was, sim.fabric(parts)), 2)
end

function tests.test_records_that_are_none()
   local cases = { { "", "" }, { "[]", "format" }, { "{}", "format nil" },
      { '{"format":1}', "is not a recorded fabric" },
      { '{"format":1,"kind":"fabric","nodes":[1]}', "node 1: expected guid" },
      { '{"format":1,"kind":"fabric","nodes":[{"guid":"0x1","name":"a","ports":[{"port":1}]}]}',
         "node 1 (a), port 1: expected four codes" },
      { '{"format":1,"kind":"fabric","nodes":[{"guid":"0x1","name":"a","ports":[{"port":"x",' ..
         '"codes":[1,2,3,4]}]}]}', "port 1: expected a number and a far end" },
      { '{"format":1,"kind":"fabric","nodes":[{"guid":"0x1","name":"a","ports":[7]}]}', "port 1" },
      { '{"format":2}', "format 2, expected 1" }, { "{", "file" } }
   for _, c in ipairs(cases) do
      local path = file(c[1])
      local t, err, absent = state.load_record(path)
      lu.assertNil(t, c[1])
      lu.assertStrContains(err, c[2])
      lu.assertFalse(absent or false)
   end
   local _, _, absent = state.load_record "/nonexistent/record"
   lu.assertTrue(absent)
end

function tests.test_a_state_survives_its_file_and_a_bad_file_begins_anew()
   local parts, kept, path = sim.parts(), sim.state(), file()
   set(parts, "leaf1", 5, { symbol_error = 3 })
   watch.take(kept, sim.fabric(parts))
   assert(state.save(path, kept))
   local back, err = state.load(path)
   lu.assertNil(err)
   set(parts, "leaf1", 5, { symbol_error = 503 })
   lu.assertEquals(watch.take(back, sim.fabric(parts))[1].amount, 500)
   for _, text in ipairs { "", "{", "[]", '{"format":1}', '{"format":1,"units":1}' } do
      back, err = state.load(file(text))
      lu.assertEquals(back, sim.state())
      lu.assertStrContains(err, "file")
   end
   back, err = state.load "/nonexistent/state"
   lu.assertEquals(back, sim.state())
   lu.assertNil(err)
   local ok, why = state.save("/nonexistent/state", kept)
   lu.assertNil(ok)
   lu.assertStrContains(why, "/nonexistent/state.new")
end

---------------------------------------------------------------- groups, answers

function tests.test_names_of_groups()
   local ipoib = "ff12401bffff000000000000ffffffff"
   lu.assertEquals(mcast.group "ipoib", { mgid = ipoib })
   lu.assertEquals(mcast.group "ipoib:0x1", { mgid = "ff12401b8001000000000000ffffffff" })
   lu.assertEquals(mcast.group "ff12:401b:ffff::ffff:ffff", { mgid = ipoib })
   lu.assertEquals(mcast.group "FF12:401b:ffff:0:0:0:ffff:ffff", { mgid = ipoib })
   lu.assertEquals(mcast.group "0xc000", { mlid = 0xc000 })
   for _, bad in ipairs { "", "x", "ipoib:", "ipoib:0x12345", "0xbfff", "0x10000", "ff12::1::2",
      "ff12:1:2:3:4:5:6:7:8", "fe80::1", ":::", "ff12:12345::", "ff12", "0x" } do
      local group, err = mcast.group(bad)
      lu.assertNil(group, bad)
      lu.assertStrContains(err, "expected ipoib")
   end
end

function tests.test_who_is_up_and_no_member()
   local parts = sim.parts()
   parts["n3 mlx5_0"].ports[1].info = sim.info.init
   local ports = mcast.ports(sim.fabric(parts))
   lu.assertEquals(#ports, 3)
   local m = mcast.missing(ports, { members = { { guid = ports[1].guid, member = true },
      { guid = ports[2].guid, member = false },
      { guid = ports[3].guid, member = false, error = "no answer" } } })
   lu.assertEquals({ m.members, #m.missing, m.missing[1].host, m.unknown[1].error },
      { 1, 1, "n2", "no answer" })
end

function tests.test_answers_are_plain_data()
   local parts, kept = sim.parts(), sim.state()
   local p, q = sim.ends(parts, "leaf1", 5)
   p.info, q.info = sim.info.x1, sim.info.x1
   set(parts, "leaf1", 6, { symbol_error = 3 })
   local fabric = sim.fabric(parts)
   local observations = watch.take(kept, fabric)
   local was = recorded(sim.parts())
   local k = { fabric = fabric, state = kept, conf = { recorded = "r" }, notes = { "a note" },
      observations = observations, record = function() return was end }
   for _, what in ipairs { "links", "errors", "check", "diff", "sweep" } do
      local data, err = queries.give(k, what, {})
      lu.assertNil(err)
      lu.assertNotNil(json.decode(json.encode(data)), what)
      lu.assertEquals(data.nodes, 6)
   end
   -- the slow link is told once, not again as a change
   local data = queries.give(k, "check", {})
   lu.assertEquals({ data.counts.fault, data.counts.warning, data.real_errors }, { 1, 0, 0 })
   lu.assertEquals(#queries.give(k, "diff", {}).changes, 1)
   local none, err = queries.give(k, "nonsense", {})
   lu.assertNil(none)
   lu.assertStrContains(err, "no answer 'nonsense'")
end

-- The hosts missing from a group were one line of any length.
function tests.test_a_host_list_is_several_that_fit()
   local hosts = { "login", "r3-b", "r4-b" }
   for i = 1, 900 do
      if i % 3 ~= 0 or i > 700 then
         hosts[#hosts + 1] = "n" .. i
      end
   end
   local list = hostlist.compress(hosts)
   local back = {}
   for _, line in ipairs(show.host_lines(list, 70)) do
      lu.assertTrue(#line <= 70, line)
      table.move(assert(hostlist.expand(line)), 1, 10000, #back + 1, back)
   end
   lu.assertEquals(hostlist.compress(back), list)
   lu.assertEquals(show.host_lines("a[1-2,4,6],b7,c[1-3]", 12),
      { "a[1-2,4,6]", "c[1-3],b7" })
   lu.assertEquals(show.host_lines("a[1-2,4,6],b7,c[1-3]", 7),
      { "a[1-2]", "a[4,6]", "c[1-3]", "b7" })
   lu.assertEquals(show.host_lines("a-name-that-is-longer", 7), { "a-name-that-is-longer" })
   lu.assertEquals(show.host_lines("r[3-4]-b,x", 70), { "r[3-4]-b,x" })
end

return tests
