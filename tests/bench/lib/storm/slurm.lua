-- SPDX-License-Identifier: GPL-2.0-or-later
-- A taut-slurm of a machine that runs as many jobs as one likes: slurm.lua NODES JOBS
--
-- NODES has a line "NAME ADDRESS" for each node; JOBS one line "SIZE FIRST LAST": jobs of SIZE
-- nodes each run, numbered FIRST to LAST, job i on the nodes from (i - 1) * SIZE on, anew from the
-- first when all are used.  The file may change at any time.
local hostlist = require "taut.hostlist"
local json = require "taut.json"

local nodes = {}
for line in io.lines(arg[1]) do
   local name, address = line:match "^(%S+) (%S+)$"
   nodes[#nodes + 1] = { name = name, addr = address, state = "allocated",
      partitions = { "batch" }, cpus = 64 }
end

local function jobs()
   local file = assert(io.open(arg[2]))
   local size, first, last = file:read("n", "n", "n")
   file:close()
   return size, first, last
end

local function job(id)
   local size = jobs()
   local names = {}
   for i = 1, size do
      names[i] = nodes[((id - 1) * size + i - 1) % #nodes + 1].name
   end
   return { id = id, user_id = 1000, state = "running", num_nodes = size, restart = 0,
      nodes = hostlist.compress(names), partition = "batch", start = os.time() - 10,
      ["end"] = os.time() + 3600, name = "job", priority = 1, reason = "None" }
end

local function running()
   local _, first, last = jobs()
   local list = {}
   for id = first, last do
      list[#list + 1] = job(id)
   end
   return list
end

-- As taut-slurm does: a thousand rows a line.
local function answer(id, op, rows)
   for from = 1, math.max(#rows, 1), 1000 do
      local part = json.array(table.move(rows, from, math.min(#rows, from + 999), 1, {}))
      local more = from + 999 < #rows
      io.write(('{"id":%d,"%s":true,%s:%s}\n'):format(id, more and "part" or "ok",
         json.encode(op), json.encode(part)))
   end
end

local function say(id, text)
   io.write(('{"id":%d,"ok":true,%s}\n'):format(id, text))
end

io.stdout:setvbuf "line"
for line in io.lines() do
   local request = assert(json.decode(line))
   if request.op == "nodes" then
      answer(request.id, "nodes", nodes)
   elseif request.op == "jobs" then
      answer(request.id, "jobs", running())
   elseif request.op == "job" then
      say(request.id, '"job":' .. json.encode(job(request.job)))
   elseif request.op == "config" then
      say(request.id, '"config":{},"prolog_flags":["Alloc","DeferBatch"],"private_data":[]')
   elseif request.op == "topology" then
      say(request.id, '"switches":[]')
   elseif request.op == "reservations" then
      say(request.id, '"reservations":[]')
   else
      io.write(('{"id":%d,"ok":false,"error":"not in this benchmark"}\n'):format(request.id))
   end
end
