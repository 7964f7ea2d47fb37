-- SPDX-License-Identifier: GPL-2.0-or-later
--- Baseline: a fixed threshold per pair.
--
-- TopoBW (M. Ezell, CUG 2013) measures each pair of neighbouring routers, and of nodes on one
-- router, several times, takes the mean, and lists what is slower than its kind of link should be.
-- A node whose results are poor towards every partner is what is wrong, not the links; that is what
-- the paper's authors read from the list, and is a rule here: `partners` of them, all poor.  A test
-- over more than one link is not TopoBW's and tells of the node only.
local threshold = {}

-- Looked for by `campaign --tune --player threshold --seeds 1001
-- --faults-at-once 30 --faults 100 --warm 200 --jobs 4000`: recall 8 of 8, precision 8 of
-- 1,672.  Means of 16 need more time than this run has.
threshold.tuned = { below = 0.5, times = 4, partners = 3 }

-- What tuning tries: all combinations.
threshold.grid = { below = { 0.5, 0.7 }, times = { 4, 16 }, partners = { 3 } }

function threshold.new(b)
   b.pair, b.link, b.port, b.open = {}, {}, {}, {}
end

-- Mean of the last `times` results under a key; nil as long as there are fewer.
local function mean(store, key, value, times)
   local k = store[key]
   if not k then
      k = { n = 0, sum = 0 }
      store[key] = k
   end
   local at = k.n % times + 1
   k.sum = k.sum + value - (k[at] or 0)
   k[at] = value
   k.n = k.n + 1
   return k.n >= times and k.sum / times or nil
end

-- Remember how a port did towards one partner.
local function towards(b, port, partner, value)
   local k = b.port[port]
   if not k then
      k = { poor = 0, partners = 0, of = {} }
      b.port[port] = k
   end
   local poor = value < b.s.below
   if k.of[partner] == nil then
      k.partners = k.partners + 1
   elseif k.of[partner] then
      k.poor = k.poor - 1
   end
   k.of[partner] = poor
   k.poor = k.poor + (poor and 1 or 0)
   return k.partners >= b.s.partners and k.poor == k.partners
end

local function is_poor_port(b, c)
   local k = b.port[c]
   return k and k.partners >= b.s.partners and k.poor == k.partners
end

-- Links that are poor so far, but not measured often enough: the lowest numbers first, as a list of
-- TopoBW's is sorted.
local function ask_for(b)
   local list = {}
   for c in pairs(b.open) do
      list[#list + 1] = c
   end
   table.sort(list)
   b:wants(list)
end

function threshold.take(b, rows)
   local slow = {}
   for c, left in pairs(b.slow) do
      slow[c] = left
   end
   for _, r in ipairs(rows) do
      local value = mean(b.pair, r.src << 32 | r.dst, r.mean, b.s.times)
      local tx, rx = r.route[1], r.route[#r.route]
      if value then
         slow[tx] = towards(b, tx, r.dst, value) and value or nil
         slow[rx] = towards(b, rx, r.src, value) and value or nil
      end
      if #r.stages == 3 and #r.route == 3 then
         local link = r.route[2]
         local of_link = mean(b.link, link, r.mean, b.s.times)
         if of_link then
            slow[link] = of_link < b.s.below and not is_poor_port(b, tx) and not is_poor_port(b, rx)
               and of_link or nil
            b.open[link] = nil
         else
            b.open[link] = r.mean < b.s.below or nil
         end
      end
   end
   ask_for(b)
   return slow
end

function threshold.forget(b, c)
   b.link[c], b.port[c] = nil, nil
   local node = b.topo:node_of(c)
   if not node then
      return
   end
   for key in pairs(b.pair) do
      if key >> 32 == node or key & 0xffffffff == node then
         b.pair[key] = nil
      end
   end
end

return threshold
