-- SPDX-License-Identifier: GPL-2.0-or-later
--- Asks tautd, and prints what it says when it says no.
local json = require "taut.json"
local report = require "taut.report"
local sys = require "taut.sys"

local ask = {}

local TIMEOUT_MS = 30000

--- Data with others' words in it, made fit for a terminal in place: names of jobs, reasons.
function ask.plain(v)
   if type(v) == "string" then
      return sys.plain(v)
   elseif type(v) == "table" then
      for key, value in pairs(v) do
         v[key] = ask.plain(value)
      end
   end
   return v
end

--- Data as JSON for a terminal: the same words, with nothing that a terminal acts on.
function ask.json(data)
   return (json.encode(data, 2):gsub("\xc2([\x80-\x9f])", function(c)
      return ("\\u%04x"):format(c:byte())
   end):gsub("\x7f", "\\u007f"))
end

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
      report.complain(sys.plain(reply and reply.error or err))
      return nil, 1
   elseif args.json then
      print(ask.json(reply.data))
      return nil, 0
   end
   return ask.plain(reply.data)
end

return ask
