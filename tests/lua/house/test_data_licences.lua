-- SPDX-License-Identifier: GPL-2.0-or-later
-- Recorded data of others keeps its licence beside it, the one that SOURCE.txt names.
local lu = require "luaunit"

local tests = {}
local dir = (os.getenv "TAUT_SRCDIR" or ".") .. "/tests/data/"

local function read(path)
   local f = assert(io.open(path))
   local text = f:read "a"
   f:close()
   return text
end

local NAMES = { ["BSD-2-Clause"] = "Redistributions in binary form",
   ["BSD-3-Clause"] = "endorse or promote products", MIT = "Permission is hereby granted",
   ["Apache-2.0"] = "Apache License", ["GPL-2.0-only"] = "COPYING",
   ["GPL-2.0-or-later"] = "COPYING" }

-- ours, so Taut's
local OWN = { routing = true, cases = true, lldp = true, logs = true, replay = true }

function tests.test_each_folder_has_the_licence_it_came_with()
   local seen = 0
   local text = read(dir .. "SOURCE.txt"):gsub("\n +", " ")
   for path, rest in text:gmatch "\n(%l+/%S+)%s+[RSO/]+%s+([^\n]*)" do
      local name = rest:match ", ([%w.-]+):" or rest:match ", ([%w.-]+) as that:"
      if not OWN[path:match "^%l+"] then
         lu.assertNotNil(NAMES[name], path)
         local file = path:find "%.gz$" and path:gsub("%.%l+%.gz$", ".LICENSE") or
            path:find "^sysfs/" and "sysfs/LICENSE-ldms" or path .. "/LICENSE"
         local licence = read(dir .. file)
         lu.assertStrContains(licence, name .. ": ")
         lu.assertStrContains(licence, NAMES[name])
         seen = seen + 1
      end
   end
   lu.assertEquals(seen, 11)
end

return tests
