-- SPDX-License-Identifier: GPL-2.0-or-later
--- Which format a file has, by what stands in its first lines: only those that describe a wiring by
-- themselves, and that nothing else looks like.
local tables = require "taut.base.tables"

local guess = {}

local LINES = 400 -- comments and headings may come first
local BYTES = 1024 -- of each: a file may be a single line

-- Format, and patterns of lines of it.
local SIGNS = {
   { "slurm-conf", "^%s*[Ss]witch[Nn]ame%s*=", "^%s*[Bb]lock[Nn]ame%s*=",
      "^%s*[Rr]ing[Nn]ame%s*=" },
   { "slurm-yaml", "^%s*%-%s*topology%s*:" },
   { "slurm-names", "^%s*[Nn]ode[Nn]ame%s*=%S*%[%w%w%wx%w%w%w%]" },
   { "ibnetdiscover", '^Switch%s+%d+%s+"S%-%x', '^Ca%s+%d+%s+"H%-%x',
      "^[SC][WA]%s+%d+%s+%d+%s+0x%x+%s+%d+x%s" },
   { "opareport", "^%s*[%a -]*Link Summary%s*$", "<%a*LinkSummary>",
      "^0x%x+;%d+;[FS][IW];[^;]*;0x%x+;%d+;[FS][IW];" },
   { "lldp", '"lldp"%s*:', '"lldp_entry"', '"lldp_peer', "^LocalPort%s+RemoteDevice" },
   { "rtr", "^c%d+%-%d+c%d+s%d+a%d+l%d+%(%d+:%d+:%d+%)" },
}

--- @param src source
-- @return name of a format; or nil and what was expected
function guess.format(src)
   local n = 0
   for _, line in src:lines(math.maxinteger) do
      n, line = n + 1, line:sub(1, BYTES)
      for _, sign in ipairs(tables.or_empty(n <= LINES and SIGNS)) do
         for i = 2, #sign do
            if line:find(sign[i]) then
               return sign[1]
            end
         end
      end
   end
   local names = {}
   for i, sign in ipairs(SIGNS) do
      names[i] = sign[1]
   end
   return nil, ("%s:1: its first %d lines do not show the format, expected one of %s;  " ..
      "name any other format"):format(src.path, math.min(n, LINES), table.concat(names, ", "))
end

return guess
