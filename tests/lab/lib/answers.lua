-- SPDX-License-Identifier: GPL-2.0-or-later
-- `tautd --lua answers.lua FILE…`: a command and what it printed as JSON each; do all of them
-- together have the keys that are promised of those that tautd answers?  TAUT_GOLDEN=FILE: all keys
-- that they have go there.
local json = require "taut.json"
local promised = require "lib.promised"

local seen, commands = {}, {}
for _, path in ipairs(arg) do
   local file = assert(io.open(path))
   local line = file:read "l"
   local command = line:match "^fabric %a+" or line:match "^%S+"
   commands[command] = true
   promised.add_answer(seen, command, json.decode(file:read "a"))
   file:close()
end
local golden = os.getenv "TAUT_GOLDEN"
if golden then
   local list = {}
   for name in pairs(seen) do
      list[#list + 1] = name
   end
   table.sort(list)
   local file = assert(io.open(golden, "w"))
   file:write(table.concat(list, "\n"), "\n")
   file:close()
end
local gone = 0
for command in pairs(commands) do
   for _, name in ipairs(promised.names(("json taut %s "):format(command))) do
      if command ~= "topology" and command ~= "map" and not seen[name] then
         print(name .. " is gone: NEWS.md promised it")
         gone = gone + 1
      end
   end
end
os.exit(gone == 0)
