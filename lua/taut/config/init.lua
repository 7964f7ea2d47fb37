-- SPDX-License-Identifier: GPL-2.0-or-later
--- Reads and checks taut.lua.
--
-- The file is Lua text in an environment of its own: it assigns to the names below, with the
-- units and constructors that `environment` gives it.  An error names file, line and what was
-- expected; the caller keeps the configuration that was in force.
local diagnosis_rules = require "taut.diagnose.settings"
local ingest = require "taut.events.ingest"
local policy_rules = require "taut.policy.settings"
local sandbox = require "taut.sandbox"
local topology = require "taut.topology"
local wire = require "taut.wire"

local config = {}

local ANYWHERE = "0.0.0.0:" .. wire.PORT

local units = {
   kB = 1e3, MB = 1e6, GB = 1e9,
   ms = 1e-3, seconds = 1, minutes = 60, hours = 3600, days = 86400,
}

-- What functions in a configuration may use besides.
local library = { ipairs = ipairs, pairs = pairs, tonumber = tonumber, tostring = tostring,
   type = type, math = { abs = math.abs, ceil = math.ceil, floor = math.floor, huge = math.huge,
      max = math.max, min = math.min } }

local function number(least, most, whole)
   return function(v)
      if type(v) == "number" and v >= least and v <= most and (not whole or v % 1 == 0) then
         return whole and math.tointeger(v) or v
      end
      return nil, ("a %snumber from %s to %s"):format(whole and "whole " or "", least, most)
   end
end

local function one_of(...)
   local list = { ... }
   return function(v)
      for _, w in ipairs(list) do
         if v == w then
            return v
         end
      end
      return nil, "one of " .. table.concat(list, ", ")
   end
end

local function text(v)
   if type(v) == "string" and v ~= "" then
      return v
   end
   return nil, "a text in quotes"
end

local function flag(v)
   if type(v) == "boolean" then
      return v
   end
   return nil, "true or false"
end

-- A number, or false for "off".
local function or_off(check)
   return function(v)
      if v == false then
         return false
      end
      local got, expected = check(v)
      return got, expected and expected .. ", or false"
   end
end

local function key64(v)
   if type(v) == "string" and v:match "^%x+$" and #v == 16 then
      return v:lower()
   end
   return nil, "16 hex digits in quotes"
end

local function address(v)
   local port = type(v) == "string" and tonumber(v:match(":(%d+)$"))
   if port and port > 0 and port < 65536 then
      return v
   end
   return nil, ('an address and a port, such as "%s"'):format(ANYWHERE)
end

