-- SPDX-License-Identifier: GPL-2.0-or-later
--- Reads and checks taut.lua, and the site's model.lua where there is one.
--
-- The files are Lua text in an environment of its own: they assign to the names of settings.lua,
-- with the units and constructors that `environment` gives.  An error names file, line and what was
-- expected; the caller keeps the configuration that was in force.
local overlay = require "taut.config.overlay"
local patternless = require "taut.base.patternless"
local renamed = require "taut.config.renamed"
local sandbox = require "taut.sandbox"
local settings = require "taut.config.settings"
local topology = require "taut.topology"

local config = {}

local units = {
   kB = 1e3, MB = 1e6, GB = 1e9,
   ms = 1e-3, seconds = 1, minutes = 60, hours = 3600, days = 86400,
}

-- What functions in a configuration may use besides.
local library = { ipairs = ipairs, pairs = pairs, tonumber = tonumber, tostring = tostring,
   type = type, math = { abs = math.abs, ceil = math.ceil, floor = math.floor, huge = math.huge,
      max = math.max, min = math.min } }

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
      units[kind] = function(value)
         if type(value) ~= "table" then
            error(kind .. ": expected a table { … }", 2)
         end
         value.kind = kind
         return value
      end
   end
   return env, given
end

-- What a file says of the machine: one topology, or several fabrics.
local function machine_of(path, given)
   local topo_conf, fabrics = given.topology, given.fabrics
   given.topology, given.fabrics = nil, nil
   if fabrics == nil then
      return topo_conf
   elseif topo_conf ~= nil then
      return nil, ("%s:%d: fabrics: expected either this or 'topology', got both"):format(path,
         overlay.line_of(path, "fabrics"))
   end
   return { kind = "fabrics", fabrics = fabrics }
end

-- Line of the setting in an error: "topology.levels: …", "fabrics.ib.levels: …".
local function line_of_error(path, err)
   local name, key = err:match "^fabrics%.([%w_-]+)%.?([%w_]*)"
   if name or err:find "^fabrics" then
      return overlay.line_of(path, "fabrics", name and name:gsub("%-", "%%-") or nil,
         key ~= "" and key or nil)
   end
   return overlay.line_of(path, "topology", (err:match("^topology%.([%w_]+)")))
end

-- Builds the topology that the file at `path` gave.
local function build_topology(path, topo_conf)
   if type(topo_conf) ~= "table" then
      return nil, ("%s:%d: topology: expected torus { … }"):format(path,
         overlay.line_of(path, "topology"))
   end
   local topo, err = topology.build(topo_conf)
   if not topo then
      return nil, ("%s:%d: %s"):format(path, line_of_error(path, err), err)
   end
   return topo
end

--- Load only the topology of a file: of a machine file, which has nothing else, or of a taut.lua.
-- @param path of the file
-- @return topology, or nil and "file:line: what"
function config.machine(path)
   local env, given = environment()
   local ok, err = patternless.call(sandbox.load, path, env)
   if not ok then
      return nil, err
   end
   local topo_conf
   topo_conf, err = machine_of(path, given)
   if err then
      return nil, err
   end
   return build_topology(path, topo_conf)
end

local function fabric_paths(fabric, paths)
   fabric.state = fabric.state or paths.statedir .. "/fabric.json"
   fabric.recorded = fabric.recorded or paths.statedir .. "/fabric-recorded.json"
   return fabric
end

local function is_file(path)
   local f = io.open(path)
   return f and f:close()
end

-- The site's model: the file or table that taut.lua names, or model.lua beside it.  Returns what it
-- gives, and whose lines errors are to name; or nil and the error text.
local function site_model(path, named)
   if type(named) == "table" then
      return named, path
   elseif named ~= nil and type(named) ~= "string" then
      return nil, ("%s:%d: model: expected a file's name or a table { … }, got %s"):format(path,
         overlay.line_of(path, nil, "model"), tostring(named))
   end
   local folder = path:match "^.*/" or "./"
   local file = named and (named:sub(1, 1) == "/" and named or folder .. named)
      or folder .. "model.lua"
   if not named and not is_file(file) then
      return {}, file
   end
   local env, given = environment()
   local ok, err = patternless.call(sandbox.load, file, env)
   return ok and given, ok and file or err
end

