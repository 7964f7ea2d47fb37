-- SPDX-License-Identifier: GPL-2.0-or-later
--- Frames from nodes: authenticates, checks and hands on; whatever is wrong is refused and counted.
local hello = require "taut.wire.hello"
local json = require "taut.json"
local jobs = require "taut.events.jobs"
local loop = require "taut.loop"
local munge = require "taut.munge"
local rendezvous = require "taut.core.rendezvous"
local samples = require "taut.events.samples"
local sys = require "taut.sys"
local tables = require "taut.base.tables"

local intake = {}

local HELLO, RESULT, STOP = 1, 3, 5
local LOG_S = 1

--- Count a message that was not taken, and log it: at most one line in LOG_S seconds, so that
-- nobody can fill the log.
function intake.refuse(d, from, why)
   local now = loop.time()
   d.refused = d.refused + 1
   if now - (d.refused_said_at or 0) >= LOG_S then
      local more = d.refused - (d.refused_said or 0) - 1
      sys.log("warning", ("refused a message from %s: %s%s"):format(from, why,
         more > 0 and (" (and %d before)"):format(more) or ""))
      d.refused_said_at, d.refused_said = now, d.refused
   end
end

-- The jobs whose traffic the node's counters have seen since they were last read: those that ran
-- there before this HELLO was heard.
local function take_sample(d, h)
   if not h.counters then
      return
   end
   local list = jobs.on_node(d.cluster, h.node)
   for i = #list, 1, -1 do
      if h.purpose == "prolog" and list[i] == h.job then
         table.remove(list, i)
      end
   end
   if h.purpose == "epilog" and not tables.has(list, h.job) then
      list[#list + 1] = h.job
   end
   d.journal:add("sample", samples.row(h, h.purpose, h.counters, list, d.topo.rails))
end

local function on_hello(d, conn, payload, uid)
   local from = conn:peer()
   local h, err = json.decode(payload)
   local ok = h
   if h then
      ok, err = hello.check(h)
   end
   local names
   if ok then
      names, err = rendezvous.names(h)
   end
   if not names then
      intake.refuse(d, from, err)
      conn:close()
      return
   elseif hello.is_survey(h.purpose) then
      d.surveys:hello(conn, h, names, uid)
      return
   elseif uid ~= 0 then
      intake.refuse(d, from, ("%s by uid %d, only root may"):format(h.purpose, uid))
      conn:close()
      return
   end
   d.cluster.last_heard[h.node] = loop.time()
   d.events:heard(h.node, samples.rails(h))
   take_sample(d, h)
   if h.purpose == "prolog" then
      d.cluster:prolog(h.job, names, h.node)
   elseif h.purpose == "epilog" then
      d.cluster:epilog(h.job, h.node)
   end
   d.meet:hello(conn, h, names)
end

--- A frame of loop.listen.
function intake.frame(d, conn, kind, payload)
   if kind == HELLO and not d.greeted[conn] then
      d.greeted[conn] = true
      munge.decode(payload, function(text, uid)
         if not text then
            intake.refuse(d, conn:peer() or "a closed connection", "HELLO: " .. tostring(uid))
            conn:close()
         elseif d.greeted[conn] then
            on_hello(d, conn, text, uid)
         end
      end)
      return
   end
   local ok, why
   if d.surveys:has(conn) and (kind == RESULT or kind == STOP) then
      ok, why = d.surveys:frame(conn, kind, payload)
   elseif kind == RESULT then
      ok, why = d.meet:result(conn, payload)
   else
      why = ("frame of type %d out of order"):format(kind)
   end
   if not ok then
      intake.refuse(d, conn:peer() or "a closed connection", why)
      conn:close()
   end
end

return intake
