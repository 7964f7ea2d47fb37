-- SPDX-License-Identifier: GPL-2.0-or-later
--- Runs taut-ib: one process per question, so that whatever happens in there ends with it.
local clock = require "taut.base.clock"
local json = require "taut.json"
local loop = require "taut.loop"
local sys = require "taut.sys"

local sweep = {}

-- Beyond the time the process has by itself: it is then killed.
local MARGIN_S = 15

-- Run one request to its end; blocks.
-- @param on_part called with each part
-- @return reply, or nil and why
local function run_helper(request, on_part, time_s)
   local proc, timer, reply, why
   local function on_line(line)
      local t, err = json.decode(line)
      if not t then
         why = "taut-ib answered with no JSON: " .. err
      elseif t.part then
         on_part(t.part)
      else
         reply = t
         proc:close()
      end
   end
   local err
   proc, err = loop.spawn { argv = { sys.paths.libexecdir .. "/taut-ib" }, on_line = on_line,
      on_exit = function(what)
         if not reply then
            why = why or "taut-ib ended: " .. what
         end
         loop.stop()
      end }
   if not proc then
      return nil, ("taut-ib: %s (Taut was built without InfiniBand, or is not installed whole)")
         :format(err)
   end
   timer = loop.timer((time_s + MARGIN_S) * 1000, function()
      why = ("taut-ib did not answer in %d s and was killed"):format(time_s + MARGIN_S)
      proc:kill()
   end)
   proc:send(json.encode(request))
   loop.run()
   timer:cancel()
   if not reply then
      return nil, why
   elseif not reply.ok then
      return nil, reply.error
   end
   return reply
end

--- Why a sweep is not complete; nil for one that is.
-- @param swept of sweep.fabric
function sweep.why_incomplete(swept)
   if swept.incomplete then
      return swept.why
   end
   return nil
end

local function common_request(op, conf)
   return { id = 1, op = op, ca = conf.device or nil, port = conf.port, mads = conf.mads,
      per_node = conf.mads_per_node, tries = conf.tries, timeout_ms = conf.timeout_ms,
      time_s = conf.time_s }
end

local KNOWN_TYPES = { switch = true, ca = true, router = true }

-- What comes from taut-ib is ours, but what it says comes from a fabric of strangers.
local function is_node(part)
   return type(part) == "table" and type(part.guid) == "string" and KNOWN_TYPES[part.type]
      and type(part.ports) == "table"
end

--- Sweep the fabric.
-- @param conf settings `fabric` of taut.lua
-- @param with_counters read the counters as well
-- @return { nodes, begin, counted, counted_mono, finish, boot, … }, or nil and why
function sweep.run(conf, with_counters)
   local nodes, request = json.array {}, common_request("sweep", conf)
   request.counters = with_counters
   local reply, err = run_helper(request, function(part)
      if is_node(part) then
         part.desc = part.desc or ""
         nodes[#nodes + 1] = part
      end
   end, conf.time_s)
   if not reply then
      return nil, err
   end
   return { nodes = nodes, begin = reply.begin, counted = reply.counted,
      counted_mono = reply.counted_mono, finish = reply["end"], boot = clock.boot_id(),
      incomplete = reply.incomplete, why = reply.why, clashes = reply.clashes, mads = reply.mads,
      origin = { guid = reply["local"], port = reply.local_port } }
end

--- Ask subnet managers for what they are.
-- @param lids array of LIDs
-- @return array of { lid, guid, priority, state, activity } or { lid, error }, or nil and why
function sweep.sm(conf, lids)
   local request = common_request("sm", conf)
   request.lids = json.array(lids)
   local reply, err = run_helper(request, function() end, conf.time_s)
   return reply and reply.sms, err
end

--- Ask which ports are members of a multicast group.
-- @param query { mgid = 32 hex digits or mlid =, sm_lid =, sm_sl =, sm_key =, prefix = 16 hex
--   digits, ports = array of 16 hex digits }
-- @return { mgid, mlid, pkey, members = { { guid, member, error } } }, or nil and why
function sweep.mcast(conf, query)
   local request = common_request("mcast", conf)
   for k, v in pairs(query) do
      request[k] = v
   end
   request.ports = json.array(query.ports)
   return run_helper(request, function() end, conf.time_s)
end

return sweep
