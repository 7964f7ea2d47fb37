-- SPDX-License-Identifier: GPL-2.0-or-later
--- What `repair` and `outlook` share: the work that loads the machine, and what further failed
-- cables would make of it.
local common = require "taut.cli.study.common"
local mix = require "taut.cli.study.mix"
local repair = require "taut.study.repair"

local further = {}

--- Open the machine, and say what loads it.
-- @return { scene = of common.open, works, busy = nodes, links = that may fail }; or nil and what
--   is wrong
function further.open(args, default)
   local s, err = common.open(args, default)
   local works, busy, may
   if s then
      works, busy = mix.works(s, args)
      err = busy
   end
   if works then
      may, err = common.links(s, args)
   end
   if not may then
      return nil, err
   end
   return { scene = s, works = works, busy = busy, links = may }
end

--- Fail more and more cables.
-- @param study of further.open
-- @param most cables, where --most does not say it
-- @param options { cost, days } of repair.when
-- @return as repair.when; nil and the exit status where there is nothing to print
function further.failures(study, args, most, options)
   local s = study.scene
   local spec = { links = study.links, seeds = args.seeds or 8, most = args.most or most }
   local tasks = repair.tasks(spec)
   local results, status = common.solve(args, tasks, function(task)
      return repair.task(s.machine, study.works, s.known or {}, s.c, spec, task)
   end)
   if not results then
      return nil, status
   end
   return repair.when(tasks, results, { nodes = study.busy, cost = options.cost,
      days = options.days })
end

return further
