-- SPDX-License-Identifier: GPL-2.0-or-later
--- Strings without patterns, for what a site's file runs inside tautd.
--
-- A limit on instructions ends a loop, but a pattern is one instruction however long it takes:
-- ("a?"):rep(40) .. ("a"):rep(40), matched, takes years.  So a site's file has the functions of
-- strings that take as long as the string is; a text is found as it stands.
local patternless = {}

local REP_MAX = 1 << 20 -- bytes

local function no_patterns(name)
   return function()
      error(("string.%s: there are no patterns here; s:find(text) finds a text as it stands")
         :format(name), 2)
   end
end

local strings = { byte = string.byte, char = string.char, format = string.format,
   len = string.len, lower = string.lower, reverse = string.reverse, sub = string.sub,
   upper = string.upper, match = no_patterns "match", gmatch = no_patterns "gmatch",
   gsub = no_patterns "gsub" }

function strings.find(subject, text, init)
   return string.find(subject, text, init, true)
end

function strings.rep(subject, times, between)
   local bytes = (#subject + #(between or "")) * times
   if bytes > REP_MAX then
      error(("string.rep: %.0f bytes are more than %d"):format(bytes, REP_MAX), 2)
   end
   return string.rep(subject, times, between)
end

--- Call a function while strings have no patterns.
-- @return what it returns; an error of it is raised again
function patternless.call(fn, ...)
   local meta = getmetatable ""
   local before = meta.__index
   meta.__index = strings
   local result = table.pack(pcall(fn, ...))
   meta.__index = before
   if not result[1] then
      error(result[2], 0)
   end
   return table.unpack(result, 2, result.n)
end

return patternless
