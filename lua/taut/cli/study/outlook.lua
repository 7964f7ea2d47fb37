-- SPDX-License-Identifier: GPL-2.0-or-later
local ask = require "taut.base.ask"
local common = require "taut.cli.study.common"
local curve = require "taut.study.curve"
local further = require "taut.cli.study.further"
local json = require "taut.json"
local mix = require "taut.cli.study.mix"
local outlook = require "taut.study.outlook"
local report = require "taut.cli.study.report"

local command = {
   summary = "When failing cables will cost the next percent, as often as they fail now.",
}

local DEFAULT = "halo3d26:points=30"
local MOST_EVENTS = 100000

function command.setup(parser)
   common.setup(parser, DEFAULT)
   common.setup_links(parser)
   mix.setup(parser)
   parser:option("--per-day"):description "Cables that fail a day (what tautd's store shows)."
      :argname "<n>":convert(common.above_zero)
   parser:option("--past"):description "Days of failures to count (90).":argname "<days>"
      :convert(common.above_zero)
   parser:option("--limit"):description "Percent of degradation (1,2,5)."
      :argname "<list>":convert(common.list(common.some_percent))
   parser:option("--most"):description "Further failed cables to look at (1024).":argname "<n>"
      :convert(common.whole(1, 1 << 20))
   common.setup_work(parser)
   report.setup(parser)
end

-- Failures a day, and a sentence.
local function rate_of(topo, args)
   if args.per_day then
      return args.per_day, ("%g failed cables a day, as given."):format(args.per_day)
   end
   local days = args.past or 90
   local data, err = ask.request(args, "events", {
      since = os.time() - math.floor(days * outlook.DAY), limit = MOST_EVENTS })
   if not data then
      return nil, ("tautd does not list failures (%s); give --per-day"):format(err)
   end
   local rate, n = outlook.rate(data.observations, days, function(name)
      local c = topo.component_id[name]
      return c ~= nil and topo:is_link(c)
   end)
   if n == 0 then
      return nil, ("no link failed in %g days; --per-day gives another rate"):format(days)
   end
   return rate, ("%d cables failed in %g days: %.3g a day."):format(n, days, rate)
end

local function days_in_words(outcome)
   if not outcome.days then
      return "not within --most", ""
   end
   return ("%.0f days"):format(outcome.days), ("%.0f to %.0f"):format(outcome.early, outcome.late)
end

local function report_of(studied, days, list, rate)
   local R = { title = "When the next threshold is reached", notes = studied.notes, heads = {
      ">DEGRADATION", ">MORE FAILED", ">IN", ">ONE SD" }, rows = {}, csv = { heads = { "limit",
      "failed", "days", "early", "late" }, rows = {} }, curves = curve.of_failures(list) }
   for i, o in ipairs(days) do
      local text, spread = days_in_words(o)
      local failed = "-"
      if o.failed then
         failed = ("%.0f"):format(o.failed)
      end
      R.rows[i] = { ("%g%%"):format(o.limit * 100), failed, text, spread }
      R.csv.rows[i] = { o.limit, o.failed, o.days, o.early, o.late }
   end
   R.data = { machine = studied.path, per_day = rate, limits = json.array(days),
      curve = json.array(list) }
   return R
end

function command.run(args)
   local f, err = further.open(args, DEFAULT)
   local rate, note
   if f then
      rate, note = rate_of(f.scene.machine.topo, args)
      err = note
   end
   if not rate then
      return common.fail(err)
   end
   local s = f.scene
   table.insert(s.notes, note)
   local list, status = further.failures(f, args, 1024, { cost = math.huge, days = 1 })
   if not list then
      return status
   end
   local days = outlook.days(list, rate, args.limit or { 0.01, 0.02, 0.05 })
   return report.give(report_of(s, days, list, rate), args)
end

return command
