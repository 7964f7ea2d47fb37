-- SPDX-License-Identifier: GPL-2.0-or-later
--- Whole numbers of the command line.

local tables = require "taut.base.tables"

--- @param least, most what is accepted (default: any)
-- @return for argparse's convert: function(text) → number, or nil and what was expected
return function(least, most)
   least, most = least or math.mininteger, most or math.maxinteger
   local range = ""
   if most < math.maxinteger then
      range = (" from %d to %d"):format(least, most)
   end
   return function(text)
      return tables.within(math.tointeger(tonumber(text)), least, most),
         ("expected a whole number%s, got %s"):format(range, text)
   end
end
