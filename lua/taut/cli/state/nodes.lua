-- SPDX-License-Identifier: GPL-2.0-or-later
local ask = require "taut.base.ask"
local report = require "taut.report"
local tables = require "taut.base.tables"

local nodes = { summary = "Nodes: their tx and rx, state in Slurm, when heard last." }

local NAMES = 16 -- of nodes whose probe is of another release

function nodes.setup(parser)
   parser:flag("-a --all"):description "All nodes, not only those with something to report."
end

local function is_well(component)
   return component.state == "ok" or component.state == "unknown"
end

-- Is there nothing to say of its tx and rx, of several fabrics on each?
local function is_quiet(node)
   for _, r in ipairs(node.rails or { node }) do
      if not (is_well(r.tx) and is_well(r.rx) and r.tx.remark == "" and r.rx.remark == "") then
         return false
      end
   end
   return true
end

local function is_common_first(one, other)
   if #one.nodes ~= #other.nodes then
      return #one.nodes > #other.nodes
   end
   return one.name < other.name
end

--- Releases of the nodes' probes, a line each: the common one with its count, others by node.
-- @param list rows of `nodes`
-- @return array of texts
function nodes.probes(list)
   local groups, known = {}, {}
   for _, n in ipairs(list) do
      if n.probe then
         local name = ("%s (protocol %d%s)"):format(n.probe.release, n.probe.protocol,
            report.text_if(n.probe.refused, ", refused: jobs there are not checked"))
         if not known[name] then
            known[name] = { name = name, nodes = {} }
            groups[#groups + 1] = known[name]
         end
         table.insert(known[name].nodes, n.node)
      end
   end
   table.sort(groups, is_common_first)
   local lines = {}
   for i, g in ipairs(groups) do
      local which = report.some(g.nodes, NAMES)
      if i == 1 then
         which = report.count(#g.nodes, "node")
      end
      lines[i] = ("probes of %s: %s"):format(g.name, which)
   end
   return lines
end

local function without_remark(component)
   return report.state { state = component.state, left = component.left, loss = component.loss }
end

--- A row of the table.  What is remarked of tx and rx alike stands once, or on a terminal nothing
-- would be left of the reason.
-- @param n row of `nodes`
-- @param now tautd's time
function nodes.row(n, now)
   local tx, rx = report.state(n.tx), report.state(n.rx)
   local why = report.text_with("held: ", n.held)
   if n.drain and n.reason then
      why = n.reason
   end
   local both = n.tx.remark == n.rx.remark and (n.tx.remark or "") ~= "" and n.tx.remark
   if both then
      tx, rx = without_remark(n.tx), without_remark(n.rx)
      why = both .. report.text_with("; ", tables.unless_blank(why))
   end
   local state = report.text_if(n.away, "away", n.slurm or "?")
   return { n.node, n.router, tx, rx, state .. report.text_if(n.drain, "+drain"),
      report.ago(n.heard, now), why }
end

function nodes.run(args)
   local d, code = ask.tautd(args, "nodes")
   if not d then
      return code
   end
   local rows, well = {}, 0
   for _, n in ipairs(d.nodes) do
      local quiet = not n.drain and is_quiet(n)
      if quiet then
         well = well + 1
      end
      if args.all or not quiet then
         for i, r in ipairs(n.rails or { n }) do -- of several fabrics a line for each
            rows[#rows + 1] = nodes.row(setmetatable({ tx = r.tx, rx = r.rx, router = r.router },
               { __index = n }), d.now)
            rows[#rows][1] = report.text_if(i == 1, n.node)
         end
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
