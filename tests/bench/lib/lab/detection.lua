-- SPDX-License-Identifier: GPL-2.0-or-later
-- What detection asks of Lua:
--   positions TAUT_LUA COUNT [FAULT]   as many random positions: components, in turn a tx or rx,
--                                and a link; with FAULT "switch" or "bundle" all links of one,
--                                both ways, joined by commas
--   state POSITION [FAULT] <STATUS     "found TIME", or the component's state; STATUS is the JSON
--                                of `taut status`
--   report TAUT_LUA DATABASE NAME [FAULT] <POSITIONS     NAME: of the figures
local config = require "taut.config"
local figure = require "figure"
local hostlist = require "taut.hostlist"
local json = require "taut.json"
local stages = require "taut.topology.stages"
local stats = require "stats"
local tables = require "taut.base.tables"

local function topology(path)
   return assert(config.load(path, { rundir = "", statedir = "" })).topology
end

---------------------------------------------------------------- positions

-- Takes one of the list at random, without giving it twice.
local function draw(list)
   return table.remove(list, math.random(#list))
end

-- Links and the other ways of their cables, as one position.
local function both_ways(topo, links)
   return table.concat(tables.map(links, function(c)
      return topo.components[c] .. "," .. topo.components[topo:opposite(c)]
   end), ",")
end

local kinds = {}

function kinds.switch(topo)
   local list = {}
   for r = 0, topo.routers - 1 do
      list[#list + 1] = both_ways(topo, topo:links_of(r))
   end
   return list
end

function kinds.bundle(topo)
   local list = {}
   for c = topo.first_link, #topo.components do
      local links = topo:links_between(topo:from(c), topo:to(c))
      if c == links[1] and topo:from(c) < topo:to(c) then
         list[#list + 1] = both_ways(topo, links)
      end
   end
   return list
end

local function positions(path, count, fault)
   local topo = topology(path)
   local ports = table.move(topo.components, 1, topo.first_link - 1, 1, {})
   local links = table.move(topo.components, topo.first_link, #topo.components, 1, {})
   local several = kinds[fault or ""]
   if several then
      ports = several(topo)
      links = ports
   end
   for i = 1, math.tointeger(tonumber(count)) do
      print(draw(i % 2 == 1 and ports or links))
   end
end

local function parts_of(position)
   local list = {}
   for name in position:gmatch "[^,]+" do
      list[#list + 1] = name
   end
   return list
end

---------------------------------------------------------------- state

-- What a fault of several components has to be called.
local AS_ONE = { "is slow as a whole", "all of router", "all of the bundle", "^the bundle" }

local function state_of_many(status, parts)
   local has, worst = tables.set(parts), "ok"
   for _, v in ipairs(status.verdicts) do
      worst = has[v.component] and v.state or worst
      for _, words in ipairs(has[v.component] and AS_ONE or {}) do
         if v.remark:find(words) then
            return print(("found %.6f"):format(status.now))
         end
      end
   end
   print(worst)
end

-- Of what loses, or comes and goes, the verdict itself counts: an alert may be all that follows.
local BY_VERDICT = tables.set { "lossy", "flapping" }
local BROKEN = tables.set { "slow", "failed", "lossy" }

-- Found is: called slow or failed, and what follows from it was done; or said to be slow at times.
local function state(component, fault)
   local status = assert(json.decode(io.read "a"))
   if component:find "," then
      return state_of_many(status, parts_of(component))
   end
   local node = component:match("^(ni?d?%d+)/.x$")
   for _, d in ipairs(status.drained) do
      if d.node == node then
         return print(("found %.6f"):format(d.time))
      end
   end
   for _, v in ipairs(status.verdicts) do
      if v.component == component then
         if v.action == "avoid" or BY_VERDICT[fault] and BROKEN[v.state] then
            return print(("found %.6f"):format(v.since))
         elseif v.remark:find "is slow at times" then
            return print(("found %.6f"):format(status.now))
         end
         return print(v.state)
      end
   end
   print "ok"
end

---------------------------------------------------------------- report

local function rows(db, sql)
   local stmt, list = assert(db:prepare(sql)), {}
   assert(stmt:execute())
   for row in stmt:rows(true) do
      local copy = {}
      for k, v in pairs(row) do
         copy[k] = v
      end
      list[#list + 1] = copy
   end
   stmt:close()
   return list
end

local function read_positions()
   local list, tautd, failed = {}, {}, {}
   for line in io.lines() do
      local component, time, left = line:match("^from (%S+) (%S+) ([%d.]+)$")
      local last, ended, what = line:match("^until (%S+) (%S+) (.*)$")
      local when, process, us, kB = line:match("^tautd (%S+) (%S+) (%d+) (%d+)$")
      if component then
         list[#list + 1] = { component = component, from = tonumber(time), left = tonumber(left) }
      elseif last then
         local p = list[#list]
         p.ended = tonumber(ended)
         p.found = tonumber(what:match("^found (%S+)$"))
         p.what = what
      elseif when then
         tautd[process] = tautd[process] or {}
         tautd[process][when] = { s = us / 1e6, kB = tonumber(kB) }
      elseif line:match("^failed") then
         failed[#failed + 1] = line
      end
   end
   return list, tautd, failed
end

-- Does a route between two of these nodes use one of these components, or may it?
local function crosses(topo, names, has)
   for _, a in ipairs(names) do
      for _, b in ipairs(names) do
         if a ~= b then
            for _, on in ipairs(stages.all(topo:route(topo.node_id[a], topo.node_id[b]))) do
               if has[topo.components[on]] then
                  return true
               end
            end
         end
      end
   end
   return false
end

-- Jobs that were checked, or would have been, in that time: all, and those across the fault.
local function count_jobs(topo, jobs, p)
   local has, all, across = tables.set(parts_of(p.component)), 0, 0
   for _, job in ipairs(jobs) do
      if job.time >= p.from and job.time <= (p.found or p.ended) then
         all = all + 1
         if crosses(topo, job.names, has) then
            across = across + 1
         end
      end
   end
   return all, across
end

-- The position whose fault was in force, or had been last.
local function position_at(list, time)
   local last
   for _, p in ipairs(list) do
      if p.from <= time then
         last = p
      end
   end
   return last
end

local function fault_at(list, time)
   local p = position_at(list, time)
   return p and p.component or "none"
end

local function wrongs(list, db)
   local wrong = { drains = {}, verdicts = {}, right = 0 }
   for _, v in ipairs(rows(db,
      "SELECT * FROM verdict WHERE state IN ('slow', 'failed', 'lossy')")) do
      local fault = fault_at(list, v.time)
      if not tables.has(parts_of(fault), v.component) then
         table.insert(wrong.verdicts, ("%s was called %s while the fault was %s"):format(
            v.component, v.state, fault))
         local p = position_at(list, v.time)
         if p then
            p.wrong = (p.wrong or 0) + 1
         end
      else
         wrong.right = wrong.right + 1
      end
   end
   for _, a in ipairs(rows(db, "SELECT * FROM action WHERE action = 'alert'")) do
      local fault = fault_at(list, a.time)
      if fault:find "," and not tables.has(parts_of(fault), a.component) then
         table.insert(wrong.verdicts, ("%s while the fault was %s"):format(a.reason, fault))
      end
   end
   for _, a in ipairs(rows(db, "SELECT * FROM action WHERE action = 'drain'")) do
      local fault = fault_at(list, a.time)
      if a.node ~= fault:match("^(ni?d?%d+)/.x$") then
         table.insert(wrong.drains, ("%s was drained (%s) while the fault was %s"):format(a.node,
            a.reason, fault))
      end
   end
   return wrong
end

local function read_jobs(db)
   local jobs, seen = {}, {}
   for _, e in ipairs(rows(db, "SELECT * FROM event WHERE purpose = 'prolog' ORDER BY time")) do
      if not seen[e.job] then
         seen[e.job] = true
         jobs[#jobs + 1] = { id = e.job, time = e.time, names = assert(hostlist.expand(e.nodes)),
            note = e.note }
      end
   end
   return jobs
end

local function class_line(db, purpose)
   local n, all = { good = 0, low = 0, void = 0 }, 0
   for _, r in ipairs(rows(db, "SELECT test.class AS class, COUNT(*) AS n FROM test JOIN event " ..
      "ON event.id = test.event WHERE event.purpose = '" .. purpose .. "' GROUP BY 1")) do
      n[r.class] = r.n
      all = all + r.n
   end
   if all > 0 then
      print(("%-6s tests: %6d, %.1f %% good, %.1f %% low, %.1f %% discarded"):format(purpose, all,
         100 * n.good / all, 100 * n.low / all, 100 * n.void / all))
   end
   return all
end

local function print_void(db)
   local why, order = {}, {}
   for _, r in ipairs(rows(db, "SELECT why FROM test WHERE class = 'void'")) do
      local text = tostring(r.why):gsub("%f[%w]ni?d?%d+", "NODE"):gsub("[%d.]+[%d.:]*", "N")
      if not why[text] then
         order[#order + 1] = text
      end
      why[text] = (why[text] or 0) + 1
   end
   table.sort(order, function(a, b) return why[a] > why[b] end)
   for i = 1, math.min(6, #order) do
      print(("   discarded %5d  %s"):format(why[order[i]], order[i]))
   end
end

-- Shares, as the campaign counts them: no recall is asked where no job crossed the fault.
local function score(name, list, wrong)
   local found, exact, two, counted = 0, 0, 0, 0
   for _, p in ipairs(list) do
      counted = counted + ((p.found or p.crossed) and 1 or 0)
      if p.found then
         found = found + 1
         exact = exact + (p.wrong and 0 or 1)
         two = two + ((p.wrong or 0) <= 1 and 1 or 0)
      end
   end
   local verdicts = wrong.right + #wrong.verdicts
   figure(name .. ".recall", counted > 0 and found / counted or 0, "share", ">=", 0.99)
   figure(name .. ".precision", verdicts > 0 and wrong.right / verdicts or 1, "share", ">=", 0.999)
   figure(name .. ".exact", found > 0 and exact / found or 0, "share", ">=", 0.95)
   figure(name .. ".set_of_two", found > 0 and two / found or 0, "share", ">=", 0.99)
end

local function report(path, file, name, fault)
   local topo = topology(path)
   local db = assert(require("DBI").Connect("SQLite3", file))
   local list, tautd, failed = read_positions()
   local jobs, across, seconds = read_jobs(db), {}, {}
   print(("position    fault       %s   jobs  across it  seconds  found"):format(
      fault == "lossy" and "lost" or "left"))
   for i, p in ipairs(list) do
      local all, crossing = count_jobs(topo, jobs, p)
      p.crossed = crossing > 0
      if p.found or p.crossed then
         across[#across + 1] = p.found and crossing or math.huge
      end
      seconds[#seconds + 1] = p.found and p.found - p.from
      print(("%5d       %-10s %4g%% %6d  %9d  %7.1f  %s"):format(i, parts_of(p.component)[1]
         .. (p.component:find "," and " …" or ""), p.left, all,
         crossing, (p.found or p.ended) - p.from, p.found and "yes"
         or p.crossed and "no: " .. p.what or "not crossed: not counted"))
   end
   print()
   local wrong = wrongs(list, db)
   for _, text in ipairs(wrong.drains) do
      print("WRONG drain: " .. text)
   end
   for _, text in ipairs(wrong.verdicts) do
      print("WRONG verdict: " .. text)
   end
   for _, text in ipairs(failed) do
      print(text)
   end
   local unchecked = 0
   for _, job in ipairs(jobs) do
      unchecked = unchecked + (type(job.note) == "string" and job.note ~= "" and 1 or 0)
   end
   print(("%d jobs in all, %d of them not checked; %.0f s"):format(#jobs, unchecked,
      list[#list].ended - list[1].from))
   local tests = class_line(db, "prolog") + class_line(db, "idle")
   print_void(db)
   for process, t in pairs(tautd) do
      if t.before and t.after then
         local s = t.after.s - t.before.s
         print(("%-10s %.1f ms of CPU per job, %.2f ms per test, %.1f MB"):format(process,
            1e3 * s / #jobs, 1e3 * s / tests, t.after.kB / 1e3))
      end
   end
   print()
   local is_one = name == "detection" and not list[1].component:find ","
   local median, most = is_one and 5 or nil, is_one and 12 or nil
   if BY_VERDICT[fault] then
      median, most = fault == "lossy" and 8 or nil, nil
   end
   figure(name .. ".jobs_median", stats.median(across), "jobs", median and "<=", median)
   figure(name .. ".jobs_most", stats.quantile(across, 1), "jobs", most and "<=", most)
   if name == "detection" then
      figure(name .. ".found", #seconds, "positions", ">=", #list)
   end
   figure(name .. ".seconds_median", stats.median(seconds), "s")
   if name == "campaign_lab" then
      score(name, list, wrong)
   end
   figure(name .. ".wrong_drains", #wrong.drains, "nodes", "<=", 0)
   figure(name .. ".wrong_verdicts", #wrong.verdicts, "components", "<=", 0)
end

-- The database as it is now, while tautd goes on writing.
local function copy(from, to)
   local db = assert(require("DBI").Connect("SQLite3", from))
   db:autocommit(true)
   local stmt = assert(db:prepare("VACUUM INTO ?"))
   assert(stmt:execute(to))
   stmt:close()
   db:close()
end

local commands = { positions = positions, state = state, report = report, copy = copy }
commands[arg[1]](table.unpack(arg, 2))
