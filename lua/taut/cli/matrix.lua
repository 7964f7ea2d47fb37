--- `taut matrix`: every pair of nodes, one process per node of a step.
local data = require "taut.matrix.data"
local files = require "taut.matrix.files"
local launch = require "taut.survey.launch"
local progress = require "taut.report.progress"
local step = require "taut.survey.step"
local words = require "taut.matrix.words"

local matrix = { summary = "Measure every pair of nodes: srun --ntasks-per-node=1 taut matrix.",
   has_json = false }

-- Exit status besides 0, as of `taut audit`: could not be run, slow pairs found, not all measured.
local FAILED, SLOW, INCOMPLETE = 1, 3, 4

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
   parser:flag("--once"):description "Do not measure again what was slow."
   parser:option("--time"):description "One test lasts so long (default: survey.matrix_ms)."
      :argname "<ms>":convert(function(v)
         local ms = math.tointeger(tonumber(v))
         return ms and ms >= 5 and ms <= 2000 and ms or nil, "--time: expected 5 to 2000, got " .. v
      end)
   parser:flag("--all"):description "On all idle nodes: Slurm is asked for them."
   parser:option("-p --partition"):description "With --all: only nodes of this partition."
      :argname "<name>"
   parser:option("--progress"):description "bar, lines or none (default: a bar on a terminal)."
      :choices { "bar", "lines", "none" }:argname "<how>"
   parser:option("--tag"):hidden(true)
end

local function wanted(args)
   return { csv = args.csv, json = args.json_file, svg = args.svg, png = args.png }
end

---------------------------------------------------------------- what comes in

local function begin(state, report)
   local l = report.layout
   state.bar:begin(report)
   if l then
      state.layout = l
      state.m = data.new(l.names, { good = l.good, mode = state.mode })
   end
end

-- Pairs are what a matrix counts its progress in.
local function round(state, report)
   local m = state.m
   for _, row in ipairs(report.results or {}) do
      local i, j = m.index[row.from], m.index[row.to]
      if i and j then
         state.seen = state.seen + (m.class[m:key(i, j)] and 0 or 1)
         m:set(i, j, row)
      end
   end
   state.bar:round { gone = report.gone, done = report.done and state.seen,
      phases = m.n * (m.n - 1) }
end

---------------------------------------------------------------- what goes out

local function subtitle(state, m, s, why)
   local what = state.layout.steps and "in classic steps, pairs share links"
      or m.mode == "latency" and "each alone on its route" or "each alone on its route"
   return ("%d nodes, %d of %d pairs, %s%s; median %s; %s, job %s"):format(m.n, s.measured, s.pairs,
      what, why and " (ended early)" or "", words.median(m, s), os.date "%Y-%m-%d %H:%M",
      os.getenv "SLURM_JOB_ID" or "?")
end

local function finish(args, state, last, err)
   local m, found = state.m, last and last.found or { findings = {}, unnamed = 0 }
   local why = err or last.why
   if m.mode == "latency" then
      m:judge_latency(state.layout.latency_times)
   end
   for _, f in ipairs(found.findings) do
      f.text = words.finding(m, f)
   end
   local s = m:summary()
   local o = { findings = found.findings, unnamed = found.unnamed, why = why,
      levels = state.layout.levels, subtitle = subtitle(state, m, s, why),
      info = { job = os.getenv "SLURM_JOB_ID", time = os.time(), steps = state.layout.steps,
         test_ms = state.layout.ms, ended_early = why } }
   words.print(m, o)
   local wrong = files.write(m, o, wanted(args))
   for _, text in ipairs(wrong) do
      io.stderr:write("taut: matrix: ", text, "\n")
   end
   if #wrong > 0 or err then
      return FAILED
   elseif s.low > 0 then
      return SLOW
   end
   return (s.measured < s.pairs or s.void > 0) and INCOMPLETE or 0
end

local function hold(args)
   local state = { bar = progress.new("matrix", args.progress, "pairs"), seen = 0,
      mode = args.latency and "latency" or "stream" }
   local last, err = step.hold("matrix", { latency = args.latency, steps = args.steps,
      again = not args.once, ms = args.time, tag = args.tag }, {
      begin = function(report) begin(state, report) end,
      wait = function(report) state.bar:say(report.why) end,
      round = function(report) round(state, report) end,
      stopping = function() state.bar:say "stopping: what runs is finished first" end,
   })
   state.bar:done()
   if state.m and state.seen > 0 then
      return finish(args, state, last, err)
   end
   io.stderr:write("taut: matrix: ", err or last.why or "nothing was measured", "\n")
   return FAILED
end

function matrix.run(args)
   local procid = step.procid()
   if args.all then
      return launch.on_idle(args, "matrix")
   elseif not procid then
      io.stderr:write("taut: matrix: run it as a step of a job, one process on each node: ",
         "srun --ntasks-per-node=1 taut matrix; or taut matrix --all\n")
      return FAILED
   elseif procid ~= 0 then
      local _, err = step.join "matrix"
      io.stderr:write("taut: matrix: ", err, "\n")
      return FAILED
   end
   return hold(args)
end

return matrix
