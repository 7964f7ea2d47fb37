-- SPDX-License-Identifier: GPL-2.0-or-later
--- Brings the nodes of one job (or one idle cycle) together: HELLOs in, PLANs out, RESULTs in.
--
-- A HELLO with nothing to do is answered at once.  Otherwise the nodes of an allocation, in
-- groups of neighbours, are waited for: until all of a group are there, or `gather_ms` after its
-- first HELLO.  All plans of a group are built before the first one is sent.
local background = require "taut.events.background"
local endpoints = require "taut.wire.endpoints"
local json = require "taut.json"
local loop = require "taut.loop"
local planned = require "taut.tests"
local prolog_times = require "taut.core.metrics.prolog_times"
local rails = require "taut.topology.fabrics.rails"
local result = require "taut.wire.result"
local seal = require "taut.seal"
local wire = require "taut.wire"

local rendezvous = {}
local Rendezvous = {}
Rendezvous.__index = Rendezvous

local RESULT_SLACK_MS = 300
local LATE = "late: the others have started"
local SURELY = 1.1 -- times what is good: a third of a window is less exact than the whole

---------------------------------------------------------------- sending

-- Most plans are empty and say nothing: their text, by version.
local EMPTY = setmetatable({}, { __index = function(plans, version)
   plans[version] = json.encode { v = version, note = "", tests = json.array {} }
   return plans[version]
end })

-- Send a plan to one node, at once: the phases of all count from when each has its own.  An empty
-- one ends its check.
local function send_plan(self, peer, tests, note)
   local text = not note and #tests == 0 and EMPTY[peer.version]
      or json.encode { v = peer.version, note = note or "", tests = json.array(tests) }
   peer.conn:send(wire.PLAN, seal.seal(peer.key, wire.PLAN, text, 0, peer.version), true)
   if #tests == 0 then
      self.sessions[peer.conn] = nil
      peer.conn:close()
   end
end

local function dismiss_peer(self, peer, note)
   send_plan(self, peer, {}, note)
end

---------------------------------------------------------------- sessions

-- Wait for the nodes of a session of check.lua: those that have come are its `peers`.
local function await_nodes(self, session, key)
   session.key, session.is_wanted, session.present, session.of_conn = key, {}, 0, {}
   for _, n in ipairs(session.wanted) do
      session.is_wanted[n] = true
   end
   self.open[key] = session
   return session
end

-- Both accounts of each test, judged; then the session is over.
local function finish_session(self, session)
   if session.done then
      return
   end
   session.done = true
   if session.timer then
      session.timer:cancel()
   end
   for _, peer in pairs(session.peers) do
      if self.sessions[peer.conn] == session then
         self.sessions[peer.conn] = nil
         peer.conn:close()
      end
   end
   if self.open[session.key] == session then
      self.open[session.key] = nil
   end
   if session.group then
      -- all that is remembered for who comes late
      session.group.session, session.group.over = nil, true
   end
   if #(session.tests or {}) > 0 then
      self.no_results:note(session)
   end
   self.findings:session(session)
end

-- What ends a test early: what surely comes out good.  None where it is to be learned what the way
-- carries, nor over libfabric, where there is no way back to say so.
local function find_enough_Bps(self, session, test)
   local transport = endpoints.common(session.peers[test.src].endpoints,
      session.peers[test.dst].endpoints, test.rail or 1)
   self.transports[transport] = (self.transports[transport] or 0) + 1
   if transport ~= "tcp" or self.topo.open and next(self.topo.open) then
      return nil
   end
   return planned.enough(test, SURELY * self.limits.good)
end

-- The plans of all nodes, as they go over the wire: node → tests.
local function tests_by_node(self, session)
   local of = {}
   for n in pairs(session.peers) do
      of[n] = {}
   end
   for _, t in ipairs(session.tests) do
      t.enough_Bps = find_enough_Bps(self, session, t)
      for _, n in ipairs { t.src, t.dst } do
         table.insert(of[n], endpoints.wire(t, n, session.peers, self.topo))
      end
   end
   return of
end

local function send_plans(self, session, last_ms)
   for n, tests in pairs(tests_by_node(self, session)) do
      local peer = session.peers[n]
      if #tests == 0 then
         session.peers[n] = nil
      else
         session.expected = (session.expected or 0) + 1
      end
      send_plan(self, peer, tests, session.note)
   end
   session.timer = loop.timer(last_ms + RESULT_SLACK_MS, function()
      finish_session(self, session)
   end)
