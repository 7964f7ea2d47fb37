-- SPDX-License-Identifier: GPL-2.0-or-later
--- `taut advise` at tautd: when Slurm is asked, and what it would do itself.
--
-- A search on a large machine takes longer than others should wait: it is a task that lets them
-- have their turn.  Those who ask meanwhile are served one after the other.
local loop = require "taut.loop"
local sys = require "taut.sys"
local task = require "taut.base.task"

local ask = {}

local FRESH_S = 5   -- an older picture of the cluster is made anew first
local WAIT_MS = 1000 -- for Slurm's own answer; it may take longer, but no client waits for it

-- Where Slurm says it would start the job, beside the rest.
local function add_asked(self, out, scene, reply)
   local row, err = self:look_at(scene, reply.nodes)
   if row then
      row.start = reply.start
      out.asked = row
   else
      out.asked_error = err
   end
end

local function ask_slurm(self, args, uid, scene, out, reply)
   local done, timer = false, nil
   local function finish_answer()
      if not done then
         done = true
         timer:cancel()
         reply(out)
      end
   end
   timer = loop.timer(WAIT_MS, function()
      out.asked_error = "Slurm did not say in time where it would put the job"
      finish_answer()
   end)
   self.slurm:ask({ op = "will_run", count = out.count, user = uid,
      partition = args.partition, features = args.features, excluded = args.exclude,
      reservation = args.reservation }, function(got, err)
      if not done and got then
         add_asked(self, out, scene, got)
      elseif not done then
         out.asked_error = err
      end
      finish_answer()
   end)
end

local function give_advice(self, args, uid, reply)
   local out, err, scene = self:give(args)
   task.breathe()
   if out and args.ask_slurm and not args.job and not self.cluster.error then
      ask_slurm(self, args, uid, scene, out, reply)
   else
      reply(out, err)
   end
end

-- One after the other, until no request waits; guard handles errors.
local function answer_all(self)
   task.start(function()
      while self.asked[1] do
         self.asked[1]()
         table.remove(self.asked, 1)
         task.breathe()
      end
   end, function(err)
      sys.log("err", "advise: " .. err)
      table.remove(self.asked, 1)
      if self.asked[1] then
         answer_all(self)
      end
   end)
end

--- @param self advice
-- @param args see its give(); ask_slurm = also ask Slurm where it would start such a job
-- @param uid of the caller
-- @param reply function(data) or function(nil, error)
-- @param guard function(fn, …) that calls fn so that an error becomes an answer
function ask.answer(self, args, uid, reply, guard)
   self.cluster:fresh(FRESH_S, function()
      self.asked[#self.asked + 1] = function() guard(give_advice, self, args, uid, reply) end
      if #self.asked == 1 then
         answer_all(self)
      end
   end)
end

return ask
