-- SPDX-License-Identifier: GPL-2.0-or-later
--- A tautd that is stopped, or killed, and started again: the real parts and a real store, on a
-- machine whose links carry what a test says, at a time that a test says.
local answers = require "taut.core.answers"
local journal = require "taut.store.journal"
local json = require "taut.json"
local loop = require "taut.loop"
local memory = require "taut.core.memory"
local parts = require "lib.parts"
local stages = require "taut.topology.stages"
local sys = require "taut.sys"

local restart = {}
local World = {}
World.__index = World

local CAPACITY = 24e6
local START = 1700000000.25 -- seconds

--- The thresholds of the demo, so that few events decide.
restart.quick = [[
diagnosis = { suspect_low = 3, suspect_events = 2, suspect_score = 3, slow_low = 3, slow_far = 2,
   slow_score = 8, slow_spells = 2, spell_s = 5, confirm_span_h = 0, busy_h = 0.01, reporters = 2,
   void_delay = 0.15 }
]]

--- Run body(world) as a task of the loop: it may wait.  Its errors come out here.
-- @param o as for lib.parts; path of a database
function restart.run(o, body)
   local w = setmetatable({ o = o, path = o.path, left = {}, now = START, job = 0 }, World)
   local time, failed = loop.time, nil
   loop.time = function() return w.now end
   w.co = coroutine.create(function()
      local ok, err = xpcall(body, debug.traceback, w)
      failed = not ok and err or nil
      loop.stop()
   end)
   local late = loop.timer(60000, function()
      failed = failed or "it took more than 60 s"
      loop.stop()
   end)
   loop.timer(0, function() w:go_on() end)
   loop.run()
   late:cancel()
   loop.time = time
   if failed then
      error(failed, 0)
   end
end

function World:go_on()
   local ok, err = coroutine.resume(self.co)
   if not ok then
      error(err, 0)
   end
end

-- Call fn(done), and wait until done(…) was called; returns what it got.
function World:wait(fn)
   local got, is_waiting
   fn(function(...)
      got = table.pack(...)
      if is_waiting then
         is_waiting = false
         loop.timer(0, function() self:go_on() end)
      end
   end)
   if not got then
      is_waiting = true
      coroutine.yield()
   end
   return table.unpack(got, 1, got.n)
end

---------------------------------------------------------------- starts and ends

--- Start a tautd on the database.
-- @param o other options than those of before, or nil
function World:start(o)
   self.o = o or self.o
   local j
   self:wait(function(done)
      j = journal.start({ sys.paths.program, "--daemon", "--store", self.path }, done)
   end)
   self.o.journal = j
   self.p = parts.new(self.o)
   self:wait(function(done) memory.load(self.p, done) end)
   self.p.review()
   return self.p
end

--- It ends as systemd ends it.
function World:stop()
   self.p.snapshot:stop()
   self.p.records:last()
   self:wait(function(done) self.p.journal:stop(done) end)
end

--- It is killed: rows that wait are lost, and the store sees the end of what it was told.
function World:kill()
   self.p.snapshot:stop()
   local j = self.p.journal
   j.stopped, j.rows = true, {}
   self:wait(function(done)
      j.store.on_end = done
      j.store:stop()
   end)
end

--- Wait until all that waits for the store is on disk.
function World:written()
   self:wait(function(done) self.p.journal:confirm(done) end)
end

---------------------------------------------------------------- jobs

local function Bps(self, t)
   local least = math.huge
   for _, c in ipairs(stages.all(t.route)) do
      least = math.min(least, CAPACITY * (self.left[self.p.site.topo.components[c]] or 1))
   end
   return least * (1 + 0.01 * (math.random() - 0.5))
end

local function report(self, s, t)
   local bw, sub = Bps(self, t), {}
   for i = 1, 8 do
      sub[i] = bw * 20e-3 / 8
   end
   local function of(n, key, value)
      s.results[n] = s.results[n] or {}
      s.results[n][key .. t.id] = value
   end
   local bytes = math.floor(bw * 20e-3)
   of(t.src, "send:", { bytes = bytes, window_ns = 20000000 })
   of(t.dst, "recv:", { bytes = bytes, window_ns = 20000000, sub_bytes = sub })
