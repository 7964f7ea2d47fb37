-- SPDX-License-Identifier: GPL-2.0-or-later
--- Real database servers for tests, on a socket in a folder of their own; they end with the test,
-- whatever ends it.
local loop = require "taut.loop"
local lu = require "luaunit"
local sys = require "taut.sys"

local servers = {}
local Server = {}
Server.__index = Server

local START_S = 60

local function sh(text, ...)
   local ok = os.execute(text:format(...) .. " >/dev/null 2>&1")
   return ok and true
end

-- The first of these programs that is there.
local function program(...)
   for _, path in ipairs { ... } do
      local pipe = io.popen(("ls %s 2>/dev/null | tail -n 1"):format(path))
      local found = pipe:read "l"
      pipe:close()
      if found then
         return found
      end
   end
end

local kinds = {}

kinds.postgresql = {
   driver = "PostgreSQL", package = "postgresql, lua-dbi-postgresql",
   program = function() return program "/usr/lib/postgresql/*/bin/postgres" end,
   make = function(s)
      return sh("%s %s/initdb -D %s/data -A trust -N -E UTF8 --locale=C -U taut", s.as,
         s.program:match "^(.*)/", s.folder)
   end,
   argv = function(s)
      return ("%s %s -D %s/data -k %s -c listen_addresses= -c fsync=off -c shared_buffers=16MB")
         :format(s.as, s.program, s.folder, s.folder)
   end,
   connect = function(s, dbi)
      return dbi.Connect("PostgreSQL", ("host='%s' user=taut dbname=postgres"):format(s.folder))
   end,
   url = function(s, name) return ("postgresql://taut@/%s?socket=%s"):format(name, s.folder) end,
   -- by a password, which the rule for all others comes after
   guest = function(s, name, password)
      assert(s:run(("CREATE ROLE %s LOGIN PASSWORD '%s'"):format(name, password)))
      assert(s:run(("CREATE DATABASE of_%s OWNER %s"):format(name, name)))
      assert(sh("sed -i '1i local all %s scram-sha-256' %s/data/pg_hba.conf", name, s.folder))
      assert(s:run "SELECT pg_reload_conf()")
      return ("postgresql://%s@/of_%s?socket=%s"):format(name, name, s.folder)
   end,
}

kinds.mysql = {
   driver = "MySQL", package = "mariadb-server-core, mariadb-client-core, lua-dbi-mysql",
   -- a database is made with a program of the client's package
   program = function()
      return program "/usr/bin/my_print_defaults" and program("/usr/sbin/mariadbd",
         "/usr/sbin/mysqld")
   end,
   make = function(s)
      return sh("%s mariadb-install-db --no-defaults --datadir=%s/data --skip-test-db " ..
         "--auth-root-authentication-method=normal --user=%s", s.as, s.folder, s.user)
   end,
   -- one that starts removes the temporary tables in its tmpdir, and so ends who uses them
   argv = function(s)
      return ("%s %s --no-defaults --datadir=%s/data --tmpdir=%s --socket=%s/socket " ..
         "--skip-networking --innodb-buffer-pool-size=32M --innodb-flush-log-at-trx-commit=2 " ..
         "--user=%s"):format(s.as, s.program, s.folder, s.folder, s.folder, s.user)
   end,
   connect = function(s, dbi)
      return dbi.Connect("MySQL", "mysql", "root", nil, s.folder .. "/socket")
   end,
   url = function(s, name) return ("mysql://root@/%s?socket=%s/socket"):format(name, s.folder) end,
   guest = function(s, name, password)
      assert(s:run(("CREATE USER %s@localhost IDENTIFIED BY '%s'"):format(name, password)))
      assert(s:run("CREATE DATABASE of_" .. name))
      assert(s:run(("GRANT ALL ON of_%s.* TO %s@localhost"):format(name, name)))
      return ("mysql://%s@/of_%s?socket=%s/socket"):format(name, name, s.folder)
   end,
}

