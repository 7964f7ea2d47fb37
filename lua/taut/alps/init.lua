-- SPDX-License-Identifier: GPL-2.0-or-later
--- tautd over ALPS: `tautd --alps launch …` on a front end, `tautd --alps serve …` for tautd.
local launch = require "taut.alps.launch"
local serve = require "taut.alps.serve"

local alps = {}

--- @param arg what stands behind --alps
-- @return exit status
function alps.main(arg)
   if arg[1] == "launch" then
      return launch.main { table.unpack(arg, 2) }
   elseif arg[1] == "serve" and arg[2] then
      return serve.main(arg[2])
   end
   io.stderr:write("usage: tautd --alps launch PURPOSE --KEY VALUE ...\n" ..
      "       tautd --alps serve FILE\n")
   return 2
end

return alps
