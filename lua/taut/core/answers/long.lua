-- SPDX-License-Identifier: GPL-2.0-or-later
--- Answers with a row for each part of a large machine.  Any user may ask for them, again and
-- again: they are made a few milliseconds at a time, once for all who ask meanwhile, and an answer
-- is given again for a second.
local json = require "taut.json"
local loop = require "taut.loop"
local sys = require "taut.sys"
local task = require "taut.base.task"

local long = {}
local Answers = {}
Answers.__index = Answers

local KEPT_MS = 1000
local AT_ONCE = 32 -- rows between two looks at the clock

-- The answer's text, as query.lua would encode { ok = true, data = { [name] = rows, … } }.
local function encode_rows(name, rows_to_come, running)
   local parts, rows = {}, {}
   for i = 1, rows_to_come.count do
      local row = rows_to_come.row(i)
      rows[#rows + 1] = row and json.encode(row)
      if i % AT_ONCE == 0 then
         if #rows > 0 then
            parts[#parts + 1] = table.concat(rows, ",")
         end
         rows = {}
         running:breathe()
      end
   end
   if #rows > 0 then
      parts[#parts + 1] = table.concat(rows, ",")
   end
   return ('{"ok":true,"data":{"%s":[%s],%s}'):format(name, table.concat(parts, ","),
      json.encode(rows_to_come.rest):sub(2))
end

local function finish_answer(self, name, text, err)
   local waiting = self.waiting[name]
   self.waiting[name] = nil
   if text then
      self.kept[name] = text
      loop.timer(KEPT_MS, function() self.kept[name] = nil end)
   end
   for _, reply in ipairs(waiting) do
      if text then
         reply.text(text)
      else
         reply(nil, err)
      end
   end
end

--- Answer with what make(task) returns: { ok = true, data = … } as JSON.  It runs in a task, which
-- has to breathe.
-- @param name that those who ask for the same meanwhile share
-- @param reply of query.lua
function Answers:text(name, make, reply)
   if self.kept[name] then
      return reply.text(self.kept[name])
   elseif self.waiting[name] then
      table.insert(self.waiting[name], reply)
      return
   end
   self.waiting[name] = { reply }
   local t
   t = task.start(function()
      finish_answer(self, name, make(t))
   end, function(err)
      sys.log("err", ("query: %s: %s"):format(name, err))
      finish_answer(self, name, nil, "internal error; tautd's log has it")
   end)
end

--- Answer with `name`: an array of rows.
-- @param make function() → { count, row = function(i) → table or nil, rest = table, not empty }
-- @param reply of query.lua
function Answers:give(name, make, reply)
   self:text(name, function(running) return encode_rows(name, make(), running) end, reply)
end

function long.new()
   return setmetatable({ kept = {}, waiting = {} }, Answers)
end

return long
