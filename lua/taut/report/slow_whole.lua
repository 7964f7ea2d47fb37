-- SPDX-License-Identifier: GPL-2.0-or-later
--- What is slow as a whole, in words.
local slow_whole = {}

-- By kind: what it is; the same with the figures of today.
local FORM = {
   group = { "%s is slow as a whole", "%s: %d of %d nodes" },
   change = { "class %s changed everywhere", "%s: %d of %d components are low at once" },
   bundle = { "the bundle %s is slow", "%s: %d of %d cables are as low as each other" },
   links = { "what leads %s is slow as a whole", "%s: %d of %d links" },
   level = { "links %s are as low as each other", "%s: %d of %d" },
   times = { "%s is slow at times", "%s: %d of %d times at the same level" },
   new = { "class %s has a new kind of nodes", "%s: %d components never did better than this" },
}

--- @param whole { kind, of = name, way = "out of" or "into" a router, n, total }
--   (diagnose/whole_groups.lua); or a text, as records have it
-- @return with the figures of today; without them
function slow_whole.text(whole)
   if type(whole) == "string" then
      return whole, whole
   end
   local form, of = FORM[whole.kind], whole.of
   if whole.way then
      of = whole.way .. " " .. of
   end
   local subject = form[1]:format(of)
   return form[2]:format(subject, whole.n, whole.total), subject
end

--- Is this such a thing?  What a database holds may be damaged.
function slow_whole.is(whole)
   return FORM[whole.kind] ~= nil and type(whole.of) == "string" and math.type(whole.n) == "integer"
      and (whole.way == nil or type(whole.way) == "string")
      and (whole.kind == "new" or math.type(whole.total) == "integer")
end

return slow_whole
