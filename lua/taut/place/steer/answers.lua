-- SPDX-License-Identifier: GPL-2.0-or-later
--- Answers to `taut steer` and `taut profile`.
local json = require "taut.json"
local learn = require "taut.place.steer.learn"
local report = require "taut.place.steer.report"
local sys = require "taut.sys"

local answers = {}

local function is_hidden(d, uid, owner)
   return d.cluster:is_private "jobs" and not d.cluster:is_admin(uid) and owner ~= uid
end

-- Others' jobs are hidden where slurm.conf's PrivateData says so.
local function visible(d, uid, rows)
   local own, list = sys.user_name(uid), json.array {}
   for _, row in ipairs(rows) do
      if not is_hidden(d, uid, row.user == own and uid or nil) then
         list[#list + 1] = row
      end
   end
   return list
end

local function switch(d, args, uid, reply)
   if not d.cluster:is_admin(uid) then
      return reply(nil, ("only root and SlurmUser may do this, you are %s"):format(
         sys.user_name(uid)))
   end
   d:set("steering", args.set)
   sys.log("notice", ("steering is %s (%s)"):format(args.set, sys.user_name(uid)))
   d.cluster:refresh(function() reply(d.steer:status()) end)
end

local function give_report(d, args, uid, reply)
   local since = tonumber(args.since) or 0
   d.journal:flush()
   d.journal:query("steered_jobs", { since = since }, function(steered, err)
      if not steered then
         return reply(nil, err)
      end
      d.journal:query("unsteered_like", { since = since }, function(others)
         reply(report.of(visible(d, uid, steered), visible(d, uid, others or {})))
      end)
   end)
end

--- `taut steer`: args { set = "on"|"off" } or { report = true, since = seconds } or neither.
function answers.give(d, args, uid, reply)
   if args.set == "on" or args.set == "off" then
      return switch(d, args, uid, reply)
   elseif args.set ~= nil then
      return reply(nil, "steer: expected on or off")
   elseif args.report then
      return give_report(d, args, uid, reply)
   end
   local s = d.steer:status()
   local pending = json.array {}
   for _, job in ipairs(s.pending) do
      if not is_hidden(d, uid, job.uid) then
         pending[#pending + 1] = job
      end
   end
   s.pending = pending
   reply(s)
end

local function add_class(rows)
   for _, p in ipairs(rows) do
      p.nodes_max = p.nodes_max or p.nodes
      p.class, p.suggest = learn.class(p)
   end
   return rows
end

local function jobs(d, args, uid, reply)
   d.journal:query("jobs_of_profile", args, function(rows, err)
      if not rows then
         return reply(nil, err)
      end
      reply { jobs = add_class(visible(d, uid, rows)) }
   end)
end

--- `taut profile`: args { user = } or { job = id } or neither.
function answers.profiles(d, args, uid, reply)
   d.journal:flush()
   if args.job ~= nil then
      if math.type(args.job) ~= "integer" then
         return reply(nil, "profile: job: expected a number")
      end
      return jobs(d, { id = args.job }, uid, reply)
   end
   local user = type(args.user) == "string" and args.user or nil
   d.journal:query("profiles", { user = user }, function(rows, err)
      if not rows then
         return reply(nil, err)
      end
      reply { profiles = add_class(visible(d, uid, rows)), heavy = learn.HEAVY }
   end)
end

return answers
