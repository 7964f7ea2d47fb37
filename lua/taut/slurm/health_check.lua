-- SPDX-License-Identifier: GPL-2.0-or-later
--- Slurm's health check: how a site's own check runs behind Taut's, and in which states of nodes.
local health_check = {}

--- The script that runs the site's own check.  A symbolic link would not do: NHC takes the name of
-- its configuration from `$0`, and a check that finds none answers 0.
-- @param program what HealthCheckProgram says, an absolute path
-- @return text of a shell script
function health_check.wrapper(program)
   return ("#!/bin/sh\nexec %s \"$@\"\n"):format(program)
end

--- A command that writes that script.
-- @param path where to
function health_check.command(program, path)
   return ("printf '%%s\\n' '#!/bin/sh' 'exec %s \"$@\"' >%s; chmod 755 %s"):format(program, path,
      path)
end

--- HealthCheckNodeState for both checks: what the site has, with IDLE and without CYCLE.
-- @param states array of Slurm's words, in capitals
-- @return value for slurm.conf
function health_check.states(states)
   local has = {}
   for _, word in ipairs(states) do
      has[word:upper()] = true
   end
   if has.ANY or has.ALLOC and has.IDLE and has.MIXED then
      return "ANY"
   end
   has.IDLE, has.NONDRAINED_IDLE, has.CYCLE = true, nil, nil
   local list = {}
   for word in pairs(has) do
      list[#list + 1] = word
   end
   table.sort(list)
   return table.concat(list, ",")
end

return health_check
