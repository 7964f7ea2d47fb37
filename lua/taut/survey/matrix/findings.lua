-- SPDX-License-Identifier: GPL-2.0-or-later
--- What is slow in a matrix, in the order of how many pairs it explains.
local cluster = require "taut.survey.matrix.cluster"
local blame = require "taut.survey.matrix.blame"
local hostlist = require "taut.hostlist"
local tables = require "taut.base.tables"

local findings = {}

local SINGLES = 16 -- pairs that nothing explains, and that are named
local KIND_OF_LINE = { row = "tx", column = "rx" }

---------------------------------------------------------------- from routes

local function name_of(topo, stage)
   if type(stage) ~= "table" then
      return topo.components[stage]
   end
   local list = tables.map(stage, function(component) return topo.components[component] end)
   return table.concat(list, ", ")
end

-- Names, and for links the cable to look at.
local function from_routes(topo, explained)
   local f = { kind = explained.kind, pairs = explained.pairs, clear = explained.clear, tied = {},
      parts = {},
      name = explained.name or name_of(topo, explained.key) }
   for i, c in ipairs(explained.tied) do
      f.tied[i] = topo.components[c]
   end
   local members = explained.members
   if not members and explained.kind ~= "set" then
      members = { explained }
   end
   for i, c in ipairs(members or {}) do
      f.parts[i] = topo.components[c.key]
   end
   if explained.kind == "tx" or explained.kind == "rx" then
      f.node = topo.nodes[topo:ends(explained.key)[1]]
   elseif explained.kind == "node" then
      f.node = explained.name
   elseif explained.kind == "link" or explained.kind == "cable" then
      f.cable = topo:cable(topo.component_id[f.parts[1]])
   end
   return f
end

-- The link that most sets have in common; nil when no two share one.
local function common_link(list)
   local count, best = {}, nil
   for _, e in ipairs(list) do
      for _, c in ipairs(tables.or_empty(e.kind == "set" and e.key)) do
         count[c] = (count[c] or 0) + 1
         if count[c] > 1 and (not best or count[c] > count[best]) then
            best = c
         end
      end
   end
   return best
end

