-- SPDX-License-Identifier: GPL-2.0-or-later
--- tautd: the command line, the start and the end.
local tables = require "taut.base.tables"
local upkeep = require "taut.store.upkeep"
local acting = require "taut.core.acting"
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
local several = require "taut.core.acting.several"
local site = require "taut.core.site"
local store = require "taut.store"
local switches = require "taut.core.switches"
local sys = require "taut.sys"

local daemon = {}

-- Whose memory the store keeps.
local KEPT = "site switches diagnosis decision coverage act marks acks events profiles " ..
   "followers ids records journal snapshot others findings agenda"
local MEMORY_MS = 2000 -- how long the store may take to say what it kept
local IDS = 1000000000 -- numbers of events and tests for each token: none is given out twice
local SHARED_WRITE_MS = 4000 -- for one batch, where another tautd may take over meanwhile

local USAGE = [[
usage: tautd [-c FILE] [--check]     run in the foreground (systemd: Type=notify)
       tautd --store WHERE           the store process; tautd starts it itself
       tautd --lease WHERE           the process for the lease of several tautd, likewise
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

-- Ids of events and tests begin above all that may be stored: a thousand a second are never made
-- for long.
local function give_up_past(self)
   local p = self.parts
   p.switches:give_up "the database cannot be read"
   local high = math.floor(loop.time()) * 1000
   p.ids:above(high, high)
end

local function open_doors(self)
   local ok, err = self.parts.doors:open()
   if not ok then
      sys.log("err", err)
      self.status = 1
      loop.stop()
      return nil
   end
   sys.notify("READY=1")
   return true
end

-- Act: as soon as the past is known, or known to be out of reach.  One of several has its doors
-- open already, and said who acts.
local function begin_acting(self)
   local p = self.parts
   if p.acting.is_ready or self.stopping then
      return
   elseif not p.act:knows_its_past() then
      give_up_past(self)
   end
   p.acting.is_ready = true
   if not p.doors:are_open() and not open_doors(self) then
      return
   end
   sys.log("notice", ("tautd %s: %d nodes, %d components%s"):format(sys.version,
      #p.site.topo.nodes, #p.site.topo.components - p.site.topo:absent(), p.acting:is_shared() and
      ("; it is active, lease %d"):format(p.acting:token() or 0) or ""))
end

-- The store is open: what it kept comes first.
local function load_memory(self)
   if self.is_loading then
      return
   end
   self.is_loading = true
   memory.load(tables.pick(self.parts, KEPT), function()
      local p = self.parts
      sys.log("notice", "mode is " .. (p.switches:mode() == "enable" and "drain" or "observe"))
      begin_acting(self)
      p.followers:start_logs()
      p.review()
      p.housekeeping:start()
   end)
end

-- Write what is known, if it is ours to write, and end all that goes on; then fn().
local function finish_parts(self, is_ours, fn)
   local p = self.parts
   if self.stopping then
      return
   end
   self.stopping, p.acting.is_ready = true, false
   clock.keep()
   p.steer:stop()
   p.slurm:stop()
   p.followers:stop()
   p.snapshot:stop()
   if is_ours and p.act:knows_its_past() then
      p.records:last()
   end
   p.journal:stop(fn)
end

local function stop_daemon(self)
   sys.notify("STOPPING=1")
   finish_parts(self, true, function()
      if self.lease then
         return self.lease:offer("*", loop.stop)
      end
      loop.stop()
   end)
end

-- One tautd for a database: what two of them say of mode and drains cannot both be kept.
local function lock_folder(folder)
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
local function feed_watchdog()
   local limit_us = tonumber(os.getenv "WATCHDOG_USEC")
   if limit_us then
      loop.every(math.max(1, limit_us // 3000), function() sys.notify "WATCHDOG=1" end)
   end
end

-- Where rows go.
-- @param token of the lease of one of several
local function begin_journal(self, token)
   local conf, argv = self.conf, { sys.paths.program, "--store", self.conf.store
      or self.conf.database }
   if token then
      table.move({ "--token", tostring(token) }, 1, 2, #argv + 1, argv)
   end
   return self.journal:begin(argv, function() load_memory(self) end, conf.store
      and { folder = self.folder .. "/queue", argv = { sys.paths.program, "--queue" },
         token = token, write_ms = token and SHARED_WRITE_MS or nil })
end

-- All that goes on in a tautd that acts.
local function begin_parts(self, token)
   local p, conf = self.parts, self.conf
   if token then
      p.ids:above(token * IDS, token * IDS)
      begin_journal(self, token)
   end
   p.acting.has_begun = true
   p.switches:open(self.kept, token)
   p.cluster:start(conf.refresh_s)
   p.steer:start(conf.refresh_s)
   p.followers:start_fabric()
   loop.timer(MEMORY_MS, function() begin_acting(self) end)
   loop.every(5000, function() p.snapshot:look() end)
end

---------------------------------------------------------------- the start

local function start_helpers(conf, folder)
   local manager = { name = "taut-slurm", argv = { sys.paths.libexecdir .. "/taut-slurm" } }
   if conf.resource_manager == "alps" then
      manager = { name = "taut-alps", argv = { sys.paths.program, "--alps", "serve",
         folder .. "/alps-drains" } }
   end
   return helper.start(manager),
      helper.start { name = "taut-addresses", argv = { sys.paths.program, "--addresses" } }
end

-- Does it act?  One that is alone as soon as it is ready.
local function find_who_acts(conf)
   if not conf.controllers then
      return acting.new()
   end
   local host, err = acting.this(conf.controllers, sys.hostname())
   return host and acting.new { controllers = conf.controllers, host = host }, err
end

-- As one of several: others are told who acts, from now on.
local function share_acting(self)
   self.fail = function()
      self.status = 1
      loop.stop()
   end
   self.begin = function(token) begin_parts(self, token) end
   self.finish = function(is_ours, fn) finish_parts(self, is_ours, fn) end
   if open_doors(self) then
      self.lease = several.start(self)
   end
end

local function run_loop(self)
   self.parts.metrics:start()
   feed_watchdog()
   loop.signal("HUP", function() several.reload(self) end)
   loop.signal("TERM", function() stop_daemon(self) end)
   loop.signal("INT", function() stop_daemon(self) end)
   if self.conf.controllers then
      share_acting(self)
   else
      begin_parts(self)
   end
   loop.run()
   return self.status
end

local function run_daemon(conf, argv)
   local folder = conf.database:match "^(.*)/[^/]*$" or "."
   local who, err = find_who_acts(conf)
   local alone, why = lock_folder(folder)
   if not (alone and who) then
      sys.log("err", why or err)
      return 1
   end
   collectgarbage("incremental", 200, 200) -- twice what is in use, at most
   if conf.munge_socket then
      munge.socket(conf.munge_socket)
   end
   local self = { status = 0, conf = conf, folder = folder, argv = argv, journal = journal.new() }
   clock.open(folder .. "/clock") -- before anything asks what time it is
   clock.follow()
   -- of a server it is not known yet whether there was a tautd before
   self.kept = switches.look(folder .. "/brakes", conf.store and folder or conf.database)
   if not conf.controllers then
      begin_journal(self)
   end
   local slurm, addresses = start_helpers(conf, folder)
   self.parts = parts(conf, self.journal, slurm, addresses, who)
   return run_loop(self)
end

---------------------------------------------------------------- the command line

local FLAGS = { ["--check"] = "check", ["--fabric"] = "fabric", ["--ingest"] = "ingest",
   ["--addresses"] = "addresses", ["--queue"] = "queue" }
local VALUES = { ["-c"] = "config", ["--config"] = "config", ["--store"] = "store",
   ["--db"] = "db", ["--lease"] = "lease", ["--token"] = "token" }

local function parse_options(arg)
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
      if ok then
         return 0
      end
      return 1
   end
   local o = parse_options(arg)
   if not o then
      io.stderr:write(USAGE:format(sys.paths.confdir))
      return 2
   elseif o.store then
      return store.main(o.store, events_kept, { token = math.tointeger(tonumber(o.token)) })
   elseif o.lease then
      return store.main(o.lease, events_kept, { is_guest = true })
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
   sys.log_as(conf.log.level, conf.log.format)
   site.log_hints(conf)
   return run_daemon(conf, arg)
end

return daemon
