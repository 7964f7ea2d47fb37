-- SPDX-License-Identifier: GPL-2.0-or-later
--- Asking a tautd on another host: which one, and how.
local dial = require "taut.dial"
local envelope = require "taut.base.envelope"
local sys = require "taut.sys"
local wire = require "taut.wire"

local distant = {}

local USER = "slurm" -- tautd runs as, where node.conf does not say

--- Read "host[:port][,host…]".
-- @return { { host =, port = }, … }; or nil and what was expected
function distant.servers(text)
   local list = {}
   for word in text:gmatch "[^,]+" do
      local host, port = word:match "^%[([%x:]+)%]:?(%d*)$"
      if not host then
         host, port = word:match "^([%w._-]+):?(%d*)$"
      end
      local n = port == "" and wire.PORT or math.tointeger(tonumber(port))
      if not host or not n or n < 1 or n > 65535 then
         return nil, ("expected HOST[:PORT][,HOST…], got '%s'"):format(word)
      end
      list[#list + 1] = { host = host, port = n }
   end
   if #list == 0 then
      return nil, "expected HOST[:PORT][,HOST…], got nothing"
   end
   return list
end

--- The settings of a node.conf: key=value lines.  Empty where there is no such file.
function distant.conf(path)
   local out, f = {}, io.open(path)
   for line in f and f:lines() or function() end do
      local key, value = line:match "^%s*([%w_-]+)%s*=%s*(.-)%s*$"
      if key then
         out[key:gsub("-", "_")] = value
      end
   end
   if f then
      f:close()
   end
   return out
end

local function ask_one(server, cred, key, timeout_ms)
   local list, err = dial.ask(server.host, server.port, cred, timeout_ms)
   if not list then
      return nil, err
   end
   local text
   text, err = envelope.open(key, list)
   return text, err and ("%s port %d: %s"):format(server.host, server.port, err)
end

--- Ask.
-- @param at { servers = of distant.servers, user = tautd's, munge_socket }
-- @param request { cmd =, args = }
-- @return the answer's text; or nil and why there is none
function distant.ask(at, request, timeout_ms)
   local uid, err = sys.user_id(at.user or USER)
   if not uid then
      return nil, err .. ", whom tautd runs as (user= in node.conf)"
   end
   local answer
   for _, server in ipairs(at.servers) do
      local text, key = envelope.ask(request)
      local cred
      cred, err = dial.sign(text, uid, at.munge_socket)
      if not cred then
         return nil, err
      end
      answer, err = ask_one(server, cred, key, timeout_ms)
      if answer then
         return answer
      end
   end
   return nil, err
end

return distant
