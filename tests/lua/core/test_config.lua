-- SPDX-License-Identifier: GPL-2.0-or-later
local config = require "taut.config"
local lu = require "luaunit"
local values = require "taut.config.values"

local paths = { rundir = "/run/taut", statedir = "/var/lib/taut" }
local TOPOLOGY = [[
topology = torus {
   dims = { 2, 2 },
   nodes_per_router = 1,
   nodes = "n[0-3]",
   capacity = 1 * GB,
}
]]
local folder

local function load(text)
   folder = folder or io.popen("mktemp -d"):read "l"
   local path = folder .. "/taut.lua"
   local f = assert(io.open(path, "w"))
   f:write(text)
   f:close()
   local conf, err = config.load(path, paths)
   os.remove(path)
   return conf, err and err:gsub("^.*/", "")
end

local tests = {}

function tests.test_the_events_section()
   local conf = assert(load(TOPOLOGY))
   lu.assertEquals({ conf.events.follow, conf.events.follow_s, conf.events.job_comment },
      { {}, 5, false })
   conf = assert(load(TOPOLOGY .. 'events = { follow = { { "opensm", "/var/log/opensm.log" } } }'))
   lu.assertEquals(conf.events.follow, { { "opensm", "/var/log/opensm.log" } })
   for _, bad in ipairs { '"x"', '{ { "dmesg", "/x" } }', '{ { "kernel", "x" } }',
      '{ { "kernel" } }', '{ kernel = "/x" }', '{ { "kernel", "/x" }, { "opensm", "/x" } }' } do
      local none, err = load(TOPOLOGY .. "events = { follow = " .. bad .. " }")
      lu.assertNil(none, bad)
      lu.assertStrContains(err, "got ") -- load() takes everything up to the last / away
   end
end

function tests.test_the_fabric_section()
   local conf = assert(load(TOPOLOGY))
   lu.assertEquals({ conf.fabric.sweep_s, conf.fabric.mads, conf.fabric.state,
      conf.fabric.recorded }, { false, 16, "/var/lib/taut/fabric.json",
      "/var/lib/taut/fabric-recorded.json" })
   conf = assert(load(TOPOLOGY .. 'fabric = { sweep_s = 5 * minutes, ' ..
      'sm_key = "00000000000000FF" }'))
   lu.assertEquals({ conf.fabric.sweep_s, conf.fabric.sm_key }, { 300, "00000000000000ff" })
   for text, err in pairs {
      ["fabric = { sweep_s = 1 }"] = "fabric.sweep_s: expected a whole number from 5 to 86400, " ..
         "or false, got 1",
      ["fabric = { mads = 300 }"] = "fabric.mads: expected a whole number from 1 to 256, got 300",
      ['fabric = { sm_key = "1" }'] = 'fabric.sm_key: expected 16 hex digits in quotes, got "1"',
      ["fabric = { sweeps = 1 }"] = "'fabric.sweeps' is not a setting",
   } do
      local none, why = load(TOPOLOGY .. text)
      lu.assertNil(none)
      lu.assertStrContains(why, err)
   end
   -- a command that sweeps by itself needs no configuration, and takes only this section of one
   local alone = assert(config.fabric { confdir = "/nonexistent", statedir = "/s" })
   lu.assertEquals({ alone.state, alone.mads }, { "/s/fabric.json", 16 })
end

function tests.tearDown()
   if folder then
      os.remove(folder)
      folder = nil
   end
end

