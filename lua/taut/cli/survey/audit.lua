-- SPDX-License-Identifier: GPL-2.0-or-later
--- `taut audit`: every link, one process per node of a step.
local audit_text = require "taut.cli.survey.audit_text"
local json = require "taut.json"
local launch = require "taut.survey.launch"
local progress = require "taut.report.progress"
local report = require "taut.report"
local step = require "taut.survey.step"
local tables = require "taut.base.tables"
local wire = require "taut.wire"

local audit = { summary = "Measure every link: srun -X --ntasks-per-node=1 taut audit." }

-- Exit status besides 0: could not be run, slow links found, not all was measured.
local FAILED, SLOW, INCOMPLETE = 1, 3, 4

function audit.setup(parser)
   parser:epilog("Exit status: 0 all is well, 1 it could not be run, 2 wrong arguments, 3 slow " ..
      "links or nodes were found, 4 none, but not all was measured.  srun ends with the highest " ..
      "status of its tasks; with -X it passes Ctrl-C on, which ends an audit cleanly.")
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
   parser:option("--at"):description(
      "With --all: on as many as test the links of this router."):argname "<router>"
   parser:flag("--solo"):description "No shared tests: each link by one pair of nodes only."
   parser:option("--time"):description "Duration of a test (default: survey.test_ms)."
      :argname "<ms>":convert(function(text)
         return tables.within(math.tointeger(tonumber(text)), wire.TEST_MIN_MS, wire.TEST_MAX_MS),
            ("--time: expected %d to %d, got %s"):format(wire.TEST_MIN_MS, wire.TEST_MAX_MS, text)
      end)
   parser:option("--progress"):description "bar, lines or none (default: a bar on a terminal)."
      :choices { "bar", "lines", "none" }:argname "<how>"
   parser:option("--tag"):hidden(true)
end

local function status_of(found)
   if #found.slow > 0 then
      return SLOW
   elseif found.complete then
      return 0
   end
   return INCOMPLETE
end

local function hold_checks(args)
   local bar = progress.new("audit", args.progress)
   local kept = json.array {}
   local last, err = step.hold("audit", { solo = args.solo, test_ms = args.time, tag = args.tag }, {
      begin = function(message) bar:begin(message) end,
      wait = function(message) bar:say(message.why) end,
      round = function(message)
         bar:round(message)
         for _, row in ipairs(message.results or {}) do
            if args.json then
               kept[#kept + 1] = row
            else
               bar:clear()
               print(audit_text.line(row))
            end
         end
      end,
      stopping = function() bar:say "stopping: what runs is finished first" end,
   })
   bar:done()
   if last and last.found then
      if args.json then
         last.found.results, last.found.why = kept, last.why
         print(json.encode(last.found, 2))
      else
         audit_text.print(last.found, last.why)
      end
      return status_of(last.found)
   end
   report.complain("audit: ", err or last.why or "no reason given")
   return FAILED
end

-- On all idle nodes: the answer is the step's.
local function on_idle(args)
   local answered = false
   args.on_line = function(line)
      answered = true
      print(line)
   end
   local status, started = launch.on_idle(args, "audit")
   if started and status ~= 0 and not answered then
      report.complain(("audit: its step ended without an answer, exit status %d"):format(status))
   end
   return status
end

function audit.run(args)
   local procid = step.procid()
   if args.all then
      return on_idle(args)
   elseif not procid then
      report.complain("audit: run it in a job: srun -X --ntasks-per-node=1 taut audit, one ",
         "process on each of its nodes; or taut audit --all")
      return FAILED
   elseif procid ~= 0 then
      local _, err = step.join "audit"
      io.stderr:write("taut: audit: ", err, "\n") -- the step's first process answers --json
      return FAILED
   end
   return hold_checks(args)
end

return audit
