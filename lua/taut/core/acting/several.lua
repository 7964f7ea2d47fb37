-- SPDX-License-Identifier: GPL-2.0-or-later
--- One of several tautd: what it does when it gets the lease, when another one got it, and when the
-- other one is to have it.  An active tautd never becomes standby in the same process: it restarts.
local config = require "taut.config"
local lease = require "taut.store.lease"
local sys = require "taut.sys"

local several = {}

-- Begin anew, as one that stands by and knows nothing.
local function begin_anew(daemon)
   local _, err = sys.exec { sys.paths.program, table.unpack(daemon.argv) }
   sys.log("err", "cannot start again: " .. err)
   daemon.fail()
end

local function stand_by(daemon, row)
   sys.log("warning", ("the tautd on %s is active, lease %d: this one is on standby"):format(
      row.host, row.token))
   daemon.finish(false, function() begin_anew(daemon) end)
end

-- slurmctld has moved to the host of the one that waits.
local function look_for_successor(daemon, own_lease)
   local to = daemon.parts.acting:successor(daemon.parts.cluster.active_host)
   if to then
      sys.log("notice", ("slurmctld is active on %s: the tautd there takes over"):format(to))
      daemon.finish(true, function()
         own_lease:offer(to, function() begin_anew(daemon) end)
      end)
   end
end

--- Another configuration: who stands by begins anew with it.
function several.reload(daemon)
   if not daemon.parts.acting:is_blank() then
      return daemon.parts.reload()
   end
   local conf, err = config.load(daemon.conf.path, sys.paths)
   if not conf then
      return sys.log("err", "not taken: " .. err)
   end
   begin_anew(daemon)
end

--- Want the lease.
-- @param daemon { conf, parts, argv = of this process, begin = function(token): act, finish =
--   function(is_ours, fn): write what is known where it is ours to write, end all, then fn(),
--   fail = function(): end with an error }
-- @return the lease
function several.start(daemon)
   local p = daemon.parts
   local l
   l = lease.start { host = p.acting.host,
      argv = { sys.paths.program, "--lease", daemon.conf.store },
      held = function(token) daemon.begin(token) end,
      lost = function(row) stand_by(daemon, row) end }
   p.acting.lease = l
   p.cluster:on_controllers(function() look_for_successor(daemon, l) end)
   sys.log("notice", ("tautd %s is on standby on %s"):format(sys.version, p.acting.host))
   return l
end

return several
