-- SPDX-License-Identifier: GPL-2.0-or-later
--- Tests with counted losses, and bouts, as tables for a store and back.
--
-- A test stands in the runs of several components, and is one again; what it crossed are numbers of
-- components.  Where components have other numbers by now a map says which.
local low_tests = require "taut.diagnose.low_tests"

local loss_memory = {}

local KEPT = 64 -- newest tests of a component
local TEST = { "id", "event", "job", "time", "rail", "segments", "lost", "rate", "single", "links" }
local BOUT = { "began", "time", "share", "ratio", "tested", "rail", "links", "is_single",
   "is_wide", "has_grown", "is_counted", "low_spells", "wide_spells" }
local VERDICT = { "share", "rate", "score", "spells", "first", "last", "segments", "lost", "far" }

local function copy(t, names, topo)
   local out = { src_name = topo.nodes[t.src] or t.src_name, dst_name = topo.nodes[t.dst]
      or t.dst_name, first_src = topo.nodes[t.first_src], first_dst = topo.nodes[t.first_dst] }
   for _, name in ipairs(names) do
      out[name] = t[name] or nil
   end
   return out
end

---------------------------------------------------------------- out

--- The loss run and the bouts of a component, and what its verdict rests on, into the table `out`.
function loss_memory.pack(diagnosis, c, k, out)
   local evidence, topo = diagnosis.evidence, diagnosis.topo
   local run, list, tested, chain = evidence:loss_run(c), evidence:bouts(c)
   for i = math.max(1, #run - KEPT + 1), #run do
      local t = copy(run[i], TEST, topo)
      t.on = run[i].on
      out.loss_run = out.loss_run or {}
      table.insert(out.loss_run, t)
   end
   for i, b in ipairs(list or {}) do
      out.bouts, out.bouts_tested, out.bouts_chain = out.bouts or {}, tested, chain
      out.bouts[i] = copy(b, BOUT, topo)
   end
   out.recurs = k.recurs
   if k.loss then
      out.loss = { tests = {} }
      for _, name in ipairs(VERDICT) do
         out.loss[name] = k.loss[name]
      end
      for i, t in ipairs(k.loss.tests) do
         out.loss.tests[i] = copy(t, TEST, topo)
      end
   end
end

---------------------------------------------------------------- back

-- The ends of a test; nil where the topology no longer has a node.
local function ends(t, o)
   t.src_name, t.dst_name = o.node(t.src_name), o.node(t.dst_name)
   t.src, t.dst = o.topo.node_id[t.src_name], o.topo.node_id[t.dst_name]
   t.first_src = t.first_src and o.topo.node_id[o.node(t.first_src)] or t.src
   t.first_dst = t.first_dst and o.topo.node_id[o.node(t.first_dst)] or t.dst
   return t.src and t.dst and t or nil
end

-- Whole numbers, none of them negative.
local function check_counts(t, names)
   for _, name in ipairs(names) do
      if math.type(t[name] or 0) ~= "integer" or (t[name] or 0) < 0 then
         error(name .. " is no count", 0)
      end
   end
end

local function check_share(share)
   if type(share) ~= "number" or not (share >= 0 and share <= 1) then
      error("share is none", 0)
   end
end

local function unpack_list(list, names, o)
   local out = {}
   for _, t in ipairs(type(list) == "table" and list or {}) do
      low_tests.check_numbers(t, names)
      check_counts(t, { "rail", "links", "tested", "event", "low_spells", "wide_spells" })
      if (t.rail or 1) < 1 or (t.rail or 1) > (o.topo.rails or 1) then
         error("rail is none", 0)
      end
      out[#out + 1] = ends(t, o)
   end
   return out
end

local function unpack_losses(list, o)
   list = unpack_list(list, { "id", "event", "time", "segments", "lost" }, o)
   for _, t in ipairs(list) do
      low_tests.check_numbers({ rate = t.rate or 1, single = t.single or 0, job = t.job or 0 },
         { "rate", "single", "job" })
      if t.segments < 1 or t.lost < 0 or t.lost > t.segments then
         error("lost is none of the segments", 0)
      end
   end
   return list
end

-- What a verdict of losses rests on.
local function unpack_verdict(k, o)
   if (k.loss ~= nil) ~= (k.state == "lossy") then
      error("a share and no verdict of losses, or the other way round", 0)
   elseif k.loss then
      low_tests.check_numbers(k.loss, VERDICT)
      check_share(k.loss.share)
      k.loss.tests = unpack_losses(k.loss.tests, o)
   end
end

-- What a test crossed, by today's numbers; nil where something of it is no more.
local function crossed(list, o)
   local on = {}
   for i, c in ipairs(type(list) == "table" and list or {}) do
      on[i] = math.type(c) == "integer" and (o.map and o.map[c] or not o.map and c) or nil
      if not on[i] or not o.topo.components[on[i]] then
         return nil
      end
   end
   return #on > 0 and on or nil
end

--- What pack() left in the table of a component.
-- @param o as for low_tests.unpack_run
function loss_memory.unpack(k, o)
   local run = {}
   for _, t in ipairs(unpack_losses(k.loss_run, o)) do
      t.on = crossed(t.on, o)
      run[#run + 1] = t.on and t
   end
   k.loss_run = run
   k.bouts = unpack_list(k.bouts, { "time", "share", "tested" }, o)
   check_counts(k, { "bouts_tested" })
   low_tests.check_numbers({ chain = k.bouts_chain or 0 }, { "chain" })
   unpack_verdict(k, o)
   if k.recurs then
      low_tests.check_numbers(k.recurs, { "share", "bouts", "spells", "first", "last", "score" })
      check_counts(k.recurs, { "bouts", "spells" })
   end
end

---------------------------------------------------------------- into the runs

--- Put away what component c's run says of its tests, and its bouts, until finish().
function loss_memory.collect(pending, c, k)
   for _, t in ipairs(k.loss_run or {}) do
      local key = ("%d:%d:%d:%s"):format(t.event, t.src, t.dst, t.id)
      local p = pending.losses[key]
      if not p then
         p = { test = t, runs = {} }
         pending.losses[key] = p
         table.insert(pending.losses, p)
      end
      p.runs[c] = true
   end
   pending.bouts[c] = k.bouts and #k.bouts > 0 and { list = k.bouts, tested = k.bouts_tested or 0,
      chain = k.bouts_chain }
      or nil
end

--- Put all of it back.
function loss_memory.finish(pending, evidence)
   table.sort(pending.losses, function(a, b)
      return a.test.time < b.test.time or a.test.time == b.test.time and a.test.id < b.test.id
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
