-- SPDX-License-Identifier: GPL-2.0-or-later
--- One of several tautd: what it does when it gets the lease, when another one got it, and when the
-- other one is to have it.  Who acted never stands by in the same process: it begins anew.
local config = require "taut.config"
local lease = require "taut.store.lease"
local sys = require "taut.sys"

local several = {}

-- Begin anew, as one that stands by and knows nothing.
local function again(o)
   local _, err = sys.exec { sys.paths.program, table.unpack(o.argv) }
   sys.log("err", "cannot start anew: " .. err)
   o.fail()
end

local function on_lost(o, row)
   sys.log("warning", ("the tautd on %s acts, by lease %d: this one stands by"):format(row.host,
      row.token))
   o.finish(false, function() again(o) end)
end

-- slurmctld has moved to the host of the one that waits.
local function look_for_successor(o, l)
   local to = o.parts.acting:successor(o.parts.cluster.active_host)
   if to then
      sys.log("notice", ("slurmctld is active on %s: the tautd there acts from now on"):format(to))
      o.finish(true, function()
         l:offer(to, function() again(o) end)
      end)
   end
end

--- Another configuration: who stands by begins anew with it.
function several.reload(o)
   if not o.parts.acting:is_blank() then
      return o.parts.reload()
   end
   local conf, err = config.load(o.conf.path, sys.paths)
   if not conf then
      return sys.log("err", "not taken: " .. err)
   end
   again(o)
end

--- Want the lease.
-- @param o { conf, parts, argv = of this process, begin = function(token): act, finish =
--   function(is_ours, fn): write what is known where it is ours to write, end all, then fn(),
--   fail = function(): end with an error }
-- @return the lease
function several.start(o)
   local p = o.parts
   local l
   l = lease.start { host = p.acting.host, argv = { sys.paths.program, "--lease", o.conf.store },
      held = function(token) o.begin(token) end, lost = function(row) on_lost(o, row) end }
   p.acting.lease = l
   p.cluster:on_controllers(function() look_for_successor(o, l) end)
   sys.log("notice", ("tautd %s stands by on %s"):format(sys.version, p.acting.host))
   return l
end

return several
