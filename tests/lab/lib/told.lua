-- SPDX-License-Identifier: GPL-2.0-or-later
-- `tautd --lua told.lua`: events as a program of on_event got them, one a line; do all of them
-- together have the keys that are promised?
local json = require "taut.json"
local promised = require "lib.promised"

local seen, gone = {}, 0
for line in io.lines() do
   local event = json.decode(line)
   for key, value in pairs(event or {}) do
      seen[("event %s %s %s"):format(event.event, key, type(value))] = true
   end
end
for _, name in ipairs(promised.names "event ") do
   if not seen[name] then
      print(name .. " is gone: NEWS.md promised it")
      gone = gone + 1
   end
end
os.exit(gone == 0)
