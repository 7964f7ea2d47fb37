-- SPDX-License-Identifier: GPL-2.0-or-later
--- Where the database is: a file of SQLite, or a server by its address,
--
--   postgresql://USER@HOST:PORT/DATABASE?password_file=FILE&sslmode=verify-full
--   mysql://USER@/DATABASE?socket=/run/mysqld/mysqld.sock
--
-- No password stands in it: the processes' arguments are everybody's to read.
local address = {}

local NAMES = { postgresql = "PostgreSQL", mysql = "MySQL" }
local PASSWORD_BYTES = 4096

-- What libpq may be told besides; everything else is taken for a mistake.
local LIBPQ = {}
for name in ("application_name channel_binding client_certificate connect_timeout gssencmode " ..
   "keepalives keepalives_count keepalives_idle keepalives_interval krbsrvname options " ..
   "sslcert sslcrl sslkey sslmode sslrootcert tcp_user_timeout target_session_attrs")
   :gmatch "%S+" do
   LIBPQ[name] = true
end

local function decode_percent(text)
   return (text:gsub("%%(%x%x)", function(hex) return string.char(tonumber(hex, 16)) end))
end

-- What follows "?": password_file, socket, and what the kind's library knows.
local function take_options(server, text)
   for pair in text:gmatch "[^&]+" do
      local name, value = pair:match "^([%w_]+)=(.+)$"
      if name == "password_file" or name == "socket" then
         server[name] = decode_percent(value)
         if server[name]:sub(1, 1) ~= "/" then
            return nil, ("%s: expected a path from /, got '%s'"):format(name, server[name])
         end
      elseif name and server.kind == "postgresql" and LIBPQ[name] then
         server.options[name] = decode_percent(value)
      else
         local expected = "expected password_file=, socket="
         if server.kind == "postgresql" then
            expected = expected .. " or a parameter of libpq's (sslmode= …)"
         end
         return nil, ("'%s': %s"):format(address.shown(pair), expected)
      end
   end
   return server
end

-- "host", "host:port", "[::1]:port" or nothing.
local function take_host(server, text)
   local host, port = text:match "^%[([%x:.]+)%]:?(%d*)$"
   if not host then
      host, port = text:match "^([^:%[%]]*):?(%d*)$"
   end
   if not host then
      return nil, ("'%s': expected HOST or HOST:PORT"):format(text)
   end
   server.port = math.tointeger(tonumber(port))
   if host ~= "" then
      server.host = decode_percent(host)
   end
   if server.port and (server.port < 1 or server.port > 65535) then
      return nil, ("port %s: expected 1 to 65535"):format(port)
   end
   return server
end

local function what_it_is(server)
   local where = server.host or "localhost"
   if server.port then
      where = where .. ":" .. server.port
   end
   return ("%s database %s at %s"):format(NAMES[server.kind], server.database,
      server.socket or where)
end

--- An address for people, right or wrong: without what a password in it could be.
function address.shown(text)
   return (text:gsub("^(%a*:?/*[^:@]*):.*@", "%1:...@"):gsub("(%w*pass%w*)=[^&]*", "%1=..."))
end

--- @param text address of a server, or the path of SQLite's file
-- @return { kind = "sqlite", path, text } or { kind = "postgresql" | "mysql", host, port, user,
--   database, socket, password_file, options, text }, text for people; or nil and what is wrong
function address.parse(text)
   local kind, rest = text:match "^(%a+)://(.*)$"
   if not kind then
      return { kind = "sqlite", path = text, text = "database " .. text }
   elseif not NAMES[kind] then
      return nil, ("'%s://': expected postgresql:// or mysql://"):format(kind)
   end
   local where, database, options = rest:match "^([^/?]*)/([^/?]+)%??(.*)$"
   if not where then
      return nil, ("expected %s://USER@HOST/DATABASE"):format(kind)
   end
   local user, host = where:match "^(.*)@([^@]*)$"
   if user and user:find(":", 1, true) then
      return nil, "a password in it could be read by everybody: ?password_file=FILE has it"
   end
   local a = { kind = kind, database = decode_percent(database), options = {} }
   if user and user ~= "" then
      a.user = decode_percent(user)
   end
   local ok, err = take_host(a, host or where)
   if ok then
      ok, err = take_options(a, options)
   end
   if not ok then
      return nil, err
   end
   a.text = what_it_is(a)
   return a
end

--- The password that the address names a file for.
-- @return text or nil; or nil and why it cannot be read
function address.password(server)
   if not server.password_file then
      return nil
   end
   local file, err = io.open(server.password_file, "rb")
   if not file then
      return nil, "password_file: " .. err
   end
   local text, why = file:read(PASSWORD_BYTES)
   file:close()
   local line = (text or ""):match "^[^\r\n]+"
   if not line then
      return nil, ("password_file: %s: %s"):format(server.password_file,
         why or "its first line is empty")
   end
   return line
end

return address
