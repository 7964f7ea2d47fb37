-- SPDX-License-Identifier: GPL-2.0-or-later
--- What the store's process does with observations and readings: growth of each job, events out of
-- two readings of a node, and the questions about them.
local held = require "taut.events.held"
local json = require "taut.json"
local readings = require "taut.events.readings"
local sys = require "taut.sys"
local summary = require "taut.events.summary"
local tables = require "taut.base.tables"

local keep = {}

-- Columns of `observation` by field; everything else goes into `more`.
local FIELDS = { source = "source", from = "begin", to = "time", seconds = "seconds",
   jump = "jump", scope = "scope", node = "node", what = "what", class = "class",
   amount = "amount", unit = "unit", left = "capacity_left", during = "during", text = "text" }
local PLACES, JOBS = 64, 1024 -- most of one observation
-- Observations out of one node's counters: so many at once, then one after so many seconds.
local NODE_BURST, NODE_EACH_S = 256, 10
local SAY_S = 3600 -- between two words about that

-- Every name somebody may ask for: components, the node, the ports at both ends.
local function list_places(observation)
   local set, list = {}, {}
   local function add_place(name)
      if type(name) == "string" and not set[name] and #list < PLACES then
         set[name] = true
         list[#list + 1] = name
      end
   end
   add_place(observation.node)
   for _, name in ipairs(observation.components or {}) do
      add_place(name)
   end
   add_place(observation.port)
   add_place(observation.far)
   return list
end

local function add_observation(sql, observation)
   local row, more = {}, {}
   for field, v in pairs(observation) do
      if v ~= json.null then
         if FIELDS[field] then
            row[FIELDS[field]] = v
         elseif field ~= "jobs" then
            more[field] = v
         end
      end
   end
   row.more = nil
   if next(more) then
      row.more = json.encode(more)
   end
   sql.put("observation", row)
   local id = sql.last_id()
   for _, place in ipairs(list_places(observation)) do
      sql.put_new("observation_place", { place = place, observation = id })
   end
   for i, job in ipairs(observation.jobs or {}) do
      if i <= JOBS then
         sql.put_new("observation_job", { job = job, observation = id })
      end
   end
   return id
end

-- What a job's prolog read on this node, which its epilog is held against: nearly always the node's
-- reading before, or, where others came in between, what was put aside.
local function take_prolog(sql, row, state)
   if readings.is_prolog_of(state, row) then
      return state
   end
   local first = sql.rows_of("SELECT time, mono, host_boot, boot, counters FROM sample WHERE" ..
      " job = ? AND restart = ? AND node = ? AND purpose = 'prolog'", row.job, row.restart,
      row.node)[1]
   if first then
      first.told = first.counters
      sql.run("DELETE FROM sample WHERE job = ? AND restart = ? AND node = ?", row.job, row.restart,
         row.node)
   end
   return first
end

-- Another reading comes before its job's epilog.
local function put_aside(sql, node, state)
   sql.put("sample", { job = state.job, restart = state.restart, node = node, purpose = "prolog",
      time = state.time, mono = state.mono, host_boot = state.host_boot, boot = state.boot,
      counters = state.told })
end

-- An epilog's sample: what the counters grew by since the job's prolog.
local function add_growth(sql, row, told, state)
   local first = take_prolog(sql, row, state)
   if not first then
      return -- no prolog was heard
   end
   local seconds = row.time - first.time
   if row.mono and first.mono and row.host_boot == first.host_boot then
      seconds = row.mono - first.mono
   end
   local list = readings.grown(first, { boot = row.boot, told = told })
   if first.boot ~= row.boot then
      list[1] = { interface = "", source = "", counters = "{}", note = "booted" }
   end
   for _, g in ipairs(list) do
      sql.put("growth", { job = row.job, restart = row.restart, node = row.node,
         interface = g.interface, source = g.source, time = row.time,
         seconds = math.max(0, seconds), counters = g.counters, note = g.note })
   end
end

local rooms = {} -- node → { room, at, said }: how many observations it may make

-- Has this node's counters shown less than they may?  What they show beyond that is left out.
local function has_room(node, time)
   local r = rooms[node]
   if not r then
      r = { room = NODE_BURST, at = time, said = -math.huge }
      rooms[node] = r
   end
   r.room = math.min(NODE_BURST, r.room + math.max(0, time - r.at) / NODE_EACH_S)
   r.at = time
   if r.room >= 1 then
      r.room = r.room - 1
      return true
   elseif time - r.said > SAY_S then
      r.said = time
      sys.log("warning", ("%s: its counters show more than %d events in a short time; more are " ..
         "left out"):format(node, NODE_BURST))
   end
   return false
end

local function reading_of(sql, node)
   local at_hand = held.take(node)
   if at_hand then
      return at_hand
   end
   local row = sql.rows_of("SELECT data FROM reading WHERE node = ?", node)[1]
   return row and readings.unpack(json.decode(row.data))
end

--- A sample of a node's counters came in; `settle` ends the transaction.
-- @param sql store/db.lua, inside a transaction
-- @param row sample, with `jobs`, `rails`, `checked` besides its columns; `counters` is the
--   text that the node told
-- @return array of observations, stored already
function keep.sample(sql, row)
   local told, job = "", nil
   if type(row.counters) == "string" then
      told = row.counters
   end
   if row.job ~= 0 then
      job = row.job or nil
   end
   local before = reading_of(sql, row.node)
   if row.purpose == "epilog" then
      add_growth(sql, row, told, before)
   end
   if readings.is_prolog(before) and not readings.is_prolog_of(before, row) then
      put_aside(sql, row.node, before)
   end
   local state, list = readings.take(before, { node = row.node,
      time = row.time, mono = row.mono, host_boot = row.host_boot, boot = row.boot,
      purpose = row.purpose, job = job, restart = row.restart,
      jobs = row.jobs, told = told, rails = row.rails, rail_count = row.rail_count,
      checked = row.checked })
   held.change(row.node, state)
   local kept = {}
   for _, o in ipairs(list) do
      if has_room(row.node, row.time) then
         o.id = add_observation(sql, o)
         kept[#kept + 1] = o
      end
   end
   return kept
end

--- Write the readings that samples changed.
-- @param sql store/db.lua, inside the transaction of the samples
function keep.settle(sql)
   for node, state in pairs(held.changed()) do
      local text = json.encode(readings.pack(state))
      sql.put("reading", { node = node, data = text })
      held.put(node, state, text)
   end
end

--- A transaction failed: what is at hand of readings may be undone.
keep.forget = held.forget

-- Rows of a batch that are not rows of one table: name → fn(sql, row).
keep.special = {
   forget_drained = function(sql, row) sql.run("DELETE FROM drained WHERE node = ?", row.node) end,
   forget_evidence = function(sql, row)
      sql.run("DELETE FROM evidence WHERE component = ? AND origin = ?", row.component, row.origin)
   end,
   seen_before = function(sql, row)
      sql.run("DELETE FROM seen WHERE seq < ? AND (part NOT LIKE 'n%' OR part LIKE 'n+%')", row.seq)
   end,
   forget_known = function(sql)
      sql.run "DELETE FROM component"
      sql.run "DELETE FROM seen"
   end,
   renamed = function(sql, row) -- a node; what is history keeps the name of its time
      keep.settle(sql)
      held.forget()
      sql.run("DELETE FROM reading WHERE node = ?", row.new)
      sql.run("UPDATE reading SET node = ? WHERE node = ?", row.new, row.old)
   end,
   observation = add_observation,
   observation_place = function(sql, row) sql.put_new("observation_place", row) end,
}

--- Old observations go with what points to them.
-- @param till seconds since 1970: those of that time go, too
function keep.prune(sql, till)
   for _, name in ipairs { "observation_place", "observation_job" } do
      sql.run(("DELETE FROM %s WHERE observation IN (SELECT id FROM observation WHERE time <= ?)")
         :format(name), till)
   end
   sql.run("DELETE FROM observation WHERE time <= ?", till)
end

---------------------------------------------------------------- questions

local SELECT = "SELECT o.*, (SELECT %s FROM observation_job j WHERE" ..
   " j.observation = o.id) AS jobs, (SELECT %s FROM observation_place p" ..
   " WHERE p.observation = o.id) AS places FROM observation o "

-- Conditions of a question: text, values.
local function make_conditions(args)
   local list, values = { "o.time >= ?" }, { args.since or 0 }
   local function add_condition(text, value)
      if value ~= nil then
         list[#list + 1] = text
         values[#values + 1] = value
      end
   end
   local at = "o.id IN (SELECT observation FROM observation_place WHERE place = ?)"
   add_condition(at, args.node)
   add_condition(at, args.link)
   add_condition("o.id IN (SELECT observation FROM observation_job WHERE job = ?)", args.job)
   add_condition("o.time <= ?", args.till)
   if args.worse_than_harmless then
      list[#list + 1] = "o.class <> 'harmless'"
   end
   return table.concat(list, " AND "), values
end

--- Queries: name → fn(sql, args).
keep.queries = {
   observations = function(sql, args)
      local where, values = make_conditions(args)
      values[#values + 1] = args.limit or 1000
      return sql.rows_of(SELECT:format(sql.joined "job", sql.joined "place") .. "WHERE " ..
         where .. " ORDER BY o.time DESC, o.id DESC LIMIT ?", table.unpack(values))
   end,
   growth_of_job = function(sql, args)
      return sql.rows_of("SELECT * FROM growth WHERE job = ? ORDER BY node, interface, source",
         args.job)
   end,
   -- Of its last start, added up here: one row { summary, nodes } of summary.of.
   usage_of_job = function(sql, args)
      local rows = sql.rows_of("SELECT node, interface, source, seconds, note, counters FROM" ..
         " growth WHERE job = ? AND restart = (SELECT MAX(restart) FROM growth WHERE job = ?)" ..
         " ORDER BY node, interface, source", args.job, args.job)
      for _, row in ipairs(rows) do
         row.counters = json.decode(row.counters)
      end
      local s, nodes = summary.of(rows)
      return { { summary = s, nodes = tables.map(nodes, function(node)
         return { node = node.node, seconds = node.seconds, sent = node.sent,
            received = node.received, cpu_s = node.cpu_s }
      end) } }
   end,
   evidence = function(sql) return sql.rows_of("SELECT * FROM evidence") end,
   log_positions = function(sql) return sql.rows_of("SELECT * FROM log_position") end,
   -- Components that something spoke against in a while, so that they are not called clean.
   blamed = function(sql, args)
      return sql.rows_of("SELECT place, MAX(o.time) AS time FROM observation o JOIN" ..
         " observation_place p ON p.observation = o.id WHERE o.time >= ? AND o.class IN" ..
         " ('fatal', 'degrading') GROUP BY place", args.since)
   end,
}

return keep
