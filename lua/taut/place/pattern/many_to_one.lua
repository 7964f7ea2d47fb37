-- SPDX-License-Identifier: GPL-2.0-or-later
--- Everybody sends one message to the same rank, at once: gathers, input and output through one
-- node, the question that the study of failed links left open.
local motif = require "taut.place.pattern.motif"

return motif.of { summary = "everybody to one rank at once", takes = { "bytes", "root" },
   sized = false, shape = "any", dims = 1,
   -- @param options { bytes =, root = the rank that gets all, from 1 (1) }
   phases = function(ranks, options)
      local root, src, dst = options.root or 1, {}, {}
      if root > ranks then
         return nil, ("root %d is not one of %d ranks"):format(root, ranks)
      end
      for i = 1, ranks do
         if i ~= root then
            src[#src + 1], dst[#dst + 1] = i, root
         end
      end
      return { { src = src, dst = dst, bytes = options.bytes } }
   end }
