-- SPDX-License-Identifier: GPL-2.0-or-later
--- Two readings of one node's counters: what grew between them, and what of it is worth an event.
--
-- This runs in the store's process, which has the reading before.  A reading is { time (wall),
-- mono, host_boot (monotonic clock and boot id of tautd's host), boot (of the node), purpose, job,
-- restart, told = what the node told, as a text (wire/readings.lua), ports = { "SOURCE INTERFACE" →
-- port }, clock, recent }; a port that was not read is as it was before, and `kept`.
--
-- Mostly only traffic grew since the reading before, and then the text alone is exchanged:
-- the ports are `behind` it, until somebody wants them.
local tables = require "taut.base.tables"
local counters = require "taut.events.counters"
local growth = require "taut.events.counters.growth"
local hard = require "taut.events.hard"
local json = require "taut.json"
local meaning = require "taut.events.meaning"
local recent = require "taut.events.recent"
local told = require "taut.readings"
local wire = require "taut.wire"

local readings = {}

local PORTS = wire.READINGS_MAX           -- most interfaces of a node
local OBSERVATIONS = 64                   -- most events out of one reading

--- The interfaces that a node told of.
-- @param text checked already
-- @return "SOURCE INTERFACE" → { source, name, values = name → count, state = name → number or
--   text }; none where it is damaged after all
function readings.ports(text)
   return told.ports(text, counters.kinds) or {}
end

--- Is this reading of a job's prolog?
function readings.is_prolog(reading)
   return reading ~= nil and reading.purpose == "prolog" and reading.job ~= nil
end

--- … of the job of this sample?
function readings.is_prolog_of(reading, row)
   return readings.is_prolog(reading) and reading.job == row.job and reading.restart == row.restart
end

-- Ports that are behind catch up; what was found of them stands.
local function catch_up_ports(reading)
   if not reading.behind then
      return
   end
   local ports = readings.ports(reading.told)
   for key, p in pairs(ports) do
      local was = reading.ports[key]
      p.faults, p.best, p.is_judged, p.unread = was.faults, was.best, was.is_judged, was.unread
   end
   for key, was in pairs(reading.ports) do
      ports[key] = ports[key] or was -- one that is only kept
   end
   reading.ports, reading.behind = ports, nil
end

---------------------------------------------------------------- to the database, and back

-- What was found of a port, beyond what it told; nil for nothing.
local function pack_findings(port)
   local note = { unread = port.unread, faults = next(port.faults or {}) and port.faults,
      best = next(port.best or {}) and port.best }
   return next(note) and note
end

--- A reading for the database: what the node told stays a text.
-- @return another table, for JSON
function readings.pack(reading)
   local ports = {}
   for key, p in pairs(reading.ports) do
      if p.kept then
         ports[key] = p
      else
         ports[key] = pack_findings(p)
      end
   end
   return { time = reading.time, mono = reading.mono, host_boot = reading.host_boot,
      boot = reading.boot, purpose = reading.purpose, job = reading.job,
      restart = reading.restart, told = reading.told, ports = ports, clock = reading.clock,
      recent = reading.recent, rails = reading.rails }
end

--- One out of the database.
-- @param packed of pack(), after JSON
-- @return the reading; nil where it is damaged
function readings.unpack(packed)
   if type(packed) ~= "table" or type(packed.ports) ~= "table" or type(packed.told) ~= "string" then
      return nil
   end
   local ports = readings.ports(packed.told)
   for key, p in pairs(packed.ports) do
      if p.values then
         ports[key], p.is_judged = p, nil -- by another tautd
      elseif ports[key] then
         ports[key].unread, ports[key].faults, ports[key].best = p.unread, p.faults, p.best
      end
   end
   packed.ports = ports
   return packed
end

---------------------------------------------------------------- growth

-- Growth of one port.
local function grow_port(was, now)
   return growth.interface(counters.counts[now.source] or {}, was.values, now.values)
end

-- What grew, and all traffic: that it was none says something.
local function drop_zeros(source, amounts)
   local out = {}
   for name, amount in pairs(amounts) do
      local entry = amount == 0 and counters.of(source, name)
      if amount ~= 0 or entry and entry.class == "traffic" then
         out[name] = amount
      end
   end
   return out
end

-- A restarted one without other news is reported, too.
local function describe_growth(was, now)
   local amounts, grown, note = {}, grow_port(was, now)
   for name, g in pairs(grown) do
      amounts[name] = g.amount
   end
   amounts = drop_zeros(now.source, amounts)
   if next(amounts) or note then
      return { interface = now.name, source = now.source, counters = json.encode(amounts),
         note = note }
   end
   return nil
