--- What one sweep says when it is held against the one before: growth, faults that came and went,
-- links that were lost.
local check = require "taut.fabric.check"
local counters = require "taut.counters"
local growth = require "taut.fabric.growth"
local model = require "taut.fabric.model"
local observe = require "taut.fabric.observe"

local watch = {}

local SOURCE = "ib_port"
local RECENT = 1000 -- observations that the state keeps

-- Only error counters are kept: traffic is no growth that anybody waits for.
local function errors_only(values)
   if not values then
      return nil
   end
   local kept = {}
   for name, v in pairs(values) do
      local entry = counters.entry(SOURCE, name)
      if entry and entry.class ~= "traffic" and math.type(v) == "integer" and v >= 0 then
         kept[name] = v
      end
   end
   return kept
end

local function grow(p, kept, values, window, out)
   for name, g in pairs(growth.port(SOURCE, kept, values)) do
      if g.amount and g.amount > 0 then
         g.class, g.limit = counters.judge(counters.entry(SOURCE, name), g.amount, window.seconds)
         out[#out + 1] = observe.counter(p, name, g, window)
         kept.last = kept.last or {}
         kept.last[name] = { amount = g.amount, at_least = g.at_least, reset = g.reset,
            class = g.class, why = g.limit and g.limit.why or nil, from = window.from,
            to = window.to, seconds = window.seconds }
      end
   end
end

-- One port's counters; `reading` is when all were read, `before` when they were last time.
local function take_counters(state, p, reading, out)
   local key = model.key(p)
   local kept = state.ports[key]
   local values = { narrow = errors_only(p.counters), wide = errors_only(p.counters64) }
   if not values.narrow then
      -- it could not be read: what is known stays, with the time it is from
      if kept then
         kept.at = kept.at or state.reading
      end
      return
   elseif kept then
      local window = growth.window(kept.at or state.reading, reading)
      if window then
         grow(p, kept, values, window, out)
      end
   else
      kept = { first = reading.time }
      state.ports[key] = kept
   end
   kept.narrow, kept.wide, kept.at = values.narrow, values.wide, nil
end

local function standing_key(f)
   return ("%s %s/%s"):format(f.kind, f.guid or "", f.number or "")
end

local function take_faults(state, fabric, window, out)
   local standing = {}
   for _, f in ipairs(check.find(fabric)) do
      local key = standing_key(f)
      local known = state.standing[key]
      local o = not known and observe.fault(fabric, f, window)
      if known or o then
         standing[key] = known or o
      end
      if o then
         out[#out + 1] = o
      end
   end
   for key, o in pairs(state.standing) do
      -- A node that was not reached is not mended.
      local node = not standing[key] and fabric.by_guid[o.guid]
      local p = node and node.port[o.number]
      if p and not p.error and p.up then
         out[#out + 1] = observe.mended(o, window)
      elseif not standing[key] and fabric.sweep.incomplete then
         standing[key] = o
      end
   end
   state.standing = standing
end

-- Links of the last sweep that are gone, and those that were gone and are back.
local function take_links(state, fabric, window, out)
   local links = state.links or {}
   for p in model.ports(fabric) do
      local key = model.key(p)
      local was = links[key]
      if p.far then
         if was and was.lost then
            out[#out + 1] = observe.link(p, false, nil, window)
         end
         local node = fabric.by_guid[p.far]
         links[key] = { host = node and node.host,
            name = ("%s/%d"):format(node and node.name or p.far, p.far_port) }
      elseif was and not was.lost and not p.error and not p.silent then
         out[#out + 1] = observe.link(p, true, was, window)
         was.lost = true
      end
   end
   state.links = links
end

-- Both ends of a link lose it at once: one of them tells, the switch if there is one.
local function drop_twins(list)
   local told, kept = {}, {}
   for _, o in ipairs(list) do
      if o.what ~= "link" or not told[o.far or ""] then
         kept[#kept + 1] = o
         told[o.port] = o.what == "link"
      end
   end
   return kept
end

--- Take a sweep into the state.
-- @param state of state.load; changed
-- @param fabric of model.build
-- @return array of observations
function watch.take(state, fabric)
   local s, out = fabric.sweep, {}
   local reading = { time = s.counted, mono = s.counted_mono, boot = s.boot }
   local window = growth.window(state.reading, reading) or { to = reading.time }
   for p in model.ports(fabric) do
      take_counters(state, p, reading, out)
   end
   take_faults(state, fabric, window, out)
   take_links(state, fabric, window, out)
   out = drop_twins(out)
   state.reading = reading
   for _, o in ipairs(out) do
      table.insert(state.recent, o)
   end
   local excess = #state.recent - RECENT
   if excess > 0 then
      table.move(state.recent, excess + 1, #state.recent + excess, 1)
   end
   return out
end

return watch
