-- SPDX-License-Identifier: GPL-2.0-or-later
--- Names for GUIDs: OpenSM's node-name-map (`0x0008f104003f3fb1 "leaf 1"`), and lists such as
-- `H-003048c74e4a0000 x5570comp1`.
local grammar = require "taut.topology.import.grammar"
local lpeg = require "lpeg"
local source = require "taut.topology.import.source"

local nodemap = { summary = "names for GUIDs (OpenSM's node-name-map), added to ibnetdiscover" }

local P, S, Ct, C = lpeg.P, lpeg.S, lpeg.Ct, lpeg.C
local ws = grammar.ws

local comment = (P "#" * P(1) ^ 0) ^ -1 * -P(1)
local name = P '"' * grammar.upto '"' * '"' + C((1 - S ' \t\r"#') ^ 1)
local entry = Ct(ws * (S "SHR" * "-") ^ -1 * grammar.guid * grammar.sep * name * ws * comment)
local nothing = ws * comment

--- The map.
-- @return GUID → { name =, line = }
function nodemap.names(src)
   local map = {}
   for n, line in src:lines(4096) do
      local t = entry:match(line)
      if t then
         local other = map[t[1]]
         if other and other.name ~= t[2] then
            src:fail(n, "GUID %s is %s here and %s in line %d, expected one name",
               source.quote(t[1]), source.quote(t[2]), source.quote(other.name), other.line)
         end
         if t[2] == "" then
            src:fail(n, "GUID %s has an empty name", source.quote(t[1]))
         end
         map[t[1]] = { name = t[2], line = n }
      elseif not nothing:match(line) then
         src:fail(n, "%s, expected a GUID and a name", source.quote(line))
      end
   end
   return map
end

return nodemap
