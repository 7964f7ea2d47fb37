-- SPDX-License-Identifier: GPL-2.0-or-later
-- What a node tells of its interfaces (wire/readings.h), of tables.
local told = {}

local function field(name, value)
   if name == "t" then
      return ("t=%.9f"):format(value)
   end
   return (type(value) == "string" and "%s='%s'" or "%s=%d"):format(name, value)
end

-- @param list array of { ["if"] = interface, source = "netdev" where it is nil, NAME = value, … }
function told.text(list)
   local lines = {}
   for i, c in ipairs(list) do
      local words = { c.source or "netdev", c["if"] }
      for name, value in pairs(c) do
         if name ~= "if" and name ~= "source" then
            words[#words + 1] = field(name, value)
         end
      end
      lines[i] = table.concat(words, " ")
   end
   return table.concat(lines, "\n")
end

return told
