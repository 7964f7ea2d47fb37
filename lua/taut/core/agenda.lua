-- SPDX-License-Identifier: GPL-2.0-or-later
--- What plans are asked to decide, and which nodes an idle cycle calls for.
local loop = require "taut.loop"
local plan = require "taut.plan"
local tables = require "taut.base.tables"

local agenda = {}
local Agenda = {}
Agenda.__index = Agenda

local HELPERS = 12    -- nodes that an idle cycle calls for, for each component it wants tested
local STALE = 32      -- components an idle cycle tests because nothing else reached them
local LOOK_AGAIN_S = 5 -- hundreds of idle nodes ask within a few seconds

local function add(list, has, c, streams)
   if not has[c] then
      has[c] = true
      list[#list + 1] = { component = c, tests = 1, streams = streams }
   end
end

-- What is slow already may be well again.  Several streams would hide that something still loses.
local function add_decided(self, list, has)
   for _, v in ipairs(self.diagnosis:verdicts()) do
      add(list, has, v.component, v.is_losing and 1 or nil)
   end
end

-- What no test has reached for `coverage_h`: some at a time, since not all can be reached by the
-- nodes that are idle now.  The store keeps when each was tested, and when tautd started first: a
-- restart changes nothing.
local function add_stale(self, list, has, now)
   local oldest = now - self.site.conf.checks.coverage_h * 3600
   local found = self.coverage:stale(oldest, self.stale_from or 1, STALE)
   self.stale_from = #found == STALE and found[STALE] + 1 or 1
   local is_new = self.since >= oldest -- jobs have not had their time to test all
   for _, c in ipairs(found) do
      if self.site.topo:is_there(c) and not (is_new and self.coverage:tested(c) == 0) then
         add(list, has, c)
      end
   end
end

-- Nobody can say for each of hundreds of HELLOs anew what an idle cycle is about.
local function remembered(self, name, now, fn)
   local kept = self.memo[name]
   if not kept or now - kept.at > LOOK_AGAIN_S or now < kept.at then
      kept = { at = now, value = fn() }
      self.memo[name] = kept
   end
   return kept.value
end

local function idle_wants(self, list, has, now)
   return remembered(self, "idle_wants", now, function()
      add_decided(self, list, has)
      add_stale(self, list, has, now)
      return list
   end)
end

--- Suspects and what somebody marked (`taut verify`); in idle cycles also what is slow already and
-- what no test has reached for `coverage_h`.
function Agenda:wanted(purpose)
   local now, has, suspects = loop.time(), {}, self.diagnosis:wanted()
   if purpose ~= "idle" and #self.marks:wanted(now, has) == 0 then
      return suspects
   end
   local list = table.move(suspects, 1, #suspects, 1, {})
   for _, w in ipairs(list) do
      has[w.component] = true
   end
   for _, w in ipairs(self.marks:wanted(now, has)) do
      has[w.component] = true
      list[#list + 1] = w
   end
   return purpose == "idle" and idle_wants(self, list, has, now) or list
end

-- Numbers of the nodes that could take part in an idle cycle, ascending.
local function idle_now(self)
   local list, id = {}, self.site.topo.node_id
   for _, name in ipairs(self.cluster:for_idle_cycles()) do
      list[#list + 1] = id[name]
   end
   table.sort(list)
   return list
end

-- Of the nodes in `nodes`, those that tests of `list` want.
local function helpers(self, nodes, list)
   local components = tables.map(list, function(w) return w.component end)
   return tables.keys(plan.helpers({ topology = self.site.topo, coverage = self.coverage,
      nodes = nodes },
      components, HELPERS))
end

--- Nodes that an idle cycle waits for: for each component it wants tested the idle ones that can,
-- the nearest first.
function Agenda:idle_nodes()
   return remembered(self, "idle_called", loop.time(), function()
      return helpers(self, idle_now(self), self:wanted "idle")
   end)
end

local function free_nodes(self)
   return tables.map(self.site.topo.nodes, function(name, n)
      return self.cluster:is_free(name) and n or nil
   end)
end

--- Free nodes on which a job would test component c: for `taut verify --now`.
-- @return array of node numbers, ascending; fewer than two cannot
function Agenda:verify_nodes(c)
   return helpers(self, free_nodes(self), { { component = c } })
end

--- Free nodes that can test all links of router r, and its nodes: for `taut verify leaf1`.
-- @return array of node numbers, ascending
function Agenda:router_nodes(r)
   local topo, list = self.site.topo, {}
   for _, c in ipairs(topo:links_of(r)) do
      list[#list + 1] = { component = c }
      list[#list + 1] = topo:opposite(c) and { component = topo:opposite(c) } or nil
   end
   for _, n in ipairs(topo:on_router(r)) do
      list[#list + 1] = { component = topo:ports(n, r)[1] }
   end
   return helpers(self, free_nodes(self), list)
end

--- tautd's database has been in use since then, seconds since 1970.
function Agenda:used_since(time)
   self.since = math.min(self.since, time)
end

--- @param o { site, diagnosis, coverage, cluster, marks (plan/verify.lua), started_at }
function agenda.new(o)
   return setmetatable({ site = o.site, diagnosis = o.diagnosis, coverage = o.coverage,
      cluster = o.cluster, marks = o.marks, memo = {}, since = o.started_at }, Agenda)
end

return agenda
