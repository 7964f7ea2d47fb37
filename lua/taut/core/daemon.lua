-- SPDX-License-Identifier: GPL-2.0-or-later
--- tautd: the command line, the start and the end.
local tables = require "taut.base.tables"
local upkeep = require "taut.store.upkeep"
local alps = require "taut.alps"
local clock = require "taut.base.clock"
local config = require "taut.config"
local events_kept = require "taut.events.keep"
local fabric_process = require "taut.fabric.process"
local helper = require "taut.base.helper"
local ingest_process = require "taut.events.ingest.process"
local journal = require "taut.store.journal"
local loop = require "taut.loop"
local memory = require "taut.core.memory"
local munge = require "taut.munge"
local parts = require "taut.core.parts"
local queue = require "taut.store.queue"
local resolve = require "taut.base.resolve"
local site = require "taut.core.site"
local store = require "taut.store"
local switches = require "taut.core.switches"
local sys = require "taut.sys"

local daemon = {}

-- Whose memory the store keeps.
local KEPT = "site switches diagnosis decision coverage act marks acks events profiles " ..
   "followers ids records journal snapshot others findings"
local MEMORY_MS = 2000 -- how long the store may take to say what it kept

local USAGE = [[
usage: tautd [-c FILE] [--check]     run in the foreground (systemd: Type=notify)
       tautd --store WHERE           the store process; tautd starts it itself
       tautd --queue                 what waits for a database server, likewise
       tautd --db WHERE              what looks after the database, likewise
       tautd --fabric                the process that sweeps an InfiniBand fabric, likewise
       tautd --ingest                the process that follows logs, likewise
       tautd --addresses             the process that looks up names, likewise
       tautd --alps …                what Taut does over ALPS, see doc/alps.md
  -c FILE    configuration (default %s/taut.lua)
  --check    check the configuration and end
  --help, --version
]]

