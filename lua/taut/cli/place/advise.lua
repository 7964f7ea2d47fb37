-- SPDX-License-Identifier: GPL-2.0-or-later
local advise_draw = require "taut.cli.place.advise_draw"
local ask = require "taut.base.ask"
local output = require "taut.cli.output"
local pattern = require "taut.place.pattern"
local report = require "taut.report"
local whole = require "taut.cli.whole"
local words = require "taut.place.request"

local advise = { summary = "The best free, healthy nodes for a communication-heavy job." }

-- "64" or "32-64"
local function parse_range(text)
   local a, b = text:match "^(%d+)%-(%d+)$"
   a, b = math.tointeger(tonumber(a or text)), math.tointeger(tonumber(b or text))
   return a and b and { a, b }, "expected a whole number or a range such as 32-64, got " .. text
end

function advise.setup(parser)
   parser:option("-N --nodes"):description "How many nodes: a number, or a range such as 32-64."
      :argname "<count>":convert(parse_range)
   parser:option("--job"):description "For this pending job, as it was submitted."
      :argname "<id>":convert(whole())
   parser:option("--pattern"):description(("How it communicates: %s; with parameters, such as " ..
      "halo3d:bytes=1M,compute=0.3 (default all-to-all)."):format(table.concat(pattern.names,
      ", "))):argname "<pattern>"
   parser:option("-p --partition"):description "Only nodes of this partition.":argname "<name>"
   parser:option("--fabric"):description(
      "Of several fabrics on this one (default: the partition's, else where most nodes are).")
      :argname "<name>"
   parser:option("-x --exclude"):description "None of these nodes.":argname "<list>"
   parser:option("-C --constraint"):description "Only nodes with these features: a&b, a|b."
      :argname "<features>"
   parser:option("--reservation"):description "Only nodes of this reservation.":argname "<name>"
   parser:flag("--exclusive"):description "No other jobs inside the submesh."
   parser:flag("--off"):description "Nodes that are switched off to save power, too."
   parser:option("--per-router"):description "Maximum number of nodes on each router."
      :argname "<n>":convert(whole())
   parser:option("--start")
      :description "now (default), or soon: also nodes of jobs that are about to end."
      :argname "<when>":choices { "now", "soon" }
   parser:option("--within"):description "How soon, in minutes (default 30).":argname "<min>"
      :convert(whole())
   parser:option("--top"):description "How many answers (default 5).":argname "<n>"
      :convert(whole())
   parser:option("--compare"):description "Look at these nodes, too.":argname "<list>"
   parser:flag("--fair"):description "Also the time where rates are max-min fair to all messages."
   parser:option("--draw"):description "Write a picture (SVG) of the best answer to this file."
      :argname "<file>"
   parser:mutex(
      parser:flag("--nodelist"):description "Print only the best host list, for sbatch.",
      parser:flag("--sbatch"):description "Print only the options for sbatch.")
end

local function first_line(number, candidate)
   print(("%d. %s"):format(number, candidate.nodelist))
end

local function reasons_in_words(candidate)
   return ("%s; %s"):format(candidate.shape, table.concat(candidate.reasons, "; "))
end

-- "nid[00004,00012-00013]" as aprun has it: "4,12-13".
local function numbers_for_aprun(list)
   return (list:gsub("[nid%[%]]", ""):gsub("0*(%d+)", "%1"))
end

-- What to type to get the first candidate.
local function launch_command(answer, args)
   local list = answer.candidates[1].nodelist
   if args.job then
      return ("scontrol update JobId=%d ReqNodeList=%s"):format(args.job, list)
   elseif answer.alps == "alps" then
      return ("qsub -l mppwidth=%d,mppnppn=1,mppnodes=%s …"):format(answer.count,
         numbers_for_aprun(list))
   end
   return ("sbatch -N %d --nodelist=%s …"):format(answer.count, list)
end

local function print_answer(answer, args)
   for i, c in ipairs(answer.candidates) do
      first_line(i, c)
      report.wrap(reasons_in_words(c), "   ")
   end
   if answer.partition then
      print("in partition: " .. answer.partition)
   end
   if answer.fabric then
      print("on fabric: " .. answer.fabric)
   end
   if answer.compare then
      print("compared: " .. answer.compare.nodelist)
      report.wrap(reasons_in_words(answer.compare), "   ")
   end
   if answer.slurm then
      print("without advice: " .. answer.slurm.nodelist)
      report.wrap(reasons_in_words(answer.slurm), "   ")
   end
   if answer.asked then
      print("sbatch --test-only: " .. answer.asked.nodelist)
      report.wrap(reasons_in_words(answer.asked), "   ")
   end
   print()
   report.wrap(answer.sentence:sub(1, 1):upper() .. answer.sentence:sub(2) .. ".", "")
   if answer.slurm_error then
      report.complain(("Slurm does not answer (%s): this is how things were %d s ago"):format(
         answer.slurm_error, math.floor(answer.age_s)))
   end
   print(launch_command(answer, args))
   if answer.alps then
      print(("aprun -n %d -N 1 -L %s …"):format(answer.count,
         numbers_for_aprun(answer.candidates[1].nodelist)))
   end
end

local function draw_answer(args, answer)
   local text, err = advise_draw.picture(args, answer)
   local ok
   if text then
      ok, err = output.write(args.draw, text)
   end
   if not ok then
      report.complain("--draw: ", err)
      return 1
   end
   return 0
end

-- What tautd is asked, or nil and what is wrong.
local function request_of(args)
   local spec, err
   if args.pattern then
      spec, err = pattern.read(args.pattern)
      if not spec then
         return nil, err
      end
   end
   local n = args.nodes or {}
   return { min = n[1], max = n[2], job = args.job, pattern = spec, partition = args.partition,
      fabric = args.fabric, exclude = args.exclude, features = args.constraint,
      reservation = args.reservation, off = args.off, exclusive = args.exclusive,
      per_router = args.per_router, start = args.start, within = args.within, top = args.top,
      compare = args.compare, fair = args.fair,
      ask_slurm = true }
end

function advise.run(args)
   if not args.nodes and not args.job and not args.compare then
      report.complain "advise: one of -N, --job and --compare is needed"
      return 2
   end
   local what, err = request_of(args)
   err = err or words.wrong(what)
   if err then
      report.complain(err)
      return 2
   end
   local d, code = ask.tautd(args, "advise", what)
   if not d then
      return code
   elseif args.draw and draw_answer(args, d) ~= 0 then
      return 1
   end
   if args.nodelist then
      print(d.candidates[1].nodelist)
   elseif args.sbatch then
      print(("--nodes=%d --nodelist=%s"):format(d.count, d.candidates[1].nodelist))
   else
      print_answer(d, args)
   end
   return 0
end

return advise
