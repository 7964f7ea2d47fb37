-- SPDX-License-Identifier: GPL-2.0-or-later
local common = require "taut.cli.study.common"
local json = require "taut.json"
local jobs = require "taut.study.jobs"
local links = require "taut.study.links"
local mix = require "taut.cli.study.mix"
local report = require "taut.cli.study.report"
local terminal = require "taut.report"

local command = {
   summary = "How much longer jobs take with a percentage of the cables out, or slow.",
}

local DEFAULT = "halo3d26:points=30"

function command.setup(parser)
   common.setup(parser, DEFAULT)
   common.setup_links(parser)
   parser:option("-f --failed"):description "Percent of the cables that fail (5,10,15,20,25,30)."
      :argname "<list>":convert(common.list(common.percent))
   parser:option("--slow"):description "They do not fail, but keep this percentage of their speed."
      :argname "<percent>":convert(common.some_percent)
   mix.setup(parser, common.list(common.whole(1, 4096)))
   parser:option("--speed"):description "Percent of their speed that these links have (100)."
      :argname "<list>":convert(common.list(common.some_percent))
   parser:option("--ranks"):description "Ranks of all jobs together (the largest power of two)."
      :argname "<n>":convert(common.whole(2, 1 << 22))
   parser:option("--shape"):description(
      "How many ranks a job may have, if not as the motif says (halvings: 2, 4, 8 …).")
      :choices(jobs.shapes)
   common.setup_work(parser)
   report.setup(parser)
end

local function cell_text(cell)
   if cell.mean then
      return ("%.2f±%.1f"):format(cell.mean, cell.sd)
   end
   return "no way"
end

-- Seeds in which some messages have no way, as a line below; nil where all have one.
local function lost_line(row)
   local line, any = { "  no way", "", "" }, false
   for i, cell in ipairs(row.cells) do
      line[i + 3] = ""
      if cell.unroutable > 0 then
         line[i + 3], any = ("%.0f%%"):format(cell.unroutable * 100), true
      end
   end
   if any then
      return line
   end
   return nil
end

local function row_label(row, spec)
   local label = ("%s, %s"):format(row.pattern, terminal.count(row.jobs, "job"))
   if #spec.speeds > 1 then
      label = ("%s, %g%%"):format(label, row.speed * 100)
   end
   return label
end

local function example_of(rows)
   for _, row in ipairs(rows) do
      for _, cell in ipairs(row.cells) do
         if cell.example then
            return cell.example
         end
      end
   end
end

local function report_of(studied, spec, rows)
   local title = "What failed links cost"
   if spec.left then
      title = ("What slow links cost (%g%% of their speed)"):format(spec.left * 100)
   end
   local R = { title = title, notes = studied.notes,
      heads = { "MOTIF", ">JOBS", ">SPEED" }, rows = {},
         csv = { heads = { "pattern", "jobs", "ranks", "speed", "share",
      "mean_percent", "sd", "least", "most", "unroutable", "seeds" }, rows = {} },
      curves = { x = "links out, %", y = "longer, %", series = {} }, footer = {
      ("Mean degradation of the run time in %%, ± standard deviation over %s. No way: in so many" ..
      " of them some messages have none (they are not in the mean)."):format(terminal.count(
      spec.seeds, "seed")) } }
   for _, share in ipairs(spec.shares) do
      R.heads[#R.heads + 1] = (">%g%%"):format(share * 100)
   end
   for _, row in ipairs(rows) do
      local text = { row.pattern, tostring(row.jobs), ("%g%%"):format(row.speed * 100) }
      local series = { name = row_label(row, spec), points = {} }
      for k, cell in ipairs(row.cells) do
         text[#text + 1] = cell_text(cell)
         R.csv.rows[#R.csv.rows + 1] = { row.pattern, row.jobs, row.ranks, row.speed,
            spec.shares[k], cell.mean, cell.sd, cell.least, cell.most, cell.unroutable,
            cell.seeds }
         if cell.mean then
            series.points[#series.points + 1] = { spec.shares[k] * 100, cell.mean, cell.least,
               cell.most }
         end
      end
      R.rows[#R.rows + 1] = text
      R.rows[#R.rows + 1] = lost_line(row)
      table.insert(R.curves.series, series)
   end
   local pair = example_of(rows)
   if pair then
      R.footer[#R.footer + 1] = ("Without a way, for example: %s."):format(pair)
   end
   R.data = { machine = studied.path, level = studied.machine.level,
      shares = json.array(spec.shares),
      seeds = spec.seeds, left = spec.left or 0, constants = studied.c, rows = json.array(rows) }
   return R
end

local function spec_of(studied, args)
   local real, note = mix.real(studied, args)
   if real == false then
      return nil, note
   end
   studied.notes[#studied.notes + 1] = note
   local counts = args.split or { 1 }
   if real then
      counts = { #real }
   end
   return { patterns = studied.patterns, jobs = counts,
      real = real,
      speeds = args.speed or { 1 }, seeds = args.seeds or 8, shares = args.failed or links.shares,
      left = args.slow, per_node = studied.per_node, ranks = args.ranks, shape = args.shape,
      known = studied.known }
end

function command.run(args)
   local s, err = common.open(args, DEFAULT)
   local may, spec
   if s then
      may, err = common.links(s, args)
   end
   if may then
      spec, err = spec_of(s, args)
   end
   if not spec then
      return common.fail(err)
   end
   local results, status = common.solve(args, links.tasks(spec), function(task)
      return links.solve(s.machine, spec, task, may)
   end)
   if not results then
      return status
   end
   return report.give(report_of(s, spec, links.tabulate(s.machine, spec, results, s.c)), args)
end

return command
