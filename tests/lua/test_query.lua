-- Requests of the `taut` command that make no sense: each gets an answer, whatever it holds.
local json = require "taut.json"
local looptest = require "looptest"
local lu = require "luaunit"
local query = require "taut.query"
local sim = require "sim"

local tests = {}

local function daemon()
   local d = { topo = sim.torus({ 2, 2, 1 }, 1), diagnosis = sim.new({}).diagnosis, measures = {},
      conf = { path = "x" }, surveys = { stop = function() return 0 end } }
   d.cluster = { partitions = { all = { "n0", "n1", "n2", "n3" } }, nodes = {}, nodes_at = 1,
      is_admin = function() return false end, is_free = function() return true end }
   function d.cluster.refresh(_, fn) fn() end
   return d
end

-- The answer to one line.
local function ask(line, d)
   local got
   local client = { reply = function(_, text) got = json.decode(text) end }
   query.answer(d or daemon(), client, line, 1000)
   return got
end

function tests.test_arguments_are_an_object_for_all_commands()
   for _, cmd in ipairs { "idle_nodes", "advise", "stop_survey", "explain", "fabric", "status" } do
      for _, args in ipairs { "5", '"x"', "true", "1.5" } do
         local got = ask(('{"cmd":"%s","args":%s}'):format(cmd, args))
         lu.assertFalse(got.ok)
         lu.assertEquals(got.error, cmd .. ": args: expected an object")
      end
   end
   lu.assertEquals(ask('{"cmd":"idle_nodes","args":null}').data.count, 4)
   lu.assertEquals(ask('{"cmd":"idle_nodes"}').data.nodes, "n[0-3]")
   lu.assertEquals(ask('{"cmd":"idle_nodes","args":{"partition":"all"}}').data.count, 4)
end

function tests.test_an_error_after_slurm_was_asked_is_an_answer()
   local d = daemon()
   d.cluster.is_free = function() error "broken" end
   local got
   looptest.quietly(function() got = ask('{"cmd":"idle_nodes"}', d) end)
   lu.assertEquals(got, { ok = false, error = "internal error; tautd's log has it" })
end

function tests.test_whatever_stands_in_the_arguments_there_is_an_answer()
   local odd = { "5", "-1", "1e300", '"x"', "[]", "{}", "true", "null", "[[]]", '{"a":[1]}',
      '"\\u0000"' }
   for _, cmd in ipairs { "idle_nodes", "advise", "stop_survey" } do
      for _, field in ipairs { "partition", "count", "top", "tag", "job" } do
         for _, v in ipairs(odd) do
            local got = ask(('{"cmd":"%s","args":{"count":2,"%s":%s}}'):format(cmd, field, v))
            lu.assertNotNil(got)
            lu.assertNotEquals(got.error, "internal error; tautd's log has it", field .. " " .. v)
         end
      end
   end
   for _, line in ipairs { "", "5", "[]", "null", '{"cmd":5}', '{"cmd":{}}', '{"cmd":null}' } do
      lu.assertFalse(ask(line).ok)
   end
end

return tests
