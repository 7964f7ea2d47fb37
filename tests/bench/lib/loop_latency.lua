-- SPDX-License-Identifier: GPL-2.0-or-later
-- The two sides of ../loop_latency.
--   loop_latency.lua ask SOCKET COMMAND ARGS TIMES   median of the answers' times, ms
--   loop_latency.lua ping SOCKET FILE   as long as FILE is there: longest wait for an answer, ms
local json = require "taut.json"
local sys = require "taut.sys"

local function wait_for(line)
   local t = sys.now()
   local text = assert(sys.request(arg[2], line, 60000))
   return (sys.now() - t) * 1e3, text
end

local function ask()
   local args, list = assert(json.decode(arg[4])), {}
   for i = 1, tonumber(arg[5]) do
      local text
      list[i], text = wait_for(json.encode { cmd = arg[3], args = args })
      assert(arg[3] == "none" or text:find '"ok":true', text)
   end
   table.sort(list)
   return list[(#list + 1) // 2]
end

local function ping()
   local longest = 0
   while sys.stat(arg[3]) do
      longest = math.max(longest, (wait_for '{"cmd":"none"}'))
   end
   return longest
end

print((arg[1] == "ask" and ask or ping)())
