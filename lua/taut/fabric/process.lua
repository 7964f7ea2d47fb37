-- SPDX-License-Identifier: GPL-2.0-or-later
--- The process that sweeps for tautd (`tautd --fabric`): a fabric of ten thousand ports is much to
-- hold and to compare, and none of it may keep tautd's loop waiting.
--
-- Requests are JSON lines on stdin, replies JSON lines on stdout, in order:
--   { id, op = "conf", conf = settings `fabric` }: first of all, and after a reload
--   { id, op = "sweep" } → observations; carried: links that carried much since the last one
--   { id, op = "answer", what =, args = } → data
local answers = require "taut.fabric.answers"
local json = require "taut.json"
local keeper = require "taut.fabric.keeper"
local load = require "taut.fabric.load"
local sys = require "taut.sys"

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
   k.carried, k.load = load.take(k.load, k.fabric)
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
      nodes = #k.fabric.nodes, links = #k.fabric.links, took_s = s.finish - s.begin,
      incomplete = s.incomplete and s.why or nil, notes = json.array(k.notes) }
end

function ops.answer(request)
   local args = type(request.args) == "table" and request.args or {}
   local ok, err = need_sweep(args.fresh == true)
   if not ok then
      return nil, err
   end
   local data
   data, err = answers.give(k, request.what, args)
   return data and { data = data }, err
end

local function answer(line)
   local request, why = json.decode(line)
   local op = request and ops[request.op]
   if not op or not k and request.op ~= "conf" then
      return { id = request and request.id, ok = false, error = why or "no such operation" }
   end
   local ok, result, err = xpcall(op, debug.traceback, request)
   if not ok then
      sys.log("err", "fabric: " .. result)
      return { id = request.id, ok = false, error = "internal error; the log has it" }
   elseif not result then
      return { id = request.id, ok = false, error = err or "no reason given" }
   end
   result.id, result.ok = request.id, true
   return result
end

--- Serve requests until stdin ends.
-- @return exit status
function process.main()
   collectgarbage "generational"
   sys.put(json.encode { ok = true, ready = true } .. "\n")
   for line in sys.lines() do
      sys.put(json.encode(answer(line)) .. "\n")
   end
   return 0
end

return process
