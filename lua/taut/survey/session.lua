--- One survey: its nodes, its rounds, its reports to the owner.
--
-- A kind's phases are cut into rounds of about `round_ms`.  For each round every component on
-- its routes is held, so that neither prologs nor other surveys use it meanwhile: a round waits
-- until what holds them now is over, and holds them itself from the moment it begins to wait, so
-- two surveys of the same nodes take turns.
local json = require "taut.json"
local judge = require "taut.judge"
local loop = require "taut.loop"
local report = require "taut.survey.report"
local result = require "taut.result"
local rounds = require "taut.survey.rounds"
local seal = require "taut.seal"
local sys = require "taut.sys"

local session = {}
local Session = {}
Session.__index = Session

local PLAN, RESULT, STOP = 2, 3, 5
local TAIL_MS = 800     -- a node is this long behind the last test of its plan
local SLACK_MS = 2500   -- … and its RESULT may take this long
local SAY_WAIT_S = 0.5  -- a wait that is longer is reported

---------------------------------------------------------------- sending

local function send(peer, kind, text)
   local sealed = seal.seal(peer.key, kind, text, peer.sent)
   peer.sent = peer.sent + 1
   return peer.conn:send(kind, sealed)
end

--- End a node's part; its log gets the note.
function session.dismiss(peer, note)
   send(peer, PLAN, json.encode { v = 2, note = (note or ""):sub(1, 190), tests = json.array {} })
   peer.conn:close()
end

-- The owner is told; a report that is too long for a frame is an error here, not there.
local function tell(self, message)
   for _, text in ipairs(self.owner and report.encode(message) or {}) do
      send(self.owner, report.FRAME, text)
   end
end

---------------------------------------------------------------- nodes

--- A process has come.  Returns nil, or why it is not taken.
function Session:admit(peer, h)
   if self.started then
      return "late: the others have started"
   elseif h.nodes ~= self.nodes_text then
      return "its step has other nodes than that of the first process"
   elseif self.peers[peer.name] then
      return "one process per node is enough (srun --ntasks-per-node=1)"
   elseif (peer.options ~= nil) ~= (peer.procid == 0) then
      return "options come from process 0"
   end
   self.peers[peer.name] = peer
   self.by_conn[peer.conn] = peer
   self.count = self.count + 1
   if peer.options then
      self.owner = peer
   end
   if self.count >= #self.wanted then
      self:start()
   end
   return nil
end

