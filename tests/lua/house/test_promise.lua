-- SPDX-License-Identifier: GPL-2.0-or-later
-- What NEWS.md promises to stay: commands, options, settings and metrics of the last release, in
-- tests/data/promise.txt, are in this tree.  TAUT_GOLDEN=write writes the list anew, for a release.
local cli = require "taut.cli"
local lu = require "luaunit"
local settings = require "taut.config.settings"

local tests = {}
local TOP = os.getenv "TAUT_SRCDIR" or "."
local LIST = TOP .. "/tests/data/promise.txt"

local function read(path)
   local f = assert(io.open(path))
   local text = f:read "a"
   f:close()
   return text
end

-- What a command prints by io.write.
local function printed(...)
   local write, parts = io.write, {}
   rawset(io, "write", function(text) parts[#parts + 1] = text end)
   local ok, err = pcall(cli.main, { ... })
   rawset(io, "write", write)
   assert(ok, err)
   return table.concat(parts)
end

-- Commands and their long options, as a shell completes them.
local function add_commands(names)
   for line in printed("completion", "fish"):gmatch "[^\n]+" do
      local under, name = line:match "using_command ?([%w_ -]*)' %-xa '([%w-]+)'"
      if name then
         names[("command taut %s %s"):format(under, name):gsub("  ", " ")] = true
      end
      local of, option = line:match "seen_command ?([%w_ -]*)'.- %-l ([%w-]+)"
      if option and option ~= "help" then
         names[("option taut %s --%s"):format(of, option):gsub("  ", " ")] = true
      end
   end
end

-- Those of the model may change.
local function add_settings(names, of, prefix)
   for name, entry in pairs(of) do
      if type(entry[2]) == "function" or entry[1] ~= nil then
         names["setting " .. prefix .. name] = not entry.model or nil
      else
         add_settings(names, entry, prefix .. name .. ".")
      end
   end
end

local function add_metrics(names)
   for name in read(TOP .. "/lua/taut/core/metrics/init.lua"):gmatch '"(taut_[a-z_]+)"' do
      names["metric " .. name] = true
   end
end

local function all_names()
   local names = {}
   add_commands(names)
   add_settings(names, settings.all, "")
   add_metrics(names)
   return names
end

function tests.test_what_the_last_release_had_is_there()
   local names = all_names()
   if os.getenv "TAUT_GOLDEN" == "write" then
      local list = {}
      for name in pairs(names) do
         list[#list + 1] = name
      end
      table.sort(list)
      local f = assert(io.open(LIST, "w"))
      f:write(table.concat(list, "\n"), "\n")
      f:close()
   end
   local count = {}
   for name in read(LIST):gmatch "[^\n]+" do
      lu.assertTrue(names[name], name .. " is gone: NEWS.md promised it")
      local kind = name:match "^%a+"
      count[kind] = (count[kind] or 0) + 1
   end
   for kind, least in pairs { command = 50, option = 300, setting = 45, metric = 40 } do
      lu.assertTrue((count[kind] or 0) >= least, kind)
   end
end

return tests
