-- SPDX-License-Identifier: GPL-2.0-or-later
-- A host without the packages that the documents call optional: the programs start there.
local lu = require "luaunit"
local optional = require "taut.base.optional"

local tests = {}

local ABSENT = { lxp = true, yaml = true }

-- Run fn as on a host where some modules are not installed, with all of Taut's loaded anew.
local function without(absent, fn)
   local searchers, loaded = package.searchers, {}
   for name, module in pairs(package.loaded) do
      if absent[name] or name:find "^taut%.[%w_]+%." or name == "taut.cli" then
         loaded[name], package.loaded[name] = module, nil
      end
   end
   package.searchers = { function(name)
      return absent[name] and function() error("module '" .. name .. "' not found") end or nil
   end, table.unpack(searchers) }
   local ok, err = pcall(fn)
   package.searchers = searchers
   for name in pairs(package.loaded) do
      if name:find "^taut%.[%w_]+%." or name == "taut.cli" then
         package.loaded[name] = nil
      end
   end
   for name, module in pairs(loaded) do
      package.loaded[name] = module
   end
   lu.assertTrue(ok, err)
end

-- `apt-get --no-install-recommends install taut` gave programs that did not start.
function tests.test_programs_start_without_recommended_packages()
   without(ABSENT, function()
      for _, name in ipairs { "taut.cli", "taut.core.daemon", "taut.topology.import",
         "taut.alps.serve" } do
         lu.assertNotNil(require(name), name)
      end
   end)
end

function tests.test_what_is_missing_is_named_where_it_is_used()
   without(ABSENT, function()
      local module, err = optional.module("yaml", function() return require "yaml" end)
      lu.assertNil(module)
      lu.assertStrContains(err, "lua-yaml")
      local nodes, why = require("taut.alps.basil").read "<BasilResponse/>"
      lu.assertNil(nodes)
      lu.assertStrContains(why, "lua-expat")
   end)
   lu.assertNotNil(optional.module("yaml", function() return require "yaml" end))
end

return tests
