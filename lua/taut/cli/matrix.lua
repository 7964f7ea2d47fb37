--- `taut matrix`: every pair of nodes, one process per node of a step.
local data = require "taut.matrix.data"
local files = require "taut.matrix.files"
local loop = require "taut.loop"
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

---------------------------------------------------------------- what comes in

local function begin(state, report)
   local l = report.layout
   state.bar:begin(report)
   if l then
      state.layout = l
      state.m = data.new(l.names, { good = l.good, mode = state.mode })
   end
end

---------------------------------------------------------------- what goes out

local function subtitle(state, m, s, why)
   return ("%d nodes, %d of %d pairs, %s%s; median %s; %s, job %s"):format(m.n, s.measured, s.pairs,
      state.layout.steps and "in classic steps, pairs share links" or "each alone on its route",
      why and " (ended early)" or "", words.median(m, s), os.date "%Y-%m-%d %H:%M",
      os.getenv "SLURM_JOB_ID" or "?")
end

-- What the files and words are made of.
local function outcome(state, found, why)
   local m = state.m
   if m.mode == "latency" then
      m:judge_latency(state.layout.latency_times)
   end
   for _, f in ipairs(found.findings) do
      f.text = words.finding(m, f)
   end
   local s = m:summary()
   return { findings = found.findings, unnamed = found.unnamed, why = why, summary = s,
      levels = state.layout.levels, subtitle = subtitle(state, m, s, why),
      info = { job = os.getenv "SLURM_JOB_ID", time = os.time(), steps = state.layout.steps,
         test_ms = state.layout.ms, ended_early = why } }
end

local function complain(wrong)
   for _, text in ipairs(wrong) do
      io.stderr:write("taut: matrix: ", text, "\n")
   end
   return #wrong == 0
end

local function nothing_found(state)
   return { findings = {}, unnamed = state.m:summary().low }
end

-- Ctrl-C in srun is a SIGKILL here a moment later: what there is is in the files before.  Seldom
-- enough that it takes a twentieth of the time at most.
local function save(state)
   local began = loop.time()
   if began >= (state.save_at or 0) and state.seen > 0 then
      complain(files.write(state.m, outcome(state, nothing_found(state), "not finished"),
         files.without_stdout(state.want)))
      local now = loop.time()
      state.save_at = now + 20 * (now - began)
   end
end

-- Pairs are what a matrix counts its progress in; a second look at some is said once.
local function round(state, report)
   local m = state.m
   if not m then
      return
   end
   local all = m.n * (m.n - 1)
   if state.seen == all and not state.again then
      state.again = true
      state.bar:say "measuring again, alone, what was slow or void"
   end
   for _, row in ipairs(report.results or {}) do
      local i, j = m.index[row.from], m.index[row.to]
      if i and j then
         state.seen = state.seen + (m.class[m:key(i, j)] and 0 or 1)
         m:set(i, j, row)
      end
   end
   state.bar:round { gone = report.gone, done = not state.again and state.seen, phases = all }
   save(state)
end

local function finish(state, last, err)
   local o = outcome(state, last and last.found or nothing_found(state), err or last.why)
   if not files.uses_stdout(state.want) then
      words.print(state.m, o)
   end
   if not complain(files.write(state.m, o, state.want)) or err then
      return FAILED
   elseif o.summary.low > 0 then
      return SLOW
   end
   return (o.summary.measured < o.summary.pairs or o.summary.void > 0) and INCOMPLETE or 0
end

local function hold(args)
   local state = { bar = progress.new("matrix", args.progress, "pairs"), seen = 0,
      mode = args.latency and "latency" or "stream",
      want = { csv = args.csv, json = args.json_file, svg = args.svg, png = args.png } }
   -- before the nodes are kept busy for nothing
   if not complain(files.check(state.want)) then
      return FAILED
   end
   local last, err = step.hold("matrix", { latency = args.latency, steps = args.steps,
      again = not args.once, ms = args.time, tag = args.tag }, {
      begin = function(report) begin(state, report) end,
      wait = function(report) state.bar:say(report.why) end,
      round = function(report) round(state, report) end,
      stopping = function() state.bar:say "stopping: what runs is finished first" end,
   })
   state.bar:done()
   if state.m and state.seen > 0 then
      return finish(state, last, err)
   end
   io.stderr:write("taut: matrix: ", err or last.why or "nothing was measured", "\n")
   return FAILED
end

function matrix.run(args)
   local procid = step.procid()
   if args.all then
      args.flags, args.pass = { "latency", "steps", "once" }, { "time", "csv", "svg", "png" }
      args.words = args.json_file and { "--json", args.json_file }
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
