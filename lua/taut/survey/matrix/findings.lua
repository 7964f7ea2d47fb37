-- SPDX-License-Identifier: GPL-2.0-or-later
--- What is slow in a matrix, in the order of how many pairs it explains.
local cluster = require "taut.survey.matrix.cluster"
local blame = require "taut.survey.matrix.blame"
local hostlist = require "taut.hostlist"
local tables = require "taut.base.tables"

local findings = {}

local SINGLES = 16 -- pairs that nothing explains, and that are named

---------------------------------------------------------------- from routes

local function name_of(topo, stage)
   if type(stage) ~= "table" then
      return topo.components[stage]
   end
   local list = tables.map(stage, function(c) return topo.components[c] end)
   return table.concat(list, ", ")
end

-- Names, and for links the cable to look at.
local function from_routes(topo, e)
   local f = { kind = e.kind, pairs = e.pairs, clear = e.clear, tied = {}, parts = {},
      name = e.name or name_of(topo, e.key) }
   for i, c in ipairs(e.tied) do
      f.tied[i] = topo.components[c]
   end
   for i, c in ipairs(e.members or e.kind ~= "set" and { e } or {}) do
      f.parts[i] = topo.components[c.key]
   end
   if e.kind == "tx" or e.kind == "rx" then
      f.node = topo.nodes[topo:ends(e.key)[1]]
   elseif e.kind == "node" then
      f.node = e.name
   elseif e.kind == "link" or e.kind == "cable" then
      f.cable = topo:cable(topo.component_id[f.parts[1]])
   end
   return f
end

-- The link that most sets have in common; nil when no two share one.
local function common(list)
   local count, best = {}, nil
   for _, e in ipairs(list) do
      for _, c in ipairs(e.kind == "set" and e.key or {}) do
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
   local out, link = {}, common(list)
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

local function by_routes(m, topo, number, o)
   local explained, rest = blame.components(m, topo, number, o)
   local list = tables.map(join_sets(explained), function(e) return from_routes(topo, e) end)
   return list, rest
end

---------------------------------------------------------------- from rows and columns

local function names_of(m, rows)
   return tables.map(rows, function(r) return m.names[r] end)
end

local function from_cluster(m, e)
   local f = { pairs = e.pairs, clear = e.clear, tied = {}, parts = {} }
   if e.kind == "block" then
      f.kind = "block"
      f.from, f.to = names_of(m, e.rows), names_of(m, e.columns)
      f.name = ("%s to %s"):format(hostlist.compress(f.from), hostlist.compress(f.to))
   else
      f.kind, f.node = e.kind == "row" and "tx" or "rx", m.names[e.at]
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

local function by_names(m, rest, o)
   local list, clusters, left = {}, cluster.find(m, rest, o.pause)
   for i, e in ipairs(clusters) do
      list[i] = from_cluster(m, e)
   end
   return join_nodes(list), left
end

local function ratio_of(m, k)
   return m:ratio(m:at(k)) or 0
end

local function singles(m, rest, topo, number, o)
   table.sort(rest, function(a, b)
      local x, y = ratio_of(m, a), ratio_of(m, b)
      return x ~= y and x < y or x == y and a < b
   end)
   local list, named = {}, table.move(rest, 1, math.min(#rest, SINGLES), 1, {})
   local possible = topo and blame.possible(m, topo, number, named, o) or {}
   for n, k in ipairs(named) do
      local i, j = m:at(k)
      list[n] = { kind = "pair", pairs = { k }, clear = 0, tied = {}, parts = {},
         from = { m.names[i] }, to = { m.names[j] },
         name = ("%s to %s"):format(m.names[i], m.names[j]) }
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
function findings.figures(m, f)
   local ratios, bws, again = {}, {}, {}
   for _, k in ipairs(f.pairs) do
      local is_of_it = f.kind == "set" and m.class[k] == "low"
      if f.kind ~= "set" and m.again[k] or is_of_it then
         again[#again + 1] = k
      end
   end
   for _, k in ipairs(#again > 0 and again or f.pairs) do
      local i, j = m:at(k)
      ratios[#ratios + 1], bws[#bws + 1] = m:ratio(i, j), m.bw[k]
   end
   f.low, f.left, f.bw_Bps = #f.pairs, tables.median(ratios), tables.median(bws)
end

--- Find what is slow.
-- @param m matrix, judged
-- @param topo topology or nil; number = array: row → node number
-- @param o { clear_most, pause }
-- @return array of findings, the one that explains most first: { kind = "node", "tx", "rx",
--   "link", "cable", "router", "set", "block" or "pair", name, pairs = keys, low, clear,
--   tied = names, parts = component names, node, cable, from, to, left, bw_Bps };
--   how many slow pairs are not named
function findings.find(m, topo, number, o)
   o = { clear_most = o and o.clear_most or 0.95, pause = o and o.pause or function() end }
   local list, rest = {}, {}
   if topo then
      list, rest = by_routes(m, topo, number, o)
   else
      for k, class in pairs(m.class) do
         if class == "low" then
            rest[#rest + 1] = k
         end
      end
      table.sort(rest)
   end
   local more, alone, unnamed
   more, rest = by_names(m, rest, o)
   table.move(more, 1, #more, #list + 1, list)
   alone, unnamed = singles(m, rest, topo, number, o)
   table.move(alone, 1, #alone, #list + 1, list)
   for n, f in ipairs(list) do
      f.order = n
      findings.figures(m, f)
   end
   table.sort(list, function(a, b)
      return a.low ~= b.low and a.low > b.low or a.low == b.low and a.order < b.order
   end)
   return list, unnamed
end

return findings
