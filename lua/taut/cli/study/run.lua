-- SPDX-License-Identifier: GPL-2.0-or-later
local common = require "taut.cli.study.common"
local json = require "taut.json"
local report = require "taut.cli.study.report"
local run = require "taut.study.run"
local terminal = require "taut.report"

local command = {
   summary = "Run a program several times, nodes or links at a share of their speed.",
}

function command.setup(parser)
   parser:argument("command"):description "The program and its arguments (behind --)."
      :args "+":target "words"
   parser:option("--share"):description(
      "Percent of full speed (50,60,70,80,90,100)."):argname "<list>"
      :convert(common.list(common.some_percent))
   parser:option("--set"):description(
      "Variable that is set to the share (APRUN_BALANCED_INJECTION).")
      :argname "<name>":convert(function(text)
         return text:match "^[%a_][%w_]*$", "expected the name of a variable, got " .. text
      end)
   parser:option("--before"):description(
      "Command run before, with {} for the share: detunes links, say.") :argname "<command>"
   parser:option("--repeat"):description "How often each share is run (5).":argname "<n>"
      :target "times":convert(common.whole(1, 1000))
   report.setup(parser)
end

local function report_of(args, shares, curve)
   local R = { title = table.concat(args.words, " "), notes = { ("%d runs of each share, " ..
      "interleaved: every share once, in another order each time."):format(args.times or 5) },
      heads = { ">SHARE", ">MEAN s", ">SD", ">LEAST", ">MOST", ">OF FULL" }, rows = {},
      csv = { heads = { "share", "mean_s", "sd_s", "least_s", "most_s" }, rows = {} },
      curves = { x = "share, %", y = "seconds", series = { { name = "measured", points = {} } } } }
   for i, p in ipairs(curve) do
      R.rows[i] = { ("%g%%"):format(p.share * 100), ("%.3f"):format(p.mean), ("%.3f"):format(p.sd),
         ("%.3f"):format(p.least), ("%.3f"):format(p.most),
         ("%.3f"):format(p.mean / curve.full.mean) }
      R.csv.rows[i] = { p.share, p.mean, p.sd, p.least, p.most }
      R.curves.series[1].points[i] = { p.share * 100, p.mean, p.mean - p.sd, p.mean + p.sd }
   end
   local best = curve.best
   local full = curve.full
   R.footer = { "Fastest at the largest share." }
   if best.share < full.share then
      local is_clear = best.mean + best.sd < full.mean - full.sd
      R.footer[1] = ("Fastest at %g%%: %.1f %% less than at %g%%%s."):format(best.share * 100,
         (1 - best.mean / full.mean) * 100, full.share * 100,
         terminal.text_if(not is_clear, ", within the spread of both"))
   end
   R.data = { words = json.array(args.words), shares = json.array(shares),
      points = json.array(curve.points), best = best.share }
   return R
end

function command.run(args)
   local shares = args.share or { 0.5, 0.6, 0.7, 0.8, 0.9, 1 }
   local variable = args.set
   if not args.before then
      variable = variable or "APRUN_BALANCED_INJECTION"
   end
   local curve, err = run.curve(args.words, { shares = shares, times = args.times or 5,
      variable = variable,
      before = args.before, say = function(text) io.stderr:write("taut: ", text, "\n") end })
   if not curve then
      return common.fail(err)
   end
   return report.give(report_of(args, shares, curve), args)
end

return command
