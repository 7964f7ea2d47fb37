-- SPDX-License-Identifier: GPL-2.0-or-later
-- etc/job_submit.lua, with job descriptions and partitions as slurmctld hands them over, on this
-- Lua and on every other one that is installed (Debian's plugin is 5.1).
local lu = require "luaunit"

local src = os.getenv "TAUT_SRCDIR" or "."
local PATH = os.tmpname()
local PATTERNS = "all-to-all halo3d matrix ring"

local tests = {}

-- Loaded as slurmctld would, but for the globals it leaves.
local function load_script()
   slurm_job_submit, slurm_job_modify = nil, nil
   local m = dofile(src .. "/etc/job_submit.lua")
   m.file = PATH
   m.told = {}
   m.log = function(text) m.told[#m.told + 1] = text end
   return m
end

local function put(text)
   local f = assert(io.open(PATH, "wb"))
   f:write(text)
   f:close()
end

local serial = 100

-- A file as lua/taut/place/steer/file.lua writes it.
local function write(body, age)
   serial = serial + 1
   local text = ("taut-advice 1 %d %d\n"):format(serial, os.time() - (age or 0))
      .. "patterns " .. PATTERNS .. "\n" .. body
   text = text .. ("end %d %d\n"):format(serial, #text)
   put(text)
   return text
end

local BODY = [[
part batch 32 2 1 n[0-31]
exclude batch 1 28 n[0-1,8-9]
exclude batch 2 24 n[0-3,8-11]
part odd 32 2 0 n[0-31]
exclude odd 1 28 n[0-1,8-9]
part small 8 2 1 n[0-7]
exclude small 1 6 n[0-1]
exclude small 2 4 n[0-3]
part far 8 2 1 n[24-31]
exclude far 1 8 -
exclude far 2 8 -
]]

local function partitions()
   local list = {}
   for name, nodes in pairs { batch = "n[0-31]", odd = "n[0-31]", small = "n[0-7]",
      far = "n[24-31]" } do
      list[name] = { nodes = nodes, flag_default = name == "batch" and 1 or 0, total_nodes = 32 }
   end
   return list
end

local NO_VAL, NO_VAL16 = 4294967294, 65534

-- What Slurm 22.05 hands over for `srun --comm=halo3d -N 4`.
local function job(change)
   local j = { req_switch = NO_VAL, wait4switch = NO_VAL, contiguous = 0, min_nodes = 4,
      max_nodes = 4, num_tasks = NO_VAL, shared = NO_VAL16, min_cpus = 4, max_cpus = NO_VAL,
      cpus_per_task = NO_VAL16, ntasks_per_node = NO_VAL16, pn_min_cpus = NO_VAL16,
      pn_min_memory = 1.844674407371e+19, pn_min_tmp_disk = NO_VAL, sockets_per_node = NO_VAL16,
      cores_per_socket = NO_VAL16, threads_per_core = NO_VAL16, het_job_offset = NO_VAL,
      boards_per_node = 0, immediate = 0, environment = {}, user_id = 1000,
      spank_job_env = { [0] = "_SLURM_SPANK_OPTION_taut_comm=halo3d:bytes=1M" },
      spank_job_env_size = 1 }
   for k, v in pairs(change or {}) do
      j[k] = v
   end
   return j
end

-- Runs submit on a job; returns the job and whether anything in it changed.
local function submit(m, change, parts)
   local j, was = job(change), job(change)
   lu.assertEquals(m.submit(j, parts or partitions(), 1000), 0)
   for k, v in pairs(j) do
      if was[k] ~= v and type(v) ~= "table" then
         return j, true
      end
   end
   return j, false
end

local function fresh()
   write(BODY)
   return load_script()
end

function tests.test_a_heavy_job_is_kept_from_exposed_nodes()
   local j = submit(fresh())
   lu.assertEquals(j.exc_nodes, "n[0-3,8-11]")
   lu.assertEquals(j.admin_comment, "taut: comm=halo3d:bytes=1M excluded=n[0-3,8-11]")
   lu.assertEquals(j.req_switch, NO_VAL)
end

function tests.test_a_job_without_the_option_is_left_alone()
   local m = fresh()
   local other = "_SLURM_SPANK_OPTION_other_comm=ring"
   for _, env in ipairs { { size = 0 }, { size = NO_VAL }, { size = 1, "X=1" },
      { size = 2, "A_SLURM_SPANK_OPTION_taut_comm=ring", other } } do
      local _, changed = submit(m, { spank_job_env_size = env.size,
         spank_job_env = { [0] = env[1] or "", env[2] } })
      lu.assertFalse(changed)
   end
end

-- As much as fits with a tenth to spare: 24 left bear 21 nodes, 28 bear 25, 32 bear 29.
function tests.test_what_does_not_fit_with_a_tenth_to_spare_is_not_excluded()
   local m = fresh()
   for count, want in pairs { [21] = "n[0-3,8-11]", [22] = "n[0-1,8-9]", [25] = "n[0-1,8-9]",
      [26] = "none", [29] = "none" } do
      local j = submit(m, { min_nodes = count, max_nodes = count, min_cpus = count })
      lu.assertEquals(j.exc_nodes or "none", want)
      lu.assertStrContains(j.admin_comment, "taut: comm=halo3d")
   end
   for _, count in ipairs { 30, 32, 33, 1000 } do
      local _, changed = submit(m, { min_nodes = count, max_nodes = count })
      lu.assertFalse(changed)
   end
end

function tests.test_the_smallest_partition_counts()
   local m = fresh()
   lu.assertEquals(submit(m, { partition = "small" }).exc_nodes, "n[0-1]")
   local j = submit(m, { partition = "small,batch", min_nodes = 3, max_nodes = 3 })
   lu.assertEquals(j.exc_nodes, "n[0-3],n[0-3,8-11]")
   j = submit(m, { partition = "batch,small", min_nodes = 5, max_nodes = 5, min_cpus = 5 })
   lu.assertEquals(j.exc_nodes, "n[0-1,8-9],n[0-1]")
   local _, changed = submit(m, { partition = "batch,small", min_nodes = 8, max_nodes = 8 })
   lu.assertFalse(changed)
   lu.assertNil(submit(m, { partition = "far" }).exc_nodes)
end

-- Each of these was refused by slurmctld, or would be with excludes.
function tests.test_jobs_that_choose_nodes_themselves_are_left_alone()
   local m = fresh()
   for _, change in ipairs { { req_nodes = "n[4-7]" }, { exc_nodes = "n5" }, { features = "gpu" },
      { reservation = "tonight" }, { environment = { SLURM_HOSTFILE = "hosts" } },
      { environment = { SLURM_DISTRIBUTION = "arbitrary" } }, { contiguous = 1 },
      { immediate = 1 }, { het_job_offset = 0 }, { tres_per_job = "gres:gpu:4" },
      { min_mem_per_cpu = 1000 }, { threads_per_core = 1 }, { prefer = "[a|b]" },
      { admin_comment = "theirs" }, { min_nodes = 1, max_nodes = 1, min_cpus = 1 } } do
      local _, changed = submit(m, change)
      lu.assertFalse(changed)
   end
end

function tests.test_special_wishes_need_a_partition_of_equal_nodes()
   local m = fresh()
   for _, change in ipairs { { tres_per_node = "gres:gpu:1" }, { min_mem_per_node = 4000 },
      { pn_min_cpus = 2 }, { pn_min_tmp_disk = 10 } } do
      local _, changed = submit(m, change)
      lu.assertTrue(changed)
      change.partition = "odd"
      _, changed = submit(m, change)
      lu.assertFalse(changed)
   end
end

function tests.test_nodes_are_counted_by_tasks_and_processors_too()
   local m = fresh()
   local function excluded(change)
      change.min_nodes, change.max_nodes = NO_VAL, NO_VAL
      return submit(m, change).exc_nodes or "none"
   end
   lu.assertEquals(excluded { num_tasks = 42, min_cpus = 42 }, "n[0-3,8-11]")
   lu.assertEquals(excluded { num_tasks = 44, min_cpus = 44 }, "n[0-1,8-9]")
   lu.assertEquals(excluded { num_tasks = 26, min_cpus = 52, cpus_per_task = 2 }, "none")
   lu.assertEquals(excluded { num_tasks = 8, min_cpus = 24, cpus_per_task = 3 }, "none")
   lu.assertEquals(excluded { num_tasks = 24, ntasks_per_node = 1, min_cpus = 24 }, "n[0-1,8-9]")
   lu.assertEquals(submit(m, { min_nodes = 4, max_nodes = 100 }).exc_nodes, nil)
end

-- slurmctld's own list of nodes is what counts, not what tautd saw.
function tests.test_a_partition_that_changed_since_is_left_alone()
   local m = fresh()
   for _, nodes in ipairs { "n[1-31]", "n[0-31],m1", "" } do
      local parts = partitions()
      parts.batch.nodes = nodes
      local _, changed = submit(m, {}, parts)
      lu.assertFalse(changed)
   end
   local parts = partitions()
   parts.batch = nil
   local _, changed = submit(m, {}, parts)
   lu.assertFalse(changed)
   _, changed = submit(m, { partition = "nowhere" })
   lu.assertFalse(changed)
end

function tests.test_names_that_the_partition_lacks_are_not_excluded()
   local m = load_script()
   for part, lists in pairs { ["n[0-31]"] = { "n[30-32]", "n32", "m0", "n00", "n[00-01]", "n",
         "n-0", "n[0-1],x", "n0 n1", "n[0-1", "n[1-0]", "n[0-999999999999]" },
      ["n[08-12]"] = { "n8", "n[9-10]", "n[008-012]", "n13" }, ["login,n[8-12]"] = { "n08", "log" },
   } do
      for _, list in ipairs(lists) do
         write(("part batch 64 2 1 %s\nexclude batch 1 60 %s\n"):format(part, list))
         local parts = partitions()
         parts.batch.nodes = part
         lu.assertNil(submit(m, {}, parts).exc_nodes, list)
      end
   end
   for part, lists in pairs { ["n[4-7],n[0-3]"] = { "n[2-5]", "n0", "n[0-7]" },
      ["n[08-12]"] = { "n08", "n[10-12]", "n[09-11]" },
      ["login,n[8-12]"] = { "login", "n[9-10]", "n8,n[11-12],login" },
      ["rack1-n[01-99,100-120],gpu[1,3]"] = { "rack1-n[98-101]", "gpu3,rack1-n01" } } do
      for _, list in ipairs(lists) do
         write(("part batch 64 2 1 %s\nexclude batch 1 60 %s\n"):format(part, list))
         local parts = partitions()
         parts.batch.nodes = part
         lu.assertEquals(submit(m, {}, parts).exc_nodes, list)
      end
   end
end

function tests.test_an_old_file_is_ignored_and_a_new_one_read()
   local m = load_script()
   for _, age in ipairs { 601, 3600, -90, -86400 } do
      write(BODY, age)
      local _, changed = submit(m)
      lu.assertFalse(changed)
   end
   for _, age in ipairs { 570, 0, -59 } do -- seconds pass meanwhile
      write(BODY, age)
      local _, changed = submit(m)
      lu.assertTrue(changed)
   end
   write(BODY:gsub("%[0%-3,8%-11%]", "[2-3]"))
   lu.assertEquals(submit(m).exc_nodes, "n[2-3]")
   os.remove(PATH)
   local _, changed = submit(m)
   lu.assertFalse(changed)
   m.file = "/"
   _, changed = submit(m)
   lu.assertFalse(changed)
end

-- Every beginning of a good file, and it with each byte changed, is as good as none; no error.
function tests.test_a_half_written_or_broken_file_is_ignored()
   local m = load_script()
   local whole = write "part batch 32 2 1 n[0-31]\nexclude batch 1 28 n[0-1]\n"
   for length = 0, #whole - 1 do
      put(whole:sub(1, length))
      local _, changed = submit(m)
      lu.assertFalse(changed)
   end
   for at = 1, #whole do
      for _, byte in ipairs { "\0", "\n", " ", "9", "[", "\255" } do
         put(whole:sub(1, at - 1) .. byte .. whole:sub(at + 1))
         local j = submit(m)
         local excluded = j.exc_nodes or "n[0-1]"
         -- what is a number or a name may be another one, but never a node that is not there
         lu.assertTrue(excluded == "n[0-1]" or excluded == "n[0-9]" or excluded == "n[9-1]"
            or excluded == "n0-1]" or excluded:match "^n%[?%d", excluded)
         lu.assertNil(excluded:find "[%z\n\255 ]")
      end
   end
end

function tests.test_a_hostile_file_does_no_harm()
   local m = load_script()
   local hostile = { "", "\n", ("x"):rep(3e6), ("\0"):rep(1000), ("end 1 2\n"):rep(50000),
      "taut-advice 1 1 " .. ("9"):rep(400) .. "\nend 1 417\n",
      "#!/bin/sh\nreboot\n", "\27Lua", ("taut-advice 1 7 %d\n"):format(os.time()):rep(200) }
   for _, text in ipairs(hostile) do
      put(text)
      local _, changed = submit(m)
      lu.assertFalse(changed)
   end
   for _, body in ipairs { "part batch 32 2 1 n[0-31]\nexclude batch 1 28 n[0-1];reboot\n",
      "part batch 99 2 1 n[0-31]\nexclude batch 1 99 n[0-31\n", "exclude batch 1 28 n[0-1]\n",
      "part batch 32 0 1 n[0-31]\n", "part batch 32 2 1 n[0-31]\npart batch 9 2 1 n[0-31]\n",
      "part batch 32 2 1 n[0-31]\nexclude other 1 28 n[0-1]\n", "nonsense\n", "\n",
      "part batch 32 2 1 n[0-31]\nexclude batch 2 28 n[0-1]\n", "prefer 4 [a|b];x\n",
      "switches 0 100\n", "switches 8 99999999\n", "prefer 4 " .. "[" .. ("a|"):rep(600) .. "a]\n",
      "loadstring x\n", ("patterns %s\n"):format(("x"):rep(70) .. "%"),
      "part batch 32 2 1 n[0-31]\nexclude batch 1 28 " .. ("n1,"):rep(2000) .. "n1\n" } do
      write(body)
      local j, changed = submit(m)
      lu.assertTrue(not changed or j.exc_nodes == nil, body)
   end
end

-- Whatever the job table has, the job is accepted.
function tests.test_odd_fields_raise_no_error()
   local m = fresh()
   for _, change in ipairs { { spank_job_env = "text" }, { spank_job_env_size = 1e300 },
      { spank_job_env = { [0] = 7 } }, { min_nodes = "four" }, { environment = "x" },
      { partition = 5 }, { admin_comment = 7 }, { num_tasks = -1 }, { min_cpus = 0 / 0 } } do
      submit(m, change)
   end
   lu.assertEquals(m.submit(nil, nil, nil), 0)
   lu.assertEquals(m.submit({}, {}, 0), 0)
   lu.assertEquals(m.submit(setmetatable({}, { __index = function() error "no" end }), {}, 0), 0)
   lu.assertEquals(m.submit(job(), nil, 0), 0)
   lu.assertEquals(m.modify(), 0)
end

-- Past bug: slurmctld stood still while a partition that a user named 20,000 times was looked
-- through so often, and it kept each name that no partition has.
function tests.test_a_job_that_names_partitions_without_end()
   local m = fresh()
   lu.assertEquals(submit(m, { partition = "batch,batch,batch" }).exc_nodes, "n[0-3,8-11]")
   lu.assertEquals(submit(m, { partition = ("batch,"):rep(1000) .. "small" }).exc_nodes,
      "n[0-1,8-9],n[0-1]")
   local looks = 0
   local parts = setmetatable({}, { __index = function(_, name)
      looks = looks + 1
      return name:find "^b" and partitions().batch or nil
   end })
   for _, names in ipairs { ("batch,"):rep(20000), ("b,"):rep(100) .. ("x"):rep(1e6),
      (","):rep(1e6), "\0batch", "batch\n", "batch%d+", ".*" } do
      local _, changed = submit(m, { partition = names }, parts)
      lu.assertFalse(changed)
   end
   lu.assertTrue(looks <= 10, looks)
end

function tests.test_an_unknown_pattern_is_said_to_the_user()
   local m = fresh()
   local said
   slurm = { log_user = function(_, text) said = text end }
   for _, comm in ipairs { "nosuch", "halo3d;x", "halo3d:a b", ("a"):rep(300), "" } do
      said = nil
      local _, changed = submit(m, { spank_job_env = {
         [0] = "_SLURM_SPANK_OPTION_taut_comm=" .. comm } })
      lu.assertFalse(changed)
      lu.assertEquals(said, "taut: --comm: no such pattern; known: " .. PATTERNS)
   end
   slurm = nil
end

function tests.test_switches_only_where_there_is_a_tree_and_the_job_said_nothing()
   local m = load_script()
   write(BODY)
   lu.assertEquals(submit(m).req_switch, NO_VAL)
   write("switches 8 120\n" .. BODY)
   local j = submit(m, { partition = "far" })
   lu.assertEquals({ j.req_switch, j.wait4switch }, { 1, 120 })
   lu.assertEquals(j.admin_comment, "taut: comm=halo3d:bytes=1M switches=1@120")
   j = submit(m, { min_nodes = 17, max_nodes = 17 })
   lu.assertEquals({ j.req_switch, j.wait4switch }, { 3, 120 })
   j = submit(m, { req_switch = 4, wait4switch = 10 })
   lu.assertEquals({ j.req_switch, j.wait4switch }, { 4, 10 })
end

function tests.test_cells_are_preferred_once_slurmctld_was_seen_to_know_them()
   local m = load_script()
   write("prefer 8 [taut_cell_0|taut_cell_1]\n" .. BODY)
   lu.assertNil(submit(m).prefer) -- the file is as old as this script's start
   write("prefer 8 [taut_cell_0|taut_cell_1]\n" .. BODY, -5)
   lu.assertEquals(submit(m).prefer, "[taut_cell_0|taut_cell_1]")
   lu.assertNil(submit(m, { min_nodes = 9, max_nodes = 9 }).prefer)
end

function tests.test_a_sites_own_functions_stay()
   write(BODY)
   local function own() return 7 end
   slurm_job_submit, slurm_job_modify = own, own
   local m = dofile(src .. "/etc/job_submit.lua")
   lu.assertEquals(slurm_job_submit, own)
   lu.assertEquals(slurm_job_modify, own)
   lu.assertEquals(type(m.submit), "function")
   slurm_job_submit, slurm_job_modify = nil, nil
   m = dofile(src .. "/etc/job_submit.lua")
   lu.assertEquals(slurm_job_submit, m.submit)
   lu.assertEquals(slurm_job_modify, m.modify)
   slurm_job_submit, slurm_job_modify = nil, nil
end

-- The same on the other versions of Lua.
function tests.test_other_versions_of_lua()
   if os.getenv "TAUT_OTHER_LUA" then
      lu.skip "this is one of them"
   end
   local tried = 0
   for _, name in ipairs { "lua5.1", "lua5.2", "lua5.3", "lua5.4", "luajit" } do
      local out = io.popen(("command -v %s >/dev/null && TAUT_OTHER_LUA=1 TAUT_SRCDIR='%s' %s " ..
         "'%s/tests/lua/lib/plain.lua' '%s/tests/lua/slurm/test_job_submit.lua' 2>&1"):format(name,
         src, name, src, src)):read "*a"
      if out ~= "" then
         tried = tried + 1
         lu.assertStrContains(out, "all good: " .. _VERSION:sub(1, 4))
      end
   end
   lu.assertTrue(tried > 0, "no other Lua is installed; lua5.1 at least should be")
end

return tests