function tests.test_errors_name_file_line_and_what_was_expected()
   local cases = {
      { "", "taut.lua:1: topology: expected torus { … }" },
      { TOPOLOGY .. "foo = 1", "taut.lua:7: 'foo' is not a setting" },
      { TOPOLOGY .. "checks = 7", "taut.lua:7: checks: expected a table { … }, got 7" },
      { TOPOLOGY .. "checks = {\n\n  test_ms = 3 }",
         "taut.lua:9: checks.test_ms: expected a whole number from 5 to 2000, got 3" },
      { TOPOLOGY .. "checks = { test_ms = 25, tset_ms = 25 }",
         "taut.lua:7: 'checks.tset_ms' is not a setting" },
      { TOPOLOGY .. 'mode = "yes"',
         'taut.lua:7: mode: expected one of observe, drain, got "yes"' },
      { TOPOLOGY .. "mode = = 1", "taut.lua:7: unexpected symbol near '='" },
      { TOPOLOGY .. "mode = nope.x", "taut.lua:7: attempt to index a nil value (global 'nope')" },
      { (TOPOLOGY:gsub("0%-3", "0-4")),
         "taut.lua:4: topology.nodes: expected 4 names (2x2 routers of 1 nodes)" },
      { (TOPOLOGY:gsub("1 %* GB", "0")), "taut.lua:5: topology.capacity: expected bytes" },
      { "topology = torus(4)", "taut.lua:1: torus: expected a table { … }" },
   }
   for _, c in ipairs(cases) do
      local conf, err = load(c[1])
      lu.assertNil(conf, c[1])
      lu.assertStrContains(err, c[2])
   end
end

-- It was refused, and told to whoever reads the log.
function tests.test_a_password_in_an_address_is_refused_and_not_told()
   local function refused(url)
      local v, what, shown = values.server(url)
      lu.assertNil(v, url)
      return what .. shown
   end
   for _, url in ipairs { "postgresql://taut:hunter2@db/taut", "mysql://taut:a/hunter2@x@db/taut",
      "postgresql://taut@db/taut?password=hunter2", "postgresql:/taut:hunter2@db/taut",
      "mysql://taut@db/taut?password=hunter2&socket=/s", "taut:hunter2@db/taut",
      "postgresql://taut@db/taut?sslpassword=hunter2&sslmode=require" } do
      lu.assertNotStrContains(refused(url), "hunter2")
   end
   lu.assertStrContains(refused "mysql://taut@db/taut?password_file=db.pw", "got 'db.pw'")
   local _, err = load(TOPOLOGY .. 'store = "postgresql://taut:hunter2@db"')
   lu.assertNotStrContains(err, "hunter2")
end

function tests.test_defaults_are_those_of_the_safe_installation()
   local conf = assert(load(TOPOLOGY))
   lu.assertEquals(conf.mode, "observe")
   lu.assertEquals(conf.checks.link_time, 0.001)
   lu.assertEquals(conf.policy.per_hour, 3)
   lu.assertEquals(conf.policy.cap_share, 0.01)
   lu.assertEquals(conf.policy.resume_after_clean, false)
   lu.assertEquals(conf.socket, "/run/taut/tautd.sock")
end

function tests.test_values_and_units_are_taken()
   local conf = assert(load(TOPOLOGY .. [[
      local quick = 3
      checks = { link_time = false, test_ms = 20 }
      diagnosis = { suspect_low = quick }
      policy = { cap_nodes = 4, per_hour = false }
      mode = "drain"]]))
   lu.assertEquals(conf.checks.link_time, false)
   lu.assertEquals(conf.checks.test_ms, 20)
   lu.assertEquals(conf.checks.gap_ms, 4)
   lu.assertEquals(conf.diagnosis.suspect_low, 3)
   lu.assertEquals(conf.policy.cap_nodes, 4)
   lu.assertEquals(conf.topology.capacity[1], 1e9)
end

-- The example says defaults: a file with the machine alone must mean the same.
function tests.test_the_example_is_the_defaults()
   local f = assert(io.open((os.getenv "TAUT_SRCDIR" or ".") .. "/etc/taut.lua.example"))
   local text = f:read "a"
   f:close()
   local example = assert(load(text))
   local plain = assert(load((text:match "topology = fattree %b{}")))
   example.topology, plain.topology = nil, nil
   lu.assertEquals(example, plain)
   lu.assertEquals(example.hints, {})
end

---------------------------------------------------------------- the model

local function write(name, text)
   folder = folder or io.popen("mktemp -d"):read "l"
   local f = assert(io.open(folder .. "/" .. name, "w"))
   f:write(text)
   f:close()
   return folder .. "/" .. name
