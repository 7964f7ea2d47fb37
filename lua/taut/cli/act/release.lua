-- SPDX-License-Identifier: GPL-2.0-or-later
local ask = require "taut.base.ask"

local release = { summary = "Give a node back that Taut drained; it is on probation then." }

function release.setup(parser)
   parser:argument("node"):description "Node name."
end

function release.run(args)
   local d, code = ask.tautd(args, "release", { node = args.node })
   if d then
      print(("%s is released, on probation"):format(d.released))
   end
   return code or 0
end

return release
