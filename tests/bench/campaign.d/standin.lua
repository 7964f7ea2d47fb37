-- SPDX-License-Identifier: GPL-2.0-or-later
--- A quick player, until the real one is here: phases by direction, runs by hour.
local standin = {}
local S = {}
S.__index = S

local log = math.log
local TOL = 0.035

function standin.new(machine, o)
   local topo = machine.topo
   return setmetatable({ topo = topo, o = o or { thr = 14, thr2 = 4 }, run = {}, known = {},
      idle = 0, dims = topo.dims }, S)
end

local function beside(self, r, d, step)
   local len, stride = self.topo.dims[d], self.topo.stride[d]
   local x = r // stride % len
   return r + ((x + step) % len - x) * stride
end

local ORDERS = { job = { 0, 5, 6, 3, 4, 1, 2 }, a = { 0, 5, 6, -1 }, b = { 3, 4, 1, 2 } }

local function phase(self, ask, k, ph, tests, by, routers)
   local topo, users, sent, recv = self.topo, {}, {}, {}
   local function add(s, d)
      if not s or not d or sent[s] or recv[d] or s == d then
         return false
      end
      local route = topo:route(s, d)
      for _, c in ipairs(route) do
         if (users[c] or 0) >= 2 then
            return false
         end
      end
      for _, c in ipairs(route) do
         users[c] = (users[c] or 0) + 1
      end
      sent[s], recv[d] = true, true
      tests[#tests + 1] = { src = s, dst = d, phase = ph, flows = 1, route = route, users = users }
      return true
   end
   if k == 0 then
      for _, r in ipairs(routers) do
         add(by[r][1], by[r][2])
         add(by[r][2], by[r][1])
      end
      return
   elseif k > 0 then
      local d, step = (k + 1) // 2, k % 2 == 1 and 1 or -1
      for _, r in ipairs(routers) do
         local q = beside(self, r, d, step)
         if by[q] then
            for i, s in ipairs(by[r]) do
               add(s, by[q][i] or by[q][1])
            end
         end
      end
   end
   local left = {}
   for _, n in ipairs(ask.nodes) do
      if not recv[n] then
         left[#left + 1] = n
      end
   end
   for i, s in ipairs(ask.nodes) do
      for q = 1, sent[s] and 0 or 3 do
         if add(s, left[(i * 7 + q * 31 + ask.event) % math.max(1, #left) + 1]) then
            break
         end
      end
   end
end

function S:plan(ask)
   local order = ORDERS.job
   if ask.purpose == "idle" then
      self.idle = self.idle + 1
      if self.idle % 6 ~= 0 then
         return {}
      end
      order = self.idle // 6 % 2 == 0 and ORDERS.a or ORDERS.b
   end
   local by, routers, tests = {}, {}, {}
   for _, n in ipairs(ask.nodes) do
      local r = self.topo:router(n)
      if not by[r] then
         by[r] = {}
         routers[#routers + 1] = r
      end
      table.insert(by[r], n)
   end
   for ph, k in ipairs(order) do
      phase(self, ask, k, ph, tests, by, routers)
   end
   return tests
end

local function chance(F)
   local q = 0.4 * (0.06 * F / 0.65)
   if math.abs(F - .5) < .03 or math.abs(F - 1 / 3) < .02 or math.abs(F - .25) < .02 then
      q = q + 0.3
   end
   return F < 0.12 and 0.004 or q
end

local function score(run, skip)
   local hours, s = {}, 0
   for i, t in ipairs(run.tests) do
      if not (skip and skip[t]) then
         local h = hours[t.hour] or { 0, 99, false }
         hours[t.hour] = h
         h[1] = math.max(h[1], run.shown[i])
         h[2] = math.min(h[2], #t.route)
         h[3] = h[3] or #t.route == 2
      end
   end
   for _, h in pairs(hours) do
      if h[3] then
         s = s + (h[1] >= run.best * (1 - TOL) and 9 or -6)
      elseif h[1] >= run.best * (1 - TOL) then
         s = s + log(0.7 / chance(run.best))
      else
         s = s + (h[2] <= 3 and -1.3 or -0.4)
      end
   end
   return s
end

local function take(self, t, v, touched)
   local cap, healthy = self.topo.capacity, math.huge
   for _, c in ipairs(t.route) do
      healthy = math.min(healthy, cap[c] / t.users[c] * (self.known[c] or 1))
   end
   local low = v < 0.75 * healthy
   for _, c in ipairs(t.route) do
      local shown, run = v * t.users[c] / cap[c], self.run[c]
      if shown >= 0.76 or not low and run and shown > run.best * (1 + TOL) then
         self.run[c] = nil
      elseif low and not self.known[c] then
         run = run or { best = 0, tests = {}, shown = {} }
         self.run[c] = run
         run.best = math.max(run.best, shown)
         if #run.tests < 200 then
            run.tests[#run.tests + 1], run.shown[#run.tests + 1] = t, shown
         end
         touched[c] = true
      end
   end
end

local function is_alone(self, c, run)
   local rivals = {}
   for _, t in ipairs(run.tests) do
      for _, o in ipairs(t.route) do
         rivals[o] = o ~= c and self.run[o] or nil
      end
   end
   for _, ro in pairs(rivals) do
      local has = {}
      for _, t in ipairs(ro.tests) do
         has[t] = true
      end
      if score(run, has) < self.o.thr2 then
         return false
      end
   end
   return true
end

function S:observe(ask, tests, values)
   local touched, changes = {}, {}
   for i, t in ipairs(tests) do
      local best = values[i][1]
      t.hour = ask.time // 3600
      if best then
         take(self, t, best, touched)
      end
   end
   for c in pairs(touched) do
      local run = self.run[c]
      if run and #run.tests >= 3 and score(run) > self.o.thr and is_alone(self, c, run) then
         self.known[c], self.run[c] = run.best, nil
         changes[#changes + 1] = { component = c, state = "slow", left = run.best }
      end
   end
   return changes
end

function S:forget(c)
   self.known[c], self.run[c] = nil, nil
end

function S:explain(c)
   local run = self.run[c]
   return run and ("run of %d, best %.3f, score %.1f"):format(#run.tests, run.best, score(run))
      or "nothing"
end

return standin
