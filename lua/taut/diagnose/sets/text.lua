-- SPDX-License-Identifier: GPL-2.0-or-later
--- Sets of links in words: "one of 18 uplinks of leaf7".
local text = {}

local function common_router(topo, members, name)
   local r = topo[name](topo, members[1])
   for _, c in ipairs(members) do
      if topo[name](topo, c) ~= r then
         return nil
      end
   end
   return r
end

local function group_name(topo, members, name)
   if not topo.group then
      return nil
   end
   local g = topo:group(topo[name](topo, members[1]))
   for _, c in ipairs(members) do
      if topo:group(topo[name](topo, c)) ~= g then
         return nil
      end
   end
   return "group " .. g
end

--- "one of 18 uplinks of leaf7".
function text.of(topo, members)
   if #members == 1 then
      return topo.components[members[1]]
   end
   local what = ("one of %d %s"):format(#members, topo:class_links(members[1]))
   local from, to = common_router(topo, members, "from"), common_router(topo, members, "to")
   if from then
      return ("%s of %s"):format(what, topo.router_name[from])
   elseif to then
      return ("%s into %s"):format(what, topo.router_name[to])
   end
   local g, h = group_name(topo, members, "from"), group_name(topo, members, "to")
   if g and h then
      return ("%s from %s to %s"):format(what, g, h)
   end
   return ("%s (%s, %s …)"):format(what, topo.components[members[1]], topo.components[members[2]])
end

--- The set itself: "18 uplinks of leaf7".
function text.name(topo, members)
   return (text.of(topo, members):gsub("^one of ", ""))
end

--- What a verdict says, without its figures.
-- @param verdict of component_state.lua
function text.subject(topo, verdict)
   return ("%s %s"):format(text.of(topo, verdict.members), verdict.is_fair
      and "is slow or steadily busy" or verdict.state == "failed" and "has failed" or "is slow")
end

--- The text of a verdict: what is slow, a colon, and the figures.
function text.verdict(topo, verdict)
   return ("%s: %d of %d flows got %.0f%%, the others did well; in %d periods, between %d pairs")
      :format(text.subject(topo, verdict), verdict.hits, verdict.flows, 100 * verdict.left,
      verdict.spells, verdict.pairs)
end

return text
