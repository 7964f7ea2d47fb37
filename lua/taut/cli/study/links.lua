-- SPDX-License-Identifier: GPL-2.0-or-later
local common = require "taut.cli.study.common"
local json = require "taut.json"
local jobs = require "taut.study.jobs"
local links = require "taut.study.links"
local report = require "taut.cli.study.report"
local terminal = require "taut.report"
local work = require "taut.study.work"
local sys = require "taut.sys"

local command = { summary = "What failed, or slow, links cost: by share, jobs, motif, speed." }

local DEFAULT = "halo3d26:points=30"

local function part(v)
   local k, n = v:match "^(%d+)/(%d+)$"
   k, n = math.tointeger(tonumber(k)), math.tointeger(tonumber(n))
   if not k or k < 1 or n < k or n > work.MOST_PARTS then
      return nil, "expected K/N, such as 2/16, got " .. v
   end
   return { k, n }
end

function command.setup(parser)
   common.setup(parser, DEFAULT)
   common.setup_links(parser)
   parser:option("-f --failed"):description "Percent of the cables (5,10,15,20,25,30)."
      :argname "<list>":convert(common.list(common.percent))
   parser:option("--slow"):description "They do not fail, they keep so many percent."
      :argname "<percent>":convert(common.some_percent)
   parser:option("-s --split"):description "Alike jobs that share the machine (1)."
      :argname "<list>":convert(common.list(common.whole(1, 4096)))
   parser:option("--speed"):description "Percent of their speed that these links have (100)."
      :argname "<list>":convert(common.list(common.some_percent))
   parser:option("--ranks"):description "Of all jobs (the largest power of two with room)."
      :argname "<n>":convert(common.whole(2, 1 << 22))
   parser:option("--shape"):description "Of a job, if not the motif's own.":choices(jobs.shapes)
   parser:option("--work"):description "Keep results in this folder, and go on with them."
      :argname "<folder>"
   parser:option("-j --jobs"):description "So many processes, with --work.":argname "<n>"
      :convert(common.whole(1, 256))
   parser:option("--part"):description "Only this part of the tasks, with --work: K/N."
      :argname "<part>":convert(part)
   parser:option("--sbatch"):description(
      "Write a job array of so many parts, and its collecting job, into --work; do nothing else.")
      :argname "<parts>":convert(common.whole(1, work.MOST_PARTS))
   report.setup(parser)
end

