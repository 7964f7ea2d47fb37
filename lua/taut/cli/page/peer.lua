-- SPDX-License-Identifier: GPL-2.0-or-later
--- Whose process is at the other end of a TCP connection within this host: Linux lists the sockets
-- of each user in /proc/net/tcp.
local tables = require "taut.base.tables"

local peer = {}

local ESTABLISHED = "01"

-- An IPv4 address as the kernel prints it there: a word of this machine.
local function address_word(a, b, c, d)
   local byte = string.char(a, b, c, d)
   return ("%08X"):format((string.unpack("=I4", byte)))
end

-- "127.0.0.1:80" or "[::1]:80" in the forms in which it may stand in the two files; nil where it is
-- not within this host.
local function address_forms(address)
   local host, digits = address:match "^%[?(.-)%]?:(%d+)$"
   local number = math.tointeger(tonumber(digits))
   if not number then
      return nil
   end
   local port = (":%04X"):format(number)
   if host == "::1" then
      return { ("0"):rep(24) .. address_word(0, 0, 0, 1) .. port }
   end
   local a, b, c, d = host:match "^(127)%.(%d+)%.(%d+)%.(%d+)$"
   if not a then
      return nil
   end
   local v4 = address_word(math.tointeger(tonumber(a)), math.tointeger(tonumber(b)),
      math.tointeger(tonumber(c)), math.tointeger(tonumber(d)))
   return { v4 .. port, ("0"):rep(16) .. address_word(0, 0, 255, 255) .. v4 .. port }
end

--- The user of a socket.  One that is being closed has no owner any more: the kernel then returns
-- 0, so only an open one counts.
-- @param lines iterator over a file as /proc/net/tcp
-- @param of, to sets of addresses as they stand there: the socket's own, and the other end's
-- @return user id, or nil
function peer.of_lines(lines, of, to)
   for line in lines do
      local own, other, state, uid, inode = line:match(
         "^%s*%d+: (%x+:%x+) (%x+:%x+) (%x%x) %S+ %S+ %S+ +(%d+) +%d+ (%d+) ")
      if own and of[own] and to[other] and state == ESTABLISHED and inode ~= "0" then
         return math.tointeger(tonumber(uid))
      end
   end
   return nil
end

--- The user at the other end of a connection.
-- @param address of the other end, "127.0.0.1:4321"
-- @param own address of our end
-- @return user id, or nil where it is not known
function peer.uid(address, own)
   local of, to = address_forms(address or ""), address_forms(own or "")
   if not of or not to then
      return nil
   end
   for _, name in ipairs { "tcp", "tcp6" } do
      local f = io.open("/proc/net/" .. name)
      local uid = f and peer.of_lines(f:lines(), tables.set(of), tables.set(to))
      if f then
         f:close()
      end
      if uid then
         return uid
      end
   end
   return nil
end

return peer
