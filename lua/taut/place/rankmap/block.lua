-- SPDX-License-Identifier: GPL-2.0-or-later
--- What Slurm does by itself.
local fill = require "taut.place.rankmap.fill"

local block = {}

function block.map(job)
   return { { name = "block", about = "Slurm's own: blocks in the order of the nodes",
      order = fill.blocks(job, job.nodes) } }
end

return block
