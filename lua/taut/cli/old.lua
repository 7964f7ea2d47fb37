-- SPDX-License-Identifier: GPL-2.0-or-later
--- Words of the command line that were others once: the old ones are understood, with a hint.
local tables = require "taut.base.tables"
local report = require "taut.report"

local old = {}

-- Command (nil: it is a command itself), old word, new word.
local WORDS = {
   { nil, "release", "resume" },
   { "policy", "enable", "drain" },
   { "policy", "resume", "continue" },
   { "repair", "--release", "--resume" },
   { "topology", "behind", "dependents" },
}

--- What a word was called once.
-- @param command whose word it is, or nil where it is a command
-- @return array of old words, mostly none
function old.names(command, new)
   local list = {}
   for _, w in pairs(WORDS) do
      if w[1] == command and w[3] == new then
         list[#list + 1] = w[2]
      end
   end
   return list
end

--- The new word for one that was typed, itself as a rule.
function old.new(command, word)
   for _, w in pairs(WORDS) do
      if w[1] == command and w[2] == word then
         return w[3]
      end
   end
   return word
end

local function has(arg, word)
   return tables.any(arg, function(a) return a == word end)
end

--- Say what is called otherwise now, on stderr.
-- @param arg the command line as it was typed
-- @param command that was understood
function old.hint(arg, command)
   for _, w in pairs(WORDS) do
      local is_meant = w[1] == command or w[1] == nil and w[3] == command
      if is_meant and has(arg, w[2]) and not has(arg, w[3]) then
         local before = "taut " .. (w[1] and w[1] .. " " or "")
         report.complain(("`%s%s` is called `%s%s` now"):format(before, w[2], before, w[3]))
      end
   end
end

return old
