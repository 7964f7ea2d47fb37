-- SPDX-License-Identifier: GPL-2.0-or-later
--- Surveys: audits and matrices that run as a step of a job, one process on each of its nodes.
--
-- This module lets processes in: who may hold a survey, which nodes belong to it, when all are
-- there.  session.lua runs its rounds; what is tested and what it means is the business of a kind
-- (audit.lua, matrix/init.lua):
--   kind.begin{ topology, nodes, settings, diagnosis, options, admin, missing, unknown, breathe }
--     → job (its `phases` is how many there will be, its `layout` whatever else the owner hears
--     at the beginning), or nil and why
--   job:next(present) → array of phases (arrays of tests { src, dst, streams, dur_ms, kind,
--     route, planned_Bps, through, … }), or nil when the survey is complete; present is the set
--     of nodes that still take part
--   job:take(tests) → array of rows for the owner; tests of a round, judged (judge.lua), in the
--     order they were given; one whose node had gone is void and has `skipped`
--   job:finish() → table for the owner's last report
-- They run in the survey's task: breathe() in a long loop lets tautd do its other work.
--   kind.history (optional): a query of the store, whose rows go to job:recall(rows)
local audit = require "taut.survey.audit"
local endpoints = require "taut.wire.endpoints"
local loop = require "taut.loop"
local matrix = require "taut.survey.matrix"
local rails = require "taut.topology.fabrics.rails"
local rights = require "taut.base.rights"
local seal = require "taut.seal"
local session = require "taut.survey.session"
local wire = require "taut.wire"

local survey = {}
local Surveys = {}
Surveys.__index = Surveys

--- Kinds by purpose: adding one is a file and a line.
survey.kinds = { audit = audit, matrix = matrix }

local SILENT_MS = 3600 * 1000 -- a node that waits says nothing
local OPEN_MAX, OPEN_OF_USER = 64, 4
local ENDED_S = 60            -- a survey is remembered so long, for processes that come late
local REFRESH_S = 1           -- Slurm is asked about unknown jobs at most so often

---------------------------------------------------------------- who may

-- Are all names of a HELLO nodes of its job, as Slurm has it?  The same list is looked at once.
local function is_inside(list, of_job, job)
   if list.inside == of_job then
      return true
   end
   for _, name in ipairs(list.names) do
      if not of_job.has[name] then
         return nil, ("%s is not a node of job %d"):format(name, job)
      end
   end
   list.inside = of_job
   return true
end

