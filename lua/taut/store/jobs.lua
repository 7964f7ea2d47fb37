-- SPDX-License-Identifier: GPL-2.0-or-later
--- The database's table `job`: what jobs used of the network, and how they were steered.
-- Statements of the store's process; events/profiles.lua writes, `taut profile` and `taut steer`
-- ask.
local jobs = {}

-- Conditions of a question, and their values.
local function where(a)
   local list, values = { "share IS NOT NULL" }, {}
   for _, column in ipairs { "user", "name", "id" } do
      if a[column] ~= nil then
         list[#list + 1] = ('"%s" = ?'):format(column)
         values[#values + 1] = a[column]
      end
   end
   if a.since then
      list[#list + 1], values[#values + 1] = "time >= ?", a.since
   end
   return table.concat(list, " AND "), values
end

--- Queries: name → fn(sql, args).
jobs.queries = {
   -- one row per user and job name, those that ran last first
   profiles = function(sql, a)
      local text, values = where { user = a.user, name = a.name }
      values[#values + 1] = a.limit or 1000
      return sql.rows_of([[SELECT "user", name, COUNT(*) AS jobs, AVG(share) AS share,
         MAX(share) AS share_max, AVG("sent_Bps") AS "sent_Bps",
         AVG("received_Bps") AS "received_Bps", AVG(uneven) AS uneven, MIN(nodes) AS nodes_min,
         MAX(nodes) AS nodes_max, AVG(seconds) AS seconds, MAX(comm) AS comm, MAX(time) AS time
         FROM job WHERE ]] .. text ..
         [[ GROUP BY "user", name ORDER BY MAX(time) DESC LIMIT ?]], table.unpack(values))
   end,
   jobs_of_profile = function(sql, a)
      local text, values = where(a)
      values[#values + 1] = a.limit or 50
      return sql.rows_of("SELECT * FROM job WHERE " .. text ..
         " ORDER BY time DESC, id DESC LIMIT ?", table.unpack(values))
   end,
   steered_jobs = function(sql, a)
      return sql.rows_of("SELECT * FROM job WHERE steered IS NOT NULL AND time >= ? " ..
         "ORDER BY time DESC, id DESC LIMIT ?", a.since or 0, a.limit or 10000)
   end,
   -- the same programs of the same users on as many nodes, when they were not steered
   unsteered_like = function(sql, a)
      return sql.rows_of([[SELECT j."user", j.name, j.nodes, j."partition", j.seconds, j.share,
         j."sent_Bps", j.wait_s FROM job j JOIN (SELECT DISTINCT "user", name, nodes FROM job
         WHERE steered IS NOT NULL AND time >= ?) s ON s."user" = j."user" AND s.name = j.name AND
         s.nodes = j.nodes WHERE j.steered IS NULL AND j.time >= ? LIMIT ?]], a.since or 0,
         (a.since or 0) - 30 * 86400, a.limit or 10000)
   end,
}

return jobs
