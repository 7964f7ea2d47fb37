-- SPDX-License-Identifier: GPL-2.0-or-later
--- What prose.lua holds the tree to: today's counts of sentences that are too long and of turns of
-- phrase that read badly.  Each is tightened when it is better and never loosened; the goal is 0.
return {
   ["long manual"] = 13,
   ["long internals"] = 10,
   ["long documents"] = 95,
   ["long lua"] = 7,
   ["long c"] = 10,
   ["long tests"] = 13,
   ["turns manual"] = 7,
   ["turns internals"] = 7,
   ["turns documents"] = 42,
   ["turns lua"] = 105,
   ["turns c"] = 211,
   ["turns tests"] = 199,
}