-- One hint for all numbers of the model that taut.lua has.
local function hint_at_numbers(from)
   local n = #from.numbers
   if n > 0 then
      table.sort(from.numbers)
      from.hints[#from.hints + 1] = ("%s: %s%s: %s of the model; move to model.lua, see " ..
         "taut-model(5)"):format(from.path, table.concat(from.numbers, ", ", 1, math.min(n, 3)),
            n > 3 and (" and %d more"):format(n - 3) or "", n == 1 and "a number" or "numbers")
   end
end

-- Settings as taut.lua (`given`) and the site's model have them; hints beside them.
local function settings_of(path, given)
   local out, hints = overlay.defaults(settings.all), {}
   local from = { path = path, hints = hints, numbers = {} }
   local numbers, source = site_model(path, given.model)
   if not numbers then
      return nil, source
   end
   given.model = nil
   local ok, err = overlay.take({ path = source, is_model = true, hints = hints }, out, numbers,
      settings.all)
   if ok then
      ok, err = overlay.take(from, out, given, settings.all)
   end
   if not ok then
      return nil, err
   end
   hint_at_numbers(from)
   return out, hints
end

-- One section alone: these settings over the defaults.
local function section_with(name, given)
   local out = overlay.defaults(settings.all[name])
   local ok, err = overlay.take({ hints = {}, numbers = {} }, out, given,
      settings.all[name], name)
   return ok and out, err
end

--- The `diagnosis` section alone: these settings over the defaults.
-- @return settings, or nil and what is wrong
function config.diagnosis(given)
   return section_with("diagnosis", given)
end

--- The `policy` section alone: these settings over the defaults.
-- @return settings, or nil and what is wrong
function config.policy(given)
   return section_with("policy", given)
end

--- Only what concerns the fabric, for a command that sweeps by itself: defaults where there is no
-- configuration.
-- @param paths table { confdir =, statedir = }
-- @return settings `fabric`, or nil and "file:line: what"
function config.fabric(paths)
   local path = paths.confdir .. "/taut.lua"
   local env, given = environment()
   if is_file(path) then
      local ok, err = patternless.call(sandbox.load, path, env)
      if not ok then
         return nil, err
      end
   end
   local out, err = settings_of(path, { fabric = given.fabric, model = given.model })
   return out and fabric_paths(out.fabric, paths), err
end

-- The map of renamed nodes: old name → new name.  A new name that no node has may be misspelt.
local function read_renamed(conf)
   local file, folder = conf.renamed_nodes, conf.path:match "^.*/" or "./"
   if not file then
      return {}
   end
   local map, err = renamed.read(file:sub(1, 1) == "/" and file or folder .. file)
   for old, new in pairs(map or {}) do
      if not conf.topology.node_id[new] then
         conf.hints[#conf.hints + 1] = ("%s: '%s' is now '%s', which is not in the topology")
            :format(file, old, new)
      end
   end
   return map, err and ("%s:%d: renamed_nodes: %s"):format(conf.path,
      overlay.line_of(conf.path, nil, "renamed_nodes"), err)
end

--- Load a configuration.
-- @param path of taut.lua
-- @param paths table { rundir =, statedir = } for the defaults of socket and database
-- @return configuration (its `topology` is the built object, `machine` what the file says of it,
--   `renamed` a map of nodes' names, `hints` texts about what looks wrong), or nil
--   and "file:line: what"
function config.load(path, paths)
   local env, given = environment()
   local ok, err = patternless.call(sandbox.load, path, env)
   if not ok then
      return nil, err
   end
   local topo_conf
   topo_conf, err = machine_of(path, given)
   if err then
      return nil, err
   end
   local conf, hints = settings_of(path, given)
   if not conf then
      return nil, hints
   end
   if conf.controllers and not conf.store then
      return nil, ("%s:%d: controllers: several tautd need a database on a server: store = …")
         :format(path, overlay.line_of(path, "controllers"))
   end
   conf.topology, err = build_topology(path, topo_conf)
   if not conf.topology then
      return nil, err
   end
   conf.path, conf.hints, conf.machine = path, hints, topo_conf
   conf.renamed, err = read_renamed(conf)
   if not conf.renamed then
      return nil, err
   end
   conf.socket = conf.socket or paths.rundir .. "/tautd.sock"
   conf.database = conf.database or paths.statedir .. "/taut.db"
   fabric_paths(conf.fabric, paths)
   conf.steer.file = conf.steer.file or paths.rundir .. "/advice"
   return conf
end

return config
