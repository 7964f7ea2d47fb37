-- SPDX-License-Identifier: GPL-2.0-or-later
--- A real program at several shares, interleaved: what the XT4 and S3D studies measured by hand.
local quoted = require("taut.report.save").quoted
local sys = require "taut.sys"

local run = {}

local function format_percent(share)
   return ("%.10g"):format(share * 100)
end

-- Runs it once; seconds, or nil and what is wrong.
local function run_once(words, share, options)
   if options.before then
      local text = options.before:gsub("{}", format_percent(share))
      local ok, _, code = os.execute(text)
      if not ok then
         return nil, ("'%s' ended with status %d"):format(text, code)
      end
   end
   local command = { "env" }
   if options.variable then
      command[1] = ("env %s=%s"):format(options.variable, format_percent(share))
   end
   for _, word in ipairs(words) do
      command[#command + 1] = quoted(word)
   end
   local t = sys.now()
   local ok, _, code = os.execute(table.concat(command, " ") .. " >&2")
   if not ok then
      return nil, ("%s ended with status %d at %s %%"):format(words[1], code, format_percent(share))
   end
   return sys.now() - t
end

local function sum_up_runs(share, times)
   local p = { share = share, times = times, least = math.huge, most = 0 }
   local sum, squares = 0, 0
   for _, t in ipairs(times) do
      sum, p.least, p.most = sum + t, math.min(p.least, t), math.max(p.most, t)
   end
   p.mean = sum / #times
   for _, t in ipairs(times) do
      squares = squares + (t - p.mean) ^ 2
   end
   p.sd = 0
   if #times > 1 then
      p.sd = math.sqrt(squares / (#times - 1))
   end
   return p
end

--- Every share in each round, the order turned by one each time, so that what drifts meets all.
-- @param words of the program
-- @param options { shares, times = rounds, variable = set to percent, or nil, before = command with
--   {} for percent, or nil, say = function(text) or nil }
-- @return array of { share, mean, sd, least, most, times } ascending, with `full` = of the largest
--   share, `best` and `points` = the array itself for JSON; or nil and what is wrong
function run.curve(words, options)
   local times = {}
   for round = 1, options.times do
      for i = 1, #options.shares do
         local k = (i + round - 2) % #options.shares + 1
         local t, err = run_once(words, options.shares[k], options)
         if not t then
            return nil, err
         end
         times[k] = times[k] or {}
         table.insert(times[k], t)
         if options.say then
            options.say(("round %d of %d, %s %%: %.3f s"):format(round, options.times,
               format_percent(options.shares[k]), t))
         end
      end
   end
   local curve = {}
   for k, share in ipairs(options.shares) do
      curve[k] = sum_up_runs(share, times[k])
   end
   table.sort(curve, function(first, second) return first.share < second.share end)
   local points = table.move(curve, 1, #curve, 1, {})
   curve.full, curve.best = curve[#curve], curve[1]
   for _, p in ipairs(points) do
      if p.mean < curve.best.mean then
         curve.best = p
      end
   end
   curve.points = points
   return curve
end

return run
