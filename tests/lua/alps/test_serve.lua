-- SPDX-License-Identifier: GPL-2.0-or-later
-- taut-alps, a process of its own as tautd has it, over the ALPS of the lab (tests/lab/alps).
local json = require "taut.json"
local lu = require "luaunit"

local tests = {}
local src = os.getenv "TAUT_SRCDIR" or "."
local dir

local function sh(format, ...)
   local pipe = assert(io.popen(("export LAB_ALPS=%s PATH=%s/bin:$PATH; "):format(dir, dir)
      .. format:format(...)))
   local text = pipe:read "a"
   pipe:close()
   return text
end

function tests.setUp()
   if not os.execute "lua5.4 -e 'require \"lxp\"' 2>/dev/null && command -v flock >/dev/null" then
      lu.skip "lua5.4 with lxp, or flock, is not installed"
   end
   dir = io.popen("mktemp -d"):read()
   sh([[mkdir %s/bin; cp -r %s/tests/lab/alps %s/lua; : >%s/lock
      for p in apbasil xtprocadmin init claim; do cp %s/lua/run %s/bin/$p; done; init 8 2]],
      dir, src, dir, dir, dir, dir)
   local f = assert(io.open(dir .. "/serve.lua", "w"))
   f:write(('os.exit(require("taut.alps").main { "serve", "%s/drains" })'):format(dir))
   f:close()
end

function tests.tearDown()
   os.execute("rm -rf " .. dir)
end

-- Ask several things of one process; the answers.
local function ask(...)
   local lines = {}
   for i, request in ipairs { ... } do
      lines[i] = "'" .. json.encode(request) .. "'"
   end
   local out = {}
   for line in sh("printf '%%s\\n' %s | %s %s/serve.lua", table.concat(lines, " "),
      os.getenv "TAUT_LUA" or "tautd --lua", dir):gmatch "[^\n]+" do
      out[#out + 1] = json.decode(line)
   end
   return table.unpack(out, 2) -- the first says that it is ready
end

local function node(reply, name)
   for _, n in ipairs(reply.nodes or {}) do
      if n.name == name then
         return n
      end
   end
end

local DRAIN = { op = "drain", node = "nid00003", reason = "taut: tx at 25%" }

function tests.test_a_drain_has_a_reason_and_can_be_taken_back()
   local done, nodes = ask(DRAIN, { op = "nodes" })
   lu.assertTrue(done.done)
   lu.assertStrContains(sh "xtprocadmin -n 3", "admindown")
   local n = node(nodes, "nid00003")
   lu.assertEquals({ n.drain, n.down, n.reason }, { true, nil, "taut: tx at 25%" })
   -- another process knows it still
   local again, back, after = ask({ op = "nodes" }, { op = "resume", node = "nid00003" },
      { op = "nodes" })
   lu.assertEquals(node(again, "nid00003").reason, "taut: tx at 25%")
   lu.assertTrue(back.done)
   lu.assertFalse(node(after, "nid00003").drain)
   lu.assertStrContains(sh "xtprocadmin -n 3", " up ")
end

function tests.test_what_somebody_else_took_down_is_left_alone()
   sh "xtprocadmin -k s admindown -n 3"
   local done, back, nodes = ask(DRAIN, { op = "resume", node = "nid00003" }, { op = "nodes" })
   lu.assertEquals({ done.done, done.why }, { false, "down already: ALPS: admin" })
   lu.assertEquals({ back.done, back.why }, { false, "taken down by somebody else" })
   local n = node(nodes, "nid00003")
   lu.assertEquals({ n.drain, n.down, n.reason }, { false, true, "ALPS: admin" })
   lu.assertStrContains(sh "xtprocadmin -n 3", "admindown")
end

-- Whoever sets our node up takes it from us; set down again, it is theirs.
function tests.test_one_of_ours_that_an_administrator_set_up_is_forgotten()
   ask(DRAIN)
   sh "xtprocadmin -k s up -n 3"
   ask { op = "nodes" }
   sh "xtprocadmin -k s admindown -n 3"
   lu.assertFalse((ask { op = "resume", node = "nid00003" }).done)
end

function tests.test_jobs_are_reservations()
   sh([[printf '<BasilRequest protocol="1.3" method="RESERVE"><ReserveParamArray user_name="root"
      batch_id="42.sdb"><ReserveParam architecture="XT" width="2" nppn="1"><NodeParamArray>
      <NodeParam>1,5</NodeParam></NodeParamArray></ReserveParam></ReserveParamArray>
      </BasilRequest>' | apbasil]])
   local jobs, nodes = ask({ op = "jobs" }, { op = "nodes" })
   lu.assertEquals({ jobs.jobs[1].id, jobs.jobs[1].nodes, jobs.jobs[1].user_id },
      { 42, "nid[00001,00005]", 0 })
   lu.assertEquals(node(nodes, "nid00005").state, "allocated")
end

function tests.test_an_alps_that_does_not_answer_is_an_error()
   sh "touch $LAB_ALPS/dead.apbasil"
   local nodes = ask { op = "nodes" }
   lu.assertFalse(nodes.ok)
   lu.assertStrContains(nodes.error, "cannot connect to apsched")
end

function tests.test_an_xtprocadmin_that_fails_changes_nothing()
   sh "touch $LAB_ALPS/dead.xtprocadmin"
   local done, nodes = ask(DRAIN, { op = "nodes" })
   lu.assertStrContains(done.error, "xtprocadmin: ")
   lu.assertFalse(node(nodes, "nid00003").drain)
end

function tests.test_what_alps_has_not_is_said()
   lu.assertEquals((ask { op = "will_run" }).error, "not with ALPS")
end

return tests
