-- SPDX-License-Identifier: GPL-2.0-or-later
--- Nodes: is the plugin there, does the health check come, are the clocks right, what is refused.
local hello = require "taut.wire.hello"
local report = require "taut.report"
local wire = require "taut.wire"

local CLOCK_S = 5    -- MUNGE refuses from 300 s on; logs are hard to read long before
local QUIET_S = 3600 -- so long after tautd's start a node may not have been heard

local function names_of(nodes)
   if nodes.count > 20 then
      return ("%s and %d more"):format(nodes.list, nodes.count - 20)
   end
   return nodes.list
end

local PLUGIN = "on the node: is spank_taut.so in plugstack.conf (see slurmd's log), is " ..
   "servers= right, and can it reach tautd's port 6824 (a firewall)?  `taut-probe idle --log " ..
   "debug` there, as root, shows what it does"

local NO_RESULT = "slurmd's log there shows what ends taut-probe (a memory limit, a killer of " ..
   "stray processes, a second plugin); or somebody keeps it from answering"

local function say_heard(facts, say)
   local n, quiet_s = facts.nodes, facts.now - facts.daemon.since
   if n.silent.count > 0 then
      say("mend", "plugin", ("jobs run, but no prolog was received from %s: %s"):format(
         report.count(n.silent.count, "node"), names_of(n.silent)), PLUGIN)
   end
   if n.no_results and n.no_results.count > 0 then
      say("mend", "results", ("tests are planned on %s, but no RESULT arrives: %s"):format(
         report.count(n.no_results.count, "node"), names_of(n.no_results)), NO_RESULT)
   end
   if n.never.count > 0 and quiet_s > QUIET_S then
      say("look", "plugin", ("not heard since tautd's start %s: %s: %s"):format(
         report.ago(facts.daemon.since, facts.now), report.count(n.never.count, "node"),
         names_of(n.never)), PLUGIN)
   elseif n.silent.count == 0 then
      local rest = n.never.count + n.no_job.count
      say("ok", "plugin", ("%d of %d usable nodes were heard in a job's prolog or epilog%s")
         :format(n.usable - rest, n.usable,
         report.text_if(rest > 0, "; the others had no job since tautd's start")))
   end
end

local function say_idle(facts, say)
   local n, h = facts.nodes, facts.slurm.health_check
   local every = h.interval_s or 0
   if every == 0 or facts.slurm.alps then
      return
   elseif n.no_idle.count == n.usable and facts.now - facts.daemon.since > 3 * every + 60 then
      say("mend", "idle checks", ("no health check of any node was received; one is expected " ..
         "every %d s"):format(every), "is /etc/taut/node.conf on the nodes, root's, with " ..
         "servers=?  `taut-probe idle --log debug` on an idle node, as root, says")
   else
      say("ok", "idle checks", ("%d of %d usable nodes were heard"):format(n.usable -
         n.no_idle.count, n.usable))
   end
end

local function say_clocks(facts, say)
   local c = facts.clocks
   local worst = c.off[1]
   if worst and math.abs(worst.behind_s) > CLOCK_S then
      say("mend", "clocks", ("%s differ%s from tautd's host by more than 2 s, %s most: %d s %s")
         :format(report.count(c.count, "node"), report.text_if(c.count == 1, "s"), worst.node,
         math.abs(worst.behind_s), report.text_if(worst.behind_s > 0, "behind", "ahead")),
         "chrony or ntpd on all hosts; MUNGE refuses what differs by 300 s")
   else
      say("ok", "clocks", ("%s within %d s of tautd's host"):format(report.count(c.known, "node"),
         CLOCK_S))
   end
end

