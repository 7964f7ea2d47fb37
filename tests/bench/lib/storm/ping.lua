-- SPDX-License-Identifier: GPL-2.0-or-later
-- Somebody at a command line: ping.lua SOCKET FILE: asks for tautd's state 20 times a second as
-- long as FILE is there, and prints the longest wait for an answer, ms.
local sys = require "taut.sys"

local longest = 0
while sys.stat(arg[2]) do
   local t = sys.now()
   local text = assert(sys.request(arg[1], '{"cmd":"policy_state","args":{}}', 60000))
   assert(text:find '"ok":true', text)
   longest = math.max(longest, (sys.now() - t) * 1e3)
   os.execute "sleep 0.05"
end
print(longest)
