-- SPDX-License-Identifier: GPL-2.0-or-later
--- What is known of a component, as text for the store and back.
local json = require "taut.json"
local loss_memory = require "taut.diagnose.loss_memory"
local low_tests = require "taut.diagnose.low_tests"
local member = require "taut.diagnose.sets.member"
local records = require "taut.diagnose.record"
local slow_whole = require "taut.report.slow_whole"
local tables = require "taut.base.tables"

local memory = {}

local GLIMPSES = { "best", "part", "whole" }
local SEEN = { "cleared_at", "cleared_by", "last", "tests", "good", "reach" }

-- What lacks for a verdict: its `what`, and whether it has numbers.
local MISSING = { score = true, spells = true, span = true, far = true, confirmed = true,
   senders = true, receivers = true, queue = true, busy = false, test = false, elsewhere = false,
   job = false }

---------------------------------------------------------------- out

local function pack_list(list, pack)
   local out = json.array {}
   for i, t in ipairs(list) do
      out[i] = pack(t)
   end
   return out
end

local function pack_rivals(list, topo)
   local out = json.array {}
   for i, r in ipairs(list or {}) do
      out[i] = { component = topo.components[r.component], rest = r.rest, chance = r.chance,
         score = r.score, same = r.same, cleared_at = r.cleared_at, cleared_by = r.cleared_by }
   end
   return out
end

