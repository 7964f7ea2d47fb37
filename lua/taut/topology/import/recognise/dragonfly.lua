-- SPDX-License-Identifier: GPL-2.0-or-later
--- Is it a dragonfly: groups whose routers are joined closely, and links between all groups?
local tables = require "taut.base.tables"
local graph = require "taut.topology.import.recognise.graph"
local product = require "taut.topology.import.recognise.product"

local dragonfly = {}

-- How many routers are neighbours of both ends of each edge.
local function count_support(fabric)
   local values, most = {}, 0
   for _, e in ipairs(fabric.edges) do
      local n = 0
      for _, s in ipairs(fabric.near[e.a]) do
         if fabric.edge[e.b][s] then
            n = n + 1
         end
      end
      e.support = n
      most = math.max(most, n)
      values[n] = true
   end
   return values, most
end

-- Groups as the file names them.
local function given_groups(fabric)
   local group, number, count = {}, {}, 0
   for r, router in ipairs(fabric.wiring.routers) do
      if not router.group then
         return nil
      end
      if not number[router.group] then
         count = count + 1
         number[router.group] = count
      end
      group[r] = number[router.group]
   end
   return group, count
end

local function members_of(group, count)
   local list = tables.fill(1, count, function() return {} end)
   for r, i in ipairs(group) do
      table.insert(list[i], r)
   end
   return list
end

-- The routers of one group as a graph of their own.
local function graph_of_group(fabric, list)
   local number, w = {}, { routers = {}, nodes = {}, cables = {} }
   for i, r in ipairs(list) do
      number[r] = i
      w.routers[i] = fabric.wiring.routers[r]
   end
   for i, r in ipairs(list) do
      for _, s in ipairs(fabric.near[r]) do
         local j = number[s]
         if j and j > i then
            local e = fabric.edge[r][s]
            for k = 1, e.cables do
               local p = e.ports[k]
               local own, far = p[1], p[2]
               if e.a ~= r then
                  own, far = far, own
               end
               w.cables[#w.cables + 1] = { a = i, b = j, a_port = own, b_port = far }
            end
         end
      end
   end
   return graph.of(w)
end

-- How a group is joined inside: lengths { n } for all to all, { rows, columns } as in Aries.
local function local_shape(fabric, list)
   local sub = graph_of_group(fabric, list)
   local n = #list
   if #sub.edges == n * (n - 1) // 2 then
      return { n }
   end
   local _, parts = graph.parts(sub)
   if parts > 1 then
      return nil
   end
   local found = product.find(sub)
   if found and (found.kind == "hyperx" or found.kind == "torus" and #found.dims == 2) then
      return found.dims, found
   end
end

local function links_between(fabric, group, count)
   local pairs_, globals = {}, {}
   for r = 1, fabric.routers do
      globals[r] = 0
   end
   for _, e in ipairs(fabric.edges) do
      local a, b = group[e.a], group[e.b]
      if a ~= b then
         local k = math.min(a, b) * (count + 1) + math.max(a, b)
         pairs_[k] = (pairs_[k] or 0) + e.cables
         globals[e.a], globals[e.b] = globals[e.a] + e.cables, globals[e.b] + e.cables
      end
   end
   local list = {}
   for a = 1, count do
      for b = a + 1, count do
         list[#list + 1] = pairs_[a * (count + 1) + b] or 0
      end
   end
   return list, globals
end

-- What a division into groups explains, or nil when it is no dragonfly.
local function judge_groups(fabric, group, count)
   local lists = members_of(group, count)
   local sizes = tables.map(lists, function(list) return #list end)
   local usual = graph.mode(sizes)
   if count < 3 or usual < 2 then
      return nil
   end
   local misfits, shapes, odd = graph.misfits(), {}, 0
   for i, list in ipairs(lists) do
      local dims, found = local_shape(fabric, list)
      shapes[i] = "none"
      if dims then
         shapes[i] = table.concat(dims, "x")
      end
      if #list ~= usual then
         odd = odd + 1
         misfits.add("the group of %s has %d routers, others have %d",
            fabric.wiring.routers[list[1]].name, #list, usual)
      end
      for _, m in ipairs(tables.or_empty(found).misfits or {}) do
         misfits.add("%s", m)
      end
   end
   local shape = graph.mode(shapes)
   for i, s in ipairs(shapes) do
      if s ~= shape then
         odd = odd + 1
         misfits.add("the group of %s is joined otherwise than the others",
            fabric.wiring.routers[lists[i][1]].name)
      end
   end
   local links, globals = links_between(fabric, group, count)
   local missing = tables.count(links, function(number) return number == 0 end)
   if shape == "none" or odd > 0.25 * count or missing > 0.1 * #links then
      return nil
   end
   if missing > 0 then
      misfits.add("%d of %d pairs of groups have no link", missing, #links)
   end
   return { shape = shape, links = links, globals = globals, misfits = misfits, lists = lists,
      usual = usual }
end

local function lengths_of(shape)
   local list = {}
   for n in shape:gmatch "%d+" do
      list[#list + 1] = math.tointeger(tonumber(n))
   end
   return list
end

local function make_result(group, count, judged)
   local least, most = graph.range(judged.links)
   local h_least, h_most = graph.range(judged.globals)
   local usual = graph.mode(judged.links)
   if least ~= most then
      local odd = tables.count(judged.links, function(length) return length ~= usual end)
      judged.misfits.add("%d of %d pairs of groups have other than %d links (%d to %d)", odd,
         #judged.links, usual, least, most)
   end
   return { kind = "dragonfly", groups = count, routers_per_group = judged.usual,
      local_dims = lengths_of(judged.shape), group = group, members = judged.lists,
      links_per_pair = { least, most }, global_per_router = { h_least, h_most },
      misfits = judged.misfits.list() }
end

--- Look.
-- @param fabric graph, connected
-- @return what was found, or nil
function dragonfly.find(fabric)
   local group, count = given_groups(fabric)
   if group then
      local j = judge_groups(fabric, group, count)
      if j then
         return make_result(group, count, j)
      end
   end
   local values, most = count_support(fabric)
   for threshold = 1, most do
      if values[threshold] then
         group, count = graph.parts(fabric, function(edge) return edge.support >= threshold end)
         local j = count < fabric.routers and judge_groups(fabric, group, count)
         if j then
            return make_result(group, count, j)
         end
      end
   end
   return nil
end

return dragonfly