-- Take connections: as soon as the past is known, or known to be out of reach.  Ids of events and
-- tests then begin above all that may be stored: nobody makes a thousand a second for long.
local function open_doors(self)
   local p = self.parts
   if p.doors:are_open() then
      return
   elseif not p.act:knows_its_past() then
      p.switches:give_up "the database cannot be read"
      local high = math.floor(loop.time()) * 1000
      p.ids:above(high, high)
   end
   local ok, err = p.doors:open()
   if not ok then
      sys.log("err", err)
      self.status = 1
      loop.stop()
      return
   end
   sys.notify("READY=1")
   sys.log("notice", ("tautd %s: %d nodes, %d components"):format(sys.version,
      #p.site.topo.nodes, #p.site.topo.components))
end

-- The store is open: what it kept comes first.
local function on_store(self)
   if self.is_loading then
      return
   end
   self.is_loading = true
   memory.load(tables.pick(self.parts, KEPT), function()
      local p = self.parts
      sys.log("notice", "mode is " .. (p.switches:mode() == "enable" and "drain" or "observe"))
      open_doors(self)
      p.followers:start_logs()
      p.review()
      p.housekeeping:start()
   end)
end

local function stop(self)
   local p = self.parts
   sys.notify("STOPPING=1")
   if self.stopping then
      return
   end
   self.stopping = true
   clock.keep()
   p.steer:stop()
   p.slurm:stop()
   p.followers:stop()
   p.snapshot:stop()
   if p.act:knows_its_past() then
      p.records:last()
   end
   p.journal:stop(function() loop.stop() end)
end

-- One tautd for a database: what two of them say of mode and drains cannot both be kept.
local function lock(folder)
   local ok, err, pid = sys.lock(folder .. "/tautd.lock")
   if pid then
      return nil, ("%s: %s has it already"):format(folder, pid > 0 and ("the tautd with pid %d")
         :format(pid) or "another tautd")
   elseif not ok then
      sys.log("err", "cannot keep a second tautd out: " .. err) -- nor can that one store anything
   end
   return true
end

-- systemd starts a tautd again whose loop stands still (WatchdogSec).
local function watchdog()
   local limit_us = tonumber(os.getenv "WATCHDOG_USEC")
   if limit_us then
      loop.every(math.max(1, limit_us // 3000), function() sys.notify "WATCHDOG=1" end)
   end
end

local function start_journal(self, conf, folder)
   return journal.start({ sys.paths.program, "--store", conf.store or conf.database },
      function() on_store(self) end, conf.store and { folder = folder .. "/queue",
         argv = { sys.paths.program, "--queue" } })
end

local function run(conf)
   local folder = conf.database:match "^(.*)/[^/]*$" or "."
   local alone, why = lock(folder)
   if not alone then
      sys.log("err", why)
      return 1
   end
   collectgarbage("incremental", 120, 200) -- a small heap is worth a little time
   if conf.munge_socket then
      munge.socket(conf.munge_socket)
   end
   local self = { status = 0 }
   clock.open(folder .. "/clock") -- before anything asks what time it is
   clock.follow()
   -- of a server nobody knows yet whether there was a tautd before
   local kept = switches.look(folder .. "/brakes", conf.store and folder or conf.database)
   local rows = start_journal(self, conf, folder)
   local p = parts(conf, rows, helper.start(conf.resource_manager == "alps"
      and { name = "taut-alps", argv = { sys.paths.program, "--alps", "serve",
         folder .. "/alps-drains" } }
      or { name = "taut-slurm", argv = { sys.paths.libexecdir .. "/taut-slurm" } }),
      helper.start { name = "taut-addresses", argv = { sys.paths.program, "--addresses" } })
   self.parts = p
   p.switches:open(kept)
   p.cluster:start(conf.refresh_s)
   p.steer:start(conf.refresh_s)
   p.followers:start_fabric()
   p.metrics:start()
   watchdog()
   loop.timer(MEMORY_MS, function() open_doors(self) end)
   loop.signal("HUP", function() p.reload() end)
   loop.signal("TERM", function() stop(self) end)
   loop.signal("INT", function() stop(self) end)
   loop.every(5000, function() p.snapshot:look() end)
   loop.run()
   return self.status
end

---------------------------------------------------------------- the command line

local FLAGS = { ["--check"] = "check", ["--fabric"] = "fabric", ["--ingest"] = "ingest",
   ["--addresses"] = "addresses", ["--queue"] = "queue" }
local VALUES = { ["-c"] = "config", ["--config"] = "config", ["--store"] = "store",
   ["--db"] = "db" }

local function options(arg)
   local o, i = { config = sys.paths.confdir .. "/taut.lua" }, 1
   while i <= #arg do
      local flag, value = FLAGS[arg[i]], VALUES[arg[i]]
      if flag then
         o[flag] = true
      elseif value then
         i = i + 1
         o[value] = arg[i]
         if (arg[i] or "") == "" then
            return nil
         end
      else
         return nil
      end
      i = i + 1
   end
   return o
end

--- @param arg command line
-- @return exit status
function daemon.main(arg)
   if arg[1] == "--alps" then
      return alps.main { table.unpack(arg, 2) }
   end
   if arg[1] == "--help" or arg[1] == "-h" or arg[1] == "--version" or arg[1] == "-V" then
      local ok, err = sys.put(arg[1]:lower():find "v" and "tautd " .. sys.version .. "\n"
         or USAGE:format(sys.paths.confdir))
      if not ok then
         io.stderr:write("tautd: cannot write: ", err, "\n")
      end
      return ok and 0 or 1
   end
   local o = options(arg)
   if not o then
      io.stderr:write(USAGE:format(sys.paths.confdir))
      return 2
   elseif o.store then
      return store.main(o.store, events_kept)
   elseif o.fabric then
      return fabric_process.main()
   elseif o.addresses then
      return resolve.main()
   elseif o.db then
      return upkeep.main(o.db)
   elseif o.queue then
      return queue.main()
   elseif o.ingest then
      return ingest_process.main()
   end
   local conf, err = config.load(o.config, sys.paths)
   if not conf then
      io.stderr:write("tautd: ", err, "\n")
      return 1
   elseif o.check then
      for _, hint in ipairs(conf.hints) do
         io.stderr:write("tautd: ", hint, "\n")
      end
      print(o.config .. ": good")
      return 0
   end
   site.log_hints(conf)
   return run(conf)
end

return daemon
