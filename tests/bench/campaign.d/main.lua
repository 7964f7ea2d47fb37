-- SPDX-License-Identifier: GPL-2.0-or-later
-- The campaign's driver: options, worlds in turn, files of results; tests/bench/campaign runs it.
local json = require "taut.json"
local machine = require "machine"
local play = require "play"
local players = require "players"
local setscore = require "setscore"
local tally = require "tally"

local opt = { machine = "torus", player = "taut", seeds = { 1 }, at_once = 10, faults = 100,
   warm = 5000, set = {} }

local function fail(...)
   io.stderr:write("campaign: ", string.format(...), "\n")
   os.exit(2)
end

local function number(name, text)
   local n = tonumber(text)
   if not n or n < 0 or math.type(n) ~= "integer" then
      fail("%s: expected a whole number, got %s", name, tostring(text))
   end
   return n
end

local function read(path)
   local f, err = io.open(path)
   if not f then
      fail("%s", err)
   end
   local text = f:read "a"
   f:close()
   return text
end

local function write(path, list)
   local f = assert(io.open(path .. ".new", "w"))
   f:write(json.encode(list), "\n")
   f:close()
   assert(os.rename(path .. ".new", path))
end

-- "3" or "3-7,9"
local function seeds(text)
   local list = {}
   for part in tostring(text):gmatch "[^,]+" do
      local a, b = part:match "^(%d+)%-(%d+)$"
      for s = number("--seeds", a or part), number("--seeds", b or part) do
         list[#list + 1] = s
      end
   end
   return list
end

local take = {}
take["--machine"] = function(v) opt.machine = v end
take["--player"] = function(v) opt.player = v end
take["--seeds"] = function(v) opt.seeds = seeds(v) end
take["--faults-at-once"] = function(v) opt.at_once = number("--faults-at-once", v) end
take["--faults"] = function(v) opt.faults = number("--faults", v) end
take["--healthy"] = function(v) opt.healthy = number("--healthy", v) end
take["--warm"] = function(v) opt.warm = number("--warm", v) end
local function share(name, v)
   local n = tonumber(v)
   if not n or n < 0 or n > 1 then
      fail("%s: expected a share, 0 to 1, got %s", name, v)
   end
   return n
end
take["--steady"] = function(v) opt.steady = share("--steady", v) end
take["--lossy"] = function(v) opt.lossy = share("--lossy", v) end
take["--flapping"] = function(v) opt.flapping = share("--flapping", v) end
take["--transport"] = function(v)
   if v ~= "tcp" and v ~= "rdma" then
      fail("--transport: expected tcp or rdma, got %s", v)
   end
   opt.transport = v
end
take["--liars"] = function(v) opt.liars = number("--liars", v) end
take["--jobs"] = function(v) opt.jobs = number("--jobs", v) end
take["--json"] = function(v) opt.json = v end
take["--into"] = function(v)
   opt.into = v
   -- it is written to an hour later
   local probe = v .. "/.probe"
   local f = os.execute("mkdir -p '" .. v:gsub("'", "'\\''") .. "'") and io.open(probe, "w")
   if not f then
      fail("--into: %s is no folder that can be written to", v)
   end
   f:close()
   os.remove(probe)
end
take["--settings"] = function(v) opt.settings = read(v) end
take["--set"] = function(v)
   local section, name, value = v:match "^([%l_]+)%.([%w_]+)=(.+)$"
   if not section then
      fail("--set: expected section.name=value, got %s", v)
   end
   opt.set[section] = (opt.set[section] or "") .. name .. " = " .. value .. ", "
end
take["--size"] = function(v)
   opt.size = {}
   for name, value in v:gmatch "([%a_]+)=([%dx]+)" do
      local dims = {}
      for d in value:gmatch "%d+" do
         dims[#dims + 1] = tonumber(d)
      end
      opt.size[name] = name == "dims" and dims or dims[1]
   end
end

local function options()
   local i = 1
   while i <= #arg do
      local a = arg[i]
      if a == "--tune" then
         opt.tune = true
      elseif a == "--counts" or a == "--no-counts" then
         opt.counts = a == "--counts"
      elseif a == "--jumbo" or a == "--lossless" then
         opt[a:sub(3)] = true
      elseif a == "--sets" then
         opt.sets = true
      elseif a == "--trace" or a == "--trace-all" then
         opt.trace = { out = io.stdout, all = a == "--trace-all" }
      elseif a == "--pool" then
         opt.pool = table.move(arg, i + 1, #arg, 1, {})
         return
      elseif take[a] then
         i = i + 1
         take[a](arg[i] or fail("%s: a value is missing", a))
      else
         fail("'%s' is not an option", a)
      end
      i = i + 1
   end
end

local function settings()
   local text = opt.settings or ""
   if opt.transport == "rdma" or opt.lossless then
      opt.set.diagnosis = (opt.set.diagnosis or "") .. "lossless = true, "
      opt.lossless = true
   end
   for section, body in pairs(opt.set) do
      text = ("%s\n%s = { %s }"):format(text, section, body)
   end
   return text
end

local function world_of(seed)
   local w = { seed = seed, steady = opt.steady, liars = opt.liars, lossy = opt.lossy,
      flapping = opt.flapping, transport = opt.transport, jumbo = opt.jumbo,
      lossless = opt.lossless, counts = opt.counts }
   if opt.healthy then
      w.jobs, w.healthy_jobs = opt.healthy, math.maxinteger
   else
      w.faults_at_once, w.faults, w.healthy_jobs, w.jobs = opt.at_once, opt.faults, opt.warm,
         opt.jobs
   end
   return w
end

local function one(name, seed, results, thresholds)
   local m, err = machine.load(opt.machine, opt.size, settings())
   local make = players.make(name, thresholds)
   if not m or not make then
      fail("%s", err or ("player '%s' is not known"):format(name))
   end
   m.is_rdma, m.segment_bytes = opt.transport == "rdma", opt.jumbo and 8948 or 1448
   local function save(r)
      results[#results + 1] = r
      if opt.json then
         write(opt.json, results)
      end
   end
   local sets = (opt.sets or opt.machine == "dragonfly") and name == "taut"
      and setscore.new(opt.trace and io.stdout) or nil
   local result, log = play.run { name = name, machine = m, player = make, world = world_of(seed),
      healthy = opt.healthy ~= nil, trace = opt.trace, sets = sets, every = 120,
      progress = function(r)
         r.unfinished = true
         save(r)
         results[#results] = nil
         io.stderr:write(("%s, seed %d: %d jobs, %.0f h, %d verdicts, %d drains after %d s\n")
            :format(name, seed, r.jobs, r.hours, r.verdicts, r.drains, r.wall_s))
      end }
   for i, line in ipairs(thresholds and {} or log) do
      if i > 20 and not opt.trace then
         print(("%s, seed %d: and %d lines more"):format(name, seed, #log - 20))
         break
      end
      print(("%s, seed %d: %s"):format(name, seed, line))
   end
   if sets then
      local s = sets.score
      print(("%s, seed %d: sets: %d verdicts right, %d wrong, %d taken back; of %d faults that "
         .. "hide in sets %d are older than 48 h, %d of these found, at a median age of %.0f h")
         :format(name, seed, s.right, s.wrong, s.over, s.hidden, s.old, s.found, s.hours or 0))
   end
   save(result)
   collectgarbage()
end

-- All combinations of a grid { name = values, … }, in a fixed order.
local function combinations(grid)
   local names, list = {}, { {} }
   for name in pairs(grid) do
      names[#names + 1] = name
   end
   table.sort(names)
   for _, name in ipairs(names) do
      local more = {}
      for _, had in ipairs(list) do
         for _, value in ipairs(grid[name]) do
            local c = { [name] = value }
            for k, v in pairs(had) do
               c[k] = v
            end
            more[#more + 1] = c
         end
      end
      list = more
   end
   return list, names
end

-- The harmonic mean of recall and precision.
local function merit(s)
   local recall, precision = s.recalled / math.max(1, s.judged), s.right / math.max(1, s.verdicts)
   return recall + precision > 0 and 2 * recall * precision / (recall + precision) or 0, recall,
      precision
end

-- Look for a baseline's thresholds: one run for each combination of its grid.
local function tune(name)
   local _, method = players.make(name)
   if not method then
      fail("--tune is for a baseline, not for '%s'", name)
   end
   local best, words
   local list, names = combinations(method.grid)
   for _, thresholds in ipairs(list) do
      local results, said = {}, {}
      for _, seed in ipairs(opt.seeds) do
         one(name, seed, results, thresholds)
      end
      for i, k in ipairs(names) do
         said[i] = ("%s = %g"):format(k, thresholds[k])
      end
      local s = tally.add(results)
      local value, recall, precision = merit(s)
      print(("%s { %s }: recall %.3f of %d, precision %.4f of %d, together %.4f"):format(name,
         table.concat(said, ", "), recall, s.judged, precision, s.verdicts, value))
      io.stdout:flush()
      if not best or value > best then
         best, words = value, table.concat(said, ", ")
      end
   end
   print(("%s: best on seed%s %s: { %s }"):format(name, #opt.seeds > 1 and "s" or "",
      table.concat(opt.seeds, " "), words))
end

local function pool()
   local all = {}
   for _, path in ipairs(opt.pool) do
      local list, err = json.decode(read(path))
      if not list then
         fail("%s: %s", path, err)
      end
      table.move(list, 1, #list, #all + 1, all)
   end
   return all
end

options()
if opt.tune then
   for _, name in ipairs(opt.player == "all" and table.move(players.names, 2, #players.names, 1, {})
      or { opt.player }) do
      tune(name)
   end
   return
end
-- A seed's result in a folder, where it was played to its end before; and its file.
local function kept(name, seed)
   local kind = ("%s%s%s%s"):format(opt.lossy and "-lossy" .. opt.lossy or "", opt.flapping and
      "-flapping" .. opt.flapping or "", opt.transport and "-" .. opt.transport or "",
      opt.counts ~= nil and (opt.counts and "-counts" or "-nocounts") or "")
   local path = ("%s/%s%s-%s-%s-%d.json"):format(opt.into, opt.machine, kind, name, opt.healthy and
      (opt.liars and "liars" or "healthy") or opt.at_once, seed)
   local f = io.open(path)
   local list = f and json.decode(f:read "a")
   if f then
      f:close()
   end
   return list, path
end

local results = {}
if opt.pool then
   results = pool()
else
   local names = opt.player == "all" and players.names or { opt.player }
   for _, seed in ipairs(opt.seeds) do
      for _, name in ipairs(names) do
         local list, path
         if opt.into then
            list, path = kept(name, seed)
         end
         if list then
            results[#results + 1] = list[1]
         else
            one(name, seed, results)
         end
         if path and not list then
            write(path, { results[#results] })
         end
      end
   end
end
tally.show(results, opt.pool)
