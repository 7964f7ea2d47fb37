-- SPDX-License-Identifier: GPL-2.0-or-later
--- Tasks that are done once, and kept: a study that was interrupted goes on where it was, several
-- processes share one, and a job array of Slurm is nothing else.
--
-- A folder holds `study.json` (the words of the study, and its number of tasks) and `part-K.jsonl`
-- (a line for each task that part K has done).  A line cut short, where a process died, is done
-- again.
local json = require "taut.json"
local save = require "taut.report.save"
local sys = require "taut.sys"

local work = {}

local MOST_PARTS = 1000

local function path_of_part(dir, part)
   return ("%s/part-%d.jsonl"):format(dir, part)
end

-- What there is of a part.
local function read_part(dir, part, known, results)
   local f = io.open(path_of_part(dir, part))
   if not f then
      return
   end
   for line in f:lines("L") do
      local d = line:sub(-1) == "\n" and json.decode(line)
      if type(d) == "table" and known[d.key] and type(d.result) == "table" then
         results[d.key] = d.result
      end
   end
   f:close()
end

--- Results of all parts so far.
-- @param tasks array of { key }
-- @return map key → result
function work.read(dir, tasks, parts)
   local known, results = {}, {}
   for _, t in ipairs(tasks) do
      known[t.key] = true
   end
   for part = 1, parts do
      read_part(dir, part, known, results)
   end
   return results
end

--- Open a folder for a study, or go on in it.
-- @param words of the command line that make the study what it is
-- @return true, or nil and why not
function work.open(dir, words, tasks)
   local path = dir .. "/study.json"
   local want = { words = words, tasks = #tasks }
   sys.mkdir(dir)
   local f = io.open(path)
   if f then
      local has = json.decode(f:read "a")
      f:close()
      if not has or json.encode(has.words) ~= json.encode(words) or has.tasks ~= #tasks then
         local what = "its study.json cannot be read"
         if has and type(has.words) == "table" then
            what = table.concat(has.words, " ")
         end
         return nil, ("%s holds another study: %s"):format(dir, what)
      end
      return true
   end
   return save.text(path, json.encode(want) .. "\n")
end

-- Does what is left of one part, a line for each task.
local function do_part(dir, tasks, part, of, solve)
   local results, path = work.read(dir, tasks, MOST_PARTS), path_of_part(dir, part)
   local ok, why_not = sys.append(path, "\n") -- ends a line that was cut short
   if not ok then
      return nil, "cannot write " .. why_not
   end
   for i, task in ipairs(tasks) do
      if (i - 1) % of == part - 1 and not results[task.key] then
         local r, why = solve(task)
         if not r then
            return nil, why
         end
         ok, why_not = sys.append(path, json.encode { key = task.key, result = r } .. "\n")
         if not ok then
            return nil, "cannot write " .. why_not
         end
      end
   end
   return true
end

local function join_quoted(argv)
   local command = {}
   for i, word in ipairs(argv) do
      command[i] = save.quoted(word)
   end
   return table.concat(command, " ")
end

-- Several processes of this program, each with its part; waits for all.
local function run_parts(argv, count)
   local list = {}
   for part = 1, count do
      list[part] = join_quoted(argv) .. (" --part %d/%d & "):format(part, count)
   end
   return os.execute(table.concat(list) .. "wait")
end

-- Tasks without a result.
local function count_missing(tasks, results)
   local n = 0
   for _, t in ipairs(tasks) do
      if not results[t.key] then
         n = n + 1
      end
   end
   return n
end

--- Do all tasks, here or by several processes.
-- @param solve function(task) → result that JSON can hold, or nil and what is wrong
-- @param options { dir = folder or nil, words, part = { number, of } or nil, jobs = processes or
--   nil, argv = this command as words, for these, with a folder }
-- @return map key → result, or true where one part was asked for; or nil and what is wrong
function work.run(tasks, solve, options)
   if not options.dir then
      local results = {}
      for _, task in ipairs(tasks) do
         local r, why = solve(task)
         if not r then
            return nil, why
         end
         results[task.key] = r
      end
      return results
   end
   local ok, err = work.open(options.dir, options.words, tasks)
   if not ok then
      return nil, err
   elseif options.part then
      return do_part(options.dir, tasks, options.part[1], options.part[2], solve)
   elseif options.jobs and options.jobs > 1
      and count_missing(tasks, work.read(options.dir, tasks, MOST_PARTS)) > 0 then
      run_parts(options.argv, options.jobs)
   end
   ok, err = do_part(options.dir, tasks, 1, 1, solve) -- what nobody did
   if not ok then
      return nil, err
   end
   return work.read(options.dir, tasks, MOST_PARTS)
end

local ARRAY = [[
#!/bin/sh
#SBATCH --job-name=taut-study
#SBATCH --array=1-%d
#SBATCH --ntasks=1
#SBATCH --output=%s/array-%%a.log
exec %s --part "$SLURM_ARRAY_TASK_ID/%d"
]]

local COLLECT = [[
#!/bin/sh
#SBATCH --job-name=taut-study-table
#SBATCH --ntasks=1
#SBATCH --output=%s/table.txt
exec %s
]]

local SUBMIT = [[
#!/bin/sh
# Submit the array, and the job that joins its parts when all are done.
set -e
id=$(sbatch --parsable %s)
exec sbatch --dependency="afterok:${id%%%%;*}" %s
]]

--- Write the scripts of a job array: DIR/array, DIR/collect, and DIR/submit.
-- @param argv this command as words, with its folder
-- @param output words that only the collecting job gets: what it writes
-- @return path of submit, or nil and why not
function work.sbatch(dir, argv, output, parts, tasks, words)
   local ok, err = work.open(dir, words, tasks)
   if not ok then
      return nil, err
   end
   local command = join_quoted(argv)
   parts = math.min(parts, #tasks)
   local array, collect = dir .. "/array", dir .. "/collect"
   local files = {
      { array, ARRAY:format(parts, dir, command, parts) },
      { collect, COLLECT:format(dir, command .. " " .. join_quoted(output)) },
      { dir .. "/submit", SUBMIT:format(save.quoted(array), save.quoted(collect)) },
   }
   for _, f in ipairs(files) do
      ok, err = save.text(f[1], f[2])
      if not ok then
         return nil, err
      end
   end
   return files[3][1]
end

work.MOST_PARTS = MOST_PARTS

return work