-- The words that make the study what it is, for its folder and for other processes.
local function words_of(args)
   local list = { "study", "links" }
   local function add(name, v)
      for _, one in ipairs(type(v) == "table" and v or { v }) do
         list[#list + 1] = "--" .. name
         list[#list + 1] = tostring(one)
      end
   end
   local function percents(name, v)
      local out = {}
      for i, share in ipairs(v or {}) do
         out[i] = ("%.10g"):format(share * 100)
      end
      add(name, v and table.concat(out, ","))
   end
   add("machine", args.machine)
   add("fail", args.fail)
   add("pattern", args.pattern)
   add("kind", args.kind)
   percents("failed", args.failed)
   percents("slow", args.slow and { args.slow })
   percents("speed", args.speed)
   add("split", args.split and table.concat(args.split, ","))
   for _, k in ipairs { "seeds", "ranks", "shape" } do
      add(k, args[k])
   end
   add("ntasks-per-node", args.ntasks_per_node)
   return list
end

-- This command again, as another process is started with it.
local function argv_of(args, words)
   local argv = { sys.paths.program, "--socket", args.socket, table.unpack(words) }
   for _, k in ipairs { "calibrate", "flops", "message_us" } do
      if args[k] then
         argv[#argv + 1] = "--" .. k:gsub("_", "-")
         argv[#argv + 1] = tostring(args[k])
      end
   end
   argv[#argv + 1] = "--work"
   argv[#argv + 1] = args.work
   return argv
end

local function cell_text(cell)
   if not cell.mean then
      return "no way"
   end
   local text = ("%.2f±%.1f"):format(cell.mean, cell.sd)
   return cell.unroutable > 0 and ("%s (%d%%)"):format(text, cell.unroutable * 100 + 0.5) or text
end

local function label(row, spec)
   return ("%s, %s%s"):format(row.pattern, terminal.count(row.jobs, "job"),
      #spec.speeds > 1 and (", %g%%"):format(row.speed * 100) or "")
end

local function example(rows)
   for _, row in ipairs(rows) do
      for _, cell in ipairs(row.cells) do
         if cell.example then
            return cell.example
         end
      end
   end
end

local function report_of(s, spec, rows)
   local R = { title = spec.left and ("What slow links cost (%g%% of their speed)"):format(
      spec.left * 100) or "What failed links cost", notes = s.notes, heads = { "MOTIF", ">JOBS",
      ">SPEED" }, rows = {}, csv = { heads = { "pattern", "jobs", "ranks", "speed", "share",
      "mean_percent", "sd", "least", "most", "unroutable", "seeds" }, rows = {} },
      curves = { x = "links out, %", y = "longer, %", series = {} }, footer = {
      ("Mean degradation of the run time in %%, ± standard deviation over %s. In brackets: seeds" ..
      " in which some messages have no way (not in the mean)."):format(terminal.count(spec.seeds,
      "seed")) } }
   for _, share in ipairs(spec.shares) do
      R.heads[#R.heads + 1] = (">%g%%"):format(share * 100)
   end
   for i, row in ipairs(rows) do
      local text = { row.pattern, tostring(row.jobs), ("%g%%"):format(row.speed * 100) }
      local series = { name = label(row, spec), points = {} }
      for k, cell in ipairs(row.cells) do
         text[#text + 1] = cell_text(cell)
         R.csv.rows[#R.csv.rows + 1] = { row.pattern, row.jobs, row.ranks, row.speed,
            spec.shares[k], cell.mean, cell.sd, cell.least, cell.most, cell.unroutable,
            cell.seeds }
         series.points[#series.points + 1] = cell.mean and { spec.shares[k] * 100, cell.mean,
            cell.least, cell.most } or nil
      end
      R.rows[i], R.curves.series[i] = text, series
   end
   local pair = example(rows)
   R.footer[#R.footer + 1] = pair and ("Without a way, for example: %s."):format(pair) or nil
   R.data = { machine = s.path, level = s.machine.level, shares = json.array(spec.shares),
      seeds = spec.seeds, left = spec.left or 0, constants = s.c, rows = json.array(rows) }
   return R
end

local function spec_of(s, args)
   return { patterns = s.patterns, jobs = args.split or { 1 }, speeds = args.speed or { 1 },
      seeds = args.seeds or 8, shares = args.failed or links.shares, left = args.slow,
      per_node = s.per_node, ranks = args.ranks, shape = args.shape, known = s.known }
end

-- What stands against these arguments together, or nil.
local function wrong(args)
   if not args.work and (args.jobs or args.part or args.sbatch) then
      return "--jobs, --part and --sbatch want a folder: --work"
   end
end

function command.run(args)
   if wrong(args) then
      terminal.complain("study: ", wrong(args))
      return 2
   end
   local s, err = common.open(args, DEFAULT)
   local may
   if s then
      may, err = s.machine:links(args.kind and #args.kind > 0 and args.kind or nil)
   end
   if not may then
      terminal.complain("study: ", err)
      return 1
   end
   local spec = spec_of(s, args)
   local tasks, words = links.tasks(spec), words_of(args)
   if args.sbatch then
      local path
      path, err = work.sbatch(args.work, argv_of(args, words), args.sbatch, tasks, words)
      if path then
         print(("%s: submits %d parts of %s, and the job that joins them"):format(path,
            math.min(args.sbatch, #tasks), terminal.count(#tasks, "task")))
         return 0
      end
   else
      local results
      results, err = work.run(tasks, function(task)
         return links.solve(s.machine, spec, task, may)
      end, { dir = args.work, words = words, part = args.part, jobs = args.jobs,
         argv = args.work and argv_of(args, words) })
      if results == true then
         return 0
      elseif results then
         return report.give(report_of(s, spec, links.tabulate(s.machine, spec, results, s.c)), args)
      end
   end
   terminal.complain("study: ", err)
   return 1
end

return command
