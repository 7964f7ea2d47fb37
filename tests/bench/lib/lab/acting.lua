-- SPDX-License-Identifier: GPL-2.0-or-later
-- Which of two tautd acts, asked every 50 ms: a line "MICROSECONDS ctl1 ctl2" with 1 or 0 each at
-- each change.  Runs in the lab, on `ctl`, until it is killed.
local json = require "taut.json"
local loop = require "taut.loop"
local sys = require "taut.sys"

local ASK = json.encode { cmd = "status" }
local WAIT_MS = 200 -- one that stands still does not act

local function acts(host)
   local line = sys.request(("/run/lab/run.%s/taut/tautd.sock"):format(host), ASK, WAIT_MS)
   local reply = line and json.decode(line)
   return reply and reply.ok and reply.data.acting.here and 1 or 0
end

local before
loop.every(50, function()
   local text = ("%d %d"):format(acts "ctl1", acts "ctl2")
   if text ~= before then
      before = text
      sys.put(("%d %s\n"):format(math.floor(loop.time() * 1e6), text))
   end
end)
loop.run()
