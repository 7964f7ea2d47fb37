-- SPDX-License-Identifier: GPL-2.0-or-later
--- A long piece of work inside tautd's loop: a coroutine that sleeps, is woken, and now and then
-- lets others have their turn.
local loop = require "taut.loop"
local turns = require "taut.base.turns"

local task = {
   turn_ns = 4000000, -- what a task may take in one piece
}
local Task = {}
Task.__index = Task

local running -- the task whose turn it is

local function resume_task(self)
   self.turn_ns = loop.now_ns()
   local before = running
   running = self
   local ok, err = coroutine.resume(self.co)
   running = before
   if not ok then
      self.on_error(debug.traceback(self.co, tostring(err)))
   end
end

--- Go on now, if it sleeps; from outside of the task.
function Task:wake()
   if self.timer then
      self.timer:cancel()
      self.timer = nil
      resume_task(self)
   end
end

--- Sleep for `ms`, or until woken; from inside.
function Task:sleep(ms)
   self.timer = loop.timer(math.max(0, ms), function()
      self.timer = nil
      resume_task(self)
   end)
   coroutine.yield()
end

--- Let others have their turn, if this one has lasted long enough; from inside.
function Task:breathe()
   if loop.now_ns() - self.turn_ns > task.turn_ns then
      turns.add(self.whose, function() resume_task(self) end)
      coroutine.yield()
   end
end

--- The same of whatever task this is called in; nothing where it is called in none.
function task.breathe()
   if running then
      running:breathe()
   end
end

--- Start a task at once, for him whose turn it is (turns.lua); it runs until it first sleeps.
-- @param fn what it does; the task's own functions are for it only
-- @param on_error called with a traceback when it fails
function task.start(fn, on_error)
   local self = setmetatable({ on_error = on_error, whose = turns.whose() }, Task)
   self.co = coroutine.create(fn)
   self.timer = loop.timer(0, function()
      self.timer = nil
      resume_task(self)
   end)
   return self
end

return task
