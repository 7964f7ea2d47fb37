-- SPDX-License-Identifier: GPL-2.0-or-later
--- `taut audit` and `taut matrix` as a process of a job's step.
--
-- Process 0 is the owner: it runs taut-probe as a child, which takes part for this node and prints
-- the reports that tautd sends, a line of JSON each.  All others become taut-probe.
local ask = require "taut.base.ask"
local json = require "taut.json"
local loop = require "taut.loop"
local sys = require "taut.sys"

local step = {}

--- A line of reports is not longer, in bytes.
step.REPORT_MAX = 5 << 20

--- Is this a process that srun started, and which one?
-- @return SLURM_PROCID, or nil
function step.procid()
   local id, in_step = os.getenv "SLURM_PROCID", os.getenv "SLURM_STEP_ID"
   if not in_step or not id then
      return nil
   end
   return math.tointeger(tonumber(id))
end

local function run_probe(purpose, ...)
   return { sys.paths.libexecdir .. "/taut-probe", "survey", purpose, ... }
end

--- Take part for this node, showing nothing; returns only if that fails.
-- @return nil, why
function step.join(purpose)
   return sys.exec(run_probe(purpose))
end

--- Be the owner for somebody else, who reads the reports from standard output; returns only if that
-- fails.
-- @return nil, why
function step.relay(purpose, options)
   return sys.exec(run_probe(purpose, "--owner", json.encode(options)))
end

--- One line of taut-probe's: a report, or something to pass on.
-- @param state { on = as in step.hold }; gets `last`, the last report
function step.take_line(state, line)
   local message = ask.plain(json.decode(line))
   if type(message) ~= "table" or type(message.kind) ~= "string" then
      io.stderr:write(line, "\n")
      return
   end
   if message.kind == "end" then
      state.last = message
   end
   local fn = state.on[message.kind]
   if fn then
      fn(message)
   end
end

-- The first signal ends the survey cleanly, taut-probe's part of it; the second one at once.
local function on_signal(state, proc)
   state.signals = (state.signals or 0) + 1
   if state.signals == 1 then
      proc:kill "INT"
      if state.on.stopping then
         state.on.stopping()
      end
   else
      proc:kill()
   end
end

--- Hold a survey as its owner; ends when tautd has ended it.
-- @param purpose "audit" or "matrix"
-- @param options table, what the kind of survey understands
-- @param on functions by kind of report: begin, wait, round, ["end"] (each gets the report, see
--   doc/protocol.md), and stopping() after Ctrl-C
-- @return the last report; or nil and why there is none
function step.hold(purpose, options, on)
   local state = { on = on }
   local argv = run_probe(purpose, "--owner", json.encode(options))
   local proc, err = loop.spawn { argv = argv, max_line = step.REPORT_MAX,
      on_line = function(line) step.take_line(state, line) end,
      on_exit = function(what)
         state.exit = what
         loop.stop()
      end }
   if not proc then
      return nil, ("%s: %s"):format(argv[1], err)
   end
   local int = loop.signal("INT", function() on_signal(state, proc) end)
   local term = loop.signal("TERM", function() on_signal(state, proc) end)
   loop.run()
   int:cancel()
   term:cancel()
   if not state.last then
      return nil, ("the survey did not finish (taut-probe: %s)"):format(state.exit)
   end
   return state.last
end

return step
