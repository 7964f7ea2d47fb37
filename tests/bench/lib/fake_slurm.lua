-- SPDX-License-Identifier: GPL-2.0-or-later
-- A taut-slurm for benchmarks: says what a file says, whatever is asked.
--
-- fake_slurm.lua STATE: a line of JSON for each of "nodes" and "jobs", as cluster_state.lua makes.
local json = require "taut.json"

-- As taut-slurm does: a thousand rows a line.
local function parts(op, rows)
   local list = json.array(table.move(rows, 1, math.min(#rows, 1000), 1, {}))
   local line = ('%s:%s'):format(json.encode(op), json.encode(list))
   if #rows <= 1000 then
      return line
   end
   return line, parts(op, table.move(rows, 1001, #rows, 1, {}))
end

local text = {}
for line in io.lines(arg[1]) do
   local op, rest = line:match "^(%S+) (.*)$"
   text[op] = { parts(op, json.decode("{" .. rest .. "}")[op]) }
end
text.config = { '"config":{},"prolog_flags":["Alloc","DeferBatch"],"private_data":[]' }
text.topology, text.reservations = { '"switches":[]' }, { '"reservations":[]' }
io.stdout:setvbuf "line"
for line in io.lines() do
   local request = assert(json.decode(line))
   local lines = text[request.op]
   for i, rows in ipairs(lines or {}) do
      io.write(('{"id":%d,"%s":true,%s}\n'):format(request.id, i < #lines and "part" or "ok", rows))
   end
   if not lines then
      io.write(('{"id":%d,"ok":false,"error":"not in this benchmark"}\n'):format(request.id))
   end
end
