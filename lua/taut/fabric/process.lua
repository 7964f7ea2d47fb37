-- SPDX-License-Identifier: GPL-2.0-or-later
--- The process that sweeps for tautd (`tautd --fabric`): a fabric of ten thousand ports is much to
-- hold and to compare, and none of it may keep tautd's loop waiting.
--
-- Requests are JSON lines on stdin, replies JSON lines on stdout, in order:
--   { id, op = "conf", conf = settings `fabric` }: first of all, and after a reload
--   { id, op = "sweep" } → observations; carried: links that carried much since the last one
--   { id, op = "answer", what =, args = } → data
local answering = require "taut.base.answering"
local queries = require "taut.fabric.queries"
local json = require "taut.json"
local keeper = require "taut.fabric.keeper"
local load = require "taut.fabric.load"
local sweep = require "taut.fabric.sweep"
local tables = require "taut.base.tables"

local process = {}

local k

local function need_sweep(fresh)
   if k.fabric and not fresh then
      return true
   end
   local observations, err = k:sweep()
   if not observations then
      return nil, err
   end
   k.observations = observations
   k.carried, k.load, k.counted_all = load.take(k.load, k.fabric)
   return true
end

local ops = {}

function ops.conf(request)
   k = keeper.new(request.conf)
   return {}
end

function ops.sweep()
   local ok, err = need_sweep(true)
   if not ok then
      return nil, err
   end
   local s = k.fabric.sweep
   return { observations = json.array(k.observations), carried = json.array(k.carried),
      counted_all = k.counted_all,
      nodes = #k.fabric.nodes, links = #k.fabric.links, took_s = s.finish - s.begin,
      incomplete = sweep.why_incomplete(s), notes = json.array(k.notes) }
end

function ops.answer(request)
   local args = tables.or_empty(request.args)
   local ok, err = need_sweep(args.fresh == true)
   if not ok then
      return nil, err
   end
   local data
   data, err = queries.give(k, request.what, args)
   return data and { data = data }, err
end

--- Serve requests until stdin ends.
-- @return exit status
function process.main()
   collectgarbage "generational"
   return answering.serve { name = "fabric", ops = ops,
      is_ready = function() return k ~= nil end }
end

return process
