-- SPDX-License-Identifier: GPL-2.0-or-later
--- Reports to a survey's owner (frames of kind REPORT), as lines of JSON that fit into them.
local json = require "taut.json"
local tables = require "taut.base.tables"

local reports = {}

local ROWS = 1000           -- results in one report
local BYTES_MAX = 4000000   -- a frame holds a little more

--- @param message a report; `results` may be long
-- @return array of texts, one for each frame
function reports.encode(message)
   local results, texts = message.results or {}, {}
   for first = 1, math.max(1, #results), ROWS do
      local part = { kind = message.kind }
      if first == 1 then
         part = tables.copy(message)
      end
      part.results = message.results and json.array(table.move(results, first,
         math.min(first + ROWS - 1, #results), 1, {}))
      local text, err = json.encode(part)
      if not text or #text > BYTES_MAX then
         text = json.encode { kind = message.kind, why = ("this report could not be sent: %s")
            :format(err or #text .. " bytes are more than a frame holds") }
      end
      texts[#texts + 1] = text
   end
   return texts
end

return reports
