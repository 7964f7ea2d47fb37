-- SPDX-License-Identifier: GPL-2.0-or-later
local common = require "taut.cli.study.common"
local json = require "taut.json"
local latency = require "taut.study.latency"
local report = require "taut.cli.study.report"
local tables = require "taut.base.tables"

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
      local last = seeds
      if share == 0 then
         last = 1
      end
      for seed = 1, last do
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
   local out = {}
   local own = tables.filter(tasks, function(task) return task.share == share end)
   local seeds = #own
   for _, task in ipairs(own) do
      for i, p in ipairs(results[task.key] or {}) do
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
      o.saturated = o.full / seeds
      if o.full < seeds then
         o.latency_s = o.sum / (seeds - o.full)
      end
   end
   return out
end

-- A point in a table: microseconds, with a star where it was full in some draws.
local function point_text(point)
   if not point.latency_s then
      return "full"
   end
   local text = ("%.3f"):format(point.latency_s * 1e6)
   if point.saturated > 0 then
      text = text .. "*"
   end
   return text
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
         R.rows[i][k + 1] = point_text(p)
         R.csv.rows[#R.csv.rows + 1] = { share, p.load, p.latency_s, p.saturated }
         if p.latency_s and p.saturated == 0 then
            series.points[#series.points + 1] = { p.load * 100, p.latency_s * 1e6, p.least * 1e6,
               p.most * 1e6 }
         end
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
   if not m then
      return common.fail(found)
   elseif not may then
      return common.fail(err)
   end
   local shares, curves = args.failed or { 0, 0.1, 0.2, 0.3 }, {}
   local tasks, known = tasks_of(shares, args.seeds or 8), common.known_left(found)
   local results, status = common.solve(args, tasks, function(task)
      return solve_links(m, task, args, known, may)
   end)
   if not results then
      return status
   end
   for k, share in ipairs(shares) do
      curves[k] = curve_of(share, tasks, results)
   end
   return report.give(report_of(found.path, m, shares, curves), args)
end

return command
