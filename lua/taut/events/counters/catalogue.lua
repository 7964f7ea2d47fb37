-- SPDX-License-Identifier: GPL-2.0-or-later
--- What a source's catalogue is made with: an entry for each counter and for each state.
local catalogue = {}

--- @param o { source, state_source = where counters and states without a `source` come from;
--   side = of a counter without one, or function(name) }
-- @return list: name → entry; counter(name, unit, t) and state(name, unit, t), which complete t and
--   put it into the list
function catalogue.new(o)
   local list, side = {}, o.side or "receive"
   local function counter(name, unit, t)
      t.unit, t.width, t.full = unit, t.width or 64, "wraps"
      t.side = t.side or type(side) == "function" and side(name) or side
      t.source = t.source or o.source
      list[name] = t
   end
   local function state(name, unit, t)
      t.state, t.unit, t.side, t.class = true, unit, "both", t.class or "degrading"
      t.source = t.source or o.state_source
      list[name] = t
   end
   return list, counter, state
end

return catalogue
