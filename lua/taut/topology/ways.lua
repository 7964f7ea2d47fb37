--- The way that one flow took where routes are sets, as somebody asked for it: a trace names the
-- links it saw, and the wiring tells of those between.
local ways = {}

local function is_member(stage, c)
   for _, m in ipairs(stage) do
      if m == c then
         return true
      end
   end
   return false
end

-- The only member of a set that fits between its neighbours on the way, or nil.
local function fitting(topo, stage, before, after)
   local from = before and topo:is_link(before) and topo:to(before)
   local to = after and topo:is_link(after) and topo:from(after)
   local found
   for _, c in ipairs((from or to) and stage or {}) do
      if (not from or topo:from(c) == from) and (not to or topo:to(c) == to) then
         if found then
            return nil
         end
         found = c
      end
   end
   return found
end

--- What is known of a way.
-- @param route stages of the topology, from tx to rx
-- @param shown by stage the component that a trace saw there, or false; nil: nobody asked
-- @return array by stage: the component that the flow crossed, false where nobody knows; whether
--   all of it is known
function ways.known(topo, route, shown)
   local way, missing = {}, 0
   for i, stage in ipairs(route) do
      local seen = shown and shown[i]
      way[i] = type(stage) ~= "table" and stage or seen and is_member(stage, seen) and seen or false
      missing = missing + (way[i] and 0 or 1)
   end
   local again = missing > 0
   while again do
      again = false
      for i, stage in ipairs(route) do
         local c = not way[i] and fitting(topo, stage, way[i - 1], way[i + 1])
         if c then
            way[i], missing, again = c, missing - 1, true
         end
      end
   end
   return way, missing == 0
end

return ways
