-- SPDX-License-Identifier: GPL-2.0-or-later
--- The jobs that repair and outlook look at: those that run, those of a trace, or the machine split
-- into alike ones.
local common = require "taut.cli.study.common"
local jobs = require "taut.study.jobs"
local load = require "taut.study.load"
local mix = require "taut.study.mix"
local pattern = require "taut.place.pattern"

local command = {}

function command.setup(parser)
   parser:option("-s --split"):description "As if so many alike jobs filled the machine."
      :argname "<n>":convert(common.whole(1, 4096))
   parser:option("--trace"):description "The jobs of a trace (SWF) at one moment, see --at."
      :argname "<file>"
   parser:option("--at"):description "Seconds since the trace began (its middle).":argname "<s>"
      :convert(common.whole(0, 1 << 40))
   parser:option("--squeue"):description "Slurm's program that lists running jobs (squeue)."
      :argname "<program>"
end

-- Jobs, and a sentence about them; or nil and what is wrong.
local function jobs_of(s, args)
   local m = s.machine
   if args.split then
      local M, err = pattern.motif(s.patterns[1])
      local list
      if M then
         list, err = jobs.lay(m, { count = args.split, shape = M.shape, per_node = s.per_node,
            seed = 1 })
      end
      return list, list and ("%d alike jobs of %d ranks."):format(#list, list[1].ranks) or err
   end
   local list, out
   if args.trace then
      local f, err = io.open(args.trace)
      if not f then
         return nil, err
      end
      list, err = mix.trace(f:lines(), args.trace, args.at, s.per_node)
      f:close()
      if not list then
         return nil, err
      end
      list, out = mix.place(m, list)
   else
      list, out = mix.squeue(m, args.squeue)
      if not list then
         return nil, out .. "; --split and --trace do without Slurm"
      end
   end
   if #list == 0 then
      return nil, "no job of two nodes or more: nothing loads the network (--split, --trace)"
   end
   return mix.layout(m, list, s.per_node), ("%d jobs of two nodes or more%s."):format(#list,
      out > 0 and (", %d others left out"):format(out) or "")
end

--- Works for taut.study.repair: one for each pattern, over all jobs.
-- @return works, nodes that are busy, a sentence; or nil and what is wrong
function command.works(s, args)
   local list, note = jobs_of(s, args)
   if not list then
      return nil, note
   end
   local works, nodes = {}, 0
   for _, j in ipairs(list) do
      nodes = nodes + j.nodes
   end
   for i, text in ipairs(s.patterns) do
      local M, err = pattern.motif(text)
      local phases
      if M then
         phases, err = load.of(s.machine, M, list, s.per_node)
      end
      if not phases then
         return nil, err
      end
      works[i] = { phases = phases, nodes = nodes / #s.patterns }
   end
   return works, nodes, note
end

return command