-- The nodes of a survey that this user may hold; or nil, why not, and whether Slurm may know more
-- by now.  A user's list is looked at only once the job is known to be the user's.
local function permit_nodes(self, said, uid, is_admin)
   local cluster = self.cluster
   if is_admin then
      return self.lists:of_hello(said)
   end
   local job = cluster.seen_running[said.job]
   if not job or job.state ~= "running" then
      return nil, ("job %d is not running, as far as Slurm has said"):format(said.job), true
   elseif job.user_id ~= uid then
      return nil, ("job %d is not yours"):format(said.job)
   end
   local of_job, why = self.lists:list(job.nodes or "")
   local list
   if of_job then
      list, why = self.lists:of_hello(said, math.max(#of_job.names, 1))
   end
   local ok = list
   if list then
      ok, why = is_inside(list, of_job, said.job)
   end
   return ok and list, why
end

-- permit, and once more after Slurm was asked, if that may help: fn(list, why).
local function ask_permit(self, said, uid, is_admin, fn)
   local list, why, again = permit_nodes(self, said, uid, is_admin)
   if not again then
      return fn(list, why)
   end
   self.asking[#self.asking + 1] = function() fn(permit_nodes(self, said, uid, is_admin)) end
   if self.timer then
      return
   end
   local wait = math.max(0, (self.asked_at or 0) + REFRESH_S - loop.time())
   self.timer = loop.timer(math.ceil(wait * 1000), function()
      local waiting = self.asking
      self.asking, self.timer, self.asked_at = {}, nil, loop.time()
      self.cluster:refresh(function()
         for _, again_fn in ipairs(waiting) do
            again_fn()
         end
      end)
   end)
end

---------------------------------------------------------------- gathering

local function count_open(self, uid)
   local all, of_user = 0, 0
   for _, s in pairs(self.open) do
      all = all + 1
      if s.uid == uid then
         of_user = of_user + 1
      end
   end
   return all, of_user
end

-- A survey is over: its nodes' other processes may not have come yet.
local function note_end(self, ended)
   local now = loop.time()
   for key, e in pairs(self.ended) do
      if now - e.time >= ENDED_S then
         self.ended[key] = nil
      end
   end
   self.open[ended.key], self.ended[ended.key] = nil, { time = now, procid_of = ended.procid_of }
end

-- Is this another process of a node that has taken part in a survey just ended?
local function is_second(self, key, peer)
   local e = self.ended[key]
   local procid = e and loop.time() - e.time < ENDED_S and e.procid_of[peer.name]
   return procid and procid ~= peer.procid and not peer.options
end

-- A new survey, or nil and why there can be none.
local function found_survey(self, key, said, names, uid, is_admin)
   if not self.checks_on() then
      return nil, "checks are off (taut off)"
   end
   local all, of_user = count_open(self, uid)
   if all >= OPEN_MAX or of_user >= OPEN_OF_USER then
      return nil, ("%d surveys run already, %d of them yours"):format(all, of_user)
   end
   local s = session.new { site = self.site, key = key, kind = survey.kinds[said.purpose],
      purpose = said.purpose, job = said.job, step = said.step, uid = uid,
      admin = is_admin, wanted = names, nodes_text = said.nodes,
      on_over = function(ended) note_end(self, ended) end,
      on_dismissed = function(conn) self.by_conn[conn] = nil end }
   self.open[key] = s
   return s
end

local function admit_process(self, conn, said, names, uid, is_vouched, is_admin)
   local key = ("%s %d %d.%d"):format(said.purpose, uid, said.job, said.step)
   local topo = self.site.topology
   local peer = { conn = conn, key = seal.unhex(said.key), name = said.node,
      endpoints = rails.of(topo, topo.node_id[said.node], endpoints.of(said)),
      node = topo.node_id[said.node], options = said.options, procid = said.procid, sent = 0,
      opened = 0, version = said.version or wire.VERSION, ofi_ms = said.ofi_ms,
      is_vouched = is_vouched }
   if uid == 0 and self.networks then
      self.networks:note(peer)
      peer.networks = self.networks -- a user's processes go where he can go himself
   end
   local s, why = self.open[key], nil
   if not s and is_second(self, key, peer) then
      why = session.SECOND
   elseif not s then
      s, why = found_survey(self, key, said, names, uid, is_admin)
   end
   if not s then
      return session.dismiss(peer, why)
   end
   conn:timeout(SILENT_MS)
   why = s:admit(peer, said)
   if why then
      return session.dismiss(peer, why)
   end
   self.by_conn[conn] = s
end

--- A HELLO of a survey, checked (hello.lua); MUNGE says that it is of user `uid`.
-- @param is_vouched function(): does it come from its node's address?  true, false, nil: not known
-- @param is_admin may he survey any nodes?
function Surveys:hello(conn, said, uid, is_vouched, is_admin)
   self.pending[conn] = true
   ask_permit(self, said, uid, is_admin, function(list, why)
      if not self.pending[conn] then
         return -- it has gone meanwhile
      end
      self.pending[conn] = nil
      if list then
         return admit_process(self, conn, said, list.names, uid, is_vouched, is_admin)
      end
      self.refuse(conn:peer() or "a closed connection", ("%s by uid %d: %s"):format(said.purpose,
         uid, why))
      session.dismiss({ conn = conn, key = seal.unhex(said.key),
         version = said.version or wire.VERSION, sent = 0 }, why)
   end)
end

---------------------------------------------------------------- what comes later

--- Does this connection belong to a survey?
function Surveys:has(conn)
   return self.by_conn[conn] ~= nil
end

--- A RESULT or STOP of such a connection.  Returns true, or nil and why it was refused.
function Surveys:frame(conn, kind, bytes)
   local s = self.by_conn[conn]
   if not s then
      return nil, "a frame of no survey"
   elseif kind == wire.STOP then
      return s:stop_frame(conn, bytes)
   end
   return s:result(conn, bytes)
end

--- A connection ended.
function Surveys:gone(conn)
   local s = self.by_conn[conn]
   self.pending[conn], self.by_conn[conn] = nil, nil
   if s then
      s:gone(conn)
   end
end

--- End surveys, as their owners could: an administrator any, others the one of `uid` whose tag they
-- say.  A user id alone is not proof: root of any node can use any id.
-- @param which { job = id, tag = the owner's option, why = text } or {} for all
-- @return how many
function Surveys:stop(which, uid)
   local n, admin = 0, self.cluster:is_admin(uid)
   for _, s in pairs(self.open) do
      local tag = s.owner and s.owner.options.tag
      local may = admin or s.uid == rights.user(uid) and type(which.tag) == "string"
      if may and (not which.job or s.job == which.job) and (not which.tag or tag == which.tag) then
         s:stop(which.why or "stopped by its owner")
         n = n + 1
      end
   end
   return n
end

--- The configuration was read again.
-- @param options { topology, checks, diagnosis, settings }, as of survey.new
function Surveys:reload(options)
   for _, name in ipairs { "topology", "checks", "diagnosis", "settings" } do
      self.site[name] = options[name]
   end
end

--- @param options {
--   topology, cluster, coverage, lists = of wire/node_lists.lua,
--   settings, checks, diagnosis = these sections of the configuration (settings: `survey`),
--   checks_on = function() that says whether tautd checks at all,
--   next_test = function() → id of a test,
--   keep = function(session, tests), called with judged tests that may enter the store,
--   history = function(name, fn): fn(rows) of a query of the store,
--   refuse = function(from, why), called with what is not let in }
function survey.new(options)
   -- what sessions share, as it is in force
   local site = { topology = options.topology, coverage = options.coverage,
      settings = options.settings,
      checks = options.checks, diagnosis = options.diagnosis, next_test = options.next_test,
         keep = options.keep,
      history = options.history }
   return setmetatable({ site = site, cluster = options.cluster, lists = options.lists,
      checks_on = options.checks_on, refuse = options.refuse, open = {}, ended = {}, by_conn = {},
      pending = {}, asking = {} }, Surveys)
end

return survey
