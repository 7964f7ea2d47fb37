-- SPDX-License-Identifier: GPL-2.0-or-later
--- Nodes and users that flood tautd, invent jobs, or name others' addresses, as in `taut status`,
-- with remedies.
local report = require "taut.report"

local FLOOD = "`ss -tnp` on that host, or that user's processes, say who keeps calling.  Others " ..
   "are served first"
local INVENTED = "look at that node: its root reports prologs of jobs that Slurm never started " ..
   "there.  They are ignored; drain a compromised node by hand"
local ENDPOINT = "on that node: the interface of node.conf or the plugstack line; or " ..
   "rail_networks in taut.lua(5), where nodes of one rail have addresses in several networks; " ..
   "or somebody wants other nodes to connect there"

return function(facts, say)
   for _, f in ipairs(facts.floods or {}) do
      say("look", "flood", ("%s%s: %s refused since %s, the last %s: %s"):format(f.from,
         report.text_with(" (", f.node, ")"), report.count(f.count, "message"),
         report.ago(f.since, facts.now), report.ago(f.time, facts.now), f.why), FLOOD)
   end
   for _, c in ipairs(facts.claims or {}) do
      say("look", "invented", ("%s named %s that Slurm does not have there, the last %d, %s")
         :format(c.node, report.count(c.denied, "job"), c.last, report.ago(c.time, facts.now)),
         INVENTED)
   end
   for _, e in ipairs(facts.endpoints or {}) do
      say("look", "endpoint", ("%s, %s"):format(e.why, report.ago(e.time, facts.now)), ENDPOINT)
   end
end