-- Nodes that took part in tests which came to nothing: { name, how many, name, … }.
local function pack_spent(spent, topo)
   local list = {}
   for n, times in pairs(spent or {}) do
      list[#list + 1], list[#list + 2] = topo.nodes[n], times
   end
   return tables.unless_empty(list)
end

local function pack_fields(record, seen)
   local out = {}
   for _, f in ipairs(records.PLAIN) do
      out[f] = record[f]
   end
   for _, f in ipairs(SEEN) do
      out[f] = seen[f]
   end
   if seen.low > 0 then
      out.low, out.low_of = seen.low, seen.low_of
   end
   return out
end

--- What tests let through a component since its run began.
-- @return map kind → as evidence:glimpses gives it; nil where there is nothing
function memory.glimpses(evidence, component)
   local out = {}
   for _, kind in ipairs(GLIMPSES) do
      out[kind] = evidence:glimpses(component, kind)
   end
   return next(out) and out
end

--- @param diagnosis of diagnose.new
-- @param more what others want kept with it, or nil: plain fields, which unpack leaves as they are
-- @return JSON text
function memory.pack(diagnosis, component, more)
   local k, topo = diagnosis:component(component), diagnosis.topo
   local out = pack_fields(k, diagnosis:seen(component))
   out.confirmed = json.array {}
   out.tied, out.ruled_out = pack_rivals(k.tied, topo), pack_rivals(k.ruled_out, topo)
   out.whole, out.whole_of = k.whole and (slow_whole.text(k.whole)), k.whole
   out.spent = pack_spent(k.spent, topo)
   loss_memory.pack(diagnosis, component, k, out)
   out.hard = k.hard and k.hard.of_set and k.hard or nil -- all other comes with its evidence
   out.run = pack_list(diagnosis:run(component), low_tests.pack_of_run)
   out.glimpses = memory.glimpses(diagnosis.evidence, component)
   out.evidence = k.evidence and pack_list(k.evidence, low_tests.pack)
   out.flows = member.pack(diagnosis.sets, component)
   for i, p in ipairs(k.confirmed) do
      out.confirmed[i] = { one = low_tests.pack(p.one), many = low_tests.pack(p.many) }
   end
   out.more = more
   return json.encode(out)
end

---------------------------------------------------------------- back

local check_numbers = low_tests.check_numbers

local function unpack_confirmed(list, context)
   local confirmed = {}
   for _, p in ipairs(list) do
      local one, many = low_tests.shared(p.one, context), low_tests.shared(p.many, context)
      if one and many then
         confirmed[#confirmed + 1] = { one = one, many = many, time = one.time,
            event = one.event, src = one.src, dst = one.dst }
      end
   end
   return confirmed
end

local function unpack_rivals(list, context)
   local out = {}
   for _, r in ipairs(list or {}) do
      r.component = context.topo.component_id[context.name(r.component)]
      check_numbers(r, { "rest", "same" })
      if r.component then
         out[#out + 1] = r
      end
   end
   return out
end

local function number_of_now(component, context)
   if math.type(component) == "integer" then
      return tables.renumbered(context.map, component)
   end
   return nil
end

-- What is damaged is left out, and found anew with the next test.
local function unpack_whole(packed, context)
   if type(packed) ~= "table" or not slow_whole.is(packed) then
      return nil
   end
   return { kind = packed.kind, of = packed.of, n = packed.n, total = packed.total,
      way = packed.way, component = number_of_now(packed.component, context) }
end

local function unpack_missing(missing, context)
   if type(missing) ~= "table" or MISSING[missing.what] == nil then
      return nil
   elseif MISSING[missing.what] then
      check_numbers(missing, { "has", "needs" })
   elseif missing.what == "elsewhere" then
      missing.whole = unpack_whole(missing.whole, context)
      return missing.whole and missing
   elseif missing.what == "job" then
      check_numbers(missing, { "has" })
   end
   return missing
end

local function unpack_spent(list, context)
   local spent = {}
   list = tables.or_empty(list)
   for i = 1, #list - 1, 2 do
      local n = context.topo.node_id[context.node(list[i])]
      if n and math.type(list[i + 1]) == "integer" then
         spent[n] = list[i + 1]
      end
   end
   if next(spent) then
      return spent
   end
   return nil
end

-- A table with these numbers, or nil where it is not one.
local function check_table(numbered, names)
   if type(numbered) == "table" then
      check_numbers(numbered, names)
      return numbered
   end
end

local function check_number_list(list)
   if type(list) ~= "table" then
      return nil
   end
   for i = 1, #list do
      check_numbers(list, { i })
   end
   return list
end

local function unpack_glimpses(kinds)
   local out = {}
   for _, kind in ipairs(GLIMPSES) do
      out[kind] = type(kinds) == "table" and check_number_list(kinds[kind]) or nil
   end
   return out
end

local CASE = { "score", "best", "low", "at", "spells", "events" }

-- What need not be there.
local function unpack_more(record, context)
   record.load = check_table(record.load, { "job", "at" })
   if type(record.last_cleared) ~= "table" then
      record.last_cleared = nil
   end
   record.missing, record.spent = unpack_missing(record.missing, context),
      unpack_spent(record.spent, context)
   record.hard = check_table(record.hard, { "left" })
   record.glimpses, record.took = unpack_glimpses(record.glimpses), check_number_list(record.took)
   record.flows = member.unpack(record.flows, context)
   record.more = tables.or_empty(record.more)
end

-- Low tests, of how many: kept where there are any.
local function unpack_counts(low, of)
   local is_so = math.type(low) == "integer" and math.type(of) == "integer" and low >= 0
      and of >= low and of < 1 << 32
   if is_so then
      return low, of
   end
   return 0, 0
end

local function unpack_record(record, context)
   check_numbers(record, { "tests", "good", "busy" })
   record.low, record.low_of = unpack_counts(record.low, record.low_of)
   for _, name in ipairs { "since", "cleared_at", "last", "suspect_at", "left",
      "probation_until", "asked", "cleared_by", "reach" } do
      check_numbers({ [name] = record[name] or 0 }, { name })
   end
   record.run = low_tests.unpack_run(record.run, context)
   record.evidence = record.evidence and low_tests.unpack_run(record.evidence, context, true)
   record.confirmed = unpack_confirmed(record.confirmed, context)
   record.tied = tables.unless_empty(unpack_rivals(record.tied, context))
   record.ruled_out = unpack_rivals(record.ruled_out, context)
   record.whole, record.whole_of = unpack_whole(record.whole_of, context), nil
   record.case = check_table(record.case, CASE)
   unpack_more(record, context)
   loss_memory.unpack(record, context)
   return record
end

local function keep_value(value)
   return value
end

--- @param text what pack made
-- @param topo topology
-- @param seen table shared by all components of one loading
-- @param old where it was made of another machine: of before/same.lua
-- @return component, for diagnosis:restore(); or nil and why it cannot be read
function memory.unpack(text, topo, seen, old)
   local k, err = json.decode(text)
   if type(k) ~= "table" then
      return nil, err or "no object"
   end
   local o = { topo = topo, seen = seen, name = keep_value, node = keep_value }
   for name, v in pairs(old or {}) do
      o[name] = v
   end
   local ok, made = pcall(unpack_record, k, o)
   if not ok then
      return nil, "damaged: " .. tostring(made)
   end
   return made
end

---------------------------------------------------------------- taking it over

local function new_pending()
   return { glimpses = {}, flows = {}, counts = {}, losses = {}, bouts = {} }
end

--- Put away a component as unpacked, until finish().
function memory.add(self, component, record)
   self.pending = self.pending or new_pending()
   loss_memory.collect(self.pending, component, record)
   for _, t in ipairs(record.run) do
      low_tests.collect(self.pending, component, t)
   end
   self.pending.glimpses[component], self.pending.flows[component] = record.glimpses, record.flows
   self.pending.counts[component] = nil
   if (record.low or 0) > 0 then
      self.pending.counts[component] = { record.low, record.low_of }
   end
   self.evidence:restore_seen(component, record)
end

--- Put the tests back, and what else belongs to their runs.
-- @return map component → what flows over sets said of it
function memory.finish(self)
   local pending = self.pending or new_pending()
   low_tests.finish(pending, self.evidence, self.topo)
   loss_memory.finish(pending, self.evidence)
   for c, counts in pairs(pending.counts) do
      self.evidence:restore_counts(c, counts[1], counts[2])
   end
   for c, kinds in pairs(pending.glimpses) do
      for kind, list in pairs(kinds) do
         self.evidence:restore_glimpses(c, kind, list)
      end
   end
   self.pending = nil
   return pending.flows
end

return memory
