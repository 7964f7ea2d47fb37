-- SPDX-License-Identifier: GPL-2.0-or-later
--- `taut matrix`: every pair of nodes, one process per node of a step.
local files = require "taut.survey.matrix.files"
local launch = require "taut.survey.launch"
local owner = require "taut.survey.matrix.owner"
local step = require "taut.survey.step"
local tables = require "taut.base.tables"
local wire = require "taut.wire"

local matrix = { summary = "Measure every pair of nodes: srun --ntasks-per-node=1 taut matrix.",
   has_json = false }

function matrix.setup(parser)
   parser:epilog "Exit status: 0 all is well, 1 it could not be run or a file not be written, \z
      2 wrong arguments, 3 something is slow, 4 nothing is, but not all was measured."
   parser:option("--csv"):description "Write a line for each pair.":argname "<file>"
   parser:option("--json"):description "Write all of it as JSON.":argname "<file>"
      :target "json_file"
   parser:option("--svg"):description "Write the heat map as SVG.":argname "<file>"
   parser:option("--png"):description "Write the heat map as PNG (with rsvg-convert)."
      :argname "<file>"
   parser:flag("--latency"):description "Latency instead of bandwidth."
   parser:flag("--steps"):description "The classic N-1 steps of disjoint pairs: pairs share links."
   parser:flag("--once"):description "Do not measure slow pairs again."
   parser:option("--rail"):description "This interface of the nodes only, from 1 (default: all)."
      :argname "<n>":convert(function(text)
         return tables.within(math.tointeger(tonumber(text)), 1, wire.RAILS_MAX),
            ("--rail: expected 1 to %d, got %s"):format(wire.RAILS_MAX, text)
      end)
   parser:option("--time"):description "Duration of a test (default: survey.matrix_ms)."
      :argname "<ms>":convert(function(text)
         return tables.within(math.tointeger(tonumber(text)), wire.TEST_MIN_MS, wire.TEST_MAX_MS),
            ("--time: expected %d to %d, got %s"):format(wire.TEST_MIN_MS, wire.TEST_MAX_MS, text)
      end)
   parser:flag("--all"):description "On all idle nodes: Slurm is asked for them."
   parser:option("-p --partition"):description "With --all: only nodes of this partition."
      :argname "<name>"
   parser:option("--reservation"):description "With --all: the nodes of this reservation."
      :argname "<name>"
   parser:option("--limit"):description(
      "With --all: minutes that the job may take (default: as it is likely to).")
      :argname "<min>":convert(function(text)
         return tables.within(math.tointeger(tonumber(text)), 1, 1440),
            ("--limit: expected 1 to 1440 minutes, got %s"):format(text)
      end)
   parser:option("--progress"):description "bar, lines or none (default: a bar on a terminal)."
      :choices { "bar", "lines", "none" }:argname "<how>"
   parser:option("--tag"):hidden(true)
   parser:flag("--relay"):hidden(true)
   parser:flag("--single"):hidden(true)
end

-- What tautd is asked for.
local function options_of(args)
   return { latency = args.latency, steps = args.steps, again = not args.once, ms = args.time,
      rail = args.rail, single = args.single or files.uses_stdout(owner.want(args)) or nil,
      tag = args.tag }
end

local function hold_checks(args)
   local o = owner.new(args)
   if not o then
      return owner.FAILED
   end
   return o:finish(step.hold("matrix", options_of(args), o:handlers()))
end

-- On all idle nodes.  The step only passes the reports on: words and files are made here, where
-- the user is, and not on a node that Slurm chose.
local function on_idle(args)
   local o = owner.new(args)
   if not o then
      return owner.FAILED
   end
   local state = { on = o:handlers() }
   args.flags, args.pass = { "latency", "steps", "once", "single" }, { "time", "rail" }
   args.single = files.uses_stdout(owner.want(args))
   args.words = { "--relay" }
   args.on_line = function(line) step.take_line(state, line) end
   args.on_stopping = state.on.stopping
   local code, started = launch.on_idle(args, "matrix")
   if not started then
      return code
   end
   if not state.last then
      return o:finish(nil, ("its step ended before the matrix did, exit status %d"):format(code))
   end
   return o:finish(state.last)
end

function matrix.run(args)
   local procid = step.procid()
   if args.all then
      return on_idle(args)
   elseif not procid then
      io.stderr:write("taut: matrix: run it as a step of a job, one process on each node: ",
         "srun --ntasks-per-node=1 taut matrix; or taut matrix --all\n")
      return owner.FAILED
   elseif procid == 0 and not args.relay then
      return hold_checks(args)
   end
   local _, err
   if procid == 0 then
      _, err = step.relay("matrix", options_of(args))
   else
      _, err = step.join "matrix"
   end
   io.stderr:write("taut: matrix: ", err, "\n")
   return owner.FAILED
end

return matrix
