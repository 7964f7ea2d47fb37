-- SPDX-License-Identifier: GPL-2.0-or-later
--- The database's table `job`: what jobs used of the network, how they were steered, and what
-- `taut why` needs to know of them.  Statements of the store's process; why/init.lua writes,
-- `taut profile`, `taut steer` and `taut why` ask.
local jobs = {}

-- Without the facts, which are long.
local COLUMNS = [[id, restart, time, "user", name, "partition", nodes, seconds, wait_s, "sent_Bps",
   "received_Bps", share, uneven, comm, steered, begin, label, result, run_s, cause, lost_s]]

-- Conditions of a question, and their values.
local function conditions_of(args)
   local list, values = { "share IS NOT NULL" }, {}
   for _, column in ipairs { "user", "name", "id" } do
      if args[column] ~= nil then
         list[#list + 1] = ('"%s" = ?'):format(column)
         values[#values + 1] = args[column]
      end
   end
   if args.since then
      list[#list + 1], values[#values + 1] = "time >= ?", args.since
   end
   return table.concat(list, " AND "), values
end

--- Queries: name → fn(sql, args).
jobs.queries = {
   -- one row per user and job name, those that ran last first
   profiles = function(sql, args)
      local text, values = conditions_of { user = args.user, name = args.name }
      values[#values + 1] = args.limit or 1000
      return sql.rows_of([[SELECT "user", name, COUNT(*) AS jobs, AVG(share) AS share,
         MAX(share) AS share_max, AVG("sent_Bps") AS "sent_Bps",
         AVG("received_Bps") AS "received_Bps", AVG(uneven) AS uneven, MIN(nodes) AS nodes_min,
         MAX(nodes) AS nodes_max, AVG(seconds) AS seconds, MAX(comm) AS comm, MAX(time) AS time
         FROM job WHERE ]] .. text ..
         [[ GROUP BY "user", name ORDER BY MAX(time) DESC LIMIT ?]], table.unpack(values))
   end,
   jobs_of_profile = function(sql, args)
      local text, values = conditions_of(args)
      values[#values + 1] = args.limit or 50
      return sql.rows_of("SELECT " .. COLUMNS .. " FROM job WHERE " .. text ..
         " ORDER BY time DESC, id DESC LIMIT ?", table.unpack(values))
   end,
   steered_jobs = function(sql, args)
      return sql.rows_of("SELECT " .. COLUMNS .. " FROM job WHERE steered IS NOT NULL AND " ..
         "seconds IS NOT NULL AND time >= ? " ..
         "ORDER BY time DESC, id DESC LIMIT ?", args.since or 0, args.limit or 10000)
   end,
   -- the same programs of the same users on as many nodes, when they were not steered
   unsteered_like = function(sql, args)
      return sql.rows_of([[SELECT j."user", j.name, j.nodes, j."partition", j.seconds, j.share,
         j."sent_Bps", j.wait_s FROM job j JOIN (SELECT DISTINCT "user", name, nodes FROM job
         WHERE steered IS NOT NULL AND time >= ?) s ON s."user" = j."user" AND s.name = j.name AND
         s.nodes = j.nodes WHERE j.steered IS NULL AND j.seconds IS NOT NULL AND j.time >= ?
         LIMIT ?]], args.since or 0,
         (args.since or 0) - 30 * 86400, args.limit or 10000)
   end,
   -- of `taut why`: one job, by its number or as squeue writes it; without either the user's last
   job_row = function(sql, args)
      local column = '"user"'
      if args.id then
         column = "id"
      elseif args.label then
         column = "label"
      end
      return sql.rows_of(("SELECT * FROM job WHERE %s = ? ORDER BY time DESC, restart DESC LIMIT 1")
         :format(column), args.id or args.label or args.user)
   end,
   tasks_of_array = function(sql, args)
      return sql.rows_of('SELECT label, "user" FROM job WHERE label > ? AND label < ? ' ..
         "ORDER BY time DESC LIMIT ?", args.array .. "_", args.array .. "`", args.limit)
   end,
   -- runs of the same job before this one, the latest first
   earlier_runs = function(sql, args)
      return sql.rows_of([[SELECT id, restart, time, run_s, cause, facts FROM job
         WHERE "user" = ? AND name = ? AND time < ? AND nodes = ? AND run_s IS NOT NULL
         AND (result IS NULL OR result = 'completed') AND NOT (id = ? AND restart = ?)
         ORDER BY time DESC LIMIT ?]], args.user, args.name, args.before, args.nodes, args.id,
            args.restart, args.limit)
   end,
   -- jobs that ran at the same time and sent something; one that ended days later is left out
   at_the_same_time = function(sql, args)
      return sql.rows_of([[SELECT id, "user", name, nodes, time, begin, "sent_Bps", share, facts
         FROM job WHERE time >= ? AND time <= ? AND begin <= ? AND share >= ? AND nodes > 1
         AND id <> ? ORDER BY share * nodes DESC LIMIT ?]], args.from, args.till, args.to,
            args.share, args.id,
         args.limit)
   end,
   -- what other jobs counted before, whoever's
   counted_lately = function(sql, args)
      return sql.rows_of([[SELECT facts FROM job WHERE time >= ? AND time < ? AND id <> ?
         AND facts IS NOT NULL ORDER BY time DESC LIMIT ?]], args.since, args.before, args.id,
            args.limit)
   end,
   jobs_that_lost = function(sql, args)
      return sql.rows_of([[SELECT id, label, "user", name, nodes, time, run_s, cause, lost_s, facts
         FROM job WHERE time >= ? AND lost_s IS NOT NULL AND lost_s > 0
         ORDER BY lost_s DESC LIMIT ?]], args.since, args.limit)
   end,
}

return jobs
