-- SPDX-License-Identifier: GPL-2.0-or-later
--- The site's own program (`policy.on_event`): told what happens, one event at a time.
--
-- Each event is one JSON object on its stdin.  It runs as another user if tautd is root, and has no
-- environment, no output and 10 s.  Nothing waits for it.  While one runs the next wait in a queue;
-- when it is full, the oldest are dropped.
local loop = require "taut.loop"
local notice = require "taut.policy.notice"
local sys = require "taut.sys"

local on_event = {}
local Teller = {}
Teller.__index = Teller

local LIMIT_MS = 10000
local QUEUE_MAX = 256

-- Once until it goes well again, so that a broken program does not fill the log.
local function count_failure(self, why)
   self.failed = self.failed + 1
   if not self.error then
      sys.log("warning", ("on_event: %s: %s"):format(self.argv[1], why))
   end
   self.error = why
end

-- Whom the program runs as: options of loop.spawn; nil and why not.
local function choose_identity(user)
   if sys.uid() ~= 0 then
      return {}
   end
   local uid, gid = sys.user_id(user)
   if not uid then
      return nil, gid
   elseif not gid then
      return nil, ("no group of user '%s'"):format(user)
   end
   return { uid = uid, gid = gid }
end

local function start_next(self)
   local event = table.remove(self.queue, 1)
   if not event or not self.argv then
      return
   end
   local options, why = choose_identity(self.user)
   local proc, timer
   if options then
      options.argv, options.foreign, options.max_line = self.argv, true, 4096
      options.on_exit = function(what, status)
         timer:cancel()
         self.running = nil
         if status == 0 then
            self.done, self.error = self.done + 1, nil
         else
            count_failure(self, self.late and "took more than 10 s" or "ended with " .. what)
         end
         start_next(self)
      end
      proc, why = loop.spawn(options)
   end
   if not proc then
      count_failure(self, why)
      self.later = loop.timer(0, function() start_next(self) end)
      return
   end
   self.running, self.late = proc, false
   timer = loop.timer(LIMIT_MS, function()
      self.late = true
      proc:kill()
   end)
   proc:send(event)
   proc:close()
end

--- Tell the program, if there is one.
-- @param event as taut.policy.notice takes it; gets its time
function Teller:tell(event)
   if not self.argv then
      return
   end
   event.time = event.time or loop.time()
   local text = notice.text(notice.of(event, self.cluster()))
   if not text then
      return
   end
   if #self.queue >= QUEUE_MAX then
      table.remove(self.queue, 1)
      self.dropped = self.dropped + 1
   end
   self.queue[#self.queue + 1] = text
   if not self.running then
      start_next(self)
   end
end

--- Take settings: the program may have changed.
function Teller:configure(settings)
   self.argv, self.user = settings.on_event or nil, settings.on_event_user
   if not self.argv then
      self.queue = {}
   end
end

function Teller:state()
   return { program = self.argv and self.argv[1], waiting = #self.queue, done = self.done,
      failed = self.failed, dropped = self.dropped, error = self.error }
end

--- @param settings the `policy` section
-- @param cluster_name function() → Slurm's ClusterName, or nil
function on_event.new(settings, cluster_name)
   local self = setmetatable({ queue = {}, done = 0, failed = 0, dropped = 0,
      cluster = cluster_name or function() end }, Teller)
   self:configure(settings)
   return self
end

return on_event
