-- SPDX-License-Identifier: GPL-2.0-or-later
--- All settings: name → { default, check }, and sections of them; a number of the model has its row
-- of model.lua as `model`.  And the names that some had once.
local model = require "taut.config.model"
local policy_rules = require "taut.policy.settings"
local values = require "taut.config.values"
local wire = require "taut.wire"

local number, one_of, or_off = values.number, values.one_of, values.or_off
local text, flag = values.text, values.flag

-- What concerns the site: taut.lua(5) explains each.
local all = {
   listen = { "0.0.0.0:" .. wire.PORT, values.address },
   socket = { nil, text },
   database = { nil, text },
   store = { nil, values.server },
   controllers = { nil, values.controllers },
   munge_socket = { nil, text },
   node_addresses = { "slurm", values.node_addresses },
   node_ports = { "root", one_of("root", "any") },
   rail_networks = { {}, values.networks },
   renamed_nodes = { nil, text },
   resource_manager = { "slurm", one_of("slurm", "alps") },
   refresh_s = { 30, number(1, 3600) },
   keep_days = { 30, number(1, 3650) },
   keep = { {}, values.keep },
   keep_gb = { 64, number(0.01, 1e6) },
   mode = { "observe", values.mode },
   admin_group = { nil, text },
   log = {
      level = { "notice", one_of("err", "warning", "notice", "info", "debug") },
      format = { "text", one_of("text", "json") },
   },
   checks = {
      enabled = { true, flag },
      budget_ms = { 220, number(10, 5000, true) },
      link_time = { 0.001, or_off(number(1e-6, 1)) },
   },
   policy = policy_rules(values),
   remote = {
      ask = { true, flag },
      per_minute = { 60, number(1, 6000, true) },
      admins = { false, or_off(values.hosts) },
   },
   survey = {
      all = { "everybody", values.who },
   },
   metrics = {
      listen = { "127.0.0.1:6825", or_off(values.address) },
      components = { false, or_off(number(1, 250, true)) },
      leaves = { false, or_off(number(1, 60, true)) },
   },
   events = {
      follow = { {}, values.logs },
      job_comment = { false, values.job_comment },
   },
   steer = {
      mode = { "off", one_of("off", "on") },
      file = { nil, text },
      exclude = { true, flag },
      switches = { true, flag },
      switch_nodes = { nil, number(1, 1e6, true) },
      prefer_nodes = { false, or_off(number(2, 1e5, true)) },
      place = { false, flag },
   },
   fabric = {
      sweep_s = { false, or_off(number(5, 86400, true)) },
      device = { nil, text },
      port = { 0, number(0, 254, true) },
      names = { nil, text },
      state = { nil, text },
      recorded = { nil, text },
      sm_key = { "0000000000000001", values.key64 },
   },
}

local function check_of(row)
   if not row[3] then
      return flag
   end
   local check = number(row[3], row[4], row.whole)
   return row.off and or_off(check) or check
end

for _, part in ipairs(model) do
   all[part.section] = all[part.section] or {}
   for _, row in ipairs(part) do
      all[part.section][row[1]] = { row[2], check_of(row), model = row }
   end
end

return {
   all = all,
}
