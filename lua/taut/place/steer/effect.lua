-- SPDX-License-Identifier: GPL-2.0-or-later
--- `taut steer --report`: what steering did, what it was to gain, and what was seen.
--
-- Observed: steered jobs beside jobs of the same user, name and number of nodes that were not
-- steered: median wall time, and bytes sent per node and second as the counters have it.  Fewer
-- than LEAST jobs on a side say nothing.
local json = require "taut.json"
local mark = require "taut.slurm.mark"
local tables = require "taut.base.tables"

local effect = {}

local LEAST = 3

local function values_of(rows, field)
   local list = {}
   for _, row in ipairs(rows) do
      if type(row[field]) == "number" then
         list[#list + 1] = row[field]
      end
   end
   return list
end

local function group_key(row)
   return ("%s\0%s\0%d"):format(row.user, row.name, row.nodes or 0)
end

local function by_program(rows)
   local groups = {}
   for _, row in ipairs(rows) do
      groups[group_key(row)] = groups[group_key(row)] or {}
      table.insert(groups[group_key(row)], row)
   end
   return groups
end

-- Was anything done, beyond noting what the job said?
local function is_touched(steered)
   return (steered.excluded or steered.switches or steered.preferred or steered.placed
      or steered.tried) ~= nil
end

local function decode_mark(row)
   return tables.or_empty((json.decode(row.steered or "")))
end

-- Predicted time without steering over that with it: the mean over the jobs that have one.
local function predicted(list)
   local sum, n = 0, 0
   for _, s in ipairs(list) do
      local p = s.predicted
      if type(p) == "table" and type(p.got) == "number" and p.got > 0 then
         sum, n = sum + p.without / p.got, n + 1
      end
   end
   if n == 0 then
      return nil
   end
   return sum / n
end

local function median_of(rows, field)
   return tables.median(values_of(rows, field))
end

-- Median of the others over that of the steered: above 1 the steered ones were faster.
local function observed_effect(steered, others, field)
   local a, b = values_of(steered, field), values_of(others, field)
   if #a < LEAST or #b < LEAST or tables.median(a) <= 0 then
      return nil
   end
   return tables.median(b) / tables.median(a)
end

local function group_row(rows, others)
   local list, did, added = {}, {}, 0
   for i, row in ipairs(rows) do
      list[i] = decode_mark(row)
      added = added + (list[i].added_s or 0)
      local words = mark.words(list[i])
      did[words] = (did[words] or 0) + 1
   end
   local first = rows[1]
   local rate = observed_effect(rows, others, "sent_Bps")
   return { user = first.user, name = first.name, nodes = first.nodes, comm = first.comm,
      jobs = #rows, others = #others, did = did, predicted = predicted(list), added_s = added,
      wall_s = median_of(rows, "seconds"), others_wall_s = median_of(others, "seconds"),
      wait_s = median_of(rows, "wait_s"), others_wait_s = median_of(others, "wait_s"),
      faster = observed_effect(rows, others, "seconds"), rate = rate and 1 / rate }
end

--- @param steered rows of `job` with a mark, others those without one
-- @return { jobs, touched, excluded, placed, in_vain, switches, preferred (counts), added_s,
--   wait_s = sum, programs = array }
function effect.of(steered, others)
   local r = { jobs = #steered, touched = 0, excluded = 0, placed = 0, in_vain = 0, switches = 0,
      preferred = 0, added_s = 0, wait_s = 0, least = LEAST, programs = json.array {} }
   for _, row in ipairs(steered) do
      local s = decode_mark(row)
      r.touched = r.touched + tables.one_if(is_touched(s))
      r.in_vain = r.in_vain + tables.one_if(s.tried)
      for _, what in ipairs { "excluded", "placed", "switches", "preferred" } do
         r[what] = r[what] + tables.one_if(s[what])
      end
      r.added_s, r.wait_s = r.added_s + (s.added_s or 0), r.wait_s + (row.wait_s or 0)
   end
   local like = by_program(others)
   for k, rows in pairs(by_program(steered)) do
      r.programs[#r.programs + 1] = group_row(rows, like[k] or {})
   end
   table.sort(r.programs, function(one, other)
      if one.jobs ~= other.jobs then
         return one.jobs > other.jobs
      end
      return one.user .. one.name < other.user .. other.name
         or one.user .. one.name == other.user .. other.name and one.nodes < other.nodes
   end)
   return r
end

return effect
