-- SPDX-License-Identifier: GPL-2.0-or-later
--- Submeshes of a torus or mesh: bounding boxes that hold enough free nodes, and the best nodes
-- in them.
--
-- A box extends over at most half a ring plus one, or the whole ring, so that the minimal routes
-- between its routers stay inside.  taut.boxes looks at every position of every shape whose volume
-- is at most ROOM times the least that holds enough (a little room may avoid a slow link, or be
-- less long), and gives the best of each shape.
local boxes = require "taut.boxes"
local common = require "taut.place.common"

local place = {}

local ROOM = 1.5
local LONG = 0.05 -- what mean hops, as a share of those of the most compact box, count beside time

-- Kernels of machines that are in use, and what they know: making one takes longer than a search.
local kernels = setmetatable({}, { __mode = "k" })

local function kernel_of(topo)
   local k = kernels[topo]
   if not k then
      k = { boxes = assert(boxes.new(topo.graph, topo.dims, topo.wrap)), capacity = {} }
      for c = topo.first_link, #topo.components do
         local d = topo:kind(c):sub(1, 1)
         k.capacity[d] = math.min(k.capacity[d] or math.huge, topo.capacity[c])
      end
      kernels[topo] = k
   end
   return k
end

-- Sums of free nodes: present ones are reused if nothing has changed since.
-- @param version changes with the set, where it is one that is kept (taut.place.view); or nil
local function load_free(kept, free, per_router, version)
   local same = version and kept.free == free and kept.version == version
      and kept.per_router == per_router
   if not same then
      kept.boxes:free(free, per_router)
   end
   kept.free, kept.version, kept.per_router = free, version, per_router
end

local LETTERS = "XYZABC"

-- Cables with less than all left: a cable belongs to the router whose "+" port it is.
local function bad_cables(topo, left)
   local list, worst = {}, 0
   for c, share in pairs(left or {}) do
      if topo:is_link(c) and share < 1 then
         local kind = topo:kind(c)
         local weight = common.weight(share)
         worst = math.max(worst, weight)
         if kind:sub(2) == "-" then
            list[#list + 1] = topo:to(c)
         else
            list[#list + 1] = topo:from(c)
         end
         list[#list + 1] = LETTERS:find(kind:sub(1, 1), 1, true)
         list[#list + 1] = weight
      end
   end
   return list, worst
end

-- Mean hops between random places of a box.
local function hops_of(topo, extent)
   local sum = 0
   for d, e in ipairs(extent) do
      local len = topo.dims[d]
      if topo.wrap[d] and e == len then
         sum = sum + (len // 2) * ((len + 1) // 2) / len
      else
         sum = sum + (e * e - 1) / (3 * e)
      end
   end
   return sum
end

-- Time of an all-to-all of one byte each among `count` nodes spread evenly over the box: the
-- middle of its longest side, or a node's own connection.
local function time_of(topo, kept, box, count, worst)
   local most = 0
   for d, e in ipairs(box.extent) do
      local ring = topo.wrap[d] and e == topo.dims[d] and e > 2
      if e > 1 then
         local ways = 4
         if ring then
            ways = 8
         end
         local flows = count * count * e / (ways * box.volume)
         most = math.max(most, flows / kept.capacity[LETTERS:sub(d, d)])
      end
   end
   local node = math.max(1, count - 1) / topo.capacity[topo.tx[1]]
   return math.max(node, most * (1 + math.min(box.bad, worst))) / node
end

local function rate_of(topo, kept, found, count, worst)
   local least = math.huge
   for _, box in ipairs(found) do
      box.hops = hops_of(topo, box.extent)
      box.time = time_of(topo, kept, box, count, worst)
      least = math.min(least, math.max(box.hops, 0.1))
   end
   for _, box in ipairs(found) do
      box.cost = box.time + LONG * box.hops / least
      box.near = box.hops * (1 + math.min(box.bad, worst))
   end
end

local function sort_by(field)
   return function(one, other)
      if one[field] ~= other[field] then
         return one[field] < other[field]
      elseif one.total ~= other.total then
         return one.total < other.total
      end
      return common.compare(one.at, other.at) < 0
   end
end

local function name_of(box)
   return ("%s box at (%s)"):format(table.concat(box.extent, "×"), table.concat(box.at, ","))
end

local function candidate(kept, box, count, options)
   local nodes = assert(kept.boxes:choose(box, count, options.rank))
   return { nodes = nodes, shape = name_of(box), kind = "box", at = box.at,
      extent = box.extent, volume = box.volume, total = box.total, density = count / box.total,
      strangers = box.total - box.free, cost = box.cost }
end

--- See taut.place.
function place.search(topo, free, count, options)
   local k = kernel_of(topo)
   local cables, worst = bad_cables(topo, options.left)
   load_free(k, free, options.per_router, options.version)
   if #cables > 0 or k.has_bad then
      k.boxes:bad(cables)
      k.has_bad = #cables > 0
   end
   local found = k.boxes:search(count, ROOM, options.exclusive or false)
   rate_of(topo, k, found, count, worst)
   local take, out = common.taker(options), {}
   local function take_best(field, most)
      table.sort(found, sort_by(field))
      for i = 1, math.min(#found, most) do
         take(out, candidate(k, found[i], count, options))
      end
   end
   if options.measure == "near" then
      take_best("near", options.top // 2)
      take_best("cost", options.top)
   else
      take_best("cost", options.top)
      take_best("near", options.top // 2)
   end
   return out
end

-- The shortest run of a ring, or of a line, that holds these coordinates: where it begins and how
-- long it is.
local function run_of(seen, len, wraps)
   local first, last
   for x = 0, len - 1 do
      if seen[x] then
         first, last = first or x, x
      end
   end
   if not wraps then
      return first, last - first + 1
   end
   -- the ring without its longest gap
   local gap, at, previous = len - last + first, first, first
   for x = first + 1, last do
      if seen[x] then
         if x - previous > gap then
            gap, at = x - previous, x
         end
         previous = x
      end
   end
   return at, len - gap + 1
end

--- The smallest box around nodes.
function place.describe(topo, free, found, version)
   local seen, used = {}, {}
   for d = 1, #topo.dims do
      seen[d] = {}
   end
   found.used = 0
   for _, n in ipairs(found.nodes) do
      local r = topo:router(n)
      if not used[r] then
         used[r], found.used = true, found.used + 1
         for d, len in ipairs(topo.dims) do
            seen[d][r // topo.stride[d] % len] = true
         end
      end
   end
   local at, extent = {}, {}
   for d, len in ipairs(topo.dims) do
      local x, e = run_of(seen[d], len, topo.wrap[d])
      if topo.wrap[d] and e > len // 2 + 1 then
         x, e = 0, len
      end
      at[d], extent[d] = x, e
   end
   local k = kernel_of(topo)
   load_free(k, free, nil, version)
   local inside
   inside, found.total = k.boxes:count(at, extent)
   found.density, found.strangers = #found.nodes / found.total, found.total - inside
   found.at, found.extent, found.box = at, extent, name_of { at = at, extent = extent }
   return found
end

--- Free nodes in boxes of a density of at least 0.9 that hold 64 or more.
function place.dense(topo, free, least, density, taken, version)
   local k = kernel_of(topo)
   load_free(k, free, nil, version)
   return k.boxes:dense(least, density, taken)
end

return place
