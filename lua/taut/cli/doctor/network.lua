-- SPDX-License-Identifier: GPL-2.0-or-later
--- The way to tautd from here, and between nodes: ports, firewalls, why tests mean nothing.
local hostlist = require "taut.hostlist"
local report = require "taut.report"

local SHARE = 0.2 -- of tests discarded for one reason
local LEAST = 10  -- of them
local SAME = 3    -- of one kind that is single nodes' own

-- What a node cannot test for, whatever is done elsewhere, and its mend: the first that fits.
local OWN = {
   { "locked memory", "LimitMEMLOCK=infinity for slurmd there; for surveys of users " ..
      "PropagateResourceLimitsExcept=MEMLOCK in slurm.conf: doc/install.md, step 3" },
   { "cannot open /dev/infiniband", "its owner and mode there (udev's rules of rdma-core): " ..
      "doc/install.md, step 3" },
   { "no /dev/infiniband/rdma_cm", "modprobe rdma_ucm there, and at its boot " ..
      "(/etc/rdma/modules of rdma-core)" },
   { "no /dev/infiniband", "rdma link there: its adapter, its driver, ib_uverbs; or no " ..
      "transport=ofi on nodes without one" },
   { "no RDMA device", "interface= names another network than the adapter's, or it has no GID " ..
      "of RoCE v2: rdma link, ibv_devinfo" },
   { "has no provider", "libfabric there lacks it: fi_info -l, and provider= in node.conf" },
   { "no shared receive queues", "transport=tcp, or ofi,tcp, where nodes have such adapters: " ..
      "doc/install.md, step 3" },
   { "domain= has to name", "domain= on the plugstack line and in node.conf, a device for each " ..
      "of interface=" },
   { "transport ofi: ", "libfabric or taut-ofi.so is not installed there; or no transport=ofi" },
   { "libfabric: ", "fi_info there, as the user of run_as=: doc/install.md, step 3" },
}

-- Why a test means nothing, in part, and its mend.
local REASONS = {
   { "libfabric is not open yet", "where it goes on after the first checks: a higher budget_ms= " ..
      "on the plugstack line and in node.conf" },
   { "Cannot allocate memory", "RLIMIT_MEMLOCK, where streams go over verbs: doc/install.md, " ..
      "step 3" },
   { "connect", "a firewall between nodes on the interconnect?  Streams go to ports that the " ..
      "system chooses (net.ipv4.ip_local_port_range), between the addresses of interface=" },
   { "did not report", "the probe ran out of budget_ms, or was killed: its node's log" },
   { "idle", "nodes are too busy in the prolog to send: what else runs in the prolog?" },
   { "foreign", "other traffic on the ports under test: file systems, the jobs of shared nodes" },
   { "sent besides", "other traffic on the ports under test: file systems, jobs of shared nodes" },
   { "it is not known yet", "`capacity` in the topology, or wait until enough tests were made" },
}

-- "n3: libfabric: …" of a test between n3 and n4: "n3", "libfabric: …"
local function own_trouble(row)
   for _, node in ipairs { row.src or "?", row.dst or "?" } do
      local head = node .. ": "
      if row.why and row.why:sub(1, #head) == head then
         return node, row.why:sub(#head + 1)
      end
   end
end

local function find_mend(list, why)
   for _, r in ipairs(list) do
      if why:find(r[1], 1, true) then
         return r[2]
      end
   end
end

-- What single nodes cannot test for, and the rows of everything else.
-- @return array of { why, nodes, count, mend }, rows
local function split_rows(rows)
   local by, list, others = {}, {}, {}
   for _, row in ipairs(rows) do
      local node, why = own_trouble(row)
      local mend = node and find_mend(OWN, why)
      if mend then
         local shape = why:gsub("[%d.:]+", "#")
         local f = by[shape] or { why = why, nodes = {}, count = 0, mend = mend }
         if not by[shape] then
            by[shape], list[#list + 1] = f, f
         end
         f.nodes[#f.nodes + 1], f.count = node, f.count + row.count
      else
         others[#others + 1] = row
      end
   end
   return list, others
end

local function say_own(list, say)
   local any = false
   for _, f in ipairs(list) do
      if f.count >= SAME then
         any = true
         say("mend", "tests", ("%s cannot test: %s; %s discarded in 24 h"):format(
            hostlist.compress(f.nodes), f.why, report.count(f.count, "test")), f.mend)
      end
   end
   return any
end

local function fold_rows(rows)
   local by, list = {}, {}
   for _, row in ipairs(rows) do
      local shape = (row.why or "?"):gsub("[%d.:]+", "#")
      if row.src then
         shape = shape:gsub(row.src:gsub("%p", "%%%0"):gsub("%d+", "#"), "NODE")
      end
      local f = by[shape] or { count = 0, why = row.why or "?", src = row.src, dst = row.dst }
      if not by[shape] then
         by[shape], list[#list + 1] = f, f
      end
      f.count = f.count + row.count
   end
   table.sort(list, function(one, other) return one.count > other.count end)
   return list
end

local function say_discarded(facts, say)
   local t = facts.tests
   local own, others = split_rows(t.discarded)
   local any = say_own(own, say)
   local list, all = fold_rows(others), t.good + t.low + t.void
   for _, f in ipairs(list) do
      if f.count >= LEAST and f.count >= SHARE * all then
         any = true
         say("look", "tests", ("%s discarded in 24 h, from %s to %s the first: %s"):format(
            report.count(f.count, "test"), f.src or "?", f.dst or "?", f.why),
            find_mend(REASONS, f.why))
      end
   end
   if not any then
      say("ok", "tests", ("%d good, %d low, %d discarded since tautd's start"):format(t.good, t.low,
         t.void))
   end
end

-- tautd answered this host: by its socket, or through port and MUNGE.
local function say_way(facts, say, own)
   if own.munge_error then
      say("mend", "MUNGE", "here: " .. own.munge_error, "systemctl restart munge; the key of " ..
         "tautd's host; auth/slurm does not take its place")
   else
      say("ok", "MUNGE", report.text_if(own.server, "here and on tautd's host",
         "munged here answers"))
   end
   say("ok", "tautd", ("answers at %s, version %s"):format(own.where, facts.daemon.version))
   if facts.daemon.version ~= own.version then
      say("look", "tautd", ("this taut is %s"):format(own.version), "install the same release here")
   end
   local off = (own.asked_at or facts.now) - facts.now
   if math.abs(off) > 5 then
      say("mend", "clocks", ("this host's clock and tautd's differ by %.0f s"):format(
         math.abs(off)), "chrony or ntpd on both")
   end
end

local NAMES = { tcp = "TCP", ofi = "libfabric" }

-- Over what streams went.
local function say_transport(facts, say)
   local used, all, parts = facts.transports or {}, 0, {}
   for kind, count in pairs(used) do
      all = all + count
      parts[#parts + 1] = ("%s over %s"):format(report.count(count, "test"), NAMES[kind] or kind)
   end
   table.sort(parts)
   if all == 0 then
      return
   elseif facts.sweep and (used.tcp or 0) > 0 then
      say("look", "transport", table.concat(parts, ", ") .. ": on an InfiniBand fabric that is " ..
         "IPoIB, where one stream shows what TCP carries, not what the link could",
         "transport=ofi and provider= in node.conf and on the plugstack line: doc/install.md, " ..
         "step 3")
   else
      say("ok", "transport", table.concat(parts, ", ") .. " since tautd's start")
   end
end

return function(d, say, own)
   say_way(d, say, own)
   say_transport(d, say)
   say_discarded(d, say)
end
