-- SPDX-License-Identifier: GPL-2.0-or-later
--- Functions of the site's taut.lua: called with a limit on what they may take, and believed only
-- where they make sense.
--
-- They run inside tautd.  One that raises an error, runs on or answers nonsense changes nothing:
-- the caller is told, says so, and does less rather than more.
local patternless = require "taut.base.patternless"

local site = {}

local STEPS = 1000000 -- Lua instructions of one call

--- Call a function of the configuration.
-- @param fn the function
-- @param ... tables and texts; the caller hands out copies
-- @return true and its first two values, or nil and what went wrong
function site.call(fn, ...)
   local co = coroutine.create(fn)
   debug.sethook(co, function()
      error(("more than %d instructions"):format(STEPS), 0)
   end, "", STEPS)
   local ok, a, b = patternless.call(coroutine.resume, co, ...)
   if ok and coroutine.status(co) ~= "dead" then
      ok, a = false, "it yields"
   end
   debug.sethook(co)
   coroutine.close(co)
   if not ok then
      -- sandbox.load names the file by a byte that cannot stand in a path
      return nil, (tostring(a):gsub("\1", "taut.lua"):sub(1, 200))
   end
   return true, a, b
end

return site
