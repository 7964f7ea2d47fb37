-- SPDX-License-Identifier: GPL-2.0-or-later
--- tautd's side of the logs it follows: starts the process that reads, asks it again and again,
-- keeps how far it came.
local helper = require "taut.base.helper"
local ingest = require "taut.events.ingest"
local json = require "taut.json"
local loop = require "taut.loop"
local sys = require "taut.sys"

local keeper = {}
local Keeper = {}
Keeper.__index = Keeper

local MORE_MS = 50 -- to the next look, where there is more to read

local function say_errors(self, errors)
   local now = {}
   for _, e in ipairs(errors) do
      now[e.path] = e.why
      if self.failing[e.path] ~= e.why then
         sys.log("warning", ("cannot follow %s: %s"):format(e.path, e.why))
      end
   end
   for path in pairs(self.failing) do
      if not now[path] then
         sys.log("notice", ("%s can be followed again"):format(path))
      end
   end
   self.failing = now
end

local function take_look(self, reply, err)
   self.looking = false
   if not reply then
      self.error = err
      return
   end
   self.error, self.wrong = nil, reply.wrong
   say_errors(self, reply.errors)
   if #reply.observations > 0 then
      self.on_observations(reply.observations)
   end
   -- behind the observations: what is lost with tautd is then read again
   for _, p in ipairs(reply.positions) do
      self.positions[p.path] = p.position
      self.journal:add("log_position", { path = p.path, data = json.encode(p.position) })
   end
   if reply.more and not self.stopped then
      loop.timer(MORE_MS, function() self:look() end)
   end
end

--- Look for news, unless that is under way.
function Keeper:look()
   if self.looking or not self.ready or self.stopped then
      return
   end
   self.looking = true
   self.helper:ask({ op = "look" }, function(reply, err) take_look(self, reply, err) end)
end

--- What `taut status` may want to know.
function Keeper:status()
   local failing = json.array {}
   for path, why in pairs(self.failing) do
      failing[#failing + 1] = { path = path, why = why }
   end
   table.sort(failing, function(first, second) return first.path < second.path end)
   return { logs = #self.conf.follow, failing = failing, error = self.error, wrong = self.wrong }
end

function Keeper:stop()
   self.stopped = true
   if self.timer then
      self.timer:cancel()
   end
   self.helper:stop()
end

local function configure_process(self)
   local list = json.array {}
   for i, f in ipairs(self.conf.follow) do
      if ingest.formats[f[1]].forgeable and not f.trusted then
         sys.log("notice", ("%s: any user can write %s lines there: they are events, not evidence "
            .. "(trusted, taut.lua(5))"):format(f[2], f[1]))
      end
      list[i] = { format = f[1], path = f[2], trusted = f.trusted,
         position = self.positions[f[2]] }
   end
   self.helper:ask({ op = "conf", follow = list }, function(_, err)
      self.ready, self.error, self.looking = not err, err, false
      if err then
         sys.log("err", "ingest: " .. err)
      end
      self:look()
   end)
end

--- Begin to follow.
-- @param conf settings `events`, with something in `follow`
-- @param journal for positions
-- @param positions path → position, as the store kept them
-- @param on_observations called with the array of what a look found
function keeper.start(conf, journal, positions, on_observations)
   local self = setmetatable({ conf = conf, journal = journal, positions = positions,
      on_observations = on_observations, failing = {} }, Keeper)
   self.helper = helper.start { name = "ingest", argv = { sys.paths.program, "--ingest" },
      on_ready = function() configure_process(self) end,
      on_end = function() self.ready = false end }
   self.timer = loop.every(math.floor(conf.follow_s * 1000), function() self:look() end)
   return self
end

return keeper
