-- SPDX-License-Identifier: GPL-2.0-or-later
--- The process that follows logs for tautd (`tautd --ingest`): a million lines take a second, and
-- none of it may keep tautd's loop waiting.
--
-- Requests are JSON lines on stdin, replies JSON lines on stdout, in order:
--   { id, op = "conf", follow = { { format, path, position, trusted } } }
--   { id, op = "look" } → observations, positions { path, … }, errors { path, why }, more (true
--      when there is more to read already), wrong (lines that could not be understood)
local answering = require "taut.base.answering"
local follow = require "taut.events.ingest.follow"
local json = require "taut.json"

local process = {}

local MOST = 8 << 20        -- bytes of one log in one look
local OBSERVATIONS = 20000  -- after which a look goes no further

local followers

local ops = {}

function ops.conf(request)
   followers = {}
   for _, f in ipairs(request.follow) do
      local position
      if type(f.position) == "table" then
         position = f.position
      end
      local one, err = follow.new(f.format, f.path, position, f.from_start == true,
         f.trusted == true)
      if not one then
         return nil, err
      end
      followers[#followers + 1] = one
   end
   return {}
end

function ops.look()
   local reply = { observations = json.array {}, positions = json.array {}, errors = json.array {},
      wrong = 0 }
   local list = reply.observations
   for _, f in ipairs(followers) do
      local before, inode = f.offset, f.inode
      local most = 0
      if #list < OBSERVATIONS then
         most = MOST
      end
      local got, err = f:look(most, function(observation)
         list[#list + 1] = observation
      end)
      if not got then
         reply.errors[#reply.errors + 1] = { path = f.path, why = err }
      end
      reply.more = reply.more or got == MOST
      if f:at() and (f.offset ~= before or f.inode ~= inode) then
         reply.positions[#reply.positions + 1] = { path = f.path, position = f:at() }
      end
      reply.wrong = reply.wrong + f.reader.wrong
   end
   return reply
end

--- Serve requests until stdin ends.
-- @return exit status
function process.main()
   return answering.serve { name = "ingest", ops = ops,
      is_ready = function() return followers ~= nil end }
end

return process