end

--- A job on nodes begins: their check.
function World:check(nodes)
   self.job, self.now = self.job + 1, self.now + 10
   local s = { purpose = "prolog", job = self.job, restart = 0, uid = 0, wanted = nodes, peers = {},
      results = {}, began = self.now }
   for _, n in ipairs(nodes) do
      s.peers[n] = { name = self.p.site.topo.nodes[n], boot = "boot of " .. n }
   end
   self.p.check:plan(s, nodes, 3000)
   for _, t in ipairs(s.tests) do
      report(self, s, t)
   end
   self.p.findings:session(s)
end

--- Jobs of random size, somewhere.
function World:jobs(count)
   for _ = 1, count do
      local all, nodes = #self.p.site.topo.nodes, {}
      local size = math.random(2, math.min(24, all))
      local first = math.random(1, all - size + 1)
      for i = 1, size do
         nodes[i] = first + i - 1
      end
      self:check(nodes)
   end
end

---------------------------------------------------------------- what is said

-- These count from the start of a tautd on, or are about the process.
local OF_A_PROCESS = { "since", "munge_error", "tests", "skipped", "hellos", "jobs_started",
   "jobs_heard", "nothing_due", "events", "refused", "refused_streams", "store", "now" }

--- Ask as the `taut` command does.
-- @return what a command answers
function World:ask(name, args)
   return self:wait(function(done)
      local reply = setmetatable({ guard = function(fn, ...) return fn(...) end,
         text = function(text) done(assert(json.decode(text)).data) end },
         { __call = function(_, data, err) done(data and json.decode(json.encode(data)), err) end })
      answers(self.p)[name][2](args or {}, "root", 0, reply)
   end)
end

local function put(facts, path, v)
   if type(v) == "table" then
      for k, more in pairs(v) do
         put(facts, path .. "." .. tostring(type(more) == "table" and (more.component or more.node)
            or k), more)
      end
   else
      facts[path] = v
   end
end

--- What status, coverage, links, nodes, advice and explanations say: path → value.
-- @param explained array of names
function World:facts(explained)
   self.p.review() -- as with each answer of Slurm's
   local facts, status = {}, self:ask "status"
   for _, name in ipairs(OF_A_PROCESS) do
      status[name] = nil
   end
   put(facts, "status", status)
   put(facts, "links", self:ask("links").links)
   put(facts, "nodes", self:ask("nodes").nodes)
   local topo, d = self.p.site.topo, self.p.diagnosis
   for c, name in ipairs(topo.components) do
      facts["tested." .. name] = self.p.coverage:tested(c)
      facts["last." .. name] = self.p.coverage:last(c)
      facts["cleared." .. name] = d.evidence:cleared(c)
      facts["score." .. name] = ("%.6g"):format(d.evidence:score(c))
   end
   local advice = self:ask("advise", { count = 8 })
   advice.as_of = nil -- when Slurm was asked
   put(facts, "advice", advice)
   for _, name in ipairs(explained or {}) do
      local why = self:ask("explain", { what = name, name = name })
      why.now = nil
      put(facts, "explain." .. name, why)
   end
   return facts
end

local function is_one(path, patterns)
   for _, pattern in ipairs(patterns) do
      if path:find(pattern) then
         return true
      end
   end
   return false
end

--- Differences: array of "path: before, after", in order.
-- @param but patterns of paths that are left out, or nil
function restart.differences(before, after, but)
   local list = {}
   for path, v in pairs(before) do
      if v ~= after[path] and not is_one(path, but or {}) then
         list[#list + 1] = ("%s: %s, %s"):format(path, v, after[path])
      end
   end
   for path, v in pairs(after) do
      if before[path] == nil then
         list[#list + 1] = ("%s: nothing, %s"):format(path, v)
      end
   end
   table.sort(list)
   return list
end

return restart
