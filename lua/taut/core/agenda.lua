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

local function want_test(list, has, component, streams)
   if not has[component] then
      has[component] = true
      list[#list + 1] = { component = component, tests = 1, streams = streams }
   end
end

-- What is slow already may be well again.  Several streams would hide that something still loses.
local function want_decided(self, list, has)
   for _, v in ipairs(self.diagnosis:verdicts()) do
      want_test(list, has, v.component, v.is_losing and 1 or nil)
   end
end

-- What no test has reached for `coverage_h`: some at a time, since not all can be reached by the
-- nodes that are idle now.  The store keeps when each was tested, and when tautd started first: a
-- restart changes nothing.
local function want_stale(self, list, has, now)
   local oldest = now - self.site.conf.checks.coverage_h * 3600
   local found = self.coverage:stale(oldest, self.stale_from or 1, STALE)
   self.stale_from = 1
   if #found == STALE then
      self.stale_from = found[STALE] + 1
   end
   local is_new = self.since >= oldest -- jobs have not had their time to test all
   for _, c in ipairs(found) do
      if self.site.topo:is_there(c) and not (is_new and self.coverage:tested(c) == 0) then
         want_test(list, has, c)
      end
   end
end

-- Nobody can say for each of hundreds of HELLOs anew what an idle cycle is about.
local function recall_or_make(self, name, now, fn)
   local kept = self.memo[name]
   if not kept or now - kept.at > LOOK_AGAIN_S or now < kept.at then
      kept = { at = now, value = fn() }
      self.memo[name] = kept
   end
   return kept.value
end

local function add_idle_wants(self, list, has, now)
   return recall_or_make(self, "idle_wants", now, function()
      want_decided(self, list, has)
      want_stale(self, list, has, now)
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
   if purpose == "idle" then
      return add_idle_wants(self, list, has, now)
   end
   return list
end

-- Numbers of the nodes that could take part in an idle cycle, ascending.
local function list_idle_nodes(self)
   local list, id = {}, self.site.topo.node_id
   for _, name in ipairs(self.cluster:for_idle_cycles()) do
      list[#list + 1] = id[name]
   end
   table.sort(list)
   return list
end

-- Of the nodes in `nodes`, those that tests of `list` want.
local function choose_helpers(self, nodes, list)
   local components = tables.map(list, function(want) return want.component end)
   return tables.keys(plan.helpers({ topology = self.site.topo, coverage = self.coverage,
      nodes = nodes },
      components, HELPERS))
end

--- Nodes that an idle cycle waits for: for each component it wants tested the idle ones that can,
-- the nearest first.
function Agenda:idle_nodes()
   return recall_or_make(self, "idle_called", loop.time(), function()
      return choose_helpers(self, list_idle_nodes(self), self:wanted "idle")
   end)
end

local function list_free_nodes(self)
   return tables.map(self.site.topo.nodes, function(name, node)
      if self.cluster:is_free(name) then
         return node
      end
      return nil
   end)
end

--- Free nodes on which a job would test a component: for `taut verify --now`.
-- @return array of node numbers, ascending; fewer than two cannot
function Agenda:verify_nodes(component)
   return choose_helpers(self, list_free_nodes(self), { { component = component } })
end

--- Free nodes that can test all links of a router, and its nodes: for `taut verify leaf1`.
-- @return array of node numbers, ascending
function Agenda:router_nodes(router)
   local topo, list = self.site.topo, {}
   for _, c in ipairs(topo:links_of(router)) do
      list[#list + 1] = { component = c }
      if topo:opposite(c) then
         list[#list + 1] = { component = topo:opposite(c) }
      end
   end
   for _, n in ipairs(topo:on_router(router)) do
      list[#list + 1] = { component = topo:ports(n, router)[1] }
   end
   return choose_helpers(self, list_free_nodes(self), list)
end

--- tautd's database has been in use since then, seconds since 1970.
function Agenda:used_since(time)
   self.since = math.min(self.since, time)
end

--- @param options { site, diagnosis, coverage, cluster, marks (plan/verify.lua), started_at }
function agenda.new(options)
   return setmetatable({ site = options.site, diagnosis = options.diagnosis,
      coverage = options.coverage, cluster = options.cluster, marks = options.marks, memo = {},
      since = options.started_at }, Agenda)
end

return agenda