-- Leave a node out from now on.
local function leave_out(self, peer, why, note)
   self.peers[peer.name], self.by_conn[peer.conn] = nil, nil
   if peer.node then
      self.present[peer.node] = nil
   end
   self.on_dismissed(peer.conn)
   if note then
      session.dismiss(peer, note)
   end
   if why then
      self.left[#self.left + 1] = { node = peer.name, why = why }
   end
end

-- Who of the step is not here, and who is but has no place in the topology.
local function roll(self)
   local missing, unknown, nodes = json.array {}, json.array {}, {}
   for _, name in ipairs(self.wanted) do
      local peer = self.peers[name]
      if not peer then
         missing[#missing + 1] = name
      elseif not peer.node then
         unknown[#unknown + 1] = name
      else
         nodes[#nodes + 1] = peer.node
         self.present[peer.node] = peer
      end
   end
   table.sort(nodes)
   return nodes, missing, unknown
end

---------------------------------------------------------------- the end

--- The survey is over: the owner hears what it found, all are sent home.
function Session:finish(why)
   if self.over then
      return
   end
   self.over = true
   if self.timer then
      self.timer:cancel()
   end
   local message = { kind = "end", why = why, found = self.work and self.work:finish(why) }
   tell(self, message)
   for _, peer in pairs(self.peers) do
      self.on_dismissed(peer.conn)
      session.dismiss(peer, not self.owner and why or nil)
   end
   self.peers, self.by_conn = {}, {}
   sys.log("notice", ("%s of job %d, step %d: %d tests%s"):format(self.purpose, self.job,
      self.step, self.tests_run, why and "; " .. why or ""))
   self.on_over(self)
end

--- Finish what runs, then end.
function Session:stop(why)
   self.stopping = self.stopping or why
   if not self.round then
      self:finish(self.stopping)
   end
end

---------------------------------------------------------------- rounds

-- Keep other plans off a round's components.  Returns in how many seconds they are free.
local function hold(self, round)
   local coverage, now = self.d.coverage, loop.time()
   local free = now
   for c in pairs(round.components) do
      free = math.max(free, coverage.busy_until[c] or 0)
   end
   round.until_s = free + (round.last_ms + TAIL_MS) / 1000
   for c in pairs(round.components) do
      coverage:hold(c, round.until_s)
   end
   return free - now
end

-- A round that ended early gives its components back, but for those that another one waits for.
local function let_go(self, round)
   local busy_until = self.d.coverage.busy_until
   for c in pairs(round.components) do
      if busy_until[c] == round.until_s then
         busy_until[c] = loop.time()
      end
   end
end

local next_round

-- Both accounts of each test of the round, judged; rows for the owner.
local function finish_round(self)
   local round = self.round
   self.round = nil
   round.timer:cancel()
   let_go(self, round)
   for n in pairs(round.plans) do
      local peer = self.present[n]
      if peer and not round.results[n] then
         leave_out(self, peer, "its result did not come in time",
            "this node's result did not come in time")
      end
   end
   for _, t in ipairs(round.tests) do
      local from, to = round.results[t.src] or {}, round.results[t.dst] or {}
      judge.test(t, from["send:" .. t.id], to["recv:" .. t.id], self.d.topo,
         self.d.conf.diagnosis)
      t.time = round.began
   end
   rounds.share(round.tests, self.d.conf.diagnosis)
   self.tests_run = self.tests_run + #round.tests
   if self.admin then
      self.d.keep(self, round.tests)
   end
   self.done_phases = self.done_phases + round.phases
   tell(self, { kind = "round", done = self.done_phases, phases = self.all_phases,
      gone = self.left, results = self.work:take(round.all) })
   self.left = json.array {}
   if self.stopping then
      return self:finish(self.stopping)
   end
   next_round(self)
end

local function expect_no_more(self, round)
   round.open = round.open - 1
   if round.open <= 0 and self.round == round then
      finish_round(self)
   end
end

local function send_round(self, round)
   if self.over then
      return
   end
   round.began, self.round = loop.time(), round
   round.results, round.open = {}, 0
   local first_ns = loop.now_ns()
   for n in pairs(round.plans) do
      local peer = self.present[n]
      if peer then -- it may have gone while the round waited
         round.open = round.open + 1
         -- start times count from the plan's arrival: who is sent it later starts sooner
         send(peer, PLAN, rounds.plan_text(self, round, n, (loop.now_ns() - first_ns) // 1000000))
      end
   end
   round.timer = loop.timer(round.last_ms + TAIL_MS + SLACK_MS, function()
      finish_round(self)
   end)
   if round.open == 0 then
      loop.timer(1, function()
         if self.round == round then
            finish_round(self)
         end
      end)
   end
end

local function begin_round(self, round)
   local wait_s = hold(self, round)
   if wait_s > SAY_WAIT_S then
      tell(self, { kind = "wait", why = ("other checks, or another survey, use the same " ..
         "links for %.1f s more"):format(wait_s) })
   end
   if wait_s <= 0 then
      return send_round(self, round)
   end
   self.timer = loop.timer(math.ceil(wait_s * 1000), function()
      self.timer = nil
      send_round(self, round)
   end)
end

function next_round(self)
   while self.at > #self.phases do
      if next(self.present) == nil then
         return self:finish("no node is left")
      end
      local phases = self.work:next(self.present)
      if not phases then
         return self:finish()
      end
      self.phases, self.at = phases, 1
      self.all_phases = self.all_phases + #phases
   end
   local round
   round, self.at = rounds.cut(self, self.phases, self.at)
   begin_round(self, round)
end

--- All are there, or time is up: begin with those who came.
function Session:start()
   if self.started or self.over then
      return
   end
   self.started = true
   if self.timer then
      self.timer:cancel()
      self.timer = nil
   end
   self.left = json.array {}
   if not self.owner then
      return self:finish("process 0 of the step did not come")
   end
   local nodes, missing, unknown = roll(self)
   local work, err = self.kind.begin { topology = self.d.topo, nodes = nodes,
      settings = self.d.conf.survey, diagnosis = self.d.conf.diagnosis,
      options = self.owner.options, admin = self.admin, missing = missing, unknown = unknown }
   tell(self, { kind = "begin", purpose = self.purpose, nodes = #nodes, missing = missing,
      unknown = unknown, phases = work and work.phases, note = work and work.note })
   if not work then
      return self:finish(err)
   end
   self.work = work
   if self.kind.history and self.d.history then
      self.d.history(self.kind.history, function(rows)
         if not self.over then
            work:recall(rows)
         end
      end)
   end
   next_round(self)
end

---------------------------------------------------------------- what nodes say

local function open(peer, kind, bytes)
   local text, err = seal.open(peer.key, kind, bytes, peer.opened)
   if not text then
      return nil, err
   end
   peer.opened = peer.opened + 1
   return json.decode(text)
end

--- A sealed RESULT.  Returns true, or nil and why it was refused: the node is then left out.
function Session:result(conn, bytes)
   local peer, round = self.by_conn[conn], self.round
   if not round or not round.plans[peer.node] or round.results[peer.node] then
      return nil, peer.name .. ": a RESULT nobody asked for"
   end
   local r, err = open(peer, RESULT, bytes)
   local tests
   if r then
      tests, err = result.read(r)
   end
   if not tests then
      peer.fault = "its result was refused: " .. err
      return nil, ("%s: %s"):format(peer.name, err)
   end
   round.results[peer.node] = tests
   expect_no_more(self, round)
   return true
end

--- A sealed STOP, the owner's.  Returns true, or nil and why it was refused.
function Session:stop_frame(conn, bytes)
   local peer = self.by_conn[conn]
   local ok, err = open(peer, STOP, bytes)
   if not ok or peer ~= self.owner then
      return nil, ("%s: STOP: %s"):format(peer.name, err or "only the owner may")
   end
   self:stop "stopped by its owner"
   return true
end

--- A connection ended.
function Session:gone(conn)
   local peer = self.by_conn[conn]
   if not peer or self.over then
      return
   end
   leave_out(self, peer, peer.fault or "its process has ended")
   if not self.started then
      self.count = self.count - 1
   end
   if peer == self.owner then
      self.owner = nil
      if self.started then
         self:stop "its owner has gone"
      end
   end
   local round = self.round
   if round and round.plans[peer.node] and not round.results[peer.node] then
      expect_no_more(self, round)
   end
end

--- @param d the daemon (see survey.new)
-- @param o key, kind, purpose, job, step, uid, admin, wanted (names), nodes_text,
--   on_over(session), on_dismissed(conn)
function session.new(d, o)
   local self = setmetatable(o, Session)
   self.d, self.peers, self.by_conn, self.present, self.count = d, {}, {}, {}, 0
   self.left, self.phases, self.at, self.all_phases, self.done_phases = json.array {}, {}, 1, 0, 0
   self.tests_run, self.began = 0, loop.time()
   return self
end

return session
