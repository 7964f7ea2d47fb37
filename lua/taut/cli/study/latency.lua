-- SPDX-License-Identifier: GPL-2.0-or-later
local common = require "taut.cli.study.common"
local json = require "taut.json"
local latency = require "taut.study.latency"
local report = require "taut.cli.study.report"

local command = {
   summary = "Latency by how much nodes send, all to random others, with cables out.",
}

function command.setup(parser)
   common.setup_links(parser)
   parser:option("-f --failed"):description "Percent of the cables that fail (0,10,20,30)."
      :argname "<list>":convert(common.list(common.percent))
   parser:option("--load"):description "Percent of full speed at which nodes send (10,20 … 90)."
      :argname "<list>":convert(common.list(common.some_percent))
   parser:option("--packet"):description "Bytes of a packet (2048).":argname "<n>"
      :convert(common.whole(1, 1 << 20))
   parser:option("--hop-ns"):description "What a router and a cable take (100).":argname "<ns>"
      :convert(common.above_zero)
   common.setup_machine(parser)
   common.setup_work(parser)
   report.setup(parser)
end

local function tasks_of(shares, seeds)
   local list = {}
   for _, share in ipairs(shares) do
      for seed = 1, share == 0 and 1 or seeds do
         list[#list + 1] = { key = ("%g|%d"):format(share, seed), share = share, seed = seed }
      end
   end
   return list
end

-- One set of links.
local function solve_links(model, task, args, known, may)
   local overlay, err = model:draw { share = task.share, seed = task.seed, links = may,
      known = known }
   if not overlay then
      return nil, err
   end
   return latency.curve(model, overlay, { loads = args.load, hop_ns = args.hop_ns,
      packet_bytes = args.packet })
end

-- Mean over seeds; a load is saturated where it is in any of them.
local function curve_of(share, tasks, results)
   local out, seeds = {}, 0
   for _, task in ipairs(tasks) do
      seeds = seeds + (task.share == share and 1 or 0)
      for i, p in ipairs(task.share == share and results[task.key] or {}) do
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

local function report_of(path, model, shares, curves)
   local R = { title = "Latency of uniform random traffic", notes = { ("%s: ways by %s."):format(
      path, model.level) }, heads = { ">LOAD" }, rows = {}, csv = { heads = { "failed", "load",
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
   local m, found = common.machine(args)
   local may, err
   if m then
      may, err = common.links({ machine = m }, args)
   end
   if not may then
      return common.fail(m and err or found)
   end
   local shares, curves = args.failed or { 0, 0.1, 0.2, 0.3 }, {}
   local tasks, known = tasks_of(shares, args.seeds or 8), next(found.left) and found.left or nil
   local results, status = common.solve(args, tasks, function(task)
      return solve_links(m, task, args, known, may)
   end)
   for k, share in ipairs(results and shares or {}) do
      curves[k] = curve_of(share, tasks, results)
   end
   return results and report.give(report_of(found.path, m, shares, curves), args) or status
end

return command
