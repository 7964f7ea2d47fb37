-- SPDX-License-Identifier: GPL-2.0-or-later
--- Makes doc/taut-model.5 out of lua/taut/config/model.lua.
local model = require "taut.config.model"

local manual = {}

local HEAD = [[
.\" SPDX-License-Identifier: GPL-2.0-or-later
.\" Made of lua/taut/config/model.lua by tests/lua/core/test_settings.lua: change that file, and
.\" run the test with TAUT_GOLDEN=write in the environment.
.Dd November 22, 2026
.Dt TAUT-MODEL 5
.Os Taut
.Sh NAME
.Nm model.lua
.Nd numbers by which Taut plans tests and judges components
.Sh SYNOPSIS
.Pa /etc/taut/model.lua
.Sh DESCRIPTION
Few sites need this file: every number has a default, and none depends on a
particular site.
Settings of a site are in
.Xr taut.lua 5 .
.Pp
To change a number, write only this number into
.Pa /etc/taut/model.lua ,
in its section:
.Bd -literal
diagnosis = { good = 0.8, spell_s = 2 * hours }
checks = { fresh_h = 4 }
.Ed
.Pp
Form, units and permissions are those of
.Xr taut.lua 5 .
.Xr tautd 8
reads the file beside its
.Pa taut.lua ;
.Ql model = \(dqFILE\(dq
in
.Pa taut.lua
names another one, and
.Ql model = { diagnosis = { \&... } }
contains the numbers directly.
.Nm taut Cm config check
checks the file;
.Nm taut Cm config reload
loads it.
Numbers of the model in
.Pa taut.lua
itself take effect, too, with a hint in the log.
.Pp
Each number has its default, its meaning, its unit and range, and the reason for
the default.
.Dq A choice
means that it was not measured; a measured number names the benchmark
.Pq Ql ./quickstart bench NAME
or the page of the sources.
.Dq The campaign
is the simulated machine of
.Pa doc/campaign.md ,
on which the numbers of
.Va diagnosis
were compared.
]]

local TAIL = [[
.Sh FILES
.Pa share/taut/lua/taut/config/model.lua
has the defaults, the ranges and this text.
.Sh SEE ALSO
.Xr taut 1 ,
.Xr taut.lua 5 ,
.Xr tautd 8
]]

-- Text in man's form: `names` bold, a new line for each sentence.
local function prose(text)
   text = text:gsub("\\", "\\e"):gsub("`([^`]*)`", "\\fB%1\\fR"):gsub("–", "\\(en")
      :gsub("…", "\\&..."):gsub("%-%-", "\\-\\-")
   return (text:gsub("%.  ?(%u)", ".\n%1"):gsub("^([.'])", "\\&%1"))
end

local function plain(v)
   return type(v) == "number" and ("%.7g"):format(v) or tostring(v)
end

local function range(row)
   if not row[3] then
      return row[5]
   end
   return ("%s, %s to %s%s"):format(row[5], plain(row[3]), plain(row[4]),
      row.off and ", or false" or "")
end

local function capital(text)
   return (text:gsub("^%l", string.upper))
end

local function reason(why)
   return why:find "^a choice" and capital(why) .. "." or ("Why: %s."):format(why)
end

local function item(out, row)
   out[#out + 1] = (".It Va %s No = %s"):format(row[1], plain(row[2]))
   out[#out + 1] = prose(row[6])
   out[#out + 1] = prose(("(%s.)"):format(range(row)))
   out[#out + 1] = prose(reason(row[7]))
end

--- The whole page.
function manual.page()
   local out, last = { (HEAD:gsub("\n$", "")) }, nil
   for _, part in ipairs(model) do
      if part.section ~= last then
         out[#out + 1] = ".Sh " .. part.section
         last = part.section
      end
      out[#out + 1] = ".Ss " .. prose(capital(part.about):gsub("%.$", ""):gsub("%.  ?%u.*$", ""))
      local more = part.about:match "%.  ?(%u.*)$"
      if more then
         out[#out + 1] = prose(more)
      end
      out[#out + 1] = ".Bl -tag -width Ds"
      for _, row in ipairs(part) do
         item(out, row)
      end
      out[#out + 1] = ".El"
   end
   return table.concat(out, "\n") .. "\n" .. TAIL
end

return manual
