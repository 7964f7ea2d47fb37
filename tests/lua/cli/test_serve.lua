-- SPDX-License-Identifier: GPL-2.0-or-later
-- `taut serve` before a tautd of all its parts: who sees what, by the user at the other end; what
-- is no page, and who is not of this host.
local looptest = require "lib.looptest"
local loop = require "taut.loop"
local lu = require "luaunit"
local parts = require "lib.parts"
local peer = require "taut.cli.page.peer"
local sys = require "taut.sys"
local tables = require "taut.base.tables"

local tests = {}

local NOBODY = 65534 -- an ordinary user, whatever it is called here

---------------------------------------------------------------- whose socket

local TCP = [[
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 11 1 x
   1: 0100007F:C350 0100007F:1F90 06 00000000:00000000 00:00000000 00000000     0        0 0 3 x
   2: 0100007F:C351 0100007F:1F90 01 00000000:00000000 00:00000000 00000000  1000        0 12 1 x
   3: 0100007F:C352 0100007F:1F90 01 00000000:00000000 00:00000000 00000000     0        0 0 1 x
   4: 0100007F:1F90 0100007F:C351 01 00000000:00000000 00:00000000 00000000     7        0 13 1 x
]]

function tests.test_only_an_open_socket_says_whose_it_is()
   local function of(own)
      return peer.of_lines(TCP:gmatch "[^\n]+", { [own] = true }, { ["0100007F:1F90"] = true })
   end
   lu.assertEquals(of "0100007F:C351", 1000)
   lu.assertNil(of "0100007F:C350") -- closed: the kernel says 0, who is root
   lu.assertNil(of "0100007F:C352") -- without an owner
   lu.assertNil(of "0100007F:C353")
   lu.assertNil(peer.uid("10.0.0.1:4321", "10.0.0.2:80"))
   lu.assertNil(peer.uid(nil, nil))
   lu.assertNil(peer.uid("x", "[::1]:99999999999999999999"))
end

---------------------------------------------------------------- a tautd and a server

local CONF = 'topology = torus { dims = { 2, 2, 1 }, nodes_per_router = 1, nodes = "n[0-3]", ' ..
   'capacity = 24e6 }\n'

-- All of tautd, on a socket as its own.
local function tautd(folder)
   local p = parts.new { dims = { 2, 2, 1 } }
   p.cluster.seen_running = {
      [7] = { id = 7, user_id = NOBODY, name = "jobofnobody", nodes = "n[0-1]", num_nodes = 2,
         state = "running" },
      [8] = { id = 8, user_id = sys.uid(), name = "jobofours", nodes = "n2", num_nodes = 1,
         state = "running" } }
   p.cluster.config = { private = { jobs = true } }
   function p.cluster.is_admin(_, uid) return uid == sys.uid() end
   local file = assert(io.open(folder .. "/taut.lua", "w"))
   file:write(CONF)
   file:close()
   p.site.conf.path = folder .. "/taut.lua"
   p.cluster.nodes.n3.drain, p.cluster.nodes.n3.reason = true, "bob <b>broke</b> it"
   p.door = assert(loop.serve { path = folder .. "/tautd.sock", mode = 438, max_line = 1 << 20,
      is_admin = function() return true end,
      on_line = function(client, line, uid) p.query:answer(client, line, uid) end })
   return p
end

