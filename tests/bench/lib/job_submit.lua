-- SPDX-License-Identifier: GPL-2.0-or-later
-- Runs on any Lua from 5.1 on: job_submit.lua SCRIPT ADVICE ROUNDS SEED prints "LUA WHAT ms" lines.
local script, path, rounds, seed = arg[1], arg[2], tonumber(arg[3]), tonumber(arg[4])
local NO_VAL, NO_VAL16 = 4294967294, 65534
local MANY = 200 -- jobs of one measurement: the clock counts microseconds

local f = assert(io.open(path))
local text = f:read "*a"
f:close()
local parts, names = {}, {}
for name, nodes in text:gmatch "part (%S+) %d+ %d+ %d (%S+)" do
   parts[name] = { nodes = nodes, flag_default = name == "batch" and 1 or 0 }
   names[#names + 1] = name
end

local function job(comm)
   local n = math.random(2, 900)
   return { req_switch = NO_VAL, wait4switch = NO_VAL, contiguous = 0, min_nodes = n,
      max_nodes = n, num_tasks = n * 16, min_cpus = n * 16, cpus_per_task = NO_VAL16,
      ntasks_per_node = 16, pn_min_cpus = NO_VAL16, pn_min_tmp_disk = NO_VAL,
      sockets_per_node = NO_VAL16, cores_per_socket = NO_VAL16, threads_per_core = NO_VAL16,
      het_job_offset = NO_VAL, boards_per_node = 0, immediate = 0, environment = {},
      partition = names[math.random(#names)], spank_job_env_size = comm and 1 or 0,
      spank_job_env = comm and { [0] = "_SLURM_SPANK_OPTION_taut_comm=halo3d:bytes=1M" } or nil }
end

-- Milliseconds of processor time for each of some jobs.
local function time(m, jobs)
   local begin = os.clock()
   for i = 1, #jobs do
      m.submit(jobs[i], parts, 1000)
   end
   return (os.clock() - begin) * 1000 / #jobs
end

local function jobs(count, comm)
   local list = {}
   for i = 1, count do
      list[i] = job(comm)
   end
   return list
end

local serial = os.time() * 1000

-- The same advice once more, as tautd writes it every half minute.
local function renew()
   serial = serial + 1
   local new = path .. "." .. _VERSION:gsub(" ", "")
   local out = assert(io.open(new, "w"))
   out:write((text:gsub("^taut%-advice 1 %d+ %d+", ("taut-advice 1 %.0f %d"):format(serial,
      os.time())):gsub("end %d+ ", ("end %.0f "):format(serial))))
   out:close()
   return new
end

math.randomseed(seed)
local m = dofile(script)
m.log = error
m.file = renew()
local function say(what, ms)
   print(("%s %s %.6f"):format(_VERSION:gsub(" ", ""), what, ms))
end
collectgarbage "collect"
local cold = jobs(1, true)
say("cold", time(m, cold))
local steered = 0
for _ = 1, rounds do
   local list = jobs(MANY, true)
   say("comm", time(m, list))
   for i = 1, #list do
      steered = steered + (list[i].exc_nodes and 1 or 0)
   end
   say("plain", time(m, jobs(MANY, false)))
   renew()
   local first = jobs(1, true)
   say("changed", time(m, first))
   assert(first[1].admin_comment, "the first job after a change was not steered")
end
say("steered", steered / rounds / MANY)
os.remove(m.file)
