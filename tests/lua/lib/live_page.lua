-- SPDX-License-Identifier: GPL-2.0-or-later
-- live_page.lua FOLDER: serves a page as `taut serve` does, on a port that it writes into
-- FOLDER/port: first one link is slow, after /change another has failed.  Ends when asked for /end,
-- or after two minutes.
local loop = require "taut.loop"
local page = require "taut.report.page"
local pages = require "lib.pages"

local EVERY = 1 -- s
local changed = false

local function data(bad)
   return pages.data(pages.SMALL, { bad = bad, drained = {}, texts = { "a finding" } })
end
local first, second = data { ["r1.0.0/X+"] = "slow" }, data { ["r3.1.1/Y+"] = "failed" }

local server = assert(loop.http { port = 0, on_get = function(path)
   if path == "/end" then
      loop.timer(50, loop.stop)
      return 200, "text/plain", "bye\n"
   end
   changed = changed or path == "/change"
   local text, policy = page.make(changed and second or first, EVERY)
   return 200, "text/html; charset=utf-8", text, { ["Content-Security-Policy"] = policy }
end })
local f = assert(io.open(arg[1] .. "/port.new", "w"))
f:write(server:port())
f:close()
os.rename(arg[1] .. "/port.new", arg[1] .. "/port")
loop.timer(120000, loop.stop)
loop.run()
server:close()
