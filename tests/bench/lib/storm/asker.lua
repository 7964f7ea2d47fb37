-- SPDX-License-Identifier: GPL-2.0-or-later
-- Somebody who asks for advice again and again: asker.lua SOCKET FILE: as long as FILE is there.
-- What he is answered, or whether, does not matter to him.
local loop = require "taut.loop"
local sys = require "taut.sys"

-- Without a process of its own: those would measure how many of them this machine starts.
local function sleep(ms)
   loop.timer(ms, loop.stop)
   loop.run()
end

while sys.stat(arg[2]) do
   if not sys.request(arg[1], '{"cmd":"advise","args":{"nodes":200}}', 60000) then
      sleep(20) -- no place
   end
end
