-- SPDX-License-Identifier: GPL-2.0-or-later
--- Where tautd can be reached: by nodes, and the `taut` command of other hosts, over TCP, by the
-- `taut` command over a UNIX socket.
local loop = require "taut.loop"
local sys = require "taut.sys"

local doors = {}
local Doors = {}
Doors.__index = Doors

local HELLO_MAX = 2 << 20
local HELLO_MS = 2000   -- a connection's first frame is there, or it ends
local UNKNOWN_MAX = 128 -- connections of one address, before MUNGE has said who is there

local function listen_for_nodes(self, conf)
   local host, port = conf.listen:match("^%[?(.-)%]?:(%d+)$")
   local listener, err = loop.listen {
      host = host, port = math.tointeger(tonumber(port)), max_frame = HELLO_MAX,
      timeout_ms = 15000, hello_ms = HELLO_MS, max_unknown = UNKNOWN_MAX,
      max_conns = conf.checks.max_conns,
      on_frame = function(conn, kind, payload) self.intake:frame(conn, kind, payload) end,
      on_sent = function(conn) self.intake:sent(conn) end,
      on_close = function(conn) self.intake:gone(conn) end,
      on_refused = function(why, peer, count)
         self.refusals:note(peer == "?" and "the network" or peer, why, count)
      end,
   }
   if not listener then
      return nil, ("cannot listen on %s: %s"):format(conf.listen, err)
   end
   self.listener = listener
   return true
end

local function serve_commands(self, conf)
   sys.mkdir(conf.socket:match("^(.*)/[^/]*$"), 493) -- 0755
   local server, err = loop.serve { path = conf.socket, mode = 438, max_line = 1 << 20,
      is_admin = function(uid) return self.cluster:is_admin(uid) end,
      on_refused = function(uid, why) self.refusals:note("uid " .. uid, why) end,
      on_line = function(client, line, uid) self.query:answer(client, line, uid) end }
   if not server then
      return nil, ("cannot serve %s: %s"):format(conf.socket, err)
   end
   return true
end

--- Are they open?
function Doors:are_open()
   return self.listener ~= nil
end

--- Take connections.
-- @return true; or nil and why that cannot be
function Doors:open()
   local conf = self.site.conf
   local ok, err = listen_for_nodes(self, conf)
   if ok then
      ok, err = serve_commands(self, conf)
   end
   return ok, err
end

--- @param options { site, cluster, intake, refusals, query }
function doors.new(options)
   return setmetatable(options, Doors)
end

return doors
