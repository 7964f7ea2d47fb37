-- SPDX-License-Identifier: GPL-2.0-or-later
local ask = require "taut.base.ask"
local helper = require "taut.base.helper"
local loop = require "taut.loop"
local peer = require "taut.cli.page.peer"
local report = require "taut.report"
local sys = require "taut.sys"
local tables = require "taut.base.tables"

local command = { summary = "The page of `taut report`, live, on this host only.",
   has_json = false }

local PORT = 8680
local MODE = 432         -- 0660
local WEEKS = 14 * 86400 -- what was done since then
local KEPT = 8           -- pages of different users at once
local TIMEOUT_MS = 15000 -- for a browser that neither sends nor takes
local ASK_MS = 10000     -- for tautd
local AWAY_S = 10        -- for this time a tautd that did not answer is not asked again
local LEAST_S = 2        -- between two times that tautd is asked
local STALE_S = 60       -- a page is shown for so long at least while the next one is made
local MAKE_MS = 300000   -- for making one

local HEADERS = { ["Cache-Control"] = "no-store", ["X-Content-Type-Options"] = "nosniff",
   ["X-Frame-Options"] = "DENY", ["Referrer-Policy"] = "no-referrer",
   ["Cross-Origin-Resource-Policy"] = "same-origin" }

-- Where there is no page yet: a browser asks again by itself.
local SOON = '<!DOCTYPE html><html lang="en"><title>Taut</title><p>The page is being made.</html>\n'
local SOON_HEADERS = tables.copy(HEADERS)
SOON_HEADERS["Retry-After"], SOON_HEADERS["Refresh"] = "1", "1"
SOON_HEADERS["Content-Security-Policy"] = "default-src 'none'"

---------------------------------------------------------------- options

local function is_this_host(host)
   return host == "localhost" or host == "::1" or host:match "^127%.%d+%.%d+%.%d+$" ~= nil
end

-- "8680", "127.0.0.1:8680", "[::1]:8680", "localhost:8680" or "/run/page.sock".
local function parse_place(text)
   if text:sub(1, 1) == "/" then
      return { path = text }
   end
   local host, port = text:match "^%[?(.-)%]?:(%d+)$"
   host, port = host or "127.0.0.1", math.tointeger(tonumber(port or text))
   if not is_this_host(host) or not port or port > 65535 then
      return nil, "expected a port, 127.0.0.1:PORT, [::1]:PORT or /PATH of a socket, got " .. text
   end
   if host == "localhost" then
      host = "127.0.0.1"
   end
   return { host = host, port = port }
end

local function parse_mode(text)
   local n = text:match "^0?[0-7][0-7][0-7]$" and tonumber(text, 8)
   return n, "expected three octal digits such as 660, got " .. text
end

local function parse_seconds(text)
   return tables.within(math.tointeger(tonumber(text)), LEAST_S, 86400),
      ("expected %d to 86400 seconds, got %s"):format(LEAST_S, text)
end

function command.setup(parser)
   parser:option("-l --listen"):description(
      ("A port of this host, or /PATH of a UNIX socket (%d)."):format(PORT)):argname "<where>"
      :convert(parse_place)
   parser:option("--mode"):description "Permissions of the UNIX socket (660)."
      :argname "<octal>":convert(parse_mode)
   parser:option("--every"):description "Seconds after which a page asks again (30)."
      :argname "<s>":convert(parse_seconds)
   parser:flag("--private"):description(
      "Show jobs, users and texts typed into Slurm to users with the right.")
end

---------------------------------------------------------------- who asks

-- Names by which a browser of this host comes; others may be a stranger's page that was given our
-- address for its own.
local function is_our_name(host)
   return is_this_host(((host or ""):gsub(":%d+$", ""):gsub("^%[(.*)%]$", "%1")))
end

-- For tautd: the user whom the answer is for; nil: ourselves.
local function as_of(self, uid)
   if not self.may_ask_as then
      return nil
   end
   return uid or self.nobody
end

-- tautd does not answer: all requests get this error at once for a while, because they wait one
-- after the other.
local function note_away(self, err)
   self.away = { until_ns = loop.now_ns() + AWAY_S * 1000000000, err = err }
end

-- May this user see the machine's nodes at all (PrivateData=nodes)?
local function may_see(self, uid)
   local as = as_of(self, uid)
   if as == nil then
      return true -- tautd refuses what we ask as ourselves
   end
   local data, err, unanswered = ask.request(ask.at(self.o, { as = as }), "cases", {}, ASK_MS)
   if unanswered then
      note_away(self, err)
   end
   return data ~= nil, err, unanswered
end

---------------------------------------------------------------- pages

