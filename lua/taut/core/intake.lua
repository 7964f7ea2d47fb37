-- SPDX-License-Identifier: GPL-2.0-or-later
--- Frames from nodes: authenticates, checks and hands on; whatever is wrong is refused and counted.
-- Requests of other hosts, by the same port, go to `remote`.
local fabric_rails = require "taut.topology.fabrics.rails"
local hello = require "taut.wire.hello"
local json = require "taut.json"
local jobs = require "taut.events.jobs"
local loop = require "taut.loop"
local munge = require "taut.munge"
local rate = require "taut.core.remote.rate"
local readings = require "taut.wire.readings"
local samples = require "taut.events.samples"
local seal = require "taut.seal"
local sys = require "taut.sys"
local ticket = require "taut.wire.ticket"
local wire = require "taut.wire"

local intake = {}
local Intake = {}
Intake.__index = Intake

-- HELLOs of one node, a minute and at once: a job has two, and a node starts a few in a second.
local NODE_PER_MINUTE, NODE_BURST = 600, 300
local JOBS_MAX = 64 -- that one sample is about
local DEAF_S, FORGET_S = 1, 60
local SHARED_MAX = 1024 -- addresses that are no single node's, remembered

-- The jobs whose traffic the node's counters have seen since they were last read: those that ran
-- there before this HELLO was heard, by Slurm's word, and its own.
local function list_seen_jobs(self, greeting)
   local list = jobs.on_node(self.cluster, greeting.node)
   for i = #list, 1, -1 do
      local job = self.cluster.jobs[list[i]]
      if list[i] == greeting.job or not job.text or i > JOBS_MAX then
         table.remove(list, i)
      end
   end
   if greeting.purpose == "epilog" then
      list[#list + 1] = greeting.job
   end
   return list
end

-- Of a job that this node alone speaks of little is kept.
local function write_sample(self, greeting, rails)
   local is_claim = greeting.job ~= 0 and not self.cluster:nodes_of(greeting.job, greeting.restart)
      and not self.cluster:alps()
   if not greeting.readings or is_claim and not self.cluster.claims:may_keep(greeting.node) then
      return
   end
   local topo = self.site.topo
   local told = readings.fit(greeting.readings, math.max(1, topo.rails or 1))
   self.journal:add("sample", samples.row(greeting, greeting.purpose, told,
      list_seen_jobs(self, greeting), rails, topo.rails))
end

-- Does a HELLO come from where its node is? Over ALPS a ticket proves it: only the front end can
-- make one, and Slurm has no addresses. Unknown nodes are accepted, and do not count until they are
-- known (vouch.lua).
-- @return function(): true, false or nil, and true where its job needs no word of Slurm's either;
--   whether to take it; why not
local function ask_its_node(self, greeting, from, sealed)
   local function is_vouched()
      if sealed and self.cluster:alps() then
         return true, nil, true
      end
      return self.addresses:check(greeting.node, from or "")
   end
   local ok, err = is_vouched()
   return is_vouched, ok ~= false, err
end

local function host_of_peer(conn)
   return ((conn:peer() or "?"):gsub(":[^:]*$", ""))
end

-- A sender of too many messages is ignored for a moment: MUNGE need not decode its messages.  Where
-- an address is that of several nodes they are not held up for one of them.
local function close_ears(self, conn)
   local host = host_of_peer(conn)
   if self.shared[host] then
      return
   elseif not self.deaf_until[host] and not self.addresses:is_of_one(conn:peer() or "?") then
      self.shared_count = self.shared_count + 1
      if self.shared_count > SHARED_MAX then
         self.shared, self.shared_count = {}, 1
      end
      self.shared[host] = true
      return
   end
   self.deaf_until[host] = loop.time() + DEAF_S
end

-- May a HELLO of this address be looked at?
local function is_deaf(self, conn)
   local host = host_of_peer(conn)
   local till = self.deaf_until[host]
   if till and till < loop.time() - FORGET_S then
      self.deaf_until[host] = nil
   end
   return till ~= nil and loop.time() < till
end

-- No, and why: in our log, and to a probe that takes an answer.
local function refuse_hello(self, conn, greeting, why)
   if not self.rate:take(host_of_peer(conn), NODE_PER_MINUTE, NODE_BURST) then
      close_ears(self, conn)
   end
   self.refusals:note(conn:peer() or "a closed connection", why)
   local key = type(greeting) == "table" and greeting.oldest and type(greeting.key) == "string"
      and seal.unhex(greeting.key)
   if key and #key == wire.KEY_BYTES then
      conn:send(wire.REFUSED, seal.seal(key, wire.REFUSED,
         json.encode { why = why:sub(1, wire.REFUSED_WHY_MAX) }, 0, wire.ANY_VERSION))
   end
   conn:close()
end

-- May he say that, who he is?  A ticket is root's of a front end, whoever brings it.
-- @return true; or false and why not
local function may_say_that(self, greeting, uid, from, sealed)
   if uid ~= 0 then
      if hello.is_survey(greeting.purpose) and not sealed then
         return true
      end
      return false, ("%s by uid %d, only root may"):format(greeting.purpose, uid)
   elseif sealed and self.cluster:alps() then
      return true
   end
   local ok, why = self.addresses:is_roots(from or "")
   return ok, why and ("HELLO: %s speaks as root %s"):format(greeting.node, why)
end

-- Root's probe that speaks no version of ours, for `taut nodes`; nodes that Slurm does not know are
-- not remembered.
local function note_stranger(self, greeting, from, sealed)
   if hello.is_named(greeting) and self.cluster.nodes[greeting.node]
      and may_say_that(self, greeting, 0, from, sealed)
      and select(2, ask_its_node(self, greeting, from, sealed)) then
      self.cluster:speaks(greeting.node, greeting.release or "unknown", greeting.v, true)
   end
end

-- May this node, or whoever calls from there while it is not known whose address it is, say one
-- more? A name that is neither in Slurm nor in the topology belongs to no node.
local function has_share_left(self, conn, greeting, is_vouched)
   if not self.cluster.nodes[greeting.node] and not self.site.topo.node_id[greeting.node] then
      return false, ("HELLO: Slurm and the topology have no node %s"):format(
         sys.plain(greeting.node))
   end
   local who = is_vouched() and greeting.node or host_of_peer(conn)
   if not self.rate:take(who, NODE_PER_MINUTE, NODE_BURST) then
      close_ears(self, conn)
      return false, ("HELLO: %s says more than %d a minute"):format(who, NODE_PER_MINUTE)
   end
   return true
end

-- The sender is checked before any work is done.
-- @return is_vouched of ask_its_node; or nil and why it is not taken
local function examine_sender(self, conn, greeting, uid, sealed)
   local from = conn:peer()
   local version, err = hello.version(greeting)
   local ok = version
   if ok then
      ok, err = hello.check(greeting)
   end
   if ok then
      ok, err = may_say_that(self, greeting, uid, from, sealed)
   end
   local is_vouched
   if ok then
      is_vouched, ok, err = ask_its_node(self, greeting, from, sealed)
   end
   if ok then
      ok, err = has_share_left(self, conn, greeting, is_vouched)
   end
   if not version and uid == 0 then
      note_stranger(self, greeting, from, sealed)
   end
   if ok then
      greeting.version = version
   end
   return ok and is_vouched, err
end

local function decode_hello(text, sealed)
   if sealed then
      return ticket.open(text, sealed)
   end
   return json.decode(text)
end

-- What a node's HELLO says of itself.
local function take_in_hello(self, greeting, list, age_s, is_sure)
   self.cluster:heard(greeting.node, greeting.purpose, age_s)
   self.cluster:speaks(greeting.node, greeting.release or "unknown", greeting.v)
   self.cluster:users_call_from(greeting.node, greeting.user_port)
   local topo = self.site.topo
   local rails = samples.rails(greeting,
      greeting.endpoints
      and fabric_rails.of(topo, topo.node_id[greeting.node], greeting.endpoints) or nil)
   self.events:heard(greeting.node, rails)
   write_sample(self, greeting, rails)
   if greeting.purpose == "prolog" then
      self.cluster:prolog(greeting.job, list.names, greeting.node, is_sure)
   elseif greeting.purpose == "epilog" then
      self.cluster:epilog(greeting.job, greeting.node)
   end
end

local function receive_hello(self, conn, text, uid, sealed, age_s)
   local h, err = decode_hello(text, sealed)
   local is_vouched, list
   if h then
      is_vouched, err = examine_sender(self, conn, h, uid, sealed)
   end
   if is_vouched and hello.is_survey(h.purpose) and not sealed then
      return self.surveys:hello(conn, h, uid, is_vouched,
         self.cluster:is_admin(uid) and self.addresses:is_roots(conn:peer() or ""))
   end
   if is_vouched then
      list, err = self.lists:of_hello(h)
   end
   if not list then
      return refuse_hello(self, conn, h, err)
   end
   take_in_hello(self, h, list, not sealed and age_s or nil, select(3, is_vouched()))
   self.rendezvous:hello(conn, h, list.names, is_vouched)
end

-- MUNGE takes no credential.  Whose clock is meant only root of a node can make us look for: it
-- costs a walk over all of them.
-- @param behind_s seconds that the other host's clock is behind, where that is all that is wrong
local function refuse_credential(self, conn, why, behind_s)
   local from = conn:peer() or "a closed connection"
   local node
   if behind_s and self.addresses:is_roots(from) then
      node = self.addresses:node_at(from)
   end
   if behind_s then
      self.refusals.clocks = self.refusals.clocks + 1
      why = ("%s: the clock of %s is %d s %s"):format(why, node or "that host", math.abs(behind_s),
         behind_s > 0 and "behind" or "ahead")
   end
   if node then
      self.cluster:clock_refused(node, behind_s)
   end
   self.refusals:note(from, "HELLO: " .. why)
   conn:close()
end

-- Whoever asks goes on to the tautd that acts: HELLO's credential was not looked at, and serves
-- there.
local function send_elsewhere(self, conn)
   conn:send(wire.ELSEWHERE, self.acting:why_not())
   conn:close()
end

--- A frame of loop.listen.
function Intake:frame(conn, kind, payload)
   if (kind == wire.HELLO or kind == wire.ASK) and not self.acting:may() then
      return send_elsewhere(self, conn)
   elseif kind == wire.HELLO and is_deaf(self, conn) then
      self.refusals:note(conn:peer() or "a closed connection", "HELLO: too many before it")
      return conn:close()
   elseif kind == wire.HELLO and not self.greeted[conn] then
      self.greeted[conn] = true
      local cred, sealed = ticket.split(payload)
      -- of a good one `age_s` comes last, of another whether munged is away
      munge.decode(cred, function(text, uid, late_s, age_s)
         self.munged:note(not text and age_s and tostring(uid) or nil)
         if not text then
            refuse_credential(self, conn, tostring(uid), late_s)
         elseif self.greeted[conn] then
            conn:known()
            receive_hello(self, conn, text, uid, sealed, age_s)
         end
      end)
      return
   end
   if kind == wire.ASK then
      return self.remote:frame(conn, payload)
   end
   local ok, why
   if self.surveys:has(conn) and (kind == wire.RESULT or kind == wire.STOP) then
      ok, why = self.surveys:frame(conn, kind, payload)
   elseif kind == wire.RESULT then
      ok, why = self.rendezvous:result(conn, payload)
   else
      why = ("frame of type %d out of order"):format(kind)
   end
   if not ok then
      self.refusals:note(conn:peer() or "a closed connection", why)
      conn:close()
   end
end

--- All that was sent on a connection is on its way.
function Intake:sent(conn)
   self.remote:sent(conn)
end

--- A connection ended.
function Intake:gone(conn)
   self.greeted[conn] = nil
   self.remote:gone(conn)
   self.rendezvous:gone(conn)
   self.surveys:gone(conn)
end

--- @param options { site, cluster, events, journal, surveys, rendezvous, refusals, lists,
--   addresses, remote, acting }
function intake.new(options)
   options.greeted, options.deaf_until, options.rate = {}, {}, rate.new()
   options.shared, options.shared_count = {}, 0
   return setmetatable(options, Intake)
end

return intake
