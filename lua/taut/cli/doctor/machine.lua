-- SPDX-License-Identifier: GPL-2.0-or-later
--- The topology against what Slurm, traces and sweeps say of the machine.
local report = require "taut.report"
local tables = require "taut.base.tables"

local SHARE = 0.02 -- of answers that may come from elsewhere: routes change while they are asked

local function names_of(nodes)
   if nodes.count > 20 then
      return ("%s and %d more"):format(nodes.list, nodes.count - 20)
   end
   return nodes.list
end

local function links_are(count)
   return report.count(count, "link") .. report.text_if(count == 1, " is", " are")
end

local function against_slurm(facts, say)
   local n = facts.nodes
   if n.not_in_slurm.count > 0 and facts.slurm.known then
      say("look", "topology", ("has %s that Slurm does not have: %s"):format(report.count(
         n.not_in_slurm.count, "node"), names_of(n.not_in_slurm)), "`topology` in taut.lua, or " ..
         "slurm.conf; `taut topology check`")
   end
   if n.not_in_topology.count > 0 then
      say("look", "topology", ("lacks %s that Slurm has, never tested: %s"):format(
         report.count(n.not_in_topology.count, "node"), names_of(n.not_in_topology)),
         "`topology` in taut.lua, if they are on this interconnect")
   end
   if n.lacks_rails and n.lacks_rails.count > 0 then
      say("look", "rails", ("%s lacked an adapter when the fabric was described: %s")
         :format(report.count(n.lacks_rails.count, "node"), names_of(n.lacks_rails)),
         "`taut topology check` lists them; once they are back, import the fabric again")
   end
   if n.lost_rails and n.lost_rails.count > 0 then
      local l = n.lost_rails
      local what = ("%d nodes cannot use an interface, the first"):format(l.count)
      if l.count == 1 then
         what = "1 node cannot use its interface"
      end
      say("look", "rails", ("%s %s (rail %d), where nothing is tested: %s"):format(what,
         l.interface or "?", l.rail, names_of(l)),
         "the node's log says why, once since its boot (`ip -br addr`, `interface=`); where it " ..
         "has no such adapter, take its rail out of `topology`")
   end
   if n.away and n.away.count > 0 then
      say("ok", "topology", ("%s of `dynamic` away: %s"):format(report.count(n.away.count, "node"),
         names_of(n.away)))
   end
   if n.not_in_slurm.count + n.not_in_topology.count == 0 then
      local away = tables.or_empty(n.away).count or 0
      say("ok", "topology", ("the %d nodes%s are the same as in Slurm"):format(n.all - away,
         report.text_if(away > 0, " that are here")))
   end
end

local function odd_answer(traces, pattern)
   for _, o in ipairs(traces.odd) do
      if o.text:find(pattern) then
         return o.text
      end
   end
   return "?"
end

local function against_traces(facts, say)
   local t = facts.traces
   if not t.asked or t.answers == 0 then
      return
   elseif t.elsewhere > SHARE * t.answers then
      say("mend", "traces", ("%d of %d answers came from routers that are not on the way; for " ..
         "one: %s"):format(t.elsewhere, t.answers, odd_answer(t, "not by it")),
         "the wiring or the " ..
         "routing of `topology` is not that of the machine: import it again (taut topology import)")
   elseif t.unknown > SHARE * t.answers then
      say("look", "traces", ("%d of %d answers came from addresses that are not in the topology " ..
         "have; for one: %s"):format(t.unknown, t.answers, odd_answer(t, "does not have")),
         "topology.addresses in taut.lua(5)")
   elseif (t.torn or 0) > SHARE * t.answers then
      say("look", "traces", ("%d of %d answers came from routers that no link is between; for " ..
         "one: %s"):format(t.torn, t.answers, odd_answer(t, "no link is between")),
         "a router answers with another router's address: look at it.  Such tests name a set of " ..
         "links, not one link")
   else
      say("ok", "traces", ("%d answers of routers fit the topology"):format(t.answers -
         t.elsewhere - t.unknown))
   end
end

-- Sets of links: without addresses it is not known which link of a set is slow.
local function addresses(facts, say)
   local s = facts.sets or { links = 0, unnamed = { count = 0 } }
   if s.links > 0 and s.adaptive == s.count then
      say("look", "routing", ("is adaptive: %s tested in %s only, so that a slow one is called " ..
         "\"one of %s\""):format(links_are(s.links),
         report.count(s.count, "set"), s.first or "?"), "on InfiniBand tests on a service " ..
         "level with tables (`routing` in taut.lua(5)) know their link; else what a sweep's " ..
         "counters (`fabric` there) or a log say of one of a slow set names it")
   elseif s.links > 0 then
      say("look", "addresses", ("are missing: %s tested in %s only, so that a slow one is " ..
         "called \"one of %s\""):format(links_are(s.links),
         report.count(s.count, "set"), s.first or "?"), "topology.addresses in taut.lua(5): the " ..
         "address of each port of the switches, from their configuration")
   elseif s.unnamed.count > 0 then
      say("look", "addresses", ("are missing: %s"):format(names_of(s.unnamed)),
         "topology.addresses in taut.lua(5)")
   end
end

local function against_sweep(facts, say)
   local s = facts.sweep
   if not s then
      return
   elseif s.error then
      return say("look", "sweep", "the sweep has no links: " .. s.error,
         "`taut fabric check`; fabric.device in taut.lua(5)")
   elseif s.cables == 0 then
      return say("mend", "sweep", "it shows no cable between two switches of the topology: they " ..
         "have other names", "fabric.names in taut.lua(5): the node-name map of the import")
   end
   for i = 1, math.min(3, #s.differ) do
      local f, more = s.differ[i], ""
      if i == 3 and s.count > 3 then
         more = ("; %d more pairs differ"):format(s.count - 3)
      end
      say("look", "sweep", ("%s: %d cables in the topology, %d swept%s"):format(f.text, f.topology,
         f.swept, more), "repair the cable, or import the wiring again (taut topology import)")
   end
   if s.moved.count > 0 then
      say("mend", "sweep", ("on another switch than in the topology: %s"):format(names_of(s.moved)),
         "import the wiring again (taut topology import)")
   end
   if s.count + s.moved.count == 0 then
      say("ok", "sweep", ("%d cables between switches, as in the topology"):format(s.cables))
   end
end

return function(facts, say)
   against_slurm(facts, say)
   addresses(facts, say)
   against_traces(facts, say)
   against_sweep(facts, say)
end
