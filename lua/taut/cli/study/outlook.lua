-- SPDX-License-Identifier: GPL-2.0-or-later
local common = require "taut.cli.study.common"
local json = require "taut.json"
local mix = require "taut.cli.study.mix"
local outlook = require "taut.study.outlook"
local repair = require "taut.study.repair"
local report = require "taut.cli.study.report"
local sys = require "taut.sys"
local terminal = require "taut.report"

local command = { summary = "When the next threshold is reached, with the failures a day seen." }

local DEFAULT = "halo3d26:points=30"
local MOST_EVENTS = 100000

function command.setup(parser)
   common.setup(parser, DEFAULT)
   common.setup_links(parser)
   mix.setup(parser)
   parser:option("--per-day"):description "Cables that fail a day (what tautd's store shows)."
      :argname "<n>":convert(common.above_zero)
   parser:option("--past"):description "Days of the store to look at (90).":argname "<days>"
      :convert(common.above_zero)
   parser:option("--limit"):description "Percent of degradation (1,2,5)."
      :argname "<list>":convert(common.list(common.some_percent))
   parser:option("--most"):description "Further failed cables to look at (1024).":argname "<n>"
      :convert(common.whole(1, 1 << 20))
   report.setup(parser)
end

-- Failures a day, and a sentence.
local function rate_of(args)
   if args.per_day then
      return args.per_day, ("%g failed cables a day, as given."):format(args.per_day)
   end
   local days = args.past or 90
   local line, err = sys.request(args.socket, json.encode { cmd = "events", args = {
      since = os.time() - math.floor(days * outlook.DAY), limit = MOST_EVENTS } }, 30000)
   local reply = line and json.decode(line)
   if not reply or not reply.ok then
      return nil, ("tautd does not tell what failed (%s); --per-day says it"):format(
         reply and reply.error or err)
   end
   local rate, n = outlook.rate(reply.data.observations, days)
   if n == 0 then
      return nil, ("no link failed in %g days; --per-day says another rate"):format(days)
   end
   return rate, ("%d cables failed in %g days: %.3g a day."):format(n, days, rate)
end

local function when(o)
   if not o.days then
      return "not within --most", ""
   end
   return ("%.0f days"):format(o.days), ("%.0f to %.0f"):format(o.early, o.late)
end

function command.run(args)
   local rate, note = rate_of(args)
   local s, err, works, busy, jobs_note, curve, may
   if rate then
      s, err = common.open(args, DEFAULT)
   else
      err = note
   end
   if s then
      works, busy, jobs_note = mix.works(s, args)
      err = busy
   end
   if works then
      may, err = s.machine:links(args.kind and #args.kind > 0 and args.kind or nil)
   end
   if may then
      curve, err = repair.when(s.machine, works, s.known or {}, s.c, { links = may,
         seeds = args.seeds or 8, nodes = busy, cost = math.huge, days = 1,
         most = args.most or 1024 })
   end
   if not curve then
      terminal.complain("study: ", err)
      return 1
   end
   table.insert(s.notes, note)
   table.insert(s.notes, jobs_note)
   local days = outlook.days(curve, rate, args.limit or { 0.01, 0.02, 0.05 })
   local R = { title = "When the next threshold is reached", notes = s.notes, heads = {
      ">DEGRADATION", ">MORE FAILED", ">IN", ">ONE SD" }, rows = {}, csv = { heads = { "limit",
      "failed", "days", "early", "late" }, rows = {} }, curves = { x = "further failed cables",
      y = "longer, %", series = { { name = "mean", points = {} } } } }
   for i, o in ipairs(days) do
      local text, spread = when(o)
      R.rows[i] = { ("%g%%"):format(o.limit * 100), o.failed and ("%.0f"):format(o.failed) or "-",
         text, spread }
      R.csv.rows[i] = { o.limit, o.failed, o.days, o.early, o.late }
   end
   for i, p in ipairs(curve) do
      R.curves.series[1].points[i] = { p.failed, p.degradation * 100 }
   end
   R.data = { machine = s.path, per_day = rate, limits = json.array(days),
      curve = json.array(curve) }
   return report.give(R, args)
end

return command
