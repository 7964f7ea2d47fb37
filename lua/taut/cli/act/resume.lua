-- SPDX-License-Identifier: GPL-2.0-or-later
local ask = require "taut.base.ask"

local resume = { summary = "Resume a node that Taut drained; it is on probation then." }

function resume.setup(parser)
   parser:argument("node"):description "Node name."
end

function resume.run(args)
   local d, code = ask.tautd(args, "release", { node = args.node })
   if d then
      print(("%s is resumed, on probation"):format(d.released))
   end
   return code or 0
end

return resume
