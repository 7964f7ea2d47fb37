-- SPDX-License-Identifier: GPL-2.0-or-later
--- What a verdict asks for: whom to drain, or to avoid the component, or to tell somebody.
--
-- A verdict is a table: c (component number), state ("slow", "failed", "lossy"), left (0 … 1; of a
-- lossy one the share of one stream), loss (share of the packets that a lossy one loses), since.
-- `may_be_load`: nothing excludes that others fill this link, so no node is drained for it. `whole`
-- ({ kind, of, n, total }): more than a component is slow, such as a throttled cabinet, and its
-- nodes are not the cause.
local report = require "taut.report"
local tables = require "taut.base.tables"
local site = require "taut.policy.site"
local slow_whole = require "taut.report.slow_whole"

local measure = {}

local WORDS = { drain = true, avoid = true, alert = true, watch = true }

--- How bad it is, 0 … 1: what is missing of the capacity.
function measure.severity(verdict)
   if verdict.state == "failed" then
      return 1
   end
   return 1 - (verdict.left or 1)
end

-- Nodes affected by a link without dependent nodes, by the site's setting.
local function of_link(topo, c, settings)
   if settings.router_link == "drain_exposed" then
      return topo:exposed(c)
   elseif settings.router_link == "drain" then
      return topo:ends(c)
   end
   return nil
end

-- Does what is lost cost a stream little, and is it less than the site bears?
local function loses_little(verdict, settings)
   return verdict.state == "lossy" and (verdict.left or 1) > settings.drain_left
      and (verdict.loss or 0) <= settings.loss_drain
end

-- What the settings say.
local function by_settings(topo, verdict, settings)
   if verdict.whole then
      return "alert", {}, slow_whole.text(verdict.whole) .. "; not its nodes' fault"
   elseif loses_little(verdict, settings) then
      return "alert", {}, ("one stream keeps %d%% of its rate, and no more than %g%% are lost "
         .. "(drain_left, loss_drain)"):format(math.floor(100 * (verdict.left or 1) + 0.5),
         100 * settings.loss_drain)
   elseif verdict.state == "slow" and (verdict.left or 1) > settings.drain_left then
      return report.text_if(topo:is_link(verdict.c), "avoid", "alert"), {},
         ("more than %d%% is left (drain_left)"):format(math.floor(settings.drain_left * 100 + 0.5))
   end
   if verdict.may_be_load and topo:is_link(verdict.c) then
      return "avoid", {}, "nothing excludes that somebody's job fills it"
   end
   -- whoever needs what loses is behind it: no rate of several streams shows what it does to one
   local left = verdict.left or 1
   if verdict.state == "failed" or verdict.state == "lossy" then
      left = 0
   end
   local nodes = topo:behind(verdict.c, left)
   if #nodes == 0 then
      nodes = of_link(topo, verdict.c, settings)
      if not nodes or #nodes == 0 then
         return "avoid", {}
      end
   end
   if #nodes > settings.nodes_per_component then
      return "alert", {}, ("%d nodes concerned, more than nodes_per_component = %d"):format(#nodes,
         settings.nodes_per_component)
   end
   return "drain", nodes
end

-- The verdict as a site's function sees it: names, no numbers of ours.
local function for_site(topo, verdict, what, nodes)
   local names = tables.map(nodes, function(node) return topo.nodes[node] end)
   return { component = topo.components[verdict.c], kind = topo:kind(verdict.c),
      class = topo:class(verdict.c),
      place = topo:place(verdict.c), cable = topo:cable(verdict.c),
         is_link = topo:is_link(verdict.c),
      state = verdict.state, left = verdict.left, since = verdict.since, measure = what,
         nodes = names }
end

-- Node numbers of a list of names; nil and what is wrong.
local function node_numbers(topo, list)
   if type(list) ~= "table" then
      return nil, "measure: expected a list of nodes after the word"
   end
   local out = {}
   for i, name in ipairs(list) do
      out[i] = topo.node_id[name]
      if not out[i] then
         return nil, ("measure: node '%s' is not in the topology"):format(tostring(name))
      end
   end
   return out
end

local function by_site(topo, verdict, settings, what, nodes)
   local ok, word, list = site.call(settings.measure, for_site(topo, verdict, what, nodes))
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
      nodes, err = node_numbers(topo, list)
      if not nodes then
         return nil, err
      end
   elseif #nodes == 0 then
      nodes = topo:ends(verdict.c)
   end
   if #nodes > settings.nodes_per_component then
      return "alert", {}
   end
   return "drain", nodes
end

--- What follows from a verdict.
-- @param topo topology
-- @param verdict verdict
-- @param settings the `policy` section
-- @return "drain", "avoid", "alert" or "watch"; nodes to drain (numbers); why, where that needs
--   saying, or what a site's function did wrong
function measure.of(topo, verdict, settings)
   local what, nodes, why = by_settings(topo, verdict, settings)
   if settings.measure then
      local mine, list = by_site(topo, verdict, settings, what, nodes)
      if not mine then
         return "alert", {}, list
      end
      if mine == what then
         return mine, list, why
      end
      return mine, list
   end
   return what, nodes, why
end

return measure
