-- SPDX-License-Identifier: GPL-2.0-or-later
--- Data of others' jobs that slurm.conf's PrivateData hides from a user.
local json = require "taut.json"
local rights = require "taut.base.rights"
local sys = require "taut.sys"

local privacy = {}

--- Is a job of `owner` hidden from `uid`?
-- @param cluster of slurm/cluster/init.lua
-- @param uid whose rights count (base/rights.lua)
-- @param owner user id, or nil where it is not known
function privacy.is_hidden(cluster, uid, owner)
   return cluster:is_private "jobs" and not cluster:is_admin(uid)
      and owner ~= rights.user(uid)
end

--- Of rows with a `user`, those that `uid` may see.
function privacy.visible(cluster, uid, rows)
   local user, list = rights.user(uid), json.array {}
   local own = sys.user_name(user)
   for _, row in ipairs(rows) do
      local owner
      if row.user == own then
         owner = user
      end
      if not privacy.is_hidden(cluster, uid, owner) then
         list[#list + 1] = row
      end
   end
   return list
end

return privacy
