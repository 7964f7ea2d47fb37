-- SPDX-License-Identifier: GPL-2.0-or-later
--- Observations in tautd: named, given their jobs, stored; what they leave of a component's
-- capacity is kept as evidence, and handed to the diagnosis.
--
-- Form of an observation: doc/internals/events.md, "Observations".  tautd keeps none of them, only
-- the evidence that stands and when something last spoke against a component.
local guid_names = require "taut.topology.import.ib.guids"
local hard = require "taut.events.hard"
local ingest = require "taut.events.ingest"
local jobs = require "taut.events.jobs"
local json = require "taut.json"
local loop = require "taut.loop"
local names = require "taut.events.names"
local endpoint_numbers = require "taut.topology.model.endpoint_numbers"
local peers = require "taut.events.peers"
local sys = require "taut.sys"
local tables = require "taut.base.tables"

local events = {}
local Events = {}
Events.__index = Events

local LINES = 20 -- in the log, of one batch

-- What one observation leaves of a component: a PCIe link takes only what the network has more of.
-- Where it is not known what the network has, that is what it says of itself.
local function find_capacity_left(observation, capacity)
   if observation.have_Bps and observation.left and observation.left < 1
      and capacity < math.huge then
      return math.min(1, observation.have_Bps / capacity)
   end
   return observation.left
end

local function name_origin(observation)
   local origin = observation.origin
      or ("%s %s"):format(observation.interface or observation.port or "", observation.what)
   return ("%s %s"):format(observation.source, origin):sub(1, 200)
end

--- Capacity left of a component by all that stands: lost lanes add up over the tiles of a link,
-- of everything else the worst counts.
-- @param census (optional) of events/peers.lua: leave out what most of its peers have, too
-- @return share (1 where nothing stands), and the worst piece of evidence
function Events:left(component, census)
   local lanes, worst = 0, nil
   for _, e in pairs(self.standing[component] or {}) do
      if peers.is_own(census, component, e) then
         if e.what == "lanes" and e.source == "netwatch" then
            lanes = lanes + 1 - e.left
         end
         if not worst or e.left < worst.left or e.left == worst.left and e.text < worst.text then
            worst = e
         end
      end
   end
   return math.max(0, math.min(tables.or_empty(worst).left or 1, 1 - lanes)), worst
end

