-- SPDX-License-Identifier: GPL-2.0-or-later
--- Error counters of all ports: which are real, and which can be ignored, and why.
--
--   real       grew beyond a limit of the catalogue, on a connected port, within the last day
--   undated    is not zero, but nobody saw when it grew: the next sweeps tell
--   ignorable  history, an unconnected port, below its limit, or a counter that misleads
local counters = require "taut.events.counters"
local model = require "taut.fabric.model"
local watch = require "taut.fabric.watch"

local errors = {}

local SOURCE = "ib_port"
local DAY_S = 86400

local function is_serious(class)
   return class == "fatal" or class == "degrading"
end

-- verdict, why; `last` is the last growth that was seen: { from, to, amount, class, … }.
local function judge_counter(port, entry, value, last, now, first)
   if entry.class == "harmless" then
      return "ignorable", entry.misleads
   elseif not port.up or not port.far then
      return "ignorable", "nothing is connected: history"
   elseif last and is_serious(last.class) and now - last.to <= DAY_S then
      return "real", last.why or entry.means
   elseif value.saturated and not (last and last.amount) then
      return "undated", ("stands at its highest value, %d: growth cannot be seen until somebody" ..
         " clears it"):format(value.n)
   elseif entry.class == "congestion" then
      return "ignorable", "congestion: " .. (entry.misleads or entry.means)
   elseif not first or first >= now then
      return "undated", "counted before the first sweep: the next one tells whether it grows"
   elseif last and now - last.to <= DAY_S then
      return "ignorable", "grew within its limits"
   elseif last then
      return "ignorable", "has not grown for a day"
   end
   return "ignorable", "has not grown since the first sweep, " .. os.date("%Y-%m-%d %H:%M",
      math.floor(first))
end

local function row_of(port, name, entry, value, last, first, now)
   local verdict, why = judge_counter(port, entry, value, last, now, first)
   local far = model.far_of(port)
   return { node = port.node.name, port = port.number, guid = port.node.guid, counter = name,
      value = value.n, saturated = value.saturated or nil, wide = value.wide or nil,
      verdict = verdict, class = last and last.class, why = why,
      last = last, far = far and model.port_name(far) }
end

local function values_of(port)
   local values = {}
   for form, list in pairs { narrow = port.counters or {}, wide = port.counters64 or {} } do
      for name, n in pairs(list) do
         local entry = counters.entry(SOURCE, name)
         if entry and entry.class ~= "traffic" then
            local wide = form == "wide"
            values[name] = { n = n, wide = wide, saturated = counters.full(entry, wide) ==
               "saturates" and n >= counters.top(entry, wide) }
         end
      end
   end
   return values
end

local RANK = { real = 1, undated = 2, ignorable = 3 }

--- All counters that are not zero, or grew lately.
-- @param fabric of model.build
-- @param state as watch.lua leaves it after this sweep
-- @return rows { node, port, guid, counter, value, verdict, class, why, last, far, … }, real first
function errors.find(fabric, state)
   local rows, now = {}, fabric.sweep.counted
   for p in model.ports(fabric) do
      local first, lasts = watch.kept(state, p)
      local values = {}
      if p.counters or p.counters64 then
         values = values_of(p) or {}
      end
      -- somebody may have cleared what grew an hour ago
      for name, last in pairs(lasts or {}) do
         if not values[name] and now - last.to <= DAY_S then
            values[name] = { n = 0 }
         end
      end
      for name, value in pairs(values) do
         rows[#rows + 1] = row_of(p, name, counters.entry(SOURCE, name), value,
            lasts and lasts[name], first, now)
      end
   end
   table.sort(rows, function(one, other)
      if one.verdict ~= other.verdict then
         return RANK[one.verdict] < RANK[other.verdict]
      elseif one.node ~= other.node then
         return one.node < other.node
      elseif one.port ~= other.port then
         return one.port < other.port
      end
      return one.counter < other.counter
   end)
   return rows
end

return errors