-- Logs to follow: { { "netwatch", "/var/log/netwatch" }, … }
local function logs(v)
   local what = '{ { "FORMAT", "/path/of/the/log" }, … }, FORMAT being one of '
      .. table.concat(ingest.names(), ", ")
   local seen = {}
   for i, f in ipairs(type(v) == "table" and v or {}) do
      if type(f) ~= "table" or not ingest.formats[f[1]] or type(f[2]) ~= "string"
         or f[2]:sub(1, 1) ~= "/" or seen[f[2]] or i > 64 then
         return nil, what .. ", 64 at most, each path once"
      end
      seen[f[2]] = true
   end
   if type(v) == "table" and (next(v) == nil or #v > 0) then
      return v
   end
   return nil, what
end

-- name → { default, check }: the whole list of settings.  etc/taut.lua.example explains each.
local settings = {
   listen = { ANYWHERE, address },
   socket = { nil, text },
   database = { nil, text },
   munge_socket = { nil, text },
   refresh_s = { 30, number(1, 3600) },
   keep_days = { 30, number(1, 3650) },
   mode = { "observe", one_of("observe", "enable") },
   checks = {
      enabled = { true, flag },
      budget_ms = { 220, number(10, 5000, true) },
      test_ms = { 25, number(wire.TEST_MIN_MS, wire.TEST_MAX_MS, true) },
      gap_ms = { 4, number(0, 100, true) },
      lead_ms = { 10, number(0, 1000, true) },
      ofi_lead_ms = { 350, number(0, 5000, true) },
      gather_ms = { 250, number(10, 5000, true) },
      idle_gather_ms = { 1000, number(10, 10000, true) },
      idle_budget_ms = { 1000, number(10, 10000, true) },
      group = { 512, number(2, 4096, true) },
      link_time = { 0.001, or_off(number(1e-6, 1)) },
      coverage_h = { 24, number(0.01, 1e4) },
      confirm_streams = { 16, number(2, 16, true) },
      fresh_h = { 2, number(0, 1e4) },
      retry_h = { 1, number(0, 1e4) },
      quiet_ms = { 140, number(10, 5000, true) },
      longest = { 8, number(0, 1000, true) },
      senders = { 2, number(1, 8, true) },
      around = { 2, number(0, 8, true) },
      duplex = { false, flag },
      max_conns = { 8192, number(16, 1e6, true) },
   },
   survey = {
      test_ms = { 100, number(wire.TEST_MIN_MS, wire.TEST_MAX_MS, true) },
      matrix_ms = { 50, number(wire.TEST_MIN_MS, wire.TEST_MAX_MS, true) },
      gap_ms = { 12, number(0, 1000, true) },
      lead_ms = { 40, number(0, 5000, true) },
      round_ms = { 2000, number(100, 9000, true) },
      gather_ms = { 10000, number(100, 600000, true) },
      confirm = { 2, number(1, 20, true) },
   },
   diagnosis = diagnosis_rules(number, flag),
   policy = policy_rules { number = number, one_of = one_of, flag = flag, text = text,
      or_off = or_off },
   metrics = {
      listen = { "127.0.0.1:6825", or_off(address) },
   },
   events = {
      follow = { {}, logs },
      follow_s = { 5, number(0.1, 3600) },
      job_comment = { false, flag },
   },
   steer = {
      mode = { "off", one_of("off", "on") },
      file = { nil, text },
      exclude = { true, flag },
      most_excluded = { 0.1, number(0, 0.9) },
      switches = { true, flag },
      switch_nodes = { nil, number(1, 1e6, true) },
      switch_wait_s = { 120, number(1, 86400, true) },
      prefer_nodes = { false, or_off(number(2, 1e5, true)) },
      place = { false, flag },
      place_wait_s = { 60, number(1, 3600) },
      place_gain = { 1.1, number(1, 100) },
      look_s = { 5, number(1, 3600) },
   },
   fabric = {
      sweep_s = { false, or_off(number(5, 86400, true)) },
      device = { nil, text },
      port = { 0, number(0, 254, true) },
      names = { nil, text },
      state = { nil, text },
      recorded = { nil, text },
      widest = { 4, number(1, 12, true) },
      mads = { 16, number(1, 256, true) },
      mads_per_node = { 4, number(1, 256, true) },
      tries = { 3, number(1, 10, true) },
      timeout_ms = { 250, number(1, 10000, true) },
      time_s = { 60, number(1, 3600, true) },
      sm_key = { "0000000000000001", key64 },
   },
}

-- Line where a setting is assigned, for errors found after the file has run.
local function line_of(path, section, name)
   local f = io.open(path)
   if not f then
      return 1
   end
   local n, found, inside = 0, nil, section == nil
   for line in f:lines() do
      n = n + 1
      local code = line:gsub("%-%-.*", "")
      if section and code:match("^%s*" .. section .. "%s*=") then
         inside, found = true, n
      end
      if inside and name and code:find("%f[%w_]" .. name .. "%s*=") then
         f:close()
         return n
      end
   end
   f:close()
   return found or 1
end

local function expected(path, section, name, what, got)
   return nil, ("%s:%d: %s%s: expected %s, got %s"):format(path, line_of(path, section, name),
      section and section .. "." or "", name, what, type(got) == "string" and '"' .. got .. '"'
         or tostring(got))
end

-- Takes the given values over the defaults of one level; nil and the error text otherwise.
local function merge(path, given, known, section)
   local out = {}
   for name, rule in pairs(known) do
      if type(rule[2]) == "function" then
         out[name] = rule[1]
      else
         local sub = given[name]
         if sub ~= nil and type(sub) ~= "table" then
            return expected(path, nil, name, "a table { … }", sub)
         end
         local merged, err = merge(path, sub or {}, rule, name)
         if not merged then
            return nil, err
         end
         out[name] = merged
      end
   end
   for name, value in pairs(given) do
      local rule = known[name]
      if rule == nil then
         return nil, ("%s:%d: '%s%s' is not a setting"):format(path, line_of(path, section, name),
            section and section .. "." or "", tostring(name))
      elseif type(rule[2]) == "function" then
         local v, what = rule[2](value)
         if v == nil then
            return expected(path, section, name, what, value)
         end
         out[name] = v
      end
   end
   return out
end

local function environment()
   local given = {}
   local env = setmetatable({}, {
      __index = function(_, name)
         if given[name] ~= nil then
            return given[name]
         end
         return units[name] or library[name]
      end,
      __newindex = function(_, name, value) given[name] = value end,
   })
   for _, kind in ipairs(topology.kinds) do
      units[kind] = function(t)
         if type(t) ~= "table" then
            error(kind .. ": expected a table { … }", 2)
         end
         t.kind = kind
         return t
      end
   end
   return env, given
end

-- Builds the topology that the file at `path` gave.
local function build_topology(path, topo_conf)
   if type(topo_conf) ~= "table" then
      return nil, ("%s:%d: topology: expected torus { … }"):format(path,
         line_of(path, nil, "topology"))
   end
   local topo, err = topology.build(topo_conf)
   if not topo then
      local name = err:match("^topology%.([%w_]+)")
      return nil, ("%s:%d: %s"):format(path, line_of(path, "topology", name), err)
   end
   return topo
end

--- Load only the topology of a file: of a machine file, which has nothing else, or of a taut.lua.
-- @param path of the file
-- @return topology, or nil and "file:line: what"
function config.machine(path)
   local env, given = environment()
   local ok, err = sandbox.load(path, env)
   if not ok then
      return nil, err
   end
   return build_topology(path, given.topology)
end

local function fabric_paths(fabric, paths)
   fabric.state = fabric.state or paths.statedir .. "/fabric.json"
   fabric.recorded = fabric.recorded or paths.statedir .. "/fabric-recorded.json"
   return fabric
end

--- Only what concerns the fabric, for a command that sweeps by itself: defaults where there is no
-- configuration.
-- @param paths table { confdir =, statedir = }
-- @return settings `fabric`, or nil and "file:line: what"
function config.fabric(paths)
   local path = paths.confdir .. "/taut.lua"
   local f = io.open(path)
   if not f then
      return fabric_paths(merge(path, {}, settings.fabric, "fabric"), paths)
   end
   f:close()
   local env, given = environment()
   local ok, err = sandbox.load(path, env)
   if not ok then
      return nil, err
   end
   local conf
   conf, err = merge(path, given.fabric or {}, settings.fabric, "fabric")
   return conf and fabric_paths(conf, paths), err
end

--- The `diagnosis` section alone: these settings over the defaults.
-- @return settings, or nil and what is wrong
function config.diagnosis(given)
   return merge("diagnosis", given, settings.diagnosis, "diagnosis")
end

--- The `policy` section alone: these settings over the defaults.
-- @return settings, or nil and what is wrong
function config.policy(given)
   return merge("policy", given, settings.policy, "policy")
end

--- Load a configuration.
-- @param path of taut.lua
-- @param paths table { rundir =, statedir = } for the defaults of socket and database
-- @return configuration (its `topology` is the built object), or nil and "file:line: what"
function config.load(path, paths)
   local env, given = environment()
   local ok, err = sandbox.load(path, env)
   if not ok then
      return nil, err
   end
   local topo_conf = given.topology
   given.topology = nil
   local conf
   conf, err = merge(path, given, settings)
   if not conf then
      return nil, err
   end
   conf.topology, err = build_topology(path, topo_conf)
   if not conf.topology then
      return nil, err
   end
   conf.path = path
   conf.socket = conf.socket or paths.rundir .. "/tautd.sock"
   conf.database = conf.database or paths.statedir .. "/taut.db"
   fabric_paths(conf.fabric, paths)
   conf.steer.file = conf.steer.file or paths.rundir .. "/advice"
   return conf
end

return config
