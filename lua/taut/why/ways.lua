-- SPDX-License-Identifier: GPL-2.0-or-later
--- What is wrong on the ways between a job's nodes: which components, on how many pairs of nodes,
-- and since when, as far as tests tell.
local ways = {}

local ROUTES = 4000  -- looked at for one component
local MOST = 16      -- components of one job
local UNSURE_S = 86400 -- first seen wrong so much later, it says nothing of a job
local STATES = { failed = true, slow = true, lossy = true }
local SUSPECTS = 4   -- that are named

--- On how many of a job's pairs of nodes a component lies, one way or the other.  Of a large job
-- some pairs are looked at, spread over all.
-- @return a share, pairs
function ways.share(topo, nodes, c)
   local n = #nodes
   local all = n * (n - 1) // 2
   if all == 0 then
      return 0, 0
   end
   local at = topo:node_of(c)
   if at then
      for _, node in ipairs(nodes) do
         if node == at then
            return (n - 1) / all, n - 1
         end
      end
      return 0, 0
   end
   local step, seen, on = math.max(1, all // ROUTES), 0, 0
   local turn = 0
   for i = 1, n - 1 do
      for k = i + 1, n do
         if turn % step == 0 then
            seen = seen + 1
            if topo:crosses(nodes[i], nodes[k], c) or topo:crosses(nodes[k], nodes[i], c) then
               on = on + 1
            end
         end
         turn = turn + 1
      end
   end
   return on / seen, math.floor(on / seen * all + 0.5)
end

-- Since when something speaks against it: its first low test, or what hardware said.
local function bad_since(diagnosis, component, record)
   local first = diagnosis:run(component)[1]
   local since = record.since
   if first then
      since = first.time or since
   end
   local hard = record.hard and record.hard.since
   if hard then
      return math.min(hard, since or hard)
   end
   return since
end

local function left_of(record)
   local left = 1
   if record.hard then
      left = record.hard.left or 1
   end
   if STATES[record.state] then
      left = math.min(left, record.left or 0)
   end
   return left
end

--- Components with a verdict, or of which hardware says that something is missing, on the ways of a
-- job.  A suspicion does not count: a few low tests of a busy hour say nothing about a job.
-- @param topo, diagnosis
-- @param nodes node numbers
-- @return array of { name, state, left, loss, share, pairs, since (first low test), known (when the
--   verdict was made), cleared (tested good last before) }, the most important first
function ways.bad(topo, diagnosis, nodes)
   local list = {}
   for c, k in diagnosis:each() do
      if STATES[k.state] or k.hard and k.hard.left < 1 then
         local share, count = ways.share(topo, nodes, c)
         local left = left_of(k)
         if share > 0 and left < 1 then
            list[#list + 1] = { name = topo.components[c], state = k.state, left = left,
               loss = k.loss and k.loss.share, share = share, pairs = count,
               since = bad_since(diagnosis, c, k), known = k.since,
               cleared = diagnosis:seen(c).cleared_at }
         end
      end
   end
   table.sort(list, function(one, other)
      local x, y = (1 - one.left) * one.share, (1 - other.left) * other.share
      return x > y or x == y and one.name < other.name
   end)
   for i = #list, MOST + 1, -1 do
      list[i] = nil
   end
   return list
end

--- Those on its ways that are only suspected.
-- @return array of names, SUSPECTS at most
function ways.suspects(topo, diagnosis, nodes)
   local list = {}
   for c in diagnosis:suspected() do
      if #list < SUSPECTS and ways.share(topo, nodes, c) > 0 then
         list[#list + 1] = topo.components[c]
      end
   end
   table.sort(list)
   return list
end

--- Those of now that were wrong while a job ran, beside those that were seen at its end.
-- @param kept of ways.bad when the job ended; nil: not recorded
-- @param now of ways.bad
-- @param to when the job ended
-- @return array as of ways.bad, with `later` = when the verdict was made, where that was after the
--   job, and `unsure` where no test tells whether it was so already while the job ran
function ways.during(kept, now, to)
   local list, known = {}, {}
   for _, b in ipairs(kept or {}) do
      list[#list + 1], known[b.name] = b, true
   end
   for _, b in ipairs(now) do
      local since = b.since or b.known or to
      local is_later = (b.known or to) > to
      local was_tested = since <= to
      local may_be = since - to < UNSURE_S and (b.cleared or 0) <= to
      if not known[b.name] and (is_later and (was_tested or may_be) or not is_later and not kept)
         then
         b.later, b.unsure = nil, not was_tested or nil
         if is_later then
            b.later = b.known
         end
         list[#list + 1] = b
      end
   end
   return list
end

return ways
