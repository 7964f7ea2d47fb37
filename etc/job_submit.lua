-- SPDX-License-Identifier: GPL-2.0-or-later
-- job_submit.lua: steers jobs that gave --comm=PATTERN (slurmctld's plugin job_submit/lua).
--
-- Alone: copy it beside slurm.conf, with JobSubmitPlugins=lua.  In a site's own job_submit.lua:
--
--    local taut = dofile "/usr/share/taut/examples/job_submit.lua"
--    function slurm_job_submit(job_desc, part_list, submit_uid)
--       …                                       -- the site's own rules
--       return taut.submit(job_desc, part_list, submit_uid)
--    end
--
-- It reads the small file that tautd refreshes, and runs, asks and waits for nothing: slurmctld
-- stands still meanwhile.  Whatever is in doubt (no file, an old or broken one, a job that names
-- nodes or asks for special ones, a partition that changed) leaves the job as it was.  Runs on
-- Lua 5.1 to 5.4; doc/steering.md explains what it does.
local M = {
   file = "/run/taut/advice", -- `steer.file` of taut.lua; what slurmctld's host sees
   old_s = 600,               -- an older file is ignored
   log = nil,                 -- function(text): where problems are told, slurmctld's log by default
}

local FORMAT = "taut%-advice 1 " -- a pattern
local HEAD = 128            -- bytes that tell one file from the next
local MOST = 1048576        -- bytes of a file
local OPTION = "_SLURM_SPANK_OPTION_taut_comm="
local PARTITIONS, PARTITIONS_BYTES = 64, 8192 -- of one job
local floor, ceil, max = math.floor, math.ceil, math.max
local loaded = os.time()

---------------------------------------------------------------- host lists

local function add_range(set, prefix, low, high)
   local least, most = tonumber(low), tonumber(high)
   if #high > 15 or #low > #high or least > most then
      return false
   end
   -- names are told apart by their number's digits: n8 and n08 are two nodes
   for digits = #low, max(#low, #string.format("%.0f", most)) do
      local from = digits == #low and least or 10 ^ (digits - 1)
      local to = math.min(most, 10 ^ digits - 1)
      local key = prefix .. ":" .. digits
      local list = set[key]
      if not list then
         list = {}
         set[key] = list
      end
      list[#list + 1] = { from, to }
   end
   return true
end

local function add_ranges(set, prefix, body)
   local pos = 1
   while pos <= #body do
      local low, high, after = body:match("^(%d+)%-(%d+)()", pos)
      if not low then
         low, after = body:match("^(%d+)()", pos)
         high = low
      end
      if not low or not add_range(set, prefix, low, high) then
         return false
      end
      local mark = body:sub(after, after)
      if mark ~= "," and mark ~= "" or mark == "," and after == #body then
         return false
      end
      pos = after + 1
   end
   return body ~= ""
end

-- prefix:digits → ranges in order, none touching another.
local function in_order(set)
   for key, list in pairs(set) do
      table.sort(list, function(a, b) return a[1] < b[1] end)
      local merged = {}
      for i = 1, #list do
         local last = merged[#merged]
         if last and list[i][1] <= last[2] + 1 then
            last[2] = max(last[2], list[i][2])
         else
            merged[#merged + 1] = list[i]
         end
      end
      set[key] = merged
   end
   return set
end

-- The names of a host list as ranges; nil where it is of a form that Taut does not write.
local function ranges_of(text)
   local set, pos = {}, 1
   while pos <= #text do
      local prefix, body, after = text:match("^([%w._-]*)%[([%d,-]*)%]()", pos)
      if prefix then
         if not add_ranges(set, prefix, body) then
            return nil
         end
      else
         local name
         name, after = text:match("^([%w._-]+)()", pos)
         if not name then
            return nil
         end
         local stem, number = name:match "^(.-)(%d*)$"
         if number == "" then
            set[stem .. ":"] = { { 0, 0 } }
         elseif not add_range(set, stem, number, number) then
            return nil
         end
      end
      local mark = text:sub(after, after)
      if mark ~= "," and mark ~= "" or mark == "," and after == #text then
         return nil
      end
      pos = after + 1
   end
   return in_order(set)
end

-- Is each name of `few` one of `all`?
local function has_all(all, few)
   for key, list in pairs(few) do
      for i = 1, #list do
         local found = false
         for k = 1, #(all[key] or "") do
            found = found or all[key][k][1] <= list[i][1] and list[i][2] <= all[key][k][2]
         end
         if not found then
            return false
         end
      end
   end
   return true
end

-- Ranges by text: the node lists of partitions hardly ever change.
local ranges_known, ranges_count = {}, 0

local function ranges(text)
   local set = ranges_known[text]
   if set == nil then
      if ranges_count >= 256 then
         ranges_known, ranges_count = {}, 0
      end
      set = ranges_of(text) or false
      ranges_known[text], ranges_count = set, ranges_count + 1
   end
   return set
end

---------------------------------------------------------------- tautd's file

-- Rows before those of partitions: word → function(advice, rest), true when the row is good.
local row = {}

function row.patterns(a, rest)
   for name in rest:gmatch "%S+" do
      a.patterns[name] = true
   end
   a.pattern_list = rest
   return not rest:find "[^%w%- ]"
end

function row.switches(a, rest)
   local nodes, wait = rest:match "^(%d+) (%d+)$"
   a.leaf, a.wait = tonumber(nodes), tonumber(wait)
   return nodes ~= nil and a.leaf >= 1 and a.wait >= 1 and a.wait <= 86400
end

function row.prefer(a, rest)
   local nodes, features = rest:match "^(%d+) (%[[%w_|]+%])$"
   a.prefer_nodes, a.prefer = tonumber(nodes), features
   return nodes ~= nil and #features <= 1024
end

local function wrong_line(line)
   return ("a line is wrong: %s"):format(line:sub(1, 60):gsub("[^\32-\126]", "?"))
end

-- A partition's rows: { usable, cpus, even, nodes, levels }, or nil and what is wrong.
local function parse_part(text, name)
   local _, at = text:find("\npart " .. name .. " ", 1, true)
   if not at then
      return nil
   end
   local usable, cpus, even, nodes, pos =
      text:match("^(%d+) (%d+) ([01]) ([%w%[%],._-]+)\n()", at + 1)
   if not usable or tonumber(cpus) < 1 then
      return nil, wrong_line(text:sub(at + 1):match "^[^\n]*")
   end
   local part = { usable = tonumber(usable), cpus = tonumber(cpus), even = even == "1",
      nodes = nodes, levels = {} }
   local head = "exclude " .. name .. " "
   while text:sub(pos, pos + #head - 1) == head do
      local level, left, list, after =
         text:match("^(%d+) (%d+) ([%w%[%],._-]+)\n()", pos + #head)
      if tonumber(level) ~= #part.levels + 1 or #list > 4096 then
         return nil, wrong_line(text:sub(pos):match "^[^\n]*")
      end
      part.levels[tonumber(level)] = { left = tonumber(left), list = list ~= "-" and list or nil }
      pos = after
   end
   return part
end

-- Advice out of a file's text, or nil and what is wrong with it.  What it says of partitions is
-- read when a job asks for one: slurmctld waits.
local function parse(text)
   local serial, time, pos = text:match("^" .. FORMAT .. "(%d+) (%d+)\n()")
   if not time or #time > 15 then
      return nil, "its first line is not that of an advice file of format 1"
   end
   local tail = text:sub(-80)
   local at, end_serial, bytes = tail:match "\n()end (%d+) (%d+)\n$"
   if not at or end_serial ~= serial or tonumber(bytes) ~= #text - #tail + at - 1 then
      return nil, "its last line is missing or wrong: it is not whole"
   end
   local a = { time = tonumber(time), patterns = {}, pattern_list = "", parts = {}, text = text }
   local word, rest, after = text:match("^(%l+) ([^\n]+)\n()", pos)
   while word and word ~= "part" and word ~= "end" do
      if not row[word] or not row[word](a, rest) then
         return nil, wrong_line(word .. " " .. rest)
      end
      word, rest, after = text:match("^(%l+) ([^\n]+)\n()", after)
   end
   if not word then
      return nil, "a line has another form than the others"
   end
   return a
end

local function tell(text)
   local slurm = rawget(_G, "slurm")
   if M.log then
      M.log(text)
   elseif slurm and slurm.log_info then
      slurm.log_info("taut: %s", text)
   end
end

local cache = {} -- head, advice (nil when that file is no good)

local function read_file()
   local f = io.open(M.file, "rb")
   if not f then
      cache = {}
      return nil
   end
   local head = f:read(HEAD)
   if head ~= nil and head == cache.head then
      f:close()
      return cache.advice
   end
   local rest = head and f:read(MOST) or ""
   local more = head and f:read(1)
   f:close()
   local advice, why
   if not head then
      why = "it is empty or no file"
   elseif more then
      why = ("it has more than %d bytes"):format(MOST)
   else
      advice, why = parse(head .. rest)
   end
   cache = { head = head, advice = advice }
   if why then
      tell(("%s is ignored: %s"):format(M.file, why))
   end
   return advice
end

-- The advice in force, or nil.
local function current()
   local a, now = read_file(), os.time()
   if not a or now - a.time > M.old_s or a.time - now > 60 then
      return nil
   end
   return a
end

---------------------------------------------------------------- the job

-- A number that was given: Slurm has several values for "none".
local function given(v)
   if type(v) ~= "number" or v <= 0 or v == 65534 or v == 65535 or v >= 4294967294 then
      return nil
   end
   return v
end

local function is_text(v)
   return type(v) == "string" and v ~= ""
end

-- What --comm said, or nil.  The array begins at 0.
local function comm_of(job)
   local size, env = given(job.spank_job_env_size), nil
   if size then
      env = job.spank_job_env
   end
   for i = 0, type(env) == "table" and math.min(size, 1024) or -1 do
      local text = env[i]
      if type(text) == "string" and text:sub(1, #OPTION) == OPTION then
         return text:sub(#OPTION + 1)
      end
   end
   return nil
end

local NAMES_NODES = { "req_nodes", "exc_nodes" }
local CHOOSY_TEXT = { "features", "prefer", "reservation", "tres_per_job", "tres_per_socket",
   "tres_per_task", "batch_features", "clusters" }
local CHOOSY_NUMBER = { "contiguous", "min_mem_per_cpu", "sockets_per_node", "cores_per_socket",
   "threads_per_core", "ntasks_per_gpu", "ntasks_per_tres", "immediate", "boards_per_node" }
local UNEVEN_TEXT = { "tres_per_node", "gres" }
local UNEVEN_NUMBER = { "min_mem_per_node", "pn_min_cpus", "pn_min_tmp_disk" }

local function any(job, names, is)
   for i = 1, #names do
      if is(job[names[i]]) then
         return true
      end
   end
   return false
end

-- A job that names nodes, one part of a heterogeneous job, or one that only some nodes suit.
local function is_choosy(job)
   local env = job.environment
   local hostfile = type(env) == "table" and (env.SLURM_HOSTFILE
      or env.SLURM_DISTRIBUTION == "arbitrary")
   local het = job.het_job_offset
   return any(job, NAMES_NODES, is_text) or hostfile or any(job, CHOOSY_TEXT, is_text)
      or any(job, CHOOSY_NUMBER, given) or type(het) == "number" and het < 4294967294
end

local function asks_for_special_nodes(job)
   return any(job, UNEVEN_TEXT, is_text) or any(job, UNEVEN_NUMBER, given)
end

-- The most nodes that a job may take where nodes have so many processors; nil in doubt.
local function nodes_needed(job, cpus)
   local need = max(given(job.min_nodes) or 0, given(job.max_nodes) or 0)
   local tasks, cores = given(job.num_tasks), given(job.min_cpus)
   if tasks then
      local fit = floor(cpus / (given(job.cpus_per_task) or 1))
      local per = given(job.ntasks_per_node)
      fit = per and per < fit and per or fit
      if fit < 1 then
         return nil
      end
      need = max(need, ceil(tasks / fit))
   end
   return max(need, cores and ceil(cores / cpus) or 1)
end

-- What the file says of a partition, or nil.
local function part_of(a, name)
   local part = a.parts[name]
   if part == nil then
      local why
      part, why = parse_part(a.text, name)
      a.parts[name] = part or false
      if why then
         tell(("%s: partition %s is ignored: %s"):format(M.file, name, why))
      end
   end
   return part
end

-- The partitions a job may run in, as the file and slurmctld have them now: array of the file's,
-- or nil where the two differ.  A user may name one of them many times, or some that are not there.
local function parts_of(job, part_list, a)
   local names, list = job.partition, {}
   if not is_text(names) then
      for name, live in pairs(part_list) do
         if live.flag_default == 1 or live.flag_default == true then
            names = name
         end
      end
   end
   local seen = {}
   for name in (names and #names <= PARTITIONS_BYTES and names or ""):gmatch "[^,]+" do
      local live = part_list[name]
      local part = live and part_of(a, name)
      if not part or live.nodes ~= part.nodes or #list >= PARTITIONS then
         return nil
      end
      list[#list + 1] = not seen[name] and part or nil
      seen[name] = true
   end
   return #list > 0 and list or nil
end

-- Does it fit with a tenth to spare?
local function fits(need, left)
   return need * 11 <= left * 10
end

-- May a job that needs so many nodes do without those of a level of a partition?  Not with a name
-- that the partition has not got.
local function bears(part, level, need)
   local l = part.levels[level]
   if not l or not fits(need, l.left) then
      return false
   elseif not l.list then
      return true
   end
   local all, few = ranges(part.nodes), ranges(l.list)
   return all and few and has_all(all, few)
end

-- The nodes to exclude: as much of the advice as all partitions bear.
local function excluded(parts, needs)
   for level = #parts[1].levels, 1, -1 do
      local lists, seen, borne = {}, {}, true
      for i = 1, #parts do
         borne = borne and bears(parts[i], level, needs[i])
         local list = borne and parts[i].levels[level].list
         if list and not seen[list] then
            seen[list] = true
            lists[#lists + 1] = list
         end
      end
      if borne and #lists > 0 then
         return table.concat(lists, ",")
      end
   end
   return nil
end

-- What is to be changed in a job: field → value; nil for nothing.
local function decide(job, part_list)
   local comm = comm_of(job)
   if not comm then
      return nil
   end
   local a = current()
   if not a or is_text(job.admin_comment) then
      return nil
   end
   local name = comm:match "^([%l%d-]+)$" or comm:match "^([%l%d-]+):[%w=,.+_/:-]+$"
   if not name or #comm > 200 or not a.patterns[name] then
      return nil, ("taut: --comm: no such pattern; known: %s"):format(a.pattern_list)
   end
   local parts = not is_choosy(job) and parts_of(job, part_list, a)
   if not parts then
      return nil
   end
   local needs, most, special = {}, 0, asks_for_special_nodes(job)
   for i = 1, #parts do
      local need = nodes_needed(job, parts[i].cpus)
      if not need or not fits(need, parts[i].usable) or special and not parts[i].even then
         return nil
      end
      needs[i], most = need, max(most, need)
   end
   if most < 2 then
      return nil
   end
   local change, mark = {}, "taut: comm=" .. comm
   change.exc_nodes = excluded(parts, needs)
   if change.exc_nodes then
      mark = mark .. " excluded=" .. change.exc_nodes
   end
   if a.leaf and not given(job.req_switch) then
      change.req_switch, change.wait4switch = ceil(most / a.leaf), a.wait
      mark = ("%s switches=%d@%d"):format(mark, change.req_switch, a.wait)
   end
   -- what a restarted slurmctld has not been seen to know may not be there
   if a.prefer and most <= a.prefer_nodes and a.time > loaded then
      change.prefer = a.prefer
      mark = mark .. " preferred=1"
   end
   change.admin_comment = mark
   return change
end

local ORDER = { "exc_nodes", "req_switch", "wait4switch", "prefer", "admin_comment" }

local function apply(job, part_list)
   local change, message = decide(job, part_list)
   local slurm = rawget(_G, "slurm")
   if message and slurm and slurm.log_user then
      slurm.log_user("%s", message)
   end
   for i = 1, change and #ORDER or 0 do
      if change[ORDER[i]] ~= nil then
         job[ORDER[i]] = change[ORDER[i]]
      end
   end
end

--- Steer a job, or leave it as it is.  Raises no error.
-- @return slurm.SUCCESS
function M.submit(job_desc, part_list, _)
   local ok, err = pcall(apply, job_desc, part_list)
   if not ok then
      pcall(tell, "job_submit: " .. tostring(err))
   end
   return 0
end

--- Jobs that are changed later are none of our business.
function M.modify()
   return 0
end

-- Alone, slurmctld wants these two; a site's own stay, and come after.
if rawget(_G, "slurm_job_submit") == nil then
   slurm_job_submit = M.submit
end
if rawget(_G, "slurm_job_modify") == nil then
   slurm_job_modify = M.modify
end

return M
