-- SPDX-License-Identifier: GPL-2.0-or-later
--- Job traces in the Standard Workload Format: one job a line, fields between blanks, -1 for what
-- is not known, `; Name: value` before them (D. Feitelson, "Standard Workload Format", 2.2).
local swf = {}

local MOST = 1 << 40         -- of any number: seconds or nodes
local LONGEST = 4096         -- characters of a line
local FIELDS = 9             -- the last one that is read

-- Fields that are read, by their number in the format.
local NUMBER, SUBMIT, RUN, USED, ASKED, LIMIT = 1, 2, 4, 5, 8, 9
local LABEL = { [NUMBER] = "job number", [SUBMIT] = "submit time", [RUN] = "run time",
   [USED] = "allocated processors", [ASKED] = "requested processors",
   [LIMIT] = "requested time" }

local function numbers(line)
   local f, k = {}, 0
   for word in line:gmatch "%S+" do
      k = k + 1
      if LABEL[k] then
         local v = word:find "^%-?%d+%.?%d*$" and tonumber(word)
         if not v or math.abs(v) > MOST then
            return nil, ("%s '%s': a number from -1 to %d expected"):format(LABEL[k],
               (word:sub(1, 40):gsub("[^\x21-\x7e]", "?")), MOST)
         end
         f[k] = math.floor(v)
      end
   end
   if k < FIELDS then
      return nil, ("%d fields, at least %d expected"):format(k, FIELDS)
   end
   return f
end

-- A job, or nil and why the line is wrong, or false where the trace does not say enough.
local function job_of(line, most)
   local f, err = numbers(line)
   if not f then
      return nil, err
   end
   local nodes = f[USED] > 0 and f[USED] or f[ASKED]
   if f[SUBMIT] < 0 or f[RUN] <= 0 or nodes <= 0 then
      return false
   elseif most and nodes > most then
      return nil, ("%d processors, the header has %d"):format(nodes, most)
   end
   return { id = f[NUMBER], submit = f[SUBMIT], run = f[RUN], nodes = nodes,
      limit = f[LIMIT] > 0 and f[LIMIT] or f[RUN] }
end

--- Read a trace.
-- @param lines iterator of lines
-- @param name how the file is called in errors
-- @return table: jobs (array of { id, submit, run, nodes, limit }; seconds; by submit time),
--   size (nodes of the machine, from the header, or nil), skipped (jobs that never ran, or of
--   which the trace does not say enough); or nil, "FILE:LINE: what is wrong"
function swf.read(lines, name)
   local trace, at = { jobs = {}, skipped = 0 }, 0
   local function fail(what)
      return nil, ("%s:%d: %s"):format(name, at, what)
   end
   for line in lines do
      at = at + 1
      if #line > LONGEST then
         return fail(("%d characters, at most %d expected"):format(#line, LONGEST))
      end
      if line:find "^%s*;" then
         trace.size = tonumber(line:match "^; MaxNodes:%s*(%d+)%s*$") or trace.size
      elseif line:find "%S" then
         local job, err = job_of(line, trace.size)
         if job == nil then
            return fail(err)
         elseif job then
            trace.jobs[#trace.jobs + 1] = job
            job.order = #trace.jobs
         else
            trace.skipped = trace.skipped + 1
         end
      end
   end
   if #trace.jobs == 0 then
      return fail "no jobs"
   end
   table.sort(trace.jobs, function(a, b)
      return a.submit ~= b.submit and a.submit < b.submit or a.submit == b.submit and
         a.order < b.order
   end)
   return trace
end

return swf