-- Several slow sets that share a link speak against that link; a set of one is one.
local function join_sets(list)
   local out, link = {}, common_link(list)
   local one = link and { kind = "link", key = link, tied = {}, pairs = {}, clear = 0 }
   for _, e in ipairs(list) do
      if e.kind == "set" and #e.key == 1 and not link then
         e.kind, e.key = "link", e.key[1]
      end
      if link and e.kind == "set" and tables.has(e.key, link) then
         table.move(e.pairs, 1, #e.pairs, #one.pairs + 1, one.pairs)
         one.clear = one.clear + e.clear
      else
         out[#out + 1] = e
      end
   end
   if link then
      out[#out + 1] = one
      return join_sets(out)
   end
   return out
end

local function by_routes(matrix, topo, number, options)
   local explained, rest = blame.components(matrix, topo, number, options)
   local list = tables.map(join_sets(explained), function(found_one)
      return from_routes(topo, found_one)
   end)
   return list, rest
end

---------------------------------------------------------------- from rows and columns

local function names_of(matrix, rows)
   return tables.map(rows, function(row) return matrix.names[row] end)
end

local function from_cluster(matrix, explained)
   local f = { pairs = explained.pairs, clear = explained.clear, tied = {}, parts = {} }
   if explained.kind == "block" then
      f.kind = "block"
      f.from, f.to = names_of(matrix, explained.rows), names_of(matrix, explained.columns)
      f.name = ("%s to %s"):format(hostlist.compress(f.from), hostlist.compress(f.to))
   else
      f.kind, f.node = KIND_OF_LINE[explained.kind], matrix.names[explained.at]
      f.name = f.node .. "/" .. f.kind
      f.parts[1] = f.name
   end
   return f
end

-- Row and column of one node are one finding.
local function join_nodes(list)
   local at, out = {}, {}
   for _, f in ipairs(list) do
      local one = f.node and at[f.node]
      if one then
         one.kind, one.name, one.clear = "node", f.node, one.clear + f.clear
         table.move(f.pairs, 1, #f.pairs, #one.pairs + 1, one.pairs)
         table.move(f.parts, 1, #f.parts, #one.parts + 1, one.parts)
      else
         out[#out + 1] = f
         if f.node then
            at[f.node] = f
         end
      end
   end
   return out
end

local function by_names(matrix, rest, options)
   local list, clusters, left = {}, cluster.find(matrix, rest, options.pause)
   for i, e in ipairs(clusters) do
      list[i] = from_cluster(matrix, e)
   end
   return join_nodes(list), left
end

local function ratio_of(matrix, key)
   return matrix:ratio(matrix:at(key)) or 0
end

local function single_pairs(matrix, rest, topo, number, options)
   table.sort(rest, function(one, other)
      local x, y = ratio_of(matrix, one), ratio_of(matrix, other)
      return x < y or x == y and one < other
   end)
   local list, named = {}, table.move(rest, 1, math.min(#rest, SINGLES), 1, {})
   local possible = {}
   if topo then
      possible = blame.possible(matrix, topo, number, named, options)
   end
   for n, k in ipairs(named) do
      local i, j = matrix:at(k)
      list[n] = { kind = "pair", pairs = { k }, clear = 0, tied = {}, parts = {},
         from = { matrix.names[i] }, to = { matrix.names[j] },
         name = ("%s to %s"):format(matrix.names[i], matrix.names[j]) }
      for t, c in ipairs(possible[n] or {}) do
         list[n].tied[t] = topo.components[c]
      end
   end
   return list, math.max(0, #rest - SINGLES)
end

---------------------------------------------------------------- figures

--- What a finding's pairs reached: of those measured again alone, where there are some; of a set
-- of those that are low still, since a flow may have taken another link of it the second time.
-- Sets low, left and bw_Bps.
function findings.figures(matrix, finding)
   local ratios, bws, again = {}, {}, {}
   for _, k in ipairs(finding.pairs) do
      local is_of_it = finding.kind == "set" and matrix.class[k] == "low"
      if finding.kind ~= "set" and matrix.again[k] or is_of_it then
         again[#again + 1] = k
      end
   end
   if #again == 0 then
      again = finding.pairs
   end
   for _, k in ipairs(again) do
      local i, j = matrix:at(k)
      ratios[#ratios + 1], bws[#bws + 1] = matrix:ratio(i, j), matrix.bw[k]
   end
   finding.low, finding.left, finding.bw_Bps = #finding.pairs, tables.median(ratios),
      tables.median(bws)
end

--- Find what is slow.
-- @param matrix matrix, judged
-- @param topo topology or nil; number = array: row → node number
-- @param options { clear_most, pause }
-- @return array of findings, the one that explains most first: { kind = "node", "tx", "rx",
--   "link", "cable", "router", "set", "block" or "pair", name, pairs = keys, low, clear,
--   tied = names, parts = component names, node, cable, from, to, left, bw_Bps };
--   how many slow pairs are not named
function findings.find(matrix, topo, number, options)
   options = options or {}
   options = { clear_most = options.clear_most or 0.95, pause = options.pause or function() end }
   local list, rest = {}, {}
   if topo then
      list, rest = by_routes(matrix, topo, number, options)
   else
      for k, class in pairs(matrix.class) do
         if class == "low" then
            rest[#rest + 1] = k
         end
      end
      table.sort(rest)
   end
   local more, alone, unnamed
   more, rest = by_names(matrix, rest, options)
   table.move(more, 1, #more, #list + 1, list)
   alone, unnamed = single_pairs(matrix, rest, topo, number, options)
   table.move(alone, 1, #alone, #list + 1, list)
   for n, f in ipairs(list) do
      f.order = n
      findings.figures(matrix, f)
   end
   table.sort(list, function(one, other)
      return one.low > other.low or one.low == other.low and one.order < other.order
   end)
   return list, unnamed
end

return findings
