-- SPDX-License-Identifier: GPL-2.0-or-later
--- The site's configuration in force: `conf`, and the topology it names.  Only this file changes
-- them; whoever holds the site sees the new ones.
local config = require "taut.config"
local sys = require "taut.sys"

local site = {}
local Site = {}
Site.__index = Site

-- Settings that cannot change under a running tautd: name → value of a configuration.
local FIXED = {
   listen = function(conf) return conf.listen end,
   socket = function(conf) return conf.socket end,
   database = function(conf) return conf.database end,
   store = function(conf) return conf.store end,
   munge_socket = function(conf) return conf.munge_socket end,
   resource_manager = function(conf) return conf.resource_manager end,
   refresh_s = function(conf) return conf.refresh_s end,
   ["steer.file"] = function(conf) return conf.steer.file end,
   ["checks.max_conns"] = function(conf) return conf.checks.max_conns end,
   topology = function(conf) return conf.topology.wiring end,
}

--- Say in the log what in a configuration should be written otherwise.
function site.log_hints(conf)
   for _, hint in ipairs(conf.hints) do
      sys.log("notice", "configuration: " .. hint)
   end
end

--- Settings that differ and cannot change under a running tautd: names, in order.
function Site:fixed(conf)
   local list = {}
   for name, value in pairs(FIXED) do
      if value(conf) ~= value(self.conf) then
         list[#list + 1] = name
      end
   end
   table.sort(list)
   return list
end

--- Read the configuration again; a bad one is said, and the old one stays.
-- @return the one before; or nil and what is wrong, also in `error` from then on
function Site:read()
   local before = self.conf
   local conf, err = config.load(before.path, sys.paths)
   local fixed = conf and self:fixed(conf)[1]
   if fixed then
      err = ("%s: '%s' changes only with a restart of tautd"):format(conf.path, fixed)
   end
   self.error = err
   if err then
      sys.log("err", ("configuration not taken: %s"):format(err))
      return nil, err
   end
   site.log_hints(conf)
   self.conf, self.topo = conf, conf.topology
   return before
end

--- @param conf of config.load
function site.new(conf)
   return setmetatable({ conf = conf, topo = conf.topology }, Site)
end

return site
