-- SPDX-License-Identifier: GPL-2.0-or-later
--- Groups that are slow as a whole: no member alone is the cause.
--
-- A leaf or a cabinet whose nodes are all low at once is throttled or has a contended uplink. A
-- class of components of which most are low at once had a change of driver, firmware or routing.
-- Nodes that were never better, and are all alike, are of a kind that is not configured.
local cabinets = require "taut.topology.cabinets"
local evidence = require "taut.evidence"

local whole_groups = {}

local DAY = 86400

local function name_cabinet(name)
   local p = cabinets.parse(name)
   if p then
      return ("cabinet c%d-%d"):format(p.column, p.row)
   end
   return nil
end

--- The group a node belongs to: its cabinet where that can be told, else its router (leaf).
-- @param rail of several fabrics: that of one of them; each has groups of its own
function whole_groups.group_of(topo, node, rail)
   local r = topo:router(node, topo.fabrics and rail or 1)
   if topo.fabrics then
      return r and "leaf " .. topo.router_name[r]
   end
   return name_cabinet(topo.nodes[node]) or topo.layout and name_cabinet(topo.layout.cname(r))
      or (topo.kind_name == "torus" and "router " or "leaf ") .. topo.router_name[r]
end

-- Nodes by group, made once.
local function list_members(self, group)
   local topo = self.topo
   if self.groups_of ~= topo then
      self.groups_of, self.groups = topo, {}
      for rail = 1, topo.fabrics and topo.rails or 1 do
         for n in ipairs(topo.nodes) do
            local name = whole_groups.group_of(topo, n, rail) or ""
            self.groups[name] = self.groups[name] or {}
            table.insert(self.groups[name], n)
         end
      end
   end
   return self.groups[group]
end

-- Is the component of a node that corresponds to this one low?
local function is_peer_low(self, component, node)
   local own = self.topo:node_of(component)
   local other = component + 2 * (node - own)
   return self.evidence:low(other) >= evidence.OPEN
      and self.evidence:score(other) >= self.s.suspect_score / 2,
      self.evidence:tested(other) > -math.huge
end

-- The group of a node's tx or rx, when nearly all in it are low.
local function find_slow_group(self, component)
   local s, name = self.s, whole_groups.group_of(self.topo, self.topo:node_of(component))
   local tested, low = 0, 0
   for _, n in ipairs(list_members(self, name)) do
      local yes, was = is_peer_low(self, component, n)
      if was then
         tested = tested + 1
      end
      if yes then
         low = low + 1
      end
   end
   if tested >= s.group_nodes and low >= s.group_share * tested then
      return { kind = "group", of = name, n = low, total = tested }
   end
   return nil
end

-- Most of the components of one class at once; `component` is one of them.
local function find_change(self, component, now)
   local s = self.s
   local n = self.evidence:changed(component, now - DAY, s.suspect_score, s.machine_least,
      s.machine_share)
   if n then
      return { kind = "change", of = self.topo:class(n.component), n = n.low, total = n.tested,
         component = n.component }
   end
   return nil
end

-- Only of nodes: links are made as configured, and one that was never seen well is one that no
-- test has reached on a quiet day.
local function find_new_kind(self, component, now)
   if not self.topo:node_of(component) or self.evidence:cleared(component) > -math.huge then
      return nil
   end
   local alike = self.evidence:alike(component, now - DAY, self.s.ceiling)
   if alike >= self.s.new_least then
      return { kind = "new", of = self.topo:class(component), n = alike }
   end
   return nil
end

-- Is it of the class that changed everywhere?
local function is_of_change(self, component)
   local w = self.machine_wide
   return w and self.evidence:class(component) == self.evidence:class(w.component)
end

local function note_change(self, found, now)
   self.machine_wide, self.machine_wide_at = found, now
end

local COMPANY = 3 -- links of a switch at one ceiling that are not coincidence

--- Links of one switch that are at the ceiling of a link in the same spells: a cable is one alone.
-- @return { kind = "bundle" where they lead to one router, "links" where nearly all of them are,
--   else "level"; way = "out of", "into" or, of a bundle, "from"; of = the router or both; n,
--   total }, or nil
function whole_groups.company(self, component)
   local y = self.topo:is_link(component) and self.evidence:company(component,
      math.ceil(self.s.slow_spells))
   if not y or y.low < COMPANY then
      return nil
   end
   local from, to = self.topo:from(component), self.topo:to(component)
   if y.beside == y.low then
      return { kind = "bundle", way = "from", n = y.low, total = #self.topo:links_between(from, to),
         of = self.topo.router_name[from] .. " to " .. self.topo.router_name[to] }
   end
   return { kind = y.low >= self.s.group_share * y.tested and "links" or "level", n = y.low,
      total = math.max(y.tested, y.low),
      way = y.is_out and "out of" or "into", of = self.topo.router_name[y.router] }
end

--- Why a component is not to be named for itself.
-- Sets self.machine_wide when a class has changed everywhere.  Then every test crosses what has
-- changed, and none shows another component alone.
-- @return what it is part of, { kind = "group" | "change" | "new", of = name of the group or class,
--   n = how many of it are low, total }, or nil; report/slow_whole.lua says it
-- @return what else there is everywhere, so that it has to wait, likewise, or nil
function whole_groups.reason(self, component, now)
   if not is_of_change(self, component) then
      local found = find_change(self, component, now)
      if found and not (self.machine_wide
         and self.evidence:class(found.component) ~= self.evidence:class(component)) then
         note_change(self, found, now)
      end
   end
   if is_of_change(self, component) then
      return self.machine_wide
   end
   return self.topo:node_of(component) and find_slow_group(self, component)
      or find_new_kind(self, component, now), self.machine_wide
end

--- Is the machine-wide change over?  Looked at every few minutes.
function whole_groups.review(self, now)
   if not self.machine_wide or now - self.machine_wide_at < 300 then
      return
   end
   self.machine_wide_at = now
   local found = find_change(self, self.machine_wide.component, now)
   if not found then
      self.machine_wide = nil
      for c = 1, #self.topo.components do -- what came and went meanwhile was that
         self.evidence:forget_bouts(c)
      end
   elseif not is_of_change(self, found.component) then
      note_change(self, found, now)
   end
end

---------------------------------------------------------------- verdicts that belong together

local function are_all_decided(self, list)
   local n = 0
   for _, c in ipairs(list) do
      if self:is_decided(c) then
         n = n + 1
      end
   end
   return n == #list and n > 1
end

-- All links of a router, both ways.
local function list_links(topo, router)
   local list = topo:links_of(router)
   for i = 1, #list do
      list[#list + 1] = topo:opposite(list[i])
   end
   return list
end

--- What a slow component is a part of, all of which is slow or failed.
-- @return "node", "router", "cable" or "bundle", and a router's name; nil when it stands for itself
function whole_groups.part_of(self, component)
   local topo = self.topo
   local both = { component, topo:opposite(component) }
   if topo:node_of(component) then
      if are_all_decided(self, both) then
         return "node"
      end
      return nil
   end
   for _, r in ipairs { topo:from(component), topo:to(component) } do
      local all = list_links(topo, r)
      if #all > 2 and are_all_decided(self, all) then
         return "router", topo.router_name[r]
      end
   end
   if are_all_decided(self, topo:links_between(topo:from(component), topo:to(component))) then
      return "bundle"
   end
   if are_all_decided(self, both) then
      return "cable"
   end
   return nil
end

return whole_groups