-- `taut serve`, until f(what it said) has returned.
local function with_server(folder, args, f)
   local said, ended = {}, false
   local script = folder .. "/serve.lua"
   local file = assert(io.open(script, "w"))
   file:write("os.exit(require('taut.cli').main(arg))")
   file:close()
   local argv = { sys.paths.program, "--lua", script, "--socket", folder .. "/tautd.sock", "serve",
      table.unpack(args) }
   local proc = assert(loop.spawn { argv = argv,
      on_line = function(line) said[#said + 1] = line end,
      on_exit = function() ended = true end })
   local lines = tables.has(args, "--private") and 1 or 2
   looptest.until_true(function() return #said >= lines or ended end, 30000)
   local ok, err = xpcall(f, function(e) return e end, table.concat(said, "\n"))
   proc:kill "TERM"
   looptest.until_true(function() return ended end, 30000)
   if not ok then
      error(err, 0)
   end
end

local CLIENT = [[
use strict; use IO::Socket::INET; use IO::Socket::UNIX;
my ($where, $request) = @ARGV;
my $s = $where =~ m{^/} ? IO::Socket::UNIX->new(Peer => $where)
    : IO::Socket::INET->new(PeerAddr => $where) or do { print "no: $!"; exit };
$request =~ s/\|/\r\n/g;
print $s $request; $s->flush;
print while <$s>;
]]

-- What a client gets at once; as another user where `uid` is given.
local function get_now(where, request, uid)
   local lines, ended = {}, false
   local argv = { "perl", "-e", CLIENT, where, request }
   if uid then
      table.move({ "setpriv", "--reuid=" .. uid, "--clear-groups" }, 1, 3, 1,
         table.move(argv, 1, #argv, 4))
   end
   assert(loop.spawn { argv = argv, on_line = function(line) lines[#lines + 1] = line end,
      on_exit = function() ended = true end })
   looptest.until_true(function() return ended end, 60000)
   return table.concat(lines, "\n")
end

-- The same, once the page is made.
local function get(where, request, uid)
   for _ = 1, 600 do
      local text = get_now(where, request, uid)
      if not text:find("The page is being made", 1, true) then
         return text
      end
      looptest.pass(100)
   end
   lu.fail "the page is never made"
end

local PAGE = "GET / HTTP/1.1|Host: localhost:1||"

local function has(text, word)
   lu.assertTrue(text:find(word, 1, true) ~= nil, word .. " in " .. text:sub(1, 400))
end

local function lacks(text, ...)
   has(text, "HTTP/1.1 200")
   for _, word in ipairs { ... } do
      lu.assertNil(text:find(word, 1, true), word)
   end
end

-- The folder of a tautd, and one that others may go into.
local function folder_of()
   local folder = looptest.folder()
   os.execute("chmod 755 " .. folder.path)
   return folder
end

local function port_of(said)
   return said:match "http://(127%.0%.0%.1:%d+)/"
end

function tests.test_without_private_nobody_sees_jobs_or_users()
   local folder <close> = folder_of()
   local p = tautd(folder.path)
   with_server(folder.path, { "--listen", "127.0.0.1:0" }, function(said)
      has(said, "users and jobs are not shown")
      local text = get(port_of(said), PAGE)
      lacks(text, "jobofours", "jobofnobody", "bob", "id=\"jobs\"")
      for _, word in ipairs { "Content-Security-Policy: default-src 'none'", "connect-src 'self'",
         "X-Frame-Options: DENY", "Cache-Control: no-store", "nosniff", 'data-live="30"' } do
         has(text, word)
      end
   end)
   p.door:close()
end

function tests.test_each_user_sees_what_slurm_would_show()
   if sys.uid() ~= 0 then
      lu.skip "only root can come as somebody else"
   end
   local folder <close> = folder_of()
   local p, path = tautd(folder.path), folder.path .. "/page.sock"
   for _, where in ipairs { "127.0.0.1:0", "[::1]:0", path } do
      with_server(folder.path, { "--listen", where, "--mode", "666", "--private" }, function(said)
         local at = port_of(said) or said:match "http://(%[::1%]:%d+)/" or path
         if at:find "^%[" then
            return -- perl's INET knows no IPv6; the page was offered
         end
         local text = get(at, PAGE)
         has(text, "jobofours")
         has(text, "jobofnobody")
         has(text, "bob &lt;b&gt;broke&lt;/b&gt; it")
         text = get(at, PAGE, NOBODY)
         has(text, "jobofnobody")
         has(text, "1 more are hidden from you")
         lacks(text, "jobofours")
         text = get(at, PAGE, 4242)
         has(text, "2 more are hidden from you")
         lacks(text, "jobofours", "jobofnobody")
      end)
   end
   p.door:close()
end

function tests.test_private_nodes_are_for_administrators()
   if sys.uid() ~= 0 then
      lu.skip "only root can come as somebody else"
   end
   local folder <close> = folder_of()
   local p = tautd(folder.path)
   p.cluster.config.private.nodes = true
   with_server(folder.path, { "--listen", "0" }, function(said)
      has(get(port_of(said), PAGE), "HTTP/1.1 200")
      local text = get(port_of(said), PAGE, NOBODY)
      has(text, "HTTP/1.1 403")
      has(text, "PrivateData=nodes is set")
   end)
   p.door:close()
end

function tests.test_what_is_no_page()
   local folder <close> = folder_of()
   local p = tautd(folder.path)
   with_server(folder.path, { "--listen", "0" }, function(said)
      local at = port_of(said)
      has(get(at, PAGE), "HTTP/1.1 200") -- is made
      for request, status in pairs {
         ["GET /x HTTP/1.1|Host: localhost||"] = 404,
         ["GET /../etc HTTP/1.1|Host: [::1]:8||"] = 404,
         ["GET / HTTP/1.1|Host: evil.example||"] = 421, ["GET / HTTP/1.1||"] = 421,
         ["GET / HTTP/1.1|Host: 127.0.0.1.evil.example||"] = 421,
         ["POST / HTTP/1.1|Host: localhost|Content-Length: 0||"] = 405,
         ["HEAD / HTTP/1.1|Host: 127.0.0.1:80||"] = 200 } do
         local text = get(at, request)
         local got = math.tointeger(tonumber(text:match "^HTTP/1.1 (%d+)"))
         if status == 405 then
            lu.assertTrue(got == 405 or got == 501, text)
         else
            lu.assertEquals(got, status, request)
         end
      end
      p.door:close() -- tautd goes
      loop.timer(1, function() end)
      has(get(at, PAGE), "HTTP/1.1 503")
   end)
end

-- Who comes after the one who waited in vain is told so without a question.
function tests.test_a_tautd_that_stands_still_keeps_nobody_waiting_but_the_first()
   local folder <close> = folder_of()
   local p = tautd(folder.path)
   with_server(folder.path, { "--listen", "0" }, function(said)
      local asked, answer = 0, p.query.answer
      function p.query.answer() asked = asked + 1 end
      for _ = 1, 3 do
         has(get(port_of(said), PAGE), "HTTP/1.1 503")
      end
      p.query.answer = answer
      lu.assertEquals(asked, 1)
   end)
   p.door:close()
end

-- The page of a large machine takes seconds: nothing waits for it but who comes first.
function tests.test_whoever_comes_again_does_not_wait_for_the_next_page()
   local folder <close> = folder_of()
   local p = tautd(folder.path)
   local made, answer = 0, p.query.answer
   function p.query.answer(...)
      local _, _, line = ...
      made = made + (line:find('"links"', 1, true) and 1 or 0)
      return answer(...)
   end
   with_server(folder.path, { "--listen", "0", "--every", "2" }, function(said)
      has(get(port_of(said), PAGE), "HTTP/1.1 200")
      local before = made
      looptest.pass(2100) -- it is old by now
      has(get_now(port_of(said), PAGE), "HTTP/1.1 200")
      looptest.until_true(function() return made > before end, 30000)
   end)
   p.door:close()
end

-- While a page is made others get the last one, and whoever comes first is told to come again.
function tests.test_nobody_waits_while_a_page_is_made()
   local folder <close> = folder_of()
   local p = tautd(folder.path)
   local answer, held = p.query.answer, nil
   -- tautd keeps the maker of pages waiting
   local function hold()
      held = {}
      function p.query.answer(...)
         local args = table.pack(...)
         if args[3]:find('"links"', 1, true) then
            held[#held + 1] = args
            return nil
         end
         return answer(...)
      end
   end
   local function go_on()
      p.query.answer = answer
      for _, args in ipairs(held) do
         answer(table.unpack(args, 1, args.n))
      end
   end
   with_server(folder.path, { "--listen", "0", "--every", "2" }, function(said)
      hold()
      for _ = 1, 3 do
         local text = get_now(port_of(said), PAGE)
         has(text, "HTTP/1.1 503")
         has(text, "Refresh: 1")
      end
      lu.assertEquals(#held, 1)
      go_on()
      has(get(port_of(said), PAGE), "HTTP/1.1 200")
      hold()
      looptest.pass(2100)
      for _ = 1, 3 do
         has(get_now(port_of(said), PAGE), "HTTP/1.1 200")
      end
      looptest.until_true(function() return #held == 1 end, 30000)
      go_on()
   end)
   p.door:close()
end

function tests.test_where_it_may_not_listen()
   for _, where in ipairs { "0.0.0.0:80", "10.0.0.1:80", "host:80", "70000", "x", "::", "" } do
      local folder <close> = looptest.folder()
      local file = assert(io.open(folder.path .. "/s.lua", "w"))
      file:write("os.exit(require('taut.cli').main(arg))")
      file:close()
      local _, _, code = os.execute(("%s --lua %s serve --listen '%s' 2>/dev/null >&2")
         :format(sys.paths.program, folder.path .. "/s.lua", where))
      lu.assertEquals(code, 2, where)
   end
end

return tests
