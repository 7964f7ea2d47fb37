-- SPDX-License-Identifier: GPL-2.0-or-later
--- Baseline: votes on links.
--
-- 007 (B. Arzani et al., NSDI 2018): a flow that did badly gives each of the h links of its path
-- 1/h vote.  At the end of an epoch the link with the most votes is called bad if it has at least a
-- share of all votes (1 % in the paper); what its flows gave to other links is taken away; and so
-- on.  007 knows each flow's path; where it is hashed, and cannot be known here, the vote is
-- divided over the links it may have taken.
local votes = {}

-- Looked for by `campaign --tune --player votes --seeds 1001
-- --faults-at-once 30 --faults 100 --warm 200 --jobs 4000`: recall 1 of 1, precision 1 of 69.
votes.tuned = { bad = 0.75, epoch_h = 6, share = 0.0003, least = 8 }

-- The sweep of the paper's authors, 0.0001 to 0.30 of the votes.
votes.grid = { bad = { 0.75 }, epoch_h = { 6, 24 }, least = { 8 },
   share = { 0.0001, 0.0003, 0.001, 0.01, 0.05, 0.30 } }

function votes.new(b)
   b.flows, b.ends = {}, 0
end

-- Adds (or with sign -1 takes away) one flow's votes.
local function vote(count, flow, sign)
   local one = sign / #flow.stages
   for _, stage in ipairs(flow.stages) do
      if type(stage) == "table" then
         for _, c in ipairs(stage) do
            count[c] = (count[c] or 0) + one / #stage
         end
      else
         count[stage] = (count[stage] or 0) + one
      end
   end
end

local function most(count)
   local best, n = nil, 0
   for c, v in pairs(count) do
      if v > n or v == n and best and c < best then
         best, n = c, v
      end
   end
   return best, n
end

-- Those below the threshold that come nearest to it: to be tested more.
local function next_ones(b, count)
   local list = {}
   for c, v in pairs(count) do
      if v > 1 then
         list[#list + 1] = c
      end
   end
   table.sort(list, function(p, q)
      return count[p] > count[q] or count[p] == count[q] and p < q
   end)
   b:wants(list)
end

-- Of each component, the flows that may have used it.
local function flows_of(flows, count, least)
   local by = {}
   for _, f in ipairs(flows) do
      for _, stage in ipairs(f.stages) do
         for _, c in ipairs(type(stage) == "table" and stage or { stage }) do
            if count[c] >= least then
               by[c] = by[c] or {}
               table.insert(by[c], f)
            end
         end
      end
   end
   return by
end

local function ranking(b)
   local count, slow = {}, {}
   for _, f in ipairs(b.flows) do
      vote(count, f, 1)
   end
   local least = math.max(b.s.least, b.s.share * #b.flows)
   local by = flows_of(b.flows, count, least)
   while true do
      local c, n = most(count)
      if not c or n < least or n <= 0 then
         next_ones(b, count)
         return slow
      end
      local left, taken = 0, 0
      for _, f in ipairs(by[c]) do
         if not f.taken then
            f.taken = true
            left, taken = left + f.y, taken + 1
            vote(count, f, -1)
         end
      end
      count[c] = nil
      slow[c] = taken > 0 and left / taken or 0
   end
end

function votes.take(b, rows, now)
   local slow
   if now >= b.ends then
      slow = ranking(b)
      b.flows, b.ends = {}, now + b.s.epoch_h * 3600
   end
   for _, r in ipairs(rows) do
      for i, y in ipairs(r.flows) do
         -- 007's flow is bad when it sent anything again, where somebody counts
         local n = r.counts and r.counts[i]
         if n and n.resent > 0 or not n and y < b.s.bad then
            b.flows[#b.flows + 1] = { stages = r.stages, y = y }
         end
      end
   end
   return slow
end

function votes.forget() end

return votes