--- Why there cannot be such a server here, or nil.
-- @param kind "postgresql" or "mysql"
function servers.missing(kind)
   local k = kinds[kind]
   local is_there = k.program() and pcall(require, "dbd." .. k.driver:lower())
   return not is_there and ("no %s: install %s"):format(k.driver, k.package) or nil
end

local function connect(s)
   local ok, conn = pcall(kinds[s.kind].connect, s, require "DBI")
   return ok and conn or nil
end

--- Start it, and wait until it answers.
function Server:start()
   local argv = {}
   for word in kinds[self.kind].argv(self):gmatch "%S+" do
      argv[#argv + 1] = word
   end
   -- the shell keeps the server's words out of the test's
   self.proc = assert(loop.spawn { argv = { "bash", "-c",
      ('exec "$@" >%s/log 2>&1'):format(self.folder), "bash", table.unpack(argv) },
      on_line = function() end, on_exit = function() end })
   self.pid = self.proc:pid()
   local late = os.time() + START_S
   repeat
      local conn = connect(self)
      if conn then
         conn:close()
         return self
      end
      os.execute "sleep 0.1"
   until os.time() > late
   error(("%s does not start; its log is in %s"):format(self.kind, self.folder))
end

--- Stand still, or go on (kill -STOP, -CONT): it is there and answers nothing.
function Server:freeze(yes)
   local signal = yes and "STOP" or "CONT"
   os.execute(("pkill -%s -P %d; kill -%s %d"):format(signal, self.pid, signal, self.pid))
end

--- Kill it; what it wrote stays.
function Server:kill()
   os.execute(("pkill -9 -P %d; kill -9 %d 2>/dev/null"):format(self.pid, self.pid))
   while sh("kill -0 %d && ! grep -q '^State:.Z' /proc/%d/status", self.pid, self.pid) do
      os.execute "sleep 0.02"
   end
   os.remove(self.folder .. "/data/postmaster.pid")
end

--- Run a statement as its administrator.
function Server:run(sql)
   local conn = assert(connect(self))
   conn:autocommit(true)
   local stmt = assert(conn:prepare(sql))
   local ok, err = stmt:execute()
   stmt:close()
   conn:close()
   return ok, err
end

--- An empty database. @return its address
function Server:database()
   self.count = self.count + 1
   local name = ("taut%d"):format(self.count)
   assert(self:run("CREATE DATABASE " .. name))
   return kinds[self.kind].url(self, name)
end

--- A user who needs a password, and a database of his own. @return its address
function Server:guest(name, password)
   return kinds[self.kind].guest(self, name, password)
end

function Server:close()
   self:kill()
   os.execute("rm -rf " .. self.folder)
end

--- Make and start one.
function servers.new(kind)
   local pipe = io.popen "mktemp -d"
   local folder = pipe:read "l"
   pipe:close()
   local s = setmetatable({ kind = kind, folder = folder, count = 0, user = "root",
      as = "setpriv --pdeathsig KILL", program = kinds[kind].program() }, Server)
   if sys.uid() == 0 and kind == "postgresql" then -- which root may not run
      s.as = "setpriv --reuid nobody --regid nogroup --clear-groups --pdeathsig KILL"
      os.execute("chown nobody " .. folder)
   elseif sys.uid() ~= 0 then
      s.user = sys.user_name(sys.uid())
   end
   assert(kinds[kind].make(s), "cannot make a database in " .. folder)
   return s:start()
end

local running = {}

--- The one for all tests of a kind; skips the test where there is none.
function servers.shared(kind)
   local missing = servers.missing(kind)
   lu.skipIf(missing ~= nil, missing)
   running[kind] = running[kind] or servers.new(kind)
   return running[kind]
end

--- Those of all kinds end: the last test of a file.
function servers.close_shared()
   for kind, s in pairs(running) do
      s:close()
      running[kind] = nil
   end
end

return servers
