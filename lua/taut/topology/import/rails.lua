-- SPDX-License-Identifier: GPL-2.0-or-later
--- Which rail each adapter of a host is, where hosts have several.
--
-- A host lists its adapters in order, but one that is missing must not move the others up: the
-- interface k of a node is its rail k.  What a whole host has, most hosts show: the names of the
-- adapters, and, where each rail has leaves of its own, the leaf that the peers of that rank are
-- on.  The leaf is the better witness: a kernel may count the adapters that are left anew.
local report = require "taut.report"
local tables = require "taut.base.tables"

local rails = {}

local function signature(host)
   local labels = {}
   for i, p in ipairs(host.ports) do
      labels[i] = p.label
   end
   return table.concat(labels, " ")
end

-- Hosts by what their adapters are called: the kinds, most hosts first.
local function kinds_of(hosts)
   local at, list = {}, {}
   for _, h in ipairs(hosts) do
      local key = signature(h)
      local kind = at[key]
      if not kind then
         kind = { key = key, hosts = {}, size = #h.ports }
         at[key], list[#list + 1] = kind, kind
      end
      table.insert(kind.hosts, h)
   end
   for i, kind in ipairs(list) do
      kind.place = i
   end
   table.sort(list, function(one, other)
      return #one.hosts > #other.hosts or #one.hosts == #other.hosts and one.place < other.place
   end)
   return list
end

-- Of a kind: router → the one rank whose adapters are on it; nil where ranks share leaves.
local function leaves_of(kind)
   local rank = {}
   for _, h in ipairs(kind.hosts) do
      for k, p in ipairs(h.ports) do
         local r = p.rail.router
         if (rank[r] or k) ~= k then
            return nil
         end
         rank[r] = k
      end
   end
   return rank
end

local function labels_of(kind)
   local at = {}
   for k, p in ipairs(kind.hosts[1].ports) do
      at[p.label] = k
   end
   return at
end

-- Rank of each port of a host; nil where one has none, or two have the same.
local function ranks_of(host, rank_of)
   local list, taken = {}, {}
   for i, p in ipairs(host.ports) do
      local k = rank_of(p)
      if not k or taken[k] then
         return nil
      end
      list[i], taken[k] = k, true
   end
   return list
end

-- Is it of this kind, but for adapters that are missing?  Then the rank of each of its ports.
local function ranks_within(host, kind)
   if kind.size <= #host.ports or kind.size > 2 * #host.ports then
      return nil
   end
   if kind.leaves == nil then
      kind.leaves = leaves_of(kind) or false
   end
   kind.labels = kind.labels or labels_of(kind)
   local by_leaves = kind.leaves and ranks_of(host, function(port)
      return kind.leaves[port.rail.router]
   end)
   return by_leaves or ranks_of(host, function(port) return kind.labels[port.label] end)
end

-- An adapter that names no host, on a leaf where the missing one would be: the only one there.
local function stranger_at(strangers, kind, rank)
   local found
   for _, s in ipairs(strangers) do
      if kind.leaves and #s.ports == 1 and kind.leaves[s.ports[1].rail.router] == rank then
         if found then
            return nil
         end
         found = s
      end
   end
   return found
end

local function settle_host(src, host, kind, list, strangers)
   local placed, missing, empty = {}, {}, {}
   for k = 1, kind.size do
      placed[k] = false
   end
   for i, k in ipairs(list) do
      placed[k] = host.ports[i].rail
   end
   for k = 1, kind.size do
      if not placed[k] then
         local s = stranger_at(strangers, kind, k)
         empty[#empty + 1] = k
         missing[#missing + 1] = kind.hosts[1].ports[k].label ..
            report.text_with(" (perhaps ", s and s.name, ", which names no host)")
      end
   end
   src:note(host.line, report.text_if(#missing == 1,
      "%s has %d of %d adapters, %s is missing: rail %s stays empty",
      "%s has %d of %d adapters, %s are missing: rails %s stay empty"), host.name, #host.ports,
      kind.size, table.concat(missing, ", "), table.concat(empty, ", "))
   return placed
end

--- Rails of all hosts.
-- @param src what is read, for notes
-- @param hosts array of { name, line, is_named, ports = array of { label, rail } in the order of
--   device and port }; each gets `rails`, with false for one that is missing
function rails.settle(src, hosts)
   local named, strangers = {}, {}
   for _, h in ipairs(hosts) do
      if h.is_named then
         named[#named + 1] = h
      else
         strangers[#strangers + 1] = h
      end
   end
   local kinds = kinds_of(named)
   for _, h in ipairs(hosts) do
      local own
      for _, kind in ipairs(tables.or_empty(h.is_named and kinds)) do
         own = own or (kind.key == signature(h) and kind)
      end
      for _, kind in ipairs(tables.or_empty(h.is_named and #h.ports > 0 and kinds)) do
         local list = #kind.hosts > #own.hosts and ranks_within(h, kind)
         if list then
            h.rails = settle_host(src, h, kind, list, strangers)
            break
         end
      end
      if not h.rails then
         h.rails = {}
         for i, p in ipairs(h.ports) do
            h.rails[i] = p.rail
         end
      end
   end
end

return rails
