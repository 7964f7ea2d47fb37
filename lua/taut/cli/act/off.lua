-- SPDX-License-Identifier: GPL-2.0-or-later
local ask = require "taut.base.ask"

local off = { summary = "Stop all checks, from the next job on." }

function off.setup() end

function off.run(args)
   local d, code = ask.tautd(args, "off")
   if d then
      print("checks are " .. d.switch)
   end
   return code or 0
end

return off
