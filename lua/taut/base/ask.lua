-- SPDX-License-Identifier: GPL-2.0-or-later
--- Asks tautd, and prints what it says when it says no.
local distant = require "taut.base.distant"
local json = require "taut.json"
local report = require "taut.report"
local sys = require "taut.sys"

local ask = {}

local TIMEOUT_MS = 30000

--- Data with others' words in it, made fit for a terminal in place: names of jobs, reasons.
function ask.plain(data)
   if type(data) == "string" then
      return sys.plain(data)
   elseif type(data) == "table" then
      for key, value in pairs(data) do
         data[key] = ask.plain(value)
      end
   end
   return data
end

--- Data as JSON for a terminal: the same words, with nothing that a terminal acts on.
function ask.json(data)
   return (json.encode(data, 2):gsub("\xc2([\x80-\x9f])", function(char)
      return ("\\u%04x"):format(char:byte())
   end):gsub("\x7f", "\\u007f"))
end

---------------------------------------------------------------- which tautd

local function read_node_conf()
   local conf = distant.conf(sys.paths.confdir .. "/node.conf")
   local servers = conf.servers and distant.servers(conf.servers)
   return servers and { servers = servers, user = conf.user, munge_socket = conf.munge_socket }
end

--- Decide which tautd is asked: that of --socket, that of --server or TAUT_SERVER, the one on this
-- host, that of node.conf.
-- @param args parsed command line; `socket` and `server` are set in it
-- @return true; or nil and what is wrong with the words
function ask.choose(args)
   local own = sys.paths.rundir .. "/tautd.sock"
   local words = not args.socket and (args.server or os.getenv "TAUT_SERVER")
   args.server = nil
   if words then
      local servers, err = distant.servers(words)
      if not servers then
         return nil, "--server: " .. err
      end
      args.server = read_node_conf() or {}
      args.server.servers = servers
   elseif not args.socket and not sys.stat(own) then
      args.server = read_node_conf()
   end
   args.socket = args.socket or own
   return true
end

--- The same tautd, for a command that makes its own arguments.
-- @param more nil, or a table that gets it
function ask.at(args, more)
   more = more or {}
   more.socket, more.server = args.socket, args.server
   return more
end

--- The tautd that is asked, in words.
function ask.where(args)
   if not args.server then
      return args.socket
   end
   local names = {}
   for i, s in ipairs(args.server.servers) do
      names[i] = ("%s port %d"):format(s.host, s.port)
   end
   return table.concat(names, ", ")
end

-- A tautd that stands by has no answer: then those of node.conf are asked, one of which acts.
local function exchange_request(args, request, timeout_ms)
   if args.server then
      return distant.ask(args.server, request, timeout_ms)
   end
   local line, err = sys.request(args.socket, json.encode(request), timeout_ms)
   local reply = line and json.decode(line)
   local others = reply and reply.elsewhere and not request.as and read_node_conf()
   if others then
      return distant.ask(others, request, timeout_ms)
   end
   return line, err
end

---------------------------------------------------------------- asking

-- What an option says, or a name of nothing that there is, is wrong: these words of tautd's.
local WRONG = { "^%-", "^pattern ", "'[^']*' is not a component",
   "component '.*' is not in the topology", "node '.*' is not in the topology",
   "'[^']*' is neither a ", "'[^']*' is a node: say ", "there is no partition '",
   "^partition '[^']*' is not known" }

--- Does tautd's answer say that a value of the command line is wrong?
function ask.is_wrong(why)
   for _, pattern in ipairs(WRONG) do
      if why:find(pattern) then
         return true
      end
   end
   return false
end

--- Ask.
-- @param args parsed command line, after ask.choose; `as` may be the user id whom the answer is
--   for, where root or SlurmUser asks on tautd's host
-- @param cmd command of query.lua
-- @param params its arguments
-- @param timeout_ms nil: 30 s
-- @return data; or nil and why not
-- @return where data is nil: whether no tautd answered
-- @return … and whether a value is wrong: exit status 2
function ask.request(args, cmd, params, timeout_ms)
   local line, err = exchange_request(args, { cmd = cmd, args = params or {}, as = args.as },
      timeout_ms or TIMEOUT_MS)
   if not line then
      return nil, err, true
   end
   local reply
   reply, err = json.decode(line)
   if not reply or not reply.ok then
      local why = reply and reply.error or err
      return nil, why, false, ask.is_wrong(why)
   end
   return reply.data
end

local HINT = "; on a host without tautd, servers= in %s/node.conf or --server says where it is"

--- What to say where no tautd answered.
function ask.unanswered(args, why)
   return ("tautd does not answer at %s: %s%s"):format(ask.where(args), why,
      not args.server and not sys.stat(args.socket) and HINT:format(sys.paths.confdir) or "")
end

--- Ask, and serve --json.
-- @param args parsed command line (json), after ask.choose
-- @param cmd command of query.lua
-- @param params its arguments
-- @return data; or nil after the error went to stderr, or after --json was served
-- @return exit status, where data is nil
function ask.tautd(args, cmd, params)
   local data, err, unanswered, is_wrong = ask.request(args, cmd, params)
   if data == nil then
      report.complain(sys.plain(unanswered and ask.unanswered(args, err) or err))
      return nil, is_wrong and 2 or 1
   elseif args.json then
      print(ask.json(data))
      return nil, 0
   end
   return ask.plain(data)
end

return ask
