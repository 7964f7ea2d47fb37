-- SPDX-License-Identifier: GPL-2.0-or-later
--- A survey on all idle nodes: srun, started by `taut … --all`.
--
-- srun runs in a session of its own, so that Ctrl-C reaches this program only: the first one asks
-- tautd to end the survey cleanly, or srun to give up while it waits for nodes; the second one
-- ends srun.
local ask = require "taut.base.ask"
local loop = require "taut.loop"
local report = require "taut.report"
local seal = require "taut.seal"
local step = require "taut.survey.step"
local sys = require "taut.sys"

local launch = {}

local function command(args, name, nodes, count, tag)
   -- what a user's environment does to the output of srun is no part of a line
   local argv = { "setsid", "--wait", "env", "-u", "SLURM_LABELIO", "srun", "--exclusive",
      "--quiet", "--input=none", "--output=all", "--job-name=taut-" .. name, "--nodes=" .. count,
      "--ntasks-per-node=1", "--nodelist=" .. nodes }
   local function add(...)
      for _, v in ipairs { ... } do
         argv[#argv + 1] = v
      end
   end
   if args.partition then
      add("--partition=" .. args.partition)
   end
   add(sys.paths.program, name, "--tag", tag,
      "--progress", args.progress or (sys.isatty(2) and "bar" or "lines"))
   for _, o in ipairs(args.flags or { "solo", "json" }) do
      if args[o] then
         add("--" .. o)
      end
   end
   for _, o in ipairs(args.pass or { "time" }) do
      if args[o] then
         add("--" .. o, tostring(args[o]))
      end
   end
   add(table.unpack(args.words or {}))
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

local function wait(args, state)
   local signals = {}
   for i, name in ipairs { "INT", "TERM" } do
      signals[i] = loop.signal(name, function() interrupt(args, state) end)
   end
   loop.run()
   for _, s in ipairs(signals) do
      s:cancel()
   end
   return state.status or 1
end

--- Run this command on all idle nodes of the topology.
-- @param args its arguments: socket, partition, at (a router), progress, and those that go to the
--   step: the names of its flags in `flags` (solo, json), of its options in `pass` (time), more
--   words in `words`; `on_line`, called with each line it prints, and `on_stopping`, after Ctrl-C
-- @param name "audit" or "matrix"
-- @return exit status: that of the step; and whether there was one
function launch.on_idle(args, name)
   local as_json = args.json
   args.json = nil -- it is the step's
   local d, code = ask.tautd(args, "idle_nodes", { partition = args.partition,
      router = args.at })
   args.json = as_json
   if not d then
      return code, false
   elseif d.count < 2 then
      report.complain(("%s: %d of the topology's nodes are idle%s, at least 2 are needed")
         :format(name, d.count, args.partition and " in partition " .. args.partition
         or args.at and " and can test " .. args.at or ""))
      return 1, false
   end
   local state = { tag = seal.hex(seal.random(8)) }
   local why
   state.proc, why = loop.spawn { argv = command(args, name, d.nodes, d.count, state.tag),
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
   return wait(args, state), true
end

return launch
