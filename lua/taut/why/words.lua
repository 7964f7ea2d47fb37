-- SPDX-License-Identifier: GPL-2.0-or-later
--- Times, shares and moments as the sentences of `taut why` have them.
local report = require "taut.report"

local words = {}

--- "14:05", with the date where it is another day than `now`.
function words.moment(time, now)
   time = math.floor(time)
   return os.date(os.date("%F", time) == os.date("%F", math.floor(now)) and "%H:%M" or "%F %H:%M",
      time)
end

words.percent, words.count, words.bytes = report.percent, report.count, report.bytes
words.time, words.lost = report.time, report.lost_time

return words
