-- SPDX-License-Identifier: GPL-2.0-or-later
--- Asks tautd, and prints what it says when it says no.
local json = require "taut.json"
local report = require "taut.report"
local sys = require "taut.sys"

local ask = {}

local TIMEOUT_MS = 30000

--- @param args parsed command line (socket, json)
-- @param cmd command of query.lua
-- @param params its arguments
-- @return data; or nil after the error went to stderr, or after --json was served
-- @return exit status, where data is nil
function ask.tautd(args, cmd, params)
   local line, err = sys.request(args.socket, json.encode { cmd = cmd, args = params or {} },
      TIMEOUT_MS)
   local reply
   if line then
      reply, err = json.decode(line)
   else
      err = ("tautd does not answer at %s: %s"):format(args.socket, err)
   end
   if not reply or not reply.ok then
      report.complain(reply and reply.error or err)
      return nil, 1
   elseif args.json then
      print(json.encode(reply.data, 2))
      return nil, 0
   end
   return reply.data
end

return ask