local function take_answer(self, key, reply, err)
   self.making[key] = nil
   if not reply or reply.failed then
      self.failed[key] = { err = tables.or_empty(reply).failed or err, at_ns = loop.now_ns() }
      if reply and reply.is_away then
         note_away(self, reply.failed)
      end
      return
   end
   if tables.size(self.pages) >= KEPT then
      self.pages = {}
   end
   local headers = tables.copy(HEADERS)
   headers["Content-Security-Policy"] = reply.policy
   self.failed[key] = nil
   self.pages[key] = { text = reply.text, headers = headers, at_ns = loop.now_ns() }
end

-- Have a user's page made, unless it is being made.
local function begin_page(self, key, uid)
   if self.making[key] then
      return
   end
   self.making[key] = true
   local is_private = self.private and uid ~= nil
   local request = { op = "page", socket = self.o.socket, timeout_ms = ASK_MS, every = self.every,
      since = os.time() - WEEKS, private = is_private, as = as_of(self, uid),
      -- tautd would tell us what we may see, not what they may
      jobs = is_private and (self.may_ask_as or uid == sys.uid()) }
   self.maker:ask(request, function(reply, err) take_answer(self, key, reply, err) end, MAKE_MS)
end

local function age_s(version)
   return (loop.now_ns() - version.at_ns) / 1e9
end

-- A user's page; nil while the first is made, or nil and why there is none.  That of a large
-- machine takes seconds, so a process of its own makes it, and meanwhile everybody gets the one
-- that is there.
local function page_of(self, uid)
   local key = -1
   if self.private then
      key = uid or key
   end
   local kept, failed = self.pages[key], self.failed[key]
   if failed and age_s(failed) < AWAY_S then
      return nil, failed.err
   elseif not kept or age_s(kept) > self.every / 2 then
      begin_page(self, key, uid)
   end
   if kept and age_s(kept) <= math.max(4 * self.every, STALE_S) then
      return kept
   end
   return nil
end

---------------------------------------------------------------- answers

local function plain_answer(status, text)
   return status, "text/plain; charset=utf-8", sys.plain(text) .. "\n", HEADERS
end

local function answer_request(self, path, asker)
   if not asker.uid and not is_our_name(asker.host) then
      return plain_answer(421, "this is not the host that you asked for")
   elseif path ~= "/" then
      return plain_answer(404, "there is only one page: /")
   elseif self.away and loop.now_ns() < self.away.until_ns then
      return plain_answer(503, self.away.err)
   end
   local uid = asker.uid or peer.uid(asker.peer, asker.own)
   local ok, err, unanswered = may_see(self, uid)
   if unanswered and not ok then
      return plain_answer(503, err)
   elseif not ok then
      return plain_answer(403, err)
   end
   local made
   made, err = page_of(self, uid)
   if err then
      return plain_answer(503, err)
   elseif not made then
      return 503, "text/html; charset=utf-8", SOON, SOON_HEADERS
   end
   return 200, "text/html; charset=utf-8", made.text, made.headers
end

---------------------------------------------------------------- the command

-- May we ask in others' names?  Root, SlurmUser and tautd's user may.
local function look_at_rights(self)
   if self.o.server then
      return nil, "tautd does not run on this host: run it there, and connect with `ssh -L`"
   end
   self.nobody = sys.user_id "nobody" or 65534
   local data, err, unanswered = ask.request(ask.at(self.o, { as = self.nobody }), "running", {},
      ASK_MS)
   if unanswered then
      return nil, ask.unanswered(self.o, err)
   end
   self.may_ask_as = data ~= nil
   return true
end

-- What makes the pages.
local function start_maker(self)
   self.maker = helper.start { name = "pages",
      argv = { sys.paths.program, "--lua",
         sys.paths.luadir .. "/taut/cli/page/maker_process.lua" } }
end

local function print_where(args, where, server)
   if where.path then
      print(("serving on %s; a browser reaches it through a proxy or `ssh -L 8680:%s`"):format(
         where.path, where.path))
   else
      local host = where.host
      if host:find ":" then
         host = "[" .. host .. "]"
      end
      print(("serving on http://%s:%d/"):format(host, server:port()))
   end
   if not args.private then
      print "users and jobs are not shown (--private)"
   end
   io.stdout:flush()
end

function command.run(args)
   local where = args.listen or { host = "127.0.0.1", port = PORT }
   local self = { o = ask.at(args), every = args.every or 30, private = args.private or false,
      pages = {}, failed = {}, making = {} }
   self.o.timeout_ms = ASK_MS
   local ok, err = look_at_rights(self)
   local server
   if ok then
      server, err = loop.http { path = where.path, mode = args.mode or MODE, host = where.host,
         port = where.port, timeout_ms = TIMEOUT_MS, max_conns = 64,
         on_get = function(path, asker) return answer_request(self, path, asker) end }
   end
   if not server then
      report.complain("serve: ", err)
      return 1
   end
   start_maker(self)
   loop.signal("TERM", loop.stop)
   loop.signal("INT", loop.stop)
   print_where(args, where, server)
   loop.run()
   self.maker:stop()
   server:close()
   return 0
end

return command