-- Which probe is older or newer than tautd, and which is not understood at all.
local function say_probes(facts, say)
   local p, own = facts.probes, facts.daemon.version
   local first = p.list[1]
   for _, g in ipairs(p.list) do
      local who = ("%s of release %s (protocol %d): %s"):format(report.count(g.nodes.count, "node"),
         g.release, g.protocol, names_of(g.nodes))
      local is_newer = g.protocol > p.protocols.newest
      if g.refused then
         say("mend", "probes", ("%s; tautd is %s and speaks protocol %s: their jobs are " ..
            "not checked"):format(who, own, hello.range(p.protocols.oldest, p.protocols.newest)),
            report.text_if(is_newer, "upgrade tautd, then the nodes",
            "upgrade taut-probe on these nodes"))
      elseif g.release ~= own then
         say("look", "probes", ("%s; tautd is %s. They are checked"):format(who, own),
            report.text_if(is_newer, "upgrade tautd: its release comes before the nodes'",
            "upgrade these nodes when it suits; jobs need not stop"))
      end
   end
   if first and #p.list == 1 and first.release == own then
      say("ok", "probes", ("%s heard of are of release %s"):format(report.count(first.nodes.count,
         "node"), own))
   end
end

local SYSCTL = "sysctl -w net.ipv4.ip_unprivileged_port_start=1024 there, and in /etc/sysctl.d: " ..
   "tautd tells a node's root from a user with root's credential by such a port"

-- Hosts where users may call from ports that tautd trusts as root's.
local function say_ports(facts, say, own)
   local p = facts.ports
   if not p.trusted then
      return
   end
   local where = {}
   if p.here < wire.USER_PORT then
      where[1] = "on tautd's host"
   end
   if own.server and (own.user_port or wire.USER_PORT) < wire.USER_PORT then
      where[#where + 1] = "on this host"
   end
   if p.nodes.count > 0 then
      where[#where + 1] = ("on %s: %s"):format(report.count(p.nodes.count, "node"),
         names_of(p.nodes))
   end
   if #where > 0 then
      say("mend", "ports", "any user may call from ports below 1024 " .. table.concat(where, ", "),
         SYSCTL)
   else
      say("ok", "ports", "those below 1024 belong to root on all nodes heard from, and here")
   end
end

-- What refused messages mean: a pattern of the reason, and the mend.
local REASONS = {
   { "Expired credential", "that node's clock is behind, or its munged is slow: chrony" },
   { "Rewound credential", "that node's clock is ahead: chrony" },
   { "Invalid credential", "that node has another MUNGE key: copy /etc/munge/munge.key, " ..
      "restart munged" },
   { "Replayed credential", "recorded messages are sent again: find out who sends them" },
   { "Unauthorized credential", "user= in node.conf and on the plugstack line has to be the " ..
      "user tautd runs as" },
   { "socket", "munged on tautd's host does not answer: systemctl restart munge" },
   { "speaks as root from port", "a router that changes ports: " ..
      "node_ports in taut.lua(5); or a user there has root's credential: find out who" },
   { "speaks from", "NodeAddr in slurm.conf, or node_addresses in taut.lua(5)" },
   { "only root may", "an ordinary user sends a node's messages: find out who" },
   { "expected protocol", "doc/protocol.md: tautd first, then the nodes; one version apart" },
   { "requests a minute", "a script of that user asks too often; remote.per_minute" },
   { "knows of no job", "the node reports jobs that Slurm does not have: look at that node" },
}

local function find_mend(why)
   for _, r in ipairs(REASONS) do
      if why:find(r[1], 1, true) then
         return r[2]
      end
   end
   return nil
end

local function say_refused(facts, say)
   for _, k in ipairs(facts.refused.kinds) do
      say("look", "refused", ("%s, the last %s from %s: %s"):format(report.count(k.count,
         "message"), report.ago(k.at, facts.now), k.from, k.why), find_mend(k.why))
   end
   if facts.refused.count == 0 then
      say("ok", "messages", "none has been refused since tautd's start")
   end
end

return function(facts, say, own)
   say_heard(facts, say)
   say_idle(facts, say)
   say_clocks(facts, say)
   say_probes(facts, say)
   say_ports(facts, say, own)
   say_refused(facts, say)
end
