-- SPDX-License-Identifier: GPL-2.0-or-later
--- Times, shares and moments as the sentences of `taut why` have them.
local report = require "taut.report"

local words = {}

--- "14:05", with the date where it is another day than `now`.
function words.moment(time, now)
   time = math.floor(time)
   if os.date("%F", time) == os.date("%F", math.floor(now)) then
      return os.date("%H:%M", time)
   end
   return os.date("%F %H:%M", time)
end

words.percent, words.count, words.bytes = report.percent, report.count, report.bytes
words.time, words.lost = report.time, report.lost_time
words.text_if, words.text_with = report.text_if, report.text_with

return words
