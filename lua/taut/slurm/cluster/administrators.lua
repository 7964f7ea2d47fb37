-- SPDX-License-Identifier: GPL-2.0-or-later
--- Administrators: root, SlurmUser, tautd's own user, and a group.  Methods of
-- cluster/init.lua.
local loop = require "taut.loop"
local rights = require "taut.base.rights"
local sys = require "taut.sys"

local administrators = {}

local MEMBER_S = 60      -- how long a user counts as a member of admin_group, or as none
local MEMBERS_MAX = 1024 -- answers that are kept

--- A group whose members administer, too, or nil.
function administrators:administrators(group)
   self.admin_group, self.members, self.members_known = group, {}, 0
end

--- The administrators, in words.
function administrators:who_administers()
   if self.admin_group then
      return "root, SlurmUser and members of " .. self.admin_group
   end
   return "root and SlurmUser"
end

-- Groups may come from afar, and are asked for once a minute at most.
local function is_member(self, uid)
   local now = loop.now_ns() / 1e9
   local known = self.members[uid]
   if not known or now - known.at > MEMBER_S then
      if self.members_known >= MEMBERS_MAX then
         self.members, self.members_known = {}, 0
      end
      known = { at = now, yes = sys.in_group(uid, self.admin_group) }
      self.members[uid], self.members_known = known, self.members_known + 1
   end
   return known.yes
end

--- May this user change things?
-- @param uid whose rights count (base/rights.lua)
function administrators:is_admin(uid)
   if rights.are_of_user(uid) then
      return false
   elseif uid == 0 or uid == sys.uid() or uid == (self.config and self.config.slurm_uid) then
      return true
   end
   return self.admin_group ~= nil and is_member(self, uid)
end

return administrators