end

local function list_growth(first, last)
   local list = {}
   for key, now in pairs(last) do
      local was = first[key]
      list[#list + 1] = was and describe_growth(was, now)
   end
   for key, was in pairs(first) do
      if not last[key] then
         list[#list + 1] = { interface = was.name, source = was.source, counters = "{}",
            note = "gone" }
      end
   end
   return list
end

--- What one job's ports grew by between two samples.
-- @param first, last { boot, told }
-- @return array of { interface, source, counters = JSON of name → amount, note }; none where the
--   node booted in between
function readings.grown(first, last)
   if first.boot ~= last.boot then
      return {}
   end
   return told.only_traffic(first.told, last.told, counters.kinds, true)
      or list_growth(readings.ports(first.told), readings.ports(last.told))
end

---------------------------------------------------------------- events

local SIDES = { send = { "/tx" }, receive = { "/rx" }, both = { "/tx", "/rx" } }

-- The rail a port belongs to: as the node says, or, for a source that has names of its own, by
-- being alone where there is one rail.
local function find_rail(context, port)
   local rail = context.rails and context.rails[port.name]
   if rail or context.rail_count > 1 then
      return rail
   elseif context.rails and port.source == "netdev" then
      return nil
   end
   for _, p in pairs(context.ports) do
      if p ~= port and p.source == port.source then
         return nil
      end
   end
   return 1
end

-- The components a port of a node tells of; none for a port that no test uses.
local function list_components(context, port, side)
   local rail, name = find_rail(context, port), context.node
   if not rail then
      return {}
   elseif context.rail_count > 1 then
      name = ("%s:%d"):format(name, rail)
   end
   return tables.map(SIDES[side] or SIDES.both, function(suffix) return name .. suffix end)
end

local function complete_observation(context, port, window, observation)
   observation.source, observation.scope, observation.node = "node", "node", context.node
   observation.jobs, observation.during = context.jobs, context.during
   observation.to, observation.from = window.to, observation.from or window.from
   observation.jump = window.jump
   if port then
      observation.port, observation.interface = context.node .. "/" .. port.name, port.name
      -- Gemini's sets: "credit_stall:X+" is of the router's link, which tautd names
      observation.direction = observation.what:match ":([XYZ][+-])$"
      if observation.direction then
         observation.components = {}
      else
         observation.components = list_components(context, port, observation.side)
      end
   end
   return observation
end

local function make_counter_event(context, port, name, found, window)
   local entry = meaning.entry(port.source, name)
   if not found.limit and found.class ~= "fatal" and found.class ~= "degrading" then
      return nil
   end
   local words = found.limit and counters.words(found.limit)
   return complete_observation(context, port, window, { side = entry.side, what = name,
      class = found.class, amount = found.amount, unit = entry.unit, at_least = found.at_least,
      limit = words, from = found.from, seconds = found.seconds,
      text = ("%s of %s/%s grew by %s%d%s"):format(name, context.node, port.name,
         found.at_least and "at least " or "", found.amount,
         words and (", more than allowed: " .. words) or "") })
end

local function make_plain_event(context, port, window, what, class, text)
   return complete_observation(context, port, window, { what = what, class = class, text = text })
end

local RESTARTED = {
   reload = "the counters of %s/%s began anew: its driver was loaded again, or it was reset",
   reset = "somebody reset counters of %s/%s",
}

local function add_port_events(state, context, port, was, window, add_event)
   local grown, note = grow_port(was, port)
   if note then
      add_event(make_plain_event(context, port, window, note, "harmless",
         RESTARTED[note]:format(context.node, port.name)))
   end
   for name, g in pairs(grown) do
      local entry = g.amount and g.amount > 0 and meaning.entry(port.source, name)
      if entry and entry.class ~= "traffic" and entry.class ~= "harmless" then
         local key = port.source .. " " .. port.name .. " " .. name
         local list = state.recent[key] or {}
         local found = recent.add(list, entry, g, window)
         state.recent[key] = tables.unless_empty(list)
         add_event(found and make_counter_event(context, port, name, found, window))
      end
   end
end

-- Sources of which anything was read, and how many ports.
local function count_sources(ports)
   local sources, n = {}, 0
   for _, p in pairs(ports) do
      sources[p.source], n = true, n + 1
   end
   return sources, n
end

-- Ports that were not read are kept as they were.  One that is missing while others of its source
-- are there, or that is a netdev, is `gone`.  A source that gave up takes all its ports with it:
-- that says nothing of them, and is said once.
local function add_missing_ports(state, now, context, window, add_event)
   local sources, n = count_sources(now)
   local any = n > 0
   for key, was in pairs(state.ports) do
      if now[key] then
         now[key].unread = was.unread
         if was.gone then
            add_event(make_plain_event(context, was, window, "gone", "harmless",
               ("%s/%s is there again"):format(context.node, was.name)))
         end
      elseif n < PORTS then
         local alone = any and (was.source == "netdev" or sources[was.source])
         if alone and not was.gone then
            add_event(make_plain_event(context, was, window, "gone", "degrading",
               ("%s/%s is gone"):format(context.node, was.name)))
            was.gone = true
         elseif any and not alone and not was.gone and not was.unread then
            add_event(make_plain_event(context, was, window, "unread", "harmless",
               ("%s of %s/%s could not be read in time"):format(was.source, context.node,
               was.name)))
            was.unread = true
         end
         now[key], was.kept, n = was, true, n + 1
      end
   end
end

-- The readings' own clock, which only knows the time between two.
local function make_window(state, now)
   local function clock_of_reading(reading)
      local host_boot
      if reading.mono then
         host_boot = reading.host_boot or nil
      end
      return { time = reading.time, mono = reading.mono or 0, boot = host_boot }
   end
   local a, b = clock_of_reading(state), clock_of_reading(now)
   if not a.boot then
      b.boot = "unknown"
   end
   local w = growth.window(a, b)
   if w.seconds then
      w.since, w.till = state.clock, state.clock + w.seconds
   end
   return w
end

-- All that is worth an event in a reading.
-- @param kept of it, with its ports: changed
-- @return array of observations
local function look_for_events(state, now, kept, window)
   local out = {}
   local function add_event(observation)
      if observation and #out < OBSERVATIONS then
         out[#out + 1] = observation
      end
   end
   local r = { node = now.node, jobs = now.jobs or {}, rails = kept.rails, ports = kept.ports,
      rail_count = now.rail_count or 1 }
   if not state then
      hard.changed({}, kept.ports, function(port, observation)
         add_event(complete_observation(r, port, { to = now.time }, observation))
      end)
      return out
   end
   catch_up_ports(state)
   if #r.jobs == 0 and state.purpose == "prolog" and state.job then
      r.jobs = { state.job } -- its epilog was never heard
   end
   r.during = "idle"
   if now.checked then
      r.during = "check"
   elseif #r.jobs > 0 then
      r.during = "job"
   end
   if state.boot ~= now.boot then
      add_event(make_plain_event(r, nil, window, "boot", "harmless", now.node .. " booted"))
   else
      for key, port in pairs(kept.ports) do
         if state.ports[key] then
            add_port_events(kept, r, port, state.ports[key], window, add_event)
         end
      end
   end
   hard.changed(state.ports, kept.ports, function(port, observation)
      add_event(complete_observation(r, port, window, observation))
   end)
   add_missing_ports(state, kept.ports, r, window, add_event)
   return out
end

-- What is kept of a reading.
local function keep_of_reading(state, now)
   return { time = now.time, mono = now.mono, host_boot = now.host_boot, boot = now.boot,
      purpose = now.purpose, job = now.job, restart = now.restart, told = now.told, clock = 0,
      recent = {}, rails = now.rails or state and state.rails }
end

-- Does a reading tell of the same ports as the one before, and did nothing but traffic happen?
-- What was missing then is missing still, and was told.  The one before has to have been looked at,
-- it or one that was like it, by this process.
local function is_quiet(state, now)
   return state.is_judged and state.boot == now.boot
      and told.only_traffic(state.told, now.told, counters.kinds)
end

--- Take a reading.
-- @param state the reading before (changed), or nil
-- @param now { node, time, mono, host_boot, boot, purpose, job, restart, jobs, told, rails,
--   rail_count, checked }: `rails`, interface → rail, where the node told
-- @return the reading to keep, array of observations
function readings.take(state, now)
   local kept = keep_of_reading(state, now)
   local w = state and make_window(state, now)
   if w and w.since then
      kept.clock, kept.recent = w.till, state.recent
   end
   if state and is_quiet(state, now) then
      kept.ports, kept.is_judged, kept.behind = state.ports, true, true
      return kept, {}
   end
   kept.ports = readings.ports(now.told)
   kept.is_judged = true
   return kept, look_for_events(state, now, kept, w)
end

return readings
