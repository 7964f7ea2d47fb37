-- SPDX-License-Identifier: GPL-2.0-or-later
--- What the `taut` command can ask: name of the request → { admin only,
-- fn(args, who, uid, reply) }.  Each file has some; those of other rooms are named here.
local tables = require "taut.base.tables"
local ack = require "taut.core.answers.ack"
local doctor = require "taut.core.answers.doctor"
local dry_run = require "taut.core.answers.dry_run"
local explain = require "taut.core.answers.explain"
local fabric_answers = require "taut.fabric.queries"
local log = require "taut.core.answers.log"
local machine = require "taut.core.answers.machine"
local page = require "taut.core.answers.page"
local policy = require "taut.core.answers.policy"
local repair = require "taut.core.answers.repair"
local status = require "taut.core.answers.status"
local tests = require "taut.core.answers.tests"

local function answer_fabric(parts, args, who, uid, reply)
   local params = tables.or_empty(args.args)
   if not parts.followers.fabric then
      return reply(nil, "fabric: tautd does not sweep")
   elseif fabric_answers.is_privileged(args.what, params) and not parts.cluster:is_admin(uid) then
      return reply(nil, ("only %s may do this, you are %s"):format(
         parts.cluster:who_administers(), who))
   end
   parts.followers.fabric:answer(args.what, params, reply)
end

local function commands_of_rooms(parts)
   local why = explain.new(tables.pick(parts,
      "site diagnosis decision journal cluster act acks events observations"))
   return {
      explain = { false, function(args, _, uid, reply) why:answer(args, uid, reply) end },
      events = { false, function(args, _, uid, reply)
         parts.observations:list(args, uid, function(job, fn) why:ask_job(job, uid, fn) end, reply)
      end },
      record = { true, function(args, _, _, reply)
         local n, err = parts.events:record(tables.or_empty(args.events))
         reply(n and { taken = n }, err)
      end },
      fabric = { false, function(args, who, uid, reply)
         answer_fabric(parts, args, who, uid, reply)
      end },
      advise = { false, function(args, _, uid, reply)
         parts.advice:ask(args, uid, reply, reply.guard)
      end },
      steer = { false, function(args, _, uid, reply) parts.steer:answer(args, uid, reply) end },
      why = { false, function(args, _, uid, reply) parts.why:answer(args, uid, reply) end },
      jobs_that_lost = { true, function(args, _, _, reply) parts.why:slow(args, reply) end },
      profile = { false, function(args, _, uid, reply)
         parts.profiles:answer(args, uid, reply)
      end },
      db = { true, function(args, _, _, reply) parts.housekeeping:answer(args, reply) end },
      reload = { true, function(args, _, _, reply)
         if args.dry_run then
            return reply(dry_run(tables.pick(parts, "site diagnosis")))
         end
         local ok, err = parts.reload()
         reply(ok and { taken = parts.site.conf.path }, err)
      end },
   }
end

-- What changes something: name → true, or function(args) that says whether it does.
local CHANGES = { policy = true, off = true, on = true, release = true, relearn = true,
   reload = function(args) return not args.dry_run end,
   ack = true, verify = function(args) return not args.look end,
   repair = function(args) return args.done end, steer = function(args) return args.set end }

-- All answers for users are about nodes, which PrivateData=nodes hides from them, except these:
-- name → true, or function(args) that says so.
local function is_of_a_job(args) return math.type(args.job) == "integer" end
local OF_NO_NODES = { advise = true, running = true, stop_survey = true, profile = true, why = true,
   explain = is_of_a_job, events = is_of_a_job }

-- Answer when what was changed is on disk, and say so where it cannot be.
local function make_lasting_reply(parts, reply)
   return setmetatable({ guard = reply.guard }, { __call = function(_, data, err)
      if not data then
         return reply(nil, err)
      end
      local saved, unsaved = parts.switches:save()
      parts.journal:confirm(function(stored, why)
         if saved and stored then
            return reply(data)
         end
         reply(nil, ("not stored: %s; it is done, and holds until tautd ends"):format(
            not saved and unsaved or why))
      end)
   end })
end

local function make_lasting(parts, command, changes)
   local fn = command[2]
   return { command[1], function(args, who, uid, reply)
      local does = changes == true or changes(args)
      fn(args, who, uid, does and make_lasting_reply(parts, reply) or reply)
   end }
end

local FILES = {
   { ack, "site diagnosis acks journal act" },
   { doctor, "site diagnosis cluster journal rendezvous judgement refusals act switches metrics " ..
      "teller followers housekeeping acting addresses networks no_results lost_rails munged " ..
      "started_at" },
   { log, "journal cluster" },
   { machine, "site diagnosis decision cluster act acks" },
   { page, "site diagnosis decision journal cluster act acks events observations" },
   { policy, "site switches findings act cluster teller" },
   { repair, "site diagnosis decision findings act cluster events acks journal" },
   { status, "site switches diagnosis decision coverage cluster act teller journal events " ..
      "followers judgement check refusals rendezvous metrics acks housekeeping acting munged " ..
      "addresses networks no_results started_at" },
   { tests, "site switches diagnosis cluster journal marks agenda surveys" },
}

--- @param parts by name (parts.lua)
return function(parts)
   local commands = commands_of_rooms(parts)
   for _, file in ipairs(FILES) do
      for name, command in pairs(file[1](tables.pick(parts, file[2]))) do
         commands[name] = command
      end
   end
   for name, changes in pairs(CHANGES) do
      commands[name] = make_lasting(parts, commands[name], changes)
   end
   for name, command in pairs(commands) do
      local without = OF_NO_NODES[name]
      command.of_nodes = function(args)
         return not (without == true or without and without(args))
      end
   end
   return commands
end
