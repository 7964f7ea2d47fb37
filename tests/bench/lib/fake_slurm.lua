-- SPDX-License-Identifier: GPL-2.0-or-later
-- A taut-slurm for benchmarks: says what a file says, whatever is asked.
--
-- fake_slurm.lua STATE: a line of JSON for each of "nodes" and "jobs", as cluster_state.lua makes.
local json = require "taut.json"

local text = {}
for line in io.lines(arg[1]) do
   local op, rest = line:match "^(%S+) (.*)$"
   text[op] = rest
end
text.config = '"config":{},"prolog_flags":["Alloc","DeferBatch"],"private_data":[]'
text.topology, text.reservations = '"switches":[]', '"reservations":[]'
io.stdout:setvbuf "line"
for line in io.lines() do
   local request = assert(json.decode(line))
   local reply = text[request.op]
   io.write(reply and ('{"id":%d,"ok":true,%s}\n'):format(request.id, reply)
      or ('{"id":%d,"ok":false,"error":"not in this benchmark"}\n'):format(request.id))
end
