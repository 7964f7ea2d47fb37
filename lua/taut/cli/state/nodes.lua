-- SPDX-License-Identifier: GPL-2.0-or-later
local ask = require "taut.base.ask"
local report = require "taut.report"

local nodes = { summary = "Nodes: their tx and rx, state in Slurm, when heard last." }

local NAMES = 16 -- of nodes whose probe is of another release

function nodes.setup(parser)
   parser:flag("-a --all"):description "All nodes, not only those with something to report."
end

local function is_well(c)
   return c.state == "ok" or c.state == "unknown"
end

local function by_count(a, b)
   if #a.nodes ~= #b.nodes then
      return #a.nodes > #b.nodes
   end
   return a.name < b.name
end

--- Releases of the nodes' probes, a line each: the common one with its count, others by node.
-- @param list rows of `nodes`
-- @return array of texts
function nodes.probes(list)
   local groups, known = {}, {}
   for _, n in ipairs(list) do
      if n.probe then
         local name = ("%s (protocol %d%s)"):format(n.probe.release, n.probe.protocol,
            n.probe.refused and ", refused: jobs there are not checked" or "")
         if not known[name] then
            known[name] = { name = name, nodes = {} }
            groups[#groups + 1] = known[name]
         end
         table.insert(known[name].nodes, n.node)
      end
   end
   table.sort(groups, by_count)
   local lines = {}
   for i, g in ipairs(groups) do
      lines[i] = ("probes of %s: %s"):format(g.name, i == 1 and report.count(#g.nodes, "node")
         or report.some(g.nodes, NAMES))
   end
   return lines
end

function nodes.run(args)
   local d, code = ask.tautd(args, "nodes")
   if not d then
      return code
   end
   local rows, well = {}, 0
   for _, n in ipairs(d.nodes) do
      local quiet = is_well(n.tx) and is_well(n.rx) and not n.drain and n.tx.remark == ""
         and n.rx.remark == ""
      well = well + (quiet and 1 or 0)
      if args.all or not quiet then
         local slurm = (n.slurm or "?") .. (n.drain and "+drain" or "")
         rows[#rows + 1] = { n.node, n.router, report.state(n.tx), report.state(n.rx), slurm,
            report.ago(n.heard, d.now), n.drain and n.reason or n.held and "held: " .. n.held or
            "" }
      end
   end
   if #rows > 0 then
      report.table({ "NODE", "ROUTER", "TX", "RX", "SLURM", "HEARD", "REASON" }, rows)
   end
   print(("%s, %d of them with nothing to report"):format(report.count(#d.nodes, "node"), well))
   for _, line in ipairs(nodes.probes(d.nodes)) do
      report.wrap(line, "", "  ")
   end
   return 0
end

return nodes
