-- SPDX-License-Identifier: GPL-2.0-or-later
--- A child process that answers JSON lines in order: the store and taut-slurm.
--
-- An answer with long arrays may come in several lines: { id, part = true, NAME = first rows }
-- before the last, which has the rest of them.
-- It is started again when it ends (after 1 s, doubling to 60 s); requests that had no reply by
-- then get an error, and each caller decides whether to ask again.
local json = require "taut.json"
local loop = require "taut.loop"
local sys = require "taut.sys"

local FIRST_MS = 1000 -- until one that ended is started again

local helper = {}
local Helper = {}
Helper.__index = Helper

local function fail_waiting(self, why)
   local waiting = self.waiting
   self.waiting = {}
   for _, w in pairs(waiting) do
      w.timer:cancel()
      w.fn(nil, why)
   end
end

-- The rows that came in lines of their own, in front of those of the last line.
local function join_parts(parts, reply)
   for key, last in pairs(parts) do
      local rest = reply[key] or {}
      reply[key] = table.move(rest, 1, #rest, #last + 1, last)
   end
end

local function add_to_parts(parts, reply)
   for key, rows in pairs(reply) do
      if type(rows) == "table" then
         parts[key] = parts[key] or {}
         table.move(rows, 1, #rows, #parts[key] + 1, parts[key])
      end
   end
end

local function take_line(self, line)
   local reply, why = json.decode(line)
   if not reply then
      sys.log("err", ("%s answered with no JSON: %s"):format(self.name, why))
      return
   end
   self.backoff_ms = FIRST_MS < self.most_ms and FIRST_MS or self.most_ms
   if self.late then
      self.late:cancel()
   end
   local w = reply.id and self.waiting[reply.id]
   if w then
      loop.doing(w.what)
   end
   if w and reply.part then
      add_to_parts(w.parts, reply)
   elseif w then
      self.waiting[reply.id] = nil
      join_parts(w.parts, reply)
      w.timer:cancel()
      if reply.ok then
         w.fn(reply)
      else
         w.fn(nil, reply.error or "no reason given", reply)
      end
   elseif reply.fatal then
      self.last_error = reply.error
   elseif reply.ready and self.on_ready then
      self.on_ready()
   end
end

local function start_process(self)
   local proc, why = loop.spawn {
      argv = self.argv,
      on_line = function(line) take_line(self, line) end,
      on_exit = function(what) self:ended(what) end,
   }
   if not proc then
      self:ended(why)
      return
   end
   self.proc = proc
   self.late = self.start_ms and loop.timer(self.start_ms, function()
      self.last_error = ("%s did not start in %d s"):format(self.name, self.start_ms // 1000)
      proc:kill()
   end)
end

function Helper:ended(what)
   self.proc = nil
   if self.late then
      self.late:cancel()
   end
   local why = self.last_error or ("%s ended: %s"):format(self.name, what)
   self.last_error = nil
   if self.on_end then
      self.on_end()
   end
   fail_waiting(self, why)
   if self.stopping then
      return
   end
   if why ~= self.said then
      sys.log("err", ("%s; starting it again in %d s"):format(why, self.backoff_ms // 1000))
      self.said = why
   end
   self.down = why
   loop.timer(self.backoff_ms, function()
      if not self.stopping then
         start_process(self)
      end
   end)
   self.backoff_ms = math.min(self.backoff_ms * 2, self.most_ms)
end

--- Ask.
-- @param request table; gets an id
-- @param fn called once with the reply, or with nil and an error text (and the reply, if any)
-- @param timeout_ms how long a reply may take (default 30 s); a helper that is late is killed
--   and started again, since replies come in order
function Helper:ask(request, fn, timeout_ms)
   if not self.proc then
      fn(nil, self.down or (self.name .. " is not running"))
      return
   end
   self.last_id = self.last_id + 1
   local id = self.last_id
   request.id = id
   local line, why = json.encode(request)
   if not line then
      fn(nil, why, { error = why }) -- as if it had said so: nothing of it was done
      return
   end
   local timer = loop.timer(timeout_ms or 30000, function()
      if self.waiting[id] and self.proc then
         self.last_error = ("%s did not answer in %d s"):format(self.name,
            (timeout_ms or 30000) // 1000)
         self.proc:kill()
      end
   end)
   self.waiting[id] = { fn = fn, timer = timer, parts = {},
      what = ("%s's answer to %s"):format(self.name, request.op or "a request") }
   self.proc:send(line)
end

function Helper:stop()
   self.stopping = true
   if self.proc then
      self.proc:close()
   end
end

--- Start a helper.
-- @param options table: name (for messages), argv, on_ready (called at each start),
--   on_end (called when it ended, before the requests that wait get their error), start_ms (until
--   its first line, or it is killed; without end if nil), most_ms (the longest time until it is
--   started again, default 60 s)
function helper.start(options)
   local self = setmetatable({ name = options.name, argv = options.argv,
      on_ready = options.on_ready, on_end = options.on_end, start_ms = options.start_ms,
      most_ms = options.most_ms or 60000, waiting = {}, last_id = 0, backoff_ms = FIRST_MS },
      Helper)
   start_process(self)
   return self
end

return helper
