-- SPDX-License-Identifier: GPL-2.0-or-later
--- Components that somebody knows to be bad (`taut ack`): until a date nothing of them is said
-- aloud.
-- What follows from their verdicts is the same: they are avoided, and nodes are drained for them.
local json = require "taut.json"
local loop = require "taut.loop"
local tables = require "taut.base.tables"

local acks = {}
local Acks = {}
Acks.__index = Acks

local MOST = 10000      -- at once
local TEXT_MAX = 200    -- bytes of a ticket
local LONGEST_S = 366 * 86400

function acks.new()
   return setmetatable({ by_name = {} }, Acks)
end

-- People mean dates by the wall clock.
local function wall_time(now)
   return now + loop.ahead()
end

local function drop_ended(self, now)
   now = wall_time(now)
   for name, a in pairs(self.by_name) do
      if a["until"] <= now then
         self.by_name[name] = nil
      end
   end
end

local function what_is_wrong(ack, now)
   local last = ack["until"]
   now = wall_time(now)
   if type(ack.ticket) ~= "string" or ack.ticket == "" or #ack.ticket > TEXT_MAX then
      return ("ticket: expected a text of 1 to %d bytes"):format(TEXT_MAX)
   elseif type(last) ~= "number" or last ~= last or last <= now or last > now + LONGEST_S then
      return "until: expected a time from now to a year on"
   end
end

--- Note that component `name` is known to be bad.
-- @param ack { ticket, until = seconds since 1970, who }
-- @return true; or nil and what was expected
function Acks:add(name, ack, now)
   drop_ended(self, now)
   local why = what_is_wrong(ack, now)
   local count = 0
   for _ in pairs(self.by_name) do
      count = count + 1
   end
   if not why and count >= MOST then
      why = ("%d components are known to be bad already"):format(count)
   end
   if why then
      return nil, why
   end
   self.by_name[name] = { ticket = ack.ticket, ["until"] = ack["until"], who = ack.who, at = now }
   return true
end

--- It is news again.
-- @return was it known to be bad?
function Acks:drop(name)
   local had = self.by_name[name] ~= nil
   self.by_name[name] = nil
   return had
end

--- These are repaired, or back: news again, in the store, too.
-- @param names of components
function Acks:over(names, journal)
   local any = false
   for _, name in ipairs(names) do
      any = self:drop(name) or any
   end
   if any then
      journal:add("setting", { name = "acks", value = self:pack(loop.time()) })
   end
end

--- What is known of a component: { ticket, until, who, at }; or nil.
function Acks:get(name, now)
   local a = self.by_name[name]
   if a and a["until"] > wall_time(now) then
      return a
   end
   return nil
end

--- All of them, by name: array of { component, ticket, until, who, at }.
function Acks:list(now)
   drop_ended(self, now)
   local list = json.array {}
   for name, a in pairs(self.by_name) do
      list[#list + 1] = { component = name, ticket = a.ticket, ["until"] = a["until"], who = a.who,
         at = a.at }
   end
   table.sort(list, function(one, other) return one.component < other.component end)
   return list
end

--- As text, for the store.
function Acks:pack(now)
   return json.encode(self:list(now))
end

--- Take what the store kept; one of now stays as it is.
-- @param text of pack, or nil
-- @param name function(name of a component then) → name now or nil; nil: as they are
function Acks:restore(text, name)
   for _, a in ipairs(tables.or_empty(text and json.decode(text))) do
      local now = type(a) == "table" and type(a.component) == "string"
         and (name or tostring)(a.component)
      if now and type(a["until"]) == "number" and not self.by_name[now] then
         self.by_name[now] = { ticket = tostring(a.ticket), ["until"] = a["until"],
            who = a.who, at = a.at }
      end
   end
end

return acks
