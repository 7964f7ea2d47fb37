-- SPDX-License-Identifier: GPL-2.0-or-later
--- A survey on all idle nodes: srun, started by `taut … --all`.
--
-- Its job is to begin now: it asks for nodes that a job could have, and for minutes only, so that
-- it fits before the next reservation.  Where it waits all the same, Slurm's reason is said.
-- srun runs in a session of its own, so that Ctrl-C reaches this program only: the first one asks
-- tautd to end the survey cleanly, or srun to give up while it waits for nodes; the second one
-- ends srun.
local ask = require "taut.base.ask"
local loop = require "taut.loop"
local report = require "taut.report"
local seal = require "taut.seal"
local step = require "taut.survey.step"
local sys = require "taut.sys"
local tables = require "taut.base.tables"

local launch = {}

local WAIT_MS = 5000       -- a job that waits longer is spoken of
local LOOK_MS = 10000      -- and looked at so often from then on

local function job_command(args, name, idle, tag)
   -- additions of a user's environment to srun's output are not part of a line
   local argv = { "setsid", "--wait", "env", "-u", "SLURM_LABELIO", "srun", "--exclusive",
      "--quiet", "--input=none", "--output=all", "--job-name=taut-" .. name,
      "--comment=taut-" .. tag, "--nodes=" .. idle.count, "--ntasks-per-node=1",
      "--nodelist=" .. idle.nodes, "--time=" .. (args.limit or idle.minutes) }
   local function add_argument(...)
      for _, v in ipairs { ... } do
         argv[#argv + 1] = v
      end
   end
   local partition = args.partition or idle.partition
   add_argument(partition and "--partition=" .. partition)
   add_argument(args.reservation and "--reservation=" .. args.reservation)
   add_argument(sys.paths.program, name, "--tag", tag,
      "--progress", args.progress or report.text_if(sys.isatty(2), "bar", "lines"))
   for _, o in ipairs(args.flags or { "solo", "json" }) do
      if args[o] then
         add_argument("--" .. o)
      end
   end
   for _, o in ipairs(args.pass or { "time" }) do
      if args[o] then
         add_argument("--" .. o, tostring(args[o]))
      end
   end
   add_argument(table.unpack(args.words or {}))
   return argv
end

local function interrupt(args, state)
   state.signals = (state.signals or 0) + 1
   if state.signals > 1 then
      return state.proc:kill "TERM"
   elseif args.on_stopping then
      args.on_stopping()
   end
   local data = ask.request(args, "stop_survey", { tag = state.tag }, 5000)
   if not data or data.stopped == 0 then
      state.proc:kill "INT"
   end
end

-- Say why the job waits, when Slurm has another reason than before; look again as long as it does.
local function look_at_queue(name, state)
   local waits = false
   loop.spawn { argv = { "env", "-u", "SQUEUE_FORMAT", "squeue", "--noheader", "--states=PENDING",
      "--name=taut-" .. name, "--format=%k|%i|%r" },
      on_line = function(line)
         local id, why = line:match("^taut%-" .. state.tag .. "|(%d+)|(.*)$")
         waits = waits or id ~= nil
         if id and why ~= state.why then
            state.why = why
            report.complain(("%s: job %s waits: %s"):format(name, id, why))
         end
      end,
      on_exit = function()
         if waits and not state.status then
            state.timer = loop.timer(LOOK_MS, function() look_at_queue(name, state) end)
         end
      end }
end

local function await_job(args, name, state)
   local signals = {}
   state.timer = loop.timer(WAIT_MS, function() look_at_queue(name, state) end)
   for i, signal in ipairs { "INT", "TERM" } do
      signals[i] = loop.signal(signal, function() interrupt(args, state) end)
   end
   loop.run()
   for _, s in ipairs(signals) do
      s:cancel()
   end
   state.timer:cancel()
   return state.status or 1
end

-- Which nodes were looked at, where not all.
local function among_which(args)
   if args.partition then
      return " in partition " .. args.partition
   elseif args.reservation then
      return " in reservation " .. args.reservation
   elseif args.at then
      return " and can test " .. args.at
   end
   return ""
end

-- What is left out, and who has to say which partition it is to be.  Returns whether it can begin.
local function is_possible(args, name, idle)
   for _, l in ipairs(idle.left_out or {}) do
      report.complain(("%s: left out, %s: %s"):format(name, l.why, l.nodes))
   end
   if idle.count < 2 then
      report.complain(("%s: %d of the topology's nodes are idle%s, at least 2 are needed")
         :format(name, idle.count, among_which(args)))
      return false
   elseif idle.split then
      local each = tables.map(idle.split, function(partition)
         return ("-p %s (%d nodes)"):format(partition.partition, partition.count)
      end)
      report.complain(("%s: no partition has all %d idle nodes of the topology: give %s"):format(
         name, idle.count, table.concat(each, " or ")))
      return false
   end
   return true
end

--- Run this command on all idle nodes of the topology.
-- @param args its arguments: socket, partition, reservation, limit (minutes), at (a router),
--   progress, and those that go to the step: the names of its flags in `flags` (solo, json), of its
--   options in `pass` (time), more words in `words`; `on_line`, called with each line it prints,
--   and `on_stopping`, after Ctrl-C
-- @param name "audit" or "matrix"
-- @return exit status: that of the step; and whether there was one
function launch.on_idle(args, name)
   local as_json = args.json
   args.json = nil -- it is the step's
   local d, code = ask.tautd(args, "idle_nodes", { partition = args.partition,
      router = args.at, reservation = args.reservation, kind = name,
      ms = args.time })
   args.json = as_json
   if not d then
      return code, false
   elseif not is_possible(args, name, d) then
      return 1, false
   end
   local state = { tag = seal.hex(seal.random(8)) }
   local why
   state.proc, why = loop.spawn { argv = job_command(args, name, d, state.tag),
      max_line = step.REPORT_MAX,
      on_line = args.on_line,
      on_exit = function(_, status)
         state.status = status
         loop.stop()
      end }
   if not state.proc then
      report.complain(name, ": srun: ", why)
      return 1, false
   end
   return await_job(args, name, state), true
end

return launch
