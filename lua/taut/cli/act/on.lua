-- SPDX-License-Identifier: GPL-2.0-or-later
local ask = require "taut.base.ask"

local on = { summary = "Start checks again." }

function on.setup() end

function on.run(args)
   local d, code = ask.tautd(args, "on")
   if d then
      print("checks are " .. d.switch)
   end
   return code or 0
end

return on
