-- SPDX-License-Identifier: GPL-2.0-or-later
--- Another configuration takes its place under a running tautd (`systemctl reload`,
-- `taut config reload`).
local json = require "taut.json"
local same = require "taut.topology.before.same"
local sys = require "taut.sys"

-- What began with other settings begins anew.
local function restart_changed(parts, before, conf)
   if json.encode(conf.fabric) ~= json.encode(before.fabric) then
      parts.followers:start_fabric()
   end
   if json.encode(conf.events) ~= json.encode(before.events) then
      parts.followers:start_logs()
   end
   if conf.metrics.listen ~= before.metrics.listen then
      parts.metrics:start()
   end
end

-- Components of another capacity, of which something is known, are others now.
local function forget_others(parts, topo_before, topo)
   local d = same.compare(topo_before, topo)
   if d.kept < d.of then
      local list = {}
      for c = 1, #topo.components do
         if not d.was[c] and parts.diagnosis:is_known(c) then
            list[#list + 1] = c
         end
      end
      parts.findings:forget(list, 0)
      parts.records:wiring()
      sys.log("notice", ("%s; what was known of them is forgotten"):format(same.words(d)))
   end
end

--- @param parts of core/parts.lua
-- @return true; or nil and what is wrong with the configuration: then the old one stays
return function(parts)
   local before, err = parts.site:read()
   if not before then
      return nil, err
   end
   local conf, topo = parts.site.conf, parts.site.topo
   local topo_before = before.topology
   restart_changed(parts, before, conf)
   parts.addresses:set(conf.node_addresses, conf.node_ports)
   parts.addresses:expect(conf.remote.admins)
   parts.networks:set(conf.rail_networks)
   parts.teller:configure(conf.policy)
   parts.cluster:administrators(conf.admin_group)
   sys.log_as(conf.log.level, conf.log.format)
   parts.diagnosis:reload(topo, conf.diagnosis)
   parts.check:reload(topo, conf.checks)
   parts.rendezvous:reload(topo, conf.checks, conf.diagnosis)
   parts.events:reload { topology = topo, names = conf.fabric.names }
   parts.profiles:reload(topo)
   parts.surveys:reload { topology = topo, checks = conf.checks, settings = conf.survey,
      diagnosis = conf.diagnosis }
   parts.advice:reload(topo)
   parts.steer:reload { topology = topo, settings = conf.steer }
   parts.job_over:reload(conf.events.job_comment)
   parts.coverage:limit(conf.checks.link_time)
   parts.act:settings_changed()
   forget_others(parts, topo_before, topo)
   parts.review()
   sys.log("notice", "configuration taken: " .. conf.path)
   return true
end
