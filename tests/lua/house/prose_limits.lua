-- SPDX-License-Identifier: GPL-2.0-or-later
--- What prose.lua holds the tree to: today's counts of sentences that are too long and of turns of
-- phrase that read badly.  Each is tightened when it is better and never loosened; the goal is 0.
return {
   ["long manual"] = 18,
   ["long internals"] = 10,
   ["long documents"] = 183,
   ["long lua"] = 49,
   ["long c"] = 35,
   ["long tests"] = 14,
   ["turns manual"] = 7,
   ["turns internals"] = 7,
   ["turns documents"] = 98,
   ["turns lua"] = 287,
   ["turns c"] = 212,
   ["turns tests"] = 194,
}
