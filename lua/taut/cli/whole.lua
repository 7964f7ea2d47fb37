-- SPDX-License-Identifier: GPL-2.0-or-later
--- Whole numbers of the command line.

--- @param least, most what is accepted (default: any)
-- @return for argparse's convert: function(text) → number, or nil and what was expected
return function(least, most)
   least, most = least or math.mininteger, most or math.maxinteger
   local range = most < math.maxinteger and (" from %d to %d"):format(least, most) or ""
   return function(text)
      local n = math.tointeger(tonumber(text))
      return n and n >= least and n <= most and n or nil,
         ("expected a whole number%s, got %s"):format(range, text)
   end
end
