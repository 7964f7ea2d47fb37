-- SPDX-License-Identifier: GPL-2.0-or-later
--- The jobs that load a machine: alike ones, those that run, those of a trace or of tautd's store.
local ask = require "taut.base.ask"
local common = require "taut.cli.study.common"
local jobs = require "taut.study.jobs"
local load = require "taut.study.load"
local mix = require "taut.study.mix"
local pattern = require "taut.place.pattern"

local command = {}

local DAY = 86400

--- Options.
-- @param split converter of --split
function command.setup(parser, split)
   parser:option("-s --split"):description "Suppose that this many equal jobs fill the machine."
      :argname "<n>":convert(split or common.whole(1, 4096))
   parser:flag("--running"):description "The jobs that run now (squeue)."
   parser:option("--trace"):description "The jobs of a trace (SWF) at one moment, see --at."
      :argname "<file>"
   parser:option("--stored"):description(
      "The jobs of the last days that tautd's store has, at one moment.")
      :argname "<days>":convert(common.above_zero)
   parser:option("--at"):description(
      "Seconds since the trace, or those days, began (when half of the jobs had been submitted).")
      :argname "<s>":convert(common.whole(0, 1 << 40))
   parser:option("--squeue"):description "Slurm's program that lists running jobs (squeue)."
      :argname "<program>"
end

-- Jobs as they lie on their nodes: laid out, and a sentence about them.
local function lay_out(studied, list, out)
   if not list then
      return nil, out
   elseif #list == 0 then
      return nil, "no job of two nodes or more: nothing loads the network (--split, --trace)"
   end
   local text = ("%d jobs of two nodes or more"):format(#list)
   if out > 0 then
      text = ("%s, %d others left out"):format(text, out)
   end
   return mix.layout(studied.machine, list, studied.per_node), text .. "."
end

local function running_jobs(studied, args)
   local list, out = mix.squeue(studied.machine, args.squeue)
   if not list then
      return nil, out .. "; --split and --trace do without Slurm"
   end
   return lay_out(studied, list, out)
end

local function jobs_of_trace(studied, args)
   local f, err = io.open(args.trace)
   if not f then
      return nil, err
   end
   local all
   all, err = mix.trace(f:lines(), args.trace, studied.per_node)
   f:close()
   return all, err
end

local function of_store(_, args)
   local since = os.time() - math.floor(args.stored * DAY)
   local data, err = ask.request(args, "profile", { since = since })
   if not data then
      return nil, "tautd does not list its jobs: " .. err
   end
   return mix.stored(data.jobs, since)
end

local function jobs_alike(studied, args)
   local M, err = pattern.motif(studied.patterns[1])
   local list
   if M then
      list, err = jobs.lay(studied.machine, { count = args.split, shape = M.shape,
         per_node = studied.per_node,
         seed = 1 })
   end
   if not list then
      return nil, err
   end
   return list, ("%d alike jobs of %d ranks."):format(#list, list[1].ranks)
end

local function jobs_of_args(studied, args)
   if args.trace then
      return jobs_of_trace(studied, args)
   end
   return of_store(studied, args)
end

--- The machine's real jobs, where an option asks for them.
-- @return jobs as jobs.lay gives them, and a sentence; nil where none is asked for; or false and
--   what is wrong
function command.real(studied, args)
   local list, note
   if args.running then
      list, note = running_jobs(studied, args)
   elseif args.trace or args.stored then
      list, note = jobs_of_args(studied, args)
      if list then
         list, note = lay_out(studied, mix.place(studied.machine, mix.at(list, args.at)))
      end
   else
      return nil
   end
   return list or false, note
end

--- Jobs by any of the options.
-- @param usual function(studied, args) → jobs, a sentence; where none was given: those that run
-- @return jobs, a sentence; or nil and what is wrong
function command.jobs(studied, args, usual)
   local list, note = command.real(studied, args)
   if list == nil then
      local jobs_of = usual or running_jobs
      if args.split then
         jobs_of = jobs_alike
      end
      list, note = jobs_of(studied, args)
   end
   if list then
      studied.notes[#studied.notes + 1] = note
   end
   return list or nil, note
end

--- Works for taut.study.repair: one for each pattern, over all jobs.
-- @return works, nodes that are busy; or nil and what is wrong
function command.works(studied, args)
   local list, note = command.jobs(studied, args)
   if not list then
      return nil, note
   end
   local works, nodes = {}, 0
   for _, j in ipairs(list) do
      nodes = nodes + j.nodes
   end
   for i, text in ipairs(studied.patterns) do
      local M, err = pattern.motif(text)
      local phases
      if M then
         phases, err = load.of(studied.machine, M, list, studied.per_node)
      end
      if not phases then
         return nil, err
      end
      works[i] = { phases = phases, nodes = nodes / #studied.patterns }
   end
   return works, nodes
end

return command
