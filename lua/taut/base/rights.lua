-- SPDX-License-Identifier: GPL-2.0-or-later
--- Whose rights a request has, as one number: a user id; or, below 0, the user id of somebody who
-- administers, but not from where he asks.  He sees what he would see as any user: his own jobs.
local rights = {}

--- This user, who does not administer whoever he is.
function rights.of_user(uid)
   return -1 - uid
end

--- Is it one who does not administer whoever he is?
function rights.are_of_user(as)
   return as < 0
end

--- The user.
function rights.user(as)
   if as < 0 then
      return -1 - as
   end
   return as
end

return rights
