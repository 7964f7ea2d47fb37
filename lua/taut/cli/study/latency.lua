-- SPDX-License-Identifier: GPL-2.0-or-later
local common = require "taut.cli.study.common"
local json = require "taut.json"
local latency = require "taut.study.latency"
local report = require "taut.cli.study.report"
local scene = require "taut.cli.topology.scene"
local machine = require "taut.study.machine"
local terminal = require "taut.report"

local command = { summary = "Latency against offered load, uniform random traffic, links out." }

function command.setup(parser)
   common.setup_links(parser)
   parser:option("-f --failed"):description "Percent of the cables (0,10,20,30)."
      :argname "<list>":convert(common.list(common.percent))
   parser:option("--load"):description "Percent of what a node injects (10,20 … 90)."
      :argname "<list>":convert(common.list(common.some_percent))
   parser:option("--packet"):description "Bytes of a packet (2048).":argname "<n>"
      :convert(common.whole(1, 1 << 20))
   parser:option("--hop-ns"):description "Through a router and a cable (100).":argname "<ns>"
      :convert(common.above_zero)
   scene.setup(parser)
   report.setup(parser)
end

-- Mean over seeds; a load is saturated where it is in any of them.
local function curve_of(m, share, args, found, may)
   local seeds, out = share == 0 and 1 or args.seeds or 8, {}
   for seed = 1, seeds do
      local overlay, why = m:draw { share = share, seed = seed, links = may,
         known = next(found.left) and found.left or nil }
      if not overlay then
         return nil, why
      end
      local list, err = latency.curve(m, overlay, { loads = args.load, hop_ns = args.hop_ns,
         packet_bytes = args.packet })
      if not list then
         return nil, err
      end
      for i, p in ipairs(list) do
         local o = out[i] or { load = p.load, sum = 0, least = math.huge, most = 0, full = 0 }
         out[i] = o
         if p.latency_s then
            o.sum, o.least = o.sum + p.latency_s, math.min(o.least, p.latency_s)
            o.most = math.max(o.most, p.latency_s)
         else
            o.full = o.full + 1
         end
      end
   end
   for _, o in ipairs(out) do
      o.latency_s, o.saturated = o.full < seeds and o.sum / (seeds - o.full) or nil, o.full / seeds
   end
   return out
end

local function report_of(path, m, shares, curves)
   local R = { title = "Latency of uniform random traffic", notes = { ("%s: ways by %s."):format(
      path, m.level) }, heads = { ">LOAD" }, rows = {}, csv = { heads = { "failed", "load",
      "latency_s", "saturated" }, rows = {} }, curves = { x = "offered load, % of the injection",
      y = "latency, us", series = {} }, footer = { "Microseconds, mean over messages and seeds; " ..
      "full: some link is asked for more than it carries." }, data = { machine = path,
      curves = json.array {} } }
   for k, share in ipairs(shares) do
      R.heads[k + 1] = (">%g%% OUT"):format(share * 100)
      local series = { name = ("%g%% out"):format(share * 100), points = {} }
      for i, p in ipairs(curves[k]) do
         R.rows[i] = R.rows[i] or { ("%g%%"):format(p.load * 100) }
         R.rows[i][k + 1] = p.latency_s and ("%.3f%s"):format(p.latency_s * 1e6, p.saturated > 0 and
            "*" or "") or "full"
         R.csv.rows[#R.csv.rows + 1] = { share, p.load, p.latency_s, p.saturated }
         series.points[#series.points + 1] = p.latency_s and p.saturated == 0 and { p.load * 100,
            p.latency_s * 1e6, p.least * 1e6, p.most * 1e6 } or nil
      end
      R.curves.series[k] = series
      R.data.curves[k] = { failed = share, points = json.array(curves[k]) }
   end
   return R
end

function command.run(args)
   local found, err = scene.open(args)
   local m, may
   if found then
      m, err = machine.new(found.topo)
   end
   if m then
      may, err = m:links(args.kind and #args.kind > 0 and args.kind or nil)
   end
   local shares, curves = args.failed or { 0, 0.1, 0.2, 0.3 }, {}
   for k = 1, may and #shares or 0 do
      curves[k], err = curve_of(m, shares[k], args, found, may)
      if not curves[k] then
         may = nil
         break
      end
   end
   if not may then
      terminal.complain("study: ", err)
      return 1
   end
   return report.give(report_of(found.path, m, shares, curves), args)
end

return command