--- Report the present faults to the diagnosis: changed ones, and those that depend on peers.
function Events:review()
   local list = {}
   local census = peers.census(self.topo, self.standing, self.cluster.last_heard or {})
   local sets = { self.news }
   if census then
      sets[2] = self.standing
   end
   for _, set in ipairs(sets) do
      for c in pairs(set) do
         list[c] = true
      end
   end
   self.news = {}
   local changes, touched = {}, {}
   for c in pairs(list) do
      local left, worst = self:left(c, census)
      local more = self.diagnosis:hard(c, left, worst and { why = worst.text,
         since = worst.since, head = hard.head(worst) }, loop.time())
      table.move(more, 1, #more, #changes + 1, changes)
   end
   local named = self.diagnosis:narrow(loop.time())
   table.move(named, 1, #named, #changes + 1, changes)
   if #changes > 0 then
      self.hear(changes, touched)
   end
end

local function set_evidence(self, component, origin, evidence)
   local all = self.standing[component] or {}
   all[origin] = evidence
   self.standing[component] = all
   if not next(all) then
      self.standing[component] = nil
   end
   self.news[component] = true
   local name = self.topo.components[component]
   if evidence then
      self.journal:add("evidence", { component = name, origin = origin,
         data = json.encode(evidence) })
   else
      self.journal:add("forget_evidence", { component = name, origin = origin })
   end
end

local function take_evidence(self, observation, component)
   local topo = self.topo
   local left = find_capacity_left(observation, topo.open and topo.open[component] and math.huge
      or topo.capacity[component])
   if left and observation.source == "fabric" then
      -- of one plane of one of the cables that are one link
      left = 1 - (1 - left) / ((topo.planes[component] or 1) * (topo.cables[component] or 1))
   end
   if not left then
      return
   end
   local origin = name_origin(observation)
   local stood = (self.standing[component] or {})[origin]
   if stood and observation.to < (stood.at or 0) then
      return -- an old log: what is known is newer
   elseif left < 1 then
      set_evidence(self, component, origin, { left = left, what = observation.what,
         source = observation.source, since = tables.or_empty(stood).since or observation.to,
         at = observation.to, text = observation.text,
         via = observation.via or observation.source_kind, have = observation.have,
         best = observation.best })
   elseif stood then
      set_evidence(self, component, origin, nil)
   end
end

-- A kernel tells of a narrow PCIe link as it finds it, and never that it is wide again: what it
-- told before the node booted is over.
local function note_boot(self, observation)
   local topo = self.topo
   local n = observation.what == "boot" and topo.node_id[observation.node]
   if not n then
      return
   end
   for _, c in ipairs(endpoint_numbers.ports_of_node(#topo.nodes, n, topo.rails)) do
      for origin, s in pairs(self.standing[c] or {}) do
         if s.source == "kernel" and s.via == "pcie" and (s.at or 0) < (observation.from or 0) then
            set_evidence(self, c, origin, nil)
         end
      end
   end
end

-- What anybody may have written is an event and no evidence.
local function note_components(self, observation)
   if observation.untrusted then
      return
   end
   note_boot(self, observation)
   for _, name in ipairs(observation.components) do
      local c = self.topo.component_id[name]
      if c then
         if observation.class == "fatal" or observation.class == "degrading" then
            self.blamed[c] = math.max(self.blamed[c] or 0, observation.to)
         end
         take_evidence(self, observation, c)
      end
   end
end

local LEVELS = { fatal = "warning", harmless = "info" } -- of a log, by class

local function log_observations(self, list)
   for i, o in ipairs(list) do
      if i > LINES then
         sys.log("notice", ("and %d more events; `taut events` has them"):format(#list - LINES))
         return
      end
      sys.log(LEVELS[o.class] or "notice", ("%s: %s"):format(o.source, o.text))
   end
   self.taken = self.taken + #list
end

-- The site's node-name map, read again when the configuration is.
local function read_guid_names(self)
   local path = self.names
   if self.map_path ~= path then
      self.map_path, self.guid_names = path, nil
      if path then
         self.guid_names = guid_names.read(path)
      end
   end
   return self.guid_names
end

--- Observations of tautd's own sources: fabric sweeps and logs.
-- @param list array
-- @param quiet do not log them (their source did)
function Events:take(list, quiet)
   local now, ahead = loop.time(), loop.ahead()
   for _, o in ipairs(list) do
      o.from, o.to = o.from and o.from - ahead, o.to - ahead -- logs have the wall clock's times
      names.resolve(o, self.topo, read_guid_names(self), self.rails)
      o.jobs = o.jobs or json.array(jobs.of(o, self.cluster, self.topo, now))
      note_components(self, o)
      self.journal:add("observation", o)
   end
   if not quiet then
      log_observations(self, list)
   end
   self:review()
end

local TEXTS = { "source", "what", "class", "text", "scope", "node", "port", "far", "have", "best",
   "origin", "guid" }
local CLASSES = { fatal = true, degrading = true, congestion = true, harmless = true }

-- Why this is not an observation of a log, or nil.
local function why_not_from_log(observation)
   if type(observation) ~= "table" or not ingest.formats[observation.source] then
      return "source: expected one of " .. table.concat(ingest.names(), ", ")
   elseif type(observation.to) ~= "number" or not CLASSES[observation.class]
      or type(observation.what) ~= "string" or type(observation.text) ~= "string" then
      return "expected to, class, what and text"
   elseif observation.left ~= nil and (type(observation.left) ~= "number" or observation.left < 0
      or observation.left > 1) then
      return "left: expected 0 to 1"
   elseif observation.untrusted ~= nil and observation.untrusted ~= true then
      return "untrusted: expected true"
   end
   for _, name in ipairs(TEXTS) do
      if observation[name] ~= nil and (type(observation[name]) ~= "string"
         or #observation[name] > 1000) then
         return name .. ": expected a text"
      end
   end
   if observation.at ~= nil and type(observation.at) ~= "table" or observation.jobs ~= nil
      or observation.components ~= nil then
      return "at: expected an object; jobs and components are tautd's to find"
   end
   for k, v in pairs(observation.at or {}) do
      if type(v) ~= "string" and (k ~= "port" or math.type(v) ~= "integer") then
         return "at: expected texts"
      end
   end
end

--- Observations that `taut ingest --record` read out of a log.
-- @return how many were taken; or nil and what is wrong with one: then none is
function Events:record(list)
   for i, o in ipairs(list) do
      local why = why_not_from_log(o)
      if why then
         return nil, ("event %d: %s"):format(i, why)
      end
   end
   self:take(list, true)
   return #list
end

--- A node told which interfaces it tests.
-- @param rails interface → rail, or nil
function Events:heard(node, rails)
   if rails and self.topo.node_id[node] then
      self.rails[node] = rails
   end
end

--- Observations that came out of nodes' samples: the store has them already.
function Events:stored(list)
   for _, o in ipairs(list) do
      local had = #(o.components or {})
      names.resolve(o, self.topo)
      for i = had + 1, #o.components do
         self.journal:add("observation_place", { observation = o.id, place = o.components[i] })
      end
      note_components(self, o)
   end
   log_observations(self, list)
   self:review()
end

-- Only fields that others count on; what a database says may be damaged.
local function repair_restored(evidence)
   for field, fallback in pairs { text = "unknown", what = "unknown", since = 0 } do
      if type(evidence[field]) ~= type(fallback) then
         evidence[field] = fallback
      end
   end
   return evidence
end

-- One row; of a component that is called otherwise, or no longer exists, it is written anew.
local function restore_evidence(self, row, name)
   local now = name(row.component)
   local c, e = self.topo.component_id[now or ""], json.decode(row.data)
   if now ~= row.component then
      self.journal:add("forget_evidence", { component = row.component, origin = row.origin })
   end
   if c and type(e) == "table" and type(e.left) == "number" then
      self.standing[c] = self.standing[c] or {}
      e = self.standing[c][row.origin] or repair_restored(e)
      self.standing[c][row.origin], self.news[c] = e, true
      if now ~= row.component then
         self.journal:add("evidence", { component = now, origin = row.origin,
            data = json.encode(e) })
      end
   end
end

--- Take what the store kept.
-- @param rows of `evidence`
-- @param blamed rows of `blamed`
-- @param name function(name of a component then) → name now or nil; nil: as they are
function Events:restore(rows, blamed, name)
   name = name or tostring
   for _, row in ipairs(rows) do
      restore_evidence(self, row, name)
   end
   for _, row in ipairs(blamed) do
      local c = self.topo.component_id[name(row.place) or ""]
      if c then
         self.blamed[c] = math.max(self.blamed[c] or 0, row.time)
      end
   end
   self:review()
end

--- What stands against a component, for answers: array of { component, left, what, since, text }.
function Events:evidence_of(component)
   local list = json.array {}
   for origin, e in pairs(self.standing[component] or {}) do
      list[#list + 1] = { component = self.topo.components[component], origin = origin,
         left = e.left, what = e.what, since = e.since, text = e.text }
   end
   table.sort(list, function(first, second) return first.origin < second.origin end)
   return list
end

--- All evidence that stands, the worst first.
function Events:evidence()
   local list = json.array {}
   for c in pairs(self.standing) do
      local of_one = self:evidence_of(c)
      table.move(of_one, 1, #of_one, #list + 1, list)
   end
   table.sort(list, function(first, second)
      return first.left < second.left or first.left == second.left
         and first.component .. first.origin < second.component .. second.origin
   end)
   return list
end

--- Did anything speak against a component since then, or does it still?
function Events:accuses(component, since)
   return self.standing[component] ~= nil or (self.blamed[component] or -math.huge) >= since
end

--- Was nothing said of it within the last `seconds`, and does nothing stand?
function Events:is_clean(component, now, seconds)
   return not self:accuses(component, now - seconds)
end

--- Components that something spoke against, now or before: a set.
function Events:accused()
   local set = {}
   for _, map in ipairs { self.standing, self.blamed } do
      for c in pairs(map) do
         set[c] = true
      end
   end
   return set
end

--- The configuration was read again.
-- @param options { topology, names }
function Events:reload(options)
   self.topo, self.names = options.topology, options.names
end

--- @param options { topology, cluster, diagnosis, journal, names = path of a node-name map or nil,
--   hear = function(changes, touched), called with what changed in the diagnosis }
function events.new(options)
   return setmetatable({ topo = options.topology, cluster = options.cluster,
      diagnosis = options.diagnosis, journal = options.journal, names = options.names,
      hear = options.hear, standing = {}, news = {}, blamed = {}, rails = {}, taken = 0 }, Events)
end

return events
