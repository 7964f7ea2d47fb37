-- SPDX-License-Identifier: GPL-2.0-or-later
local common = require "taut.cli.study.common"
local inject = require "taut.study.inject"
local json = require "taut.json"
local mix = require "taut.cli.study.mix"
local pattern = require "taut.place.pattern"
local report = require "taut.cli.study.report"

local command = {
   summary = "Whether jobs are faster when nodes send below full speed, and at how much.",
}

local DEFAULT = "halo3d:periodic=no"

function command.setup(parser)
   common.setup(parser, DEFAULT)
   common.setup_nodes(parser)
   mix.setup(parser)
   parser:option("--congestion"):description(
      "How much less a link serves that is offered more than it carries (0.25).")
      :argname "<k>":convert(common.above_zero)
   report.setup(parser)
end

local function advice_in_words(result)
   if result.best >= 1 then
      return "Full injection is best: the nodes limit, not the network."
   end
   local v = inject.variables(result.best)[1]
   return ("Inject at %g%%: %.1f %% less time predicted. export %s=%s (%s)"):format(result.best
      * 100, result.gain * 100, v.name, v.value, v.what)
end

-- What limits only how much is under way.
local function elsewhere_in_words(result)
   if result.best >= 1 then
      return nil
   end
   local list = {}
   for i, v in ipairs(inject.variables(result.best)) do
      list[i - 1] = ("%s=%s (%s)"):format(v.name, v.value, v.what)
   end
   return ("Elsewhere limits of data in flight, to try first with taut study run: %s."):format(
      table.concat(list, ", "))
end

local function report_of(studied, text, result)
   local R = { title = ("Injection: %s"):format(text), notes = studied.notes,
      heads = { ">INJECTION", ">TIME", ">OF FULL" }, rows = {},
         csv = { heads = { "injection", "time_s", "ratio" },
      rows = {} }, curves = { x = "injection, %", y = "time, of that at full", series = {
      { name = text, points = {} } } }, footer = { advice_in_words(result),
         ("Congestion as assumed in doc/" ..
      "study.md, K = %g."):format(studied.c.congestion or inject.congestion),
      elsewhere_in_words(result) } }
   for i, p in ipairs(result.curve) do
      R.rows[i] = { ("%g%%"):format(p.share * 100), ("%.4g ms"):format(p.time_s * 1e3),
         ("%.3f"):format(p.ratio) }
      R.csv.rows[i] = { p.share, p.time_s, p.ratio }
      R.curves.series[1].points[i] = { p.share * 100, p.ratio }
   end
   R.data = { machine = studied.path, pattern = text, best = result.best, gain = result.gain,
      inject_s = result.inject_s, load_s = result.load_s, curve = json.array(result.curve),
         advice = advice_in_words(result),
      variables = json.array(inject.variables(result.best)) }
   return R
end

function command.run(args)
   local s, err = common.open(args, DEFAULT)
   local list, M, r
   if s and #s.patterns > 1 then
      s, err = nil, "one pattern at a time"
   end
   if s then
      list, err = mix.jobs(s, args, common.one_job)
   end
   if list then
      M, err = pattern.motif(s.patterns[1])
   end
   if M then
      s.c.congestion = args.congestion
      r, err = inject.study(s.machine, M, list, { per_node = s.per_node, known = s.known }, s.c)
   end
   if not r then
      return common.fail(err)
   end
   return report.give(report_of(s, s.patterns[1], r), args)
end

return command
