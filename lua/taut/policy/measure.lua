-- SPDX-License-Identifier: GPL-2.0-or-later
--- What a verdict asks for: whom to drain, or to avoid the component, or to tell somebody.
--
-- A verdict is a table: c (component number), state ("slow", "failed", "lossy"), left (0 … 1; of a
-- lossy one what one stream gets), loss (share of the packets that a lossy one loses), since;
-- may_be_load (nothing excludes that others fill this link: then nobody loses a node for it); and
-- where diagnosis found that more than a component is slow, `whole` ({ kind, of, n, total }: a
-- cabinet that is throttled), which is never its nodes' fault.
local tables = require "taut.base.tables"
local site = require "taut.policy.site"
local slow_whole = require "taut.report.slow_whole"

local measure = {}

local WORDS = { drain = true, avoid = true, alert = true, watch = true }

--- How bad it is, 0 … 1: what is missing of the capacity.
function measure.severity(v)
   return v.state == "failed" and 1 or 1 - (v.left or 1)
end

-- Nodes that lose by a link nobody is behind, as the site wants it.
local function of_link(topo, c, s)
   if s.router_link == "drain_exposed" then
      return topo:exposed(c)
   elseif s.router_link == "drain" then
      return topo:ends(c)
   end
   return nil
end

-- Does what is lost cost a stream little, and is it less than the site bears?
local function loses_little(v, s)
   return v.state == "lossy" and (v.left or 1) > s.drain_left and (v.loss or 0) <= s.loss_drain
end

-- What the settings say.
local function by_settings(topo, v, s)
   if v.whole then
      return "alert", {}, slow_whole.text(v.whole) .. "; not its nodes' fault"
   elseif loses_little(v, s) then
      return "alert", {}, ("one stream keeps %d%% of its rate, and no more than %g%% are lost "
         .. "(drain_left, loss_drain)"):format(math.floor(100 * (v.left or 1) + 0.5),
         100 * s.loss_drain)
   elseif v.state == "slow" and (v.left or 1) > s.drain_left then
      return topo:is_link(v.c) and "avoid" or "alert", {},
         ("more than %d%% is left (drain_left)"):format(math.floor(s.drain_left * 100 + 0.5))
   end
   if v.may_be_load and topo:is_link(v.c) then
      return "avoid", {}, "nothing excludes that somebody's job fills it"
   end
   -- whoever needs what loses is behind it: no rate of several streams shows what it does to one
   local is_whole = v.state == "failed" or v.state == "lossy"
   local nodes = topo:behind(v.c, is_whole and 0 or v.left or 1)
   if #nodes == 0 then
      nodes = of_link(topo, v.c, s)
      if not nodes or #nodes == 0 then
         return "avoid", {}
      end
   end
   if #nodes > s.nodes_per_component then
      return "alert", {}, ("%d nodes concerned, more than nodes_per_component = %d"):format(#nodes,
         s.nodes_per_component)
   end
   return "drain", nodes
end

-- The verdict as a site's function sees it: names, no numbers of ours.
local function for_site(topo, v, what, nodes)
   local names = tables.map(nodes, function(n) return topo.nodes[n] end)
   return { component = topo.components[v.c], kind = topo:kind(v.c), class = topo:class(v.c),
      place = topo:place(v.c), cable = topo:cable(v.c), is_link = topo:is_link(v.c),
      state = v.state, left = v.left, since = v.since, measure = what, nodes = names }
end

-- Node numbers of a list of names; nil and what is wrong.
local function numbers(topo, list)
   if type(list) ~= "table" then
      return nil, "measure: expected a list of nodes after the word"
   end
   local out = {}
   for i, name in ipairs(list) do
      out[i] = topo.node_id[name]
      if not out[i] then
         return nil, ("measure: '%s' is no node of the topology"):format(tostring(name))
      end
   end
   return out
end

local function by_site(topo, v, s, what, nodes)
   local ok, word, list = site.call(s.measure, for_site(topo, v, what, nodes))
   if not ok then
      return nil, "measure: " .. word
   elseif word == nil then
      return what, nodes
   elseif not WORDS[word] then
      return nil, ("measure: expected drain, avoid, alert, watch or nil, got '%s'"):format(
         tostring(word):sub(1, 40))
   elseif word ~= "drain" then
      return word, {}
   elseif list ~= nil then
      local err
      nodes, err = numbers(topo, list)
      if not nodes then
         return nil, err
      end
   elseif #nodes == 0 then
      nodes = topo:ends(v.c)
   end
   if #nodes > s.nodes_per_component then
      return "alert", {}
   end
   return "drain", nodes
end

--- What follows from a verdict.
-- @param topo topology
-- @param v verdict
-- @param s the `policy` section
-- @return "drain", "avoid", "alert" or "watch"; nodes to drain (numbers); why, where that needs
--   saying, or what a site's function did wrong
function measure.of(topo, v, s)
   local what, nodes, why = by_settings(topo, v, s)
   if s.measure then
      local mine, list = by_site(topo, v, s, what, nodes)
      if not mine then
         return "alert", {}, list
      end
      return mine, list, mine == what and why or nil
   end
   return what, nodes, why
end

return measure