end

-- For the nodes' logs: why a planned test is left out.
local function say_why_untested(self, test, peers)
   for _, n in ipairs { test.src, test.dst } do
      if peers[n].odd then
         return ("not tested: %s"):format(peers[n].odd)
      end
   end
   if endpoints.are_one_host(peers[test.src].endpoints, peers[test.dst].endpoints) then
      return ("%s and %s are one host; not tested"):format(self.topo.nodes[test.src],
         self.topo.nodes[test.dst])
   end
   if endpoints.common(peers[test.src].endpoints, peers[test.dst].endpoints, test.rail or 1) then
      return ("%s or %s shares its host with a node that tests at the time; not tested"):format(
         self.topo.nodes[test.src], self.topo.nodes[test.dst])
   end
   return ("rail %d: %s and %s have no transport in common; not tested"):format(test.rail or 1,
      self.topo.nodes[test.src], self.topo.nodes[test.dst])
end

-- Everybody is there, or time is up: plan for those who are.
local function start_tests(self, session)
   if session.started then
      return
   end
   session.started = true
   if session.timer then
      session.timer:cancel()
      session.timer = nil
   end
   local present, budget = {}, math.huge
   for n, peer in pairs(session.peers) do
      peer.odd = self.networks:confine(peer) or peer.odd
      present[#present + 1] = n
      -- what is left of its budget now: it has waited for the others
      budget = math.min(budget, peer.budget_ms - (loop.time() - peer.at) * 1000)
   end
   table.sort(present)
   -- libfabric may still be opening when the plans go out
   local last_ms = self.check:plan(session, present, budget,
      endpoints.ofi_lead_ms(session.peers, self.checks.ofi_lead_ms))
   for _, t in ipairs(session.tests) do
      t.token = seal.hex(seal.random(wire.TOKEN_BYTES))
   end
   local without
   session.tests, without = endpoints.split(session.tests, session.peers)
   session.note = without[1] and say_why_untested(self, without[1], session.peers)
   if #session.tests == 0 then
      for _, peer in pairs(session.peers) do
         dismiss_peer(self, peer, session.note)
      end
      finish_session(self, session)
      return
   end
   send_plans(self, session, last_ms)
end

---------------------------------------------------------------- HELLO

local function admit_peer(self, session, node, peer)
   if session.started then
      dismiss_peer(self, peer, LATE)
      return
   elseif session.peers[node] then
      dismiss_peer(self, peer, "said hello twice")
      return
   end
   session.peers[node], session.of_conn[peer.conn] = peer, node
   session.present = session.present + 1
   self.sessions[peer.conn] = session
   peer.number = node
   if session.present >= #session.wanted then
      start_tests(self, session)
   elseif not session.timer then
      local ms = self.checks.gather_ms
      if session.purpose == "idle" then
         ms = self.checks.idle_gather_ms or ms
      end
      session.timer = loop.timer(ms, function() start_tests(self, session) end)
   end
end

local function check_job(self, hello, names, peer, is_sure)
   local job, n = self.check:job(hello, names, is_sure), self.topo.node_id[hello.node]
   if not job.nodes or not n then
      return dismiss_peer(self, peer, self:hint_once())
   elseif not job.has[n] then
      return dismiss_peer(self, peer, hello.node ..
         " has another job, or Slurm has this one elsewhere")
   end
   local group = self.check:group(job, n, hello)
   if not group then
      return dismiss_peer(self, peer, hello.node .. " is not in its job's node list")
   elseif group.over then
      return dismiss_peer(self, peer, LATE)
   elseif not group.session then
      self.nothing_due = self.nothing_due + 1
      self.prolog_times:add("nothing_due", loop.time() - peer.at)
      return dismiss_peer(self, peer)
   end
   local s = group.session
   admit_peer(self, s.key and s or await_nodes(self, s, ("%d.%d/%d"):format(s.job, s.restart,
      s.wanted[1])), n, peer)
end

-- Nodes that an idle cycle would use: those near a suspect.
local function check_idle(self, hello, peer)
   local n, s = self.topo.node_id[hello.node], self.open.idle
   local is_busy = self.cluster:has_job(hello.node)
   if n and not is_busy and (not s or s.started) then
      s = self.check:idle(hello)
      s = s and await_nodes(self, s, "idle")
   end
   if not n or is_busy or not s or not s.is_wanted[n] then
      return dismiss_peer(self, peer)
   end
   admit_peer(self, s, n, peer)
end

--- Take a HELLO that was authenticated and checked.
-- @param conn connection
-- @param hello decoded HELLO, with the `version` of the protocol to speak
-- @param names the job's nodes
-- @param is_vouched function(): does it come from its node's address?  true, false, nil: not known
function Rendezvous:hello(conn, hello, names, is_vouched)
   local by_rail, misfits = rails.of(self.topo, self.topo.node_id[hello.node], endpoints.of(hello))
   local peer = { conn = conn, key = seal.unhex(hello.key), endpoints = by_rail, name = hello.node,
      boot = hello.boot, hello_readings = hello.readings, is_vouched = is_vouched,
      version = hello.version or wire.VERSION, budget_ms = hello.budget_ms, ofi_ms = hello.ofi_ms,
      at = loop.time() - conn:waited(), heard_ns = loop.now_ns() }
   if hello.purpose ~= "epilog" then -- which accepts no streams
      if is_vouched() then
         self.lost_rails:hear(self.topo, hello.node, by_rail)
      end
      peer.odd = self.networks:hear(peer)
      if misfits[1] then
         self.networks:misfits(peer, misfits)
      end
   end
   if hello.purpose == "prolog" then
      check_job(self, hello, names, peer, select(3, is_vouched()))
   elseif hello.purpose == "idle" then
      check_idle(self, hello, peer)
   else
      dismiss_peer(self, peer)
   end
end

---------------------------------------------------------------- RESULT

-- Open, decode and check; see result.read.
local function read_result(peer, bytes)
   local text, err = seal.open(peer.key, wire.RESULT, bytes, 0, peer.version)
   local r
   if text then
      r, err = json.decode(text)
   end
   if not r then
      return nil, "RESULT: " .. err
   end
   return result.read(r, peer.version)
end

-- The peer of this connection; one without tests is not a peer any more.
local function find_peer(session, conn)
   local n = session.of_conn[conn]
   return n and session.peers[n]
end

-- One more has reported, or will not.
local function count_answer(self, session)
   session.answers = (session.answers or 0) + 1
   if session.answers >= session.expected then
      finish_session(self, session)
   end
end

--- A sealed RESULT came in.  Returns true, or nil and why it was refused.
function Rendezvous:result(conn, bytes)
   local s = self.sessions[conn]
   if not s or not s.started then
      return nil, "a RESULT that was not requested"
   end
   local peer = find_peer(s, conn)
   if not peer then
      return nil, "a RESULT from an unknown node"
   end
   local tests, refused, readings = read_result(peer, bytes)
   if not tests then
      return nil, ("%s: %s"):format(peer.name, refused)
   end
   s.results[peer.number], s.refused = tests, (s.refused or 0) + refused
   peer.readings = readings
   if s.purpose == "prolog" then
      self.prolog_times:add("tests", loop.time() - peer.at)
   end
   background.add(s, peer.number, (loop.now_ns() - peer.heard_ns) / 1e9)
   self.sessions[conn] = nil
   count_answer(self, s)
   return true
end

--- A connection ended.
function Rendezvous:gone(conn)
   local s = self.sessions[conn]
   self.sessions[conn] = nil
   if not s or s.done then
      return
   end
   local peer = find_peer(s, conn)
   if peer and not s.started then
      s.peers[peer.number], s.of_conn[conn] = nil, nil
      s.present = s.present - 1
   elseif peer then
      count_answer(self, s)
   end
end

--- A hint for the node's log, the first time only; tautd's own has it from cluster.lua.
function Rendezvous:hint_once()
   local hint = self.cluster.hint
   if hint and hint ~= self.hinted then
      self.hinted = hint
      return hint
   end
   return nil
end

--- Other settings from now on.
function Rendezvous:reload(topo, checks, limits)
   self.topo, self.checks, self.limits = topo, checks, limits
end

--- @param options { topology, checks (settings), limits (settings: what is good), cluster, check
--   (check.lua), networks (slurm/networks.lua), no_results, lost_rails, findings = who takes
--   sessions that are over: session(s) }
function rendezvous.new(options)
   return setmetatable({ topo = options.topology, checks = options.checks, limits = options.limits,
      cluster = options.cluster, check = options.check, findings = options.findings,
      networks = options.networks, no_results = options.no_results, lost_rails = options.lost_rails,
      open = {}, sessions = {}, nothing_due = 0, prolog_times = prolog_times.new(),
      transports = {} }, Rendezvous)
end

return rendezvous
