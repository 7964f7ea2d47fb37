-- SPDX-License-Identifier: GPL-2.0-or-later
--- What would follow if the configuration were taken (`taut config reload --dry-run`): nothing is
-- changed.
local config = require "taut.config"
local json = require "taut.json"
local kept = require "taut.topology.before.kept"
local same = require "taut.topology.before.same"
local sys = require "taut.sys"
local tables = require "taut.base.tables"

-- What load() puts beside the settings.
local NO_SETTING = tables.set { "topology", "machine", "path", "hints", "renamed" }

-- Names of settings whose values differ: "mode", "policy.per_hour".
local function list_differing(here, there, prefix, list)
   local names = tables.keys(tables.copy(here))
   for name in pairs(there) do
      if here[name] == nil then
         names[#names + 1] = name
      end
   end
   for _, name in ipairs(names) do
      local x, y = here[name], there[name]
      local is_section = type(x) == "table" and type(y) == "table" and #x == 0 and #y == 0
      if prefix == "" and NO_SETTING[name] then
         goto continue
      elseif is_section and prefix == "" then
         list_differing(x, y, name .. ".", list)
      elseif json.encode { x } ~= json.encode { y } then
         list[#list + 1] = prefix .. name
      end
      ::continue::
   end
   return list
end

-- Components of which something is known, and that no longer exist, verdicts first: array of
-- { component, state }.
local function list_forgotten(parts, compared)
   local list = json.array {}
   for c, name in ipairs(parts.site.topo.components) do
      if not compared.map[c] and parts.diagnosis:is_known(c) then
         list[#list + 1] = { component = name, state = parts.diagnosis:component(c).state }
      end
   end
   table.sort(list, function(first, second)
      local is_bad, is_bad_too = first.state ~= "ok", second.state ~= "ok"
      if is_bad ~= is_bad_too then
         return is_bad
      end
      return first.component < second.component
   end)
   return list
end

local function compare_machine(parts, conf)
   if kept.text(conf.topology) == kept.text(parts.site.topo) then
      return nil
   end
   local d = same.compare(parts.site.topo, conf.topology, conf.renamed)
   return { what = same.words(d), of = d.of, same = d.kept, forgotten = list_forgotten(parts, d) }
end

--- @param parts { site, diagnosis }
-- @return { path, refused = what is wrong, or nil; at_once, restart = names of settings; hints;
--   machine, where that is another one = { what, of, same, forgotten = array of { component,
--   state } } }
return function(parts)
   local path = parts.site.conf.path
   local conf, err = config.load(path, sys.paths)
   if not conf then
      return { path = path, refused = err }
   end
   local fixed = parts.site:fixed(conf)
   local is_fixed = tables.set(fixed)
   local at_once = tables.filter(list_differing(parts.site.conf, conf, "", {}),
      function(name) return not is_fixed[name] end)
   table.sort(at_once)
   return { path = path, at_once = json.array(at_once), restart = json.array(fixed),
      machine = compare_machine(parts, conf), hints = json.array(conf.hints) }
end
