-- SPDX-License-Identifier: GPL-2.0-or-later
--- How much links carried since the sweep before: what their ports' wide counters grew by.
--
-- Kept in memory only, because the traffic of a day ago is never needed.  Ports that have no
-- 64-bit counters say nothing: a narrow one is full within seconds.
local counters = require "taut.events.counters"
local growth = require "taut.events.counters.growth"
local lane = require "taut.fabric.lane"
local model = require "taut.fabric.model"
local observe = require "taut.fabric.observe"

local load = {}

local COUNTER = "port_xmit_data"
load.LEAST = 0.1 -- share of a link's bandwidth worth a word

local function bandwidth(port)
   return lane.bandwidth(lane.width(port), lane.speed(port))
end

-- What left through a port, in bytes per second; nil where it is not known.
local function rate_of(port, before, window)
   local sent = port.counters64[COUNTER]
   local g = before and window.seconds and window.seconds > 0 and not window.booted
      and growth.of(counters.entry("ib_port", COUNTER), before, sent, true)
   return g and g.amount and not g.reset and g.amount * counters.entry("ib_port", COUNTER).times
      / window.seconds
end

--- Take a sweep.
-- @param kept what this returned as second result for the sweep before, or nil
-- @param fabric of model.build
-- @return array of { component, Bps } of links that carried LEAST of their bandwidth at least;
--   what to keep; whether all other links carried less
function load.take(kept, fabric)
   local s, list, sent, all = fabric.sweep, {}, {}, kept ~= nil
   local reading = { time = s.counted, mono = s.counted_mono, boot = s.boot }
   local window = growth.window(kept and kept.reading, reading) or {}
   for p in model.ports(fabric) do
      if p.read == 64 and p.counters64 and math.type(p.counters64[COUNTER]) == "integer" then
         local key = model.key(p)
         sent[key] = p.counters64[COUNTER]
         local Bps, can = rate_of(p, kept and kept.sent[key], window), bandwidth(p)
         if not Bps or not can then
            all = false
         elseif Bps >= load.LEAST * can then
            for _, name in ipairs(observe.place(p, "send").components or {}) do
               list[#list + 1] = { component = name, Bps = Bps }
            end
         end
      elseif all and observe.place(p, "send").far then
         all = false -- one that leads nowhere carries nothing
      end
   end
   return list, { reading = reading, sent = sent }, all
end

return load
