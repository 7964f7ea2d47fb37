-- SPDX-License-Identifier: GPL-2.0-or-later
--- The files that `taut init` writes. Each says what was found, what was assumed and what to check.
local health_check = require "taut.slurm.health_check"
local hostlist = require "taut.hostlist"
local recognise = require "taut.topology.import.recognise"
local report = require "taut.report"
local sys = require "taut.sys"
local write = require "taut.topology.import.write"

local texts = {}

local function has_word(list, word)
   for _, v in ipairs(list) do
      if v == word then
         return true
      end
   end
   return false
end

local NOTES_MOST = 10

-- What was tried in vain, a comment each.
local function failed_attempts(why)
   local lines = {}
   for i, text in ipairs(why) do
      lines[i] = "-- Tried without success: " .. text:gsub("%c", " ") .. "\n"
   end
   return table.concat(lines)
end

-- One switch, if the wiring is not known.
local function assumed_topology(slurm, why)
   return "-- Assumed: one switch for all nodes, since the wiring is not known.  Verdicts on " ..
      "nodes are\n-- right with that; links get none.  Describe your wiring (taut.lua(5), " ..
      "examples are in\n-- share/taut/machines), or import it: `taut topology import`.\n" ..
      failed_attempts(why) ..
      ("topology = fattree {\n   nodes_per_leaf = %d,\n   levels = { { " ..
      "down = 1, up = 1 } },\n   nodes = \"%s\",\n}\n"):format(#slurm.nodes,
      hostlist.compress(slurm.nodes))
end

-- What the importer passed over, a comment each, a few of them.
local function notes_of_wiring(wiring)
   local lines = {}
   for i = 1, math.min(#wiring.notes, NOTES_MOST) do
      local n = wiring.notes[i]
      lines[i] = ("-- To look at: %s:%d: %s\n"):format(n.file or wiring.source, n.line,
         (n.text:gsub("%c", " ")))
   end
   if #wiring.notes > NOTES_MOST then
      lines[#lines + 1] = ("-- To look at: and %d more (taut topology import)\n"):format(
         #wiring.notes - NOTES_MOST)
   end
   return table.concat(lines)
end

local function topology_text(found)
   local w = found.wiring
   if not w.wiring then
      return assumed_topology(found.slurm, w.why)
   end
   return ("-- Found: the wiring, in %s.  Look at it with `taut topology show -m`,\n" ..
      "-- and at some routes with `taut topology route A B -m`.\n"):format(w.source) ..
      failed_attempts(w.why) .. notes_of_wiring(w.wiring) ..
      write.text(w.wiring, recognise.kind(w.wiring), {})
end

local PARTITIONS_MOST = 8

-- Where slurmctld runs; what a reader has to put there where Slurm did not say.
local function controller_of(slurm)
   return report.text_if(slurm.host ~= "", slurm.host, "slurm-controller")
end

-- "batch (1000 nodes), gpu (24 nodes)"
local function partitions(slurm)
   local words = {}
   for i = 1, math.min(#slurm.partitions, PARTITIONS_MOST) do
      local p = slurm.partitions[i]
      words[i] = ("%s (%s)"):format(p.name, report.count(p.nodes, "node"))
   end
   if #slurm.partitions > PARTITIONS_MOST then
      words[#words + 1] = ("and %d more"):format(#slurm.partitions - PARTITIONS_MOST)
   end
   if #words == 0 then
      return "none"
   end
   return table.concat(words, ", ")
end

-- What tautd and taut authenticate by is MUNGE, whatever Slurm has.
local function authentication(slurm)
   if (slurm.auth or "auth/munge") == "auth/munge" then
      return ""
   end
   return ("-- To look at: AuthType is %s.  Taut authenticates by MUNGE: run munged " ..
      "beside\n-- it, with one key, on this host and on every compute node.\n"):format(slurm.auth)
end

--- taut.lua.
function texts.machine(found)
   local s = found.slurm
   local head = ("-- taut.lua of cluster %s, by `taut init`.\n" ..
      "-- Found: Slurm %s, SlurmUser %s, %d nodes, TopologyPlugin %s.\n" ..
      "-- Found: partitions %s.\n%s" ..
      "-- Assumed: no capacities; they are learned (taut.lua(5), \"CAPACITIES THAT ARE " ..
      "LEARNED\").\n" ..
      "-- To look at: `taut config check`, then `taut doctor` after a few jobs.\n\n"):format(
      s.cluster or "?", s.version or "of unknown version", s.user, #s.nodes,
      s.topology or "not set", partitions(s), authentication(s))
   return head .. topology_text(found) ..
      "\nmode = \"observe\" -- nothing is drained until `taut policy drain`\n"
end

-- Which port is tested is the site's to say: here are those of this host.
local function interface_lines(found)
   local lines = {
      "# The port into the interconnect.  Without this line the port on the route to the",
      "# server is tested, which is rarely the right one.  This host has:" }
   for _, i in ipairs(found.interfaces) do
      local line = "#   " .. i.name .. report.text_if(i.is_infiniband, ", InfiniBand (IPoIB)")
      if i.Mbps then
         line = ("%s, %g Gbit/s"):format(line, i.Mbps / 1000)
      end
      lines[#lines + 1] = line
   end
   lines[#lines + 1] = "#interface="
   return table.concat(lines, "\n")
end

--- node.conf, for every compute node.
function texts.node(found)
   local s = found.slurm
   return ("# node.conf by `taut init`, for every compute node: owned by root, writable by " ..
      "root only.\n" ..
      "servers=%s\nuser=%s\n%s\n"):format(controller_of(s), s.user, interface_lines(found))
end

--- The line for plugstack.conf.
function texts.plugstack(found)
   local s = found.slurm
   return ("# By `taut init`: for plugstack.conf on every compute node, or a file it includes.\n" ..
      "optional %s/spank_taut.so servers=%s user=%s probe=%s/taut-probe\n"):format(
      sys.paths.spankdir, controller_of(s), s.user, sys.paths.libexecdir)
end

--- The wrapper of a site's own health check, or nil.
function texts.healthcheck(found)
   local program = found.slurm.health.program
   if not program or program:find "taut%-healthcheck" then
      return nil
   end
   return health_check.wrapper(program)
end

--- What slurm.conf has to say and does not: array of lines.
function texts.slurm_conf(found)
   local s, lines = found.slurm, {}
   if not (has_word(s.prolog_flags, "ALLOC") and has_word(s.prolog_flags, "DEFERBATCH")) then
      local flags = { "Alloc", "DeferBatch" }
      for _, f in ipairs(s.prolog_flags) do
         if f ~= "ALLOC" and f ~= "DEFERBATCH" then
            flags[#flags + 1] = f
         end
      end
      lines[#lines + 1] = "PrologFlags=" .. table.concat(flags, ",")
   end
   if not (s.health.program or ""):find "taut%-healthcheck" then
      lines[#lines + 1] = ("HealthCheckProgram=%s/taut-healthcheck"):format(sys.paths.libexecdir)
   end
   if not s.health.interval or s.health.interval:find "^0" then
      lines[#lines + 1] = "HealthCheckInterval=300"
   end
   local states = s.health.states
   if has_word(states, "CYCLE") or not (has_word(states, "IDLE") or has_word(states, "ANY")) then
      lines[#lines + 1] = "HealthCheckNodeState=" .. health_check.states(states)
   end
   return lines
end

return texts