end

function tests.test_model_lua_beside_the_file_is_taken()
   local path = write("model.lua", "diagnosis = { good = 0.8, spell_s = 2 * hours }")
   local conf = assert(load(TOPOLOGY))
   lu.assertEquals({ conf.diagnosis.good, conf.diagnosis.spell_s, conf.diagnosis.failed },
      { 0.8, 7200, 0.01 })
   lu.assertEquals(conf.hints, {})
   os.remove(path)
   lu.assertEquals(assert(load(TOPOLOGY)).diagnosis.good, 0.75)
end

function tests.test_the_model_can_be_a_named_file_or_a_table()
   local path = write("other.lua", "checks = { test_ms = 30 }")
   lu.assertEquals(assert(load(TOPOLOGY .. 'model = "other.lua"')).checks.test_ms, 30)
   lu.assertEquals(assert(load(TOPOLOGY .. ('model = "%s"'):format(path))).checks.test_ms, 30)
   os.remove(path)
   local conf = assert(load(TOPOLOGY .. "model = { checks = { test_ms = 35 } }"))
   lu.assertEquals(conf.checks.test_ms, 35)
   lu.assertEquals(conf.hints, {})
   for text, err in pairs {
      ['model = "none.lua"'] = "none.lua",
      ["model = 7"] = "7: model: expected a file's name or a table { … }, got 7",
      ["model = { checks = { budget_ms = 100 } }"] =
         "'checks.budget_ms' is a setting of taut.lua, and no number of the model",
      ["model = { diagnosis = { god = 1 } }"] = "'diagnosis.god' is not a setting",
   } do
      local none, why = load(TOPOLOGY .. text)
      lu.assertNil(none, text)
      lu.assertStrContains(why, err)
   end
end

function tests.test_what_is_wrong_in_model_lua_names_that_file()
   local path = write("model.lua", "diagnosis = {\n   good = 2,\n}")
   local none, err = load(TOPOLOGY)
   os.remove(path)
   lu.assertNil(none)
   lu.assertEquals(err, "model.lua:2: diagnosis.good: expected a number from 0.01 to 1, got 2")
end

function tests.test_numbers_of_the_model_in_taut_lua_are_taken_with_a_hint()
   local conf = assert(load(TOPOLOGY .. [[
      diagnosis = { good = 0.7, spell_s = 60, slow_score = 10 }
      checks = { fresh_h = 0 }
   ]]))
   lu.assertEquals({ conf.diagnosis.good, conf.checks.fresh_h }, { 0.7, 0 })
   lu.assertEquals(#conf.hints, 1)
   lu.assertStrContains(conf.hints[1], "checks.fresh_h, diagnosis.good, diagnosis.slow_score " ..
      "and 1 more: numbers of the model")
   conf = assert(load(TOPOLOGY .. 'mode = "drain"'))
   lu.assertEquals({ conf.mode, conf.hints }, { "enable", {} })
end

-- A limit on instructions does not end a pattern: `taut config check` hung.
function tests.test_a_file_has_no_patterns()
   for name, text in pairs {
      match = '(("a"):rep(40)):match(("a?"):rep(40) .. ("a"):rep(40))',
      gmatch = '("a"):gmatch "a"', gsub = '("a"):gsub("a", "b")',
   } do
      local none, err = load("mode = " .. text .. "\n" .. TOPOLOGY)
      lu.assertNil(none)
      lu.assertStrContains(err, ":1: string." .. name .. ": there are no patterns here")
   end
   local none, err = load('mode = ("x"):rep(1e9)\n' .. TOPOLOGY)
   lu.assertNil(none)
   lu.assertStrContains(err, "1000000000 bytes are more than 1048576")
   assert(load('local at = ("a.b"):find(".") == 2\nkeep_days = at and 3 or 4\n' .. TOPOLOGY))
   lu.assertEquals(("ab"):match "b", "b") -- tautd's own strings have them
end

return tests
