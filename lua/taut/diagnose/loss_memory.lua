-- SPDX-License-Identifier: GPL-2.0-or-later
--- Tests with counted losses, and bouts, as tables for a store and back.
--
-- A test stands in the runs of several components, and is one again; what it crossed are numbers of
-- components.  Where components have other numbers by now a map says which.
local low_tests = require "taut.diagnose.low_tests"
local tables = require "taut.base.tables"

local loss_memory = {}

local KEPT = 64 -- newest tests of a component
local TEST = { "id", "event", "job", "time", "rail", "segments", "lost", "rate", "single", "links" }
local BOUT = { "began", "time", "share", "ratio", "tested", "rail", "links", "is_single",
   "is_wide", "has_grown", "is_counted", "low_spells", "wide_spells" }
local VERDICT = { "share", "rate", "score", "spells", "first", "last", "segments", "lost", "far" }

local function copy_test(test, names, topo)
   local out = { src_name = topo.nodes[test.src] or test.src_name,
      dst_name = topo.nodes[test.dst] or test.dst_name,
      first_src = topo.nodes[test.first_src], first_dst = topo.nodes[test.first_dst] }
   for _, name in ipairs(names) do
      out[name] = test[name] or nil
   end
   return out
end

---------------------------------------------------------------- out

--- The loss run and the bouts of a component, and what its verdict rests on, into the table `out`.
function loss_memory.pack(diagnosis, component, record, out)
   local evidence, topo = diagnosis.evidence, diagnosis.topo
   local run, list, tested, chain = evidence:loss_run(component), evidence:bouts(component)
   for i = math.max(1, #run - KEPT + 1), #run do
      local t = copy_test(run[i], TEST, topo)
      t.on = run[i].on
      out.loss_run = out.loss_run or {}
      table.insert(out.loss_run, t)
   end
   for i, b in ipairs(list or {}) do
      out.bouts, out.bouts_tested, out.bouts_chain = out.bouts or {}, tested, chain
      out.bouts[i] = copy_test(b, BOUT, topo)
   end
   out.recurs = record.recurs
   if record.loss then
      out.loss = { tests = {} }
      for _, name in ipairs(VERDICT) do
         out.loss[name] = record.loss[name]
      end
      for i, t in ipairs(record.loss.tests) do
         out.loss.tests[i] = copy_test(t, TEST, topo)
      end
   end
end

---------------------------------------------------------------- back

-- The ends of a test; nil where the topology no longer has a node.
local function resolve_ends(test, context)
   test.src_name, test.dst_name = context.node(test.src_name), context.node(test.dst_name)
   test.src, test.dst = context.topo.node_id[test.src_name], context.topo.node_id[test.dst_name]
   test.first_src = test.first_src and context.topo.node_id[context.node(test.first_src)]
      or test.src
   test.first_dst = test.first_dst and context.topo.node_id[context.node(test.first_dst)]
      or test.dst
   if test.src and test.dst then
      return test
   end
   return nil
end

-- Whole numbers, none of them negative.
local function check_counts(fields, names)
   for _, name in ipairs(names) do
      if math.type(fields[name] or 0) ~= "integer" or (fields[name] or 0) < 0 then
         error(name .. " is not a count", 0)
      end
   end
end

local function check_share(share)
   if type(share) ~= "number" or not (share >= 0 and share <= 1) then
      error("share is not between 0 and 1", 0)
   end
end

local function unpack_list(list, names, context)
   local out = {}
   for _, t in ipairs(tables.or_empty(list)) do
      low_tests.check_numbers(t, names)
      check_counts(t, { "rail", "links", "tested", "event", "low_spells", "wide_spells" })
      if (t.rail or 1) < 1 or (t.rail or 1) > (context.topo.rails or 1) then
         error("rail is out of range", 0)
      end
      out[#out + 1] = resolve_ends(t, context)
   end
   return out
end

local function unpack_losses(list, context)
   list = unpack_list(list, { "id", "event", "time", "segments", "lost" }, context)
   for _, t in ipairs(list) do
      low_tests.check_numbers({ rate = t.rate or 1, single = t.single or 0, job = t.job or 0 },
         { "rate", "single", "job" })
      if t.segments < 1 or t.lost < 0 or t.lost > t.segments then
         error("lost is out of range", 0)
      end
   end
   return list
end

-- What a verdict of losses rests on.
local function unpack_verdict(record, context)
   if (record.loss ~= nil) ~= (record.state == "lossy") then
      error("a share and no verdict of losses, or the other way round", 0)
   elseif record.loss then
      low_tests.check_numbers(record.loss, VERDICT)
      check_share(record.loss.share)
      record.loss.tests = unpack_losses(record.loss.tests, context)
   end
end

-- What a test crossed, by today's numbers; nil where something of it no longer exists.
local function renumber_crossed(list, context)
   local on = {}
   for i, c in ipairs(tables.or_empty(list)) do
      if math.type(c) == "integer" then
         on[i] = tables.renumbered(context.map, c)
      end
      if not on[i] or not context.topo.components[on[i]] then
         return nil
      end
   end
   return tables.unless_empty(on)
end

--- What pack() left in the table of a component.
-- @param context as for low_tests.unpack_run
function loss_memory.unpack(record, context)
   local run = {}
   for _, t in ipairs(unpack_losses(record.loss_run, context)) do
      t.on = renumber_crossed(t.on, context)
      run[#run + 1] = t.on and t
   end
   record.loss_run = run
   record.bouts = unpack_list(record.bouts, { "time", "share", "tested" }, context)
   check_counts(record, { "bouts_tested" })
   low_tests.check_numbers({ chain = record.bouts_chain or 0 }, { "chain" })
   unpack_verdict(record, context)
   if record.recurs then
      low_tests.check_numbers(record.recurs, { "share", "bouts", "spells", "first", "last",
         "score" })
      check_counts(record.recurs, { "bouts", "spells" })
   end
end

---------------------------------------------------------------- into the runs

--- Put away what a component's run says of its tests, and its bouts, until finish().
function loss_memory.collect(pending, component, record)
   for _, t in ipairs(record.loss_run or {}) do
      local key = ("%d:%d:%d:%s"):format(t.event, t.src, t.dst, t.id)
      local p = pending.losses[key]
      if not p then
         p = { test = t, runs = {} }
         pending.losses[key] = p
         table.insert(pending.losses, p)
      end
      p.runs[component] = true
   end
   pending.bouts[component] = record.bouts and #record.bouts > 0
      and { list = record.bouts, tested = record.bouts_tested or 0, chain = record.bouts_chain }
      or nil
end

--- Put all of it back.
function loss_memory.finish(pending, evidence)
   table.sort(pending.losses, function(first, second)
      return first.test.time < second.test.time or first.test.time == second.test.time
         and first.test.id < second.test.id
   end)
   local serial, event = evidence:serial(), nil
   for _, p in ipairs(pending.losses) do
      if p.test.event ~= event then
         serial, event = serial + 1, p.test.event
      end
      p.test.serial = serial
      evidence:restore_loss(p.test, p.runs)
   end
   for c, b in pairs(pending.bouts) do
      evidence:restore_bouts(c, b.list, b.tested, b.chain)
   end
end

return loss_memory
