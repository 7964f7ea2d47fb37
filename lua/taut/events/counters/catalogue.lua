-- SPDX-License-Identifier: GPL-2.0-or-later
--- What a source's catalogue is made with: an entry for each counter and for each state.
local catalogue = {}

--- @param options { source, state_source = where counters and states without a `source` come from;
--   side = of a counter without one, or function(name) }
-- @return list: name → entry; counter(name, unit, entry) and state(name, unit, entry), which
--   complete an entry and put it into the list
function catalogue.new(options)
   local list, side = {}, options.side or "receive"
   local function add_counter(name, unit, entry)
      entry.unit, entry.width, entry.full = unit, entry.width or 64, "wraps"
      if not entry.side then
         entry.side = side
         if type(side) == "function" then
            entry.side = side(name) or side
         end
      end
      entry.source = entry.source or options.source
      list[name] = entry
   end
   local function add_state(name, unit, entry)
      entry.state, entry.unit, entry.side = true, unit, "both"
      entry.class = entry.class or "degrading"
      entry.source = entry.source or options.state_source
      list[name] = entry
   end
   return list, add_counter, add_state
end

return catalogue
