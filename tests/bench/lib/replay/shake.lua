-- SPDX-License-Identifier: GPL-2.0-or-later
--- How much of a change of waiting is the queue's own: the same jobs in the same scheduler, without
-- any placement, where heavy jobs take a little longer or shorter at random.
local easy = require "replay.easy"
local stats = require "stats"
local workload = require "replay.workload"

local shake = {}

local TIMES, BY = 25, 0.01

-- The first free nodes: which they are makes no difference here.
local function anywhere(size)
   return function(job, free)
      local list = {}
      for n = 1, size do
         if #list == job.nodes then
            break
         end
         list[#list + 1] = free[n] and n or nil
      end
      return list
   end
end

-- Mean waiting of the counted jobs of all windows, seconds; draw: 0 for none.
local function waiting(size, windows, draw)
   local wait = {}
   for _, window in ipairs(windows) do
      local jobs = {}
      for i, j in ipairs(window.jobs) do
         jobs[i] = setmetatable({}, { __index = j })
      end
      easy.new(size, { place = anywhere(size), run = function(j)
         local factor = j.pattern and draw > 0 and
            1 + BY * (2 * workload.draw(draw, j.id, 5) - 1) or 1
         return math.min(j.limit, math.max(1, math.floor(j.run * factor + 0.5)))
      end }):play(jobs)
      for _, j in ipairs(jobs) do
         wait[#wait + 1] = j.counted and j.start - j.submit or nil
      end
   end
   return stats.mean(wait)
end

--- @param size nodes of the machine
-- @param windows array of what workload.window gives
-- @return what waiting changes by, in percent: least, median, most; how often; the share by which
--   times were changed at most
function shake.waiting(size, windows)
   local was, list = waiting(size, windows, 0), {}
   for draw = 1, TIMES do
      list[draw] = 100 * (waiting(size, windows, draw) / was - 1)
   end
   table.sort(list)
   return list[1], stats.median(list), list[#list], TIMES, BY
end

return shake
