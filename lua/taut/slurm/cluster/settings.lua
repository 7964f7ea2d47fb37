-- SPDX-License-Identifier: GPL-2.0-or-later
--- slurm.conf, and which slurmctld is active.  Methods of cluster/init.lua.
local sys = require "taut.sys"

local settings = {}

-- Whose jobs ALPS has, by what Slurm selects nodes with.
local ALPS = { ["select/alps"] = "slurm", alps = "alps" }

local function set_of(list)
   local set = {}
   for _, v in ipairs(list or {}) do
      set[tostring(v):lower()] = true
   end
   return set
end

--- Does slurm.conf give every node of a job its prolog (PrologFlags=Alloc)?  Unknown counts as
-- yes: then peers that do not come cost 250 ms, not a check.
function settings:has_alloc()
   return not self.config or self.config.flags.alloc == true
end

--- Over ALPS: "slurm", or "alps" where no Slurm is; else nil.
function settings:alps()
   local kind = self.config and self.config.select_type
   return ALPS[kind]
end

--- Does PrivateData keep that from users?  Until Slurm has said so, it does.
function settings:is_private(what)
   return self.config == nil or self.config.private[what] == true
end

local function hint(flags)
   if not flags.alloc then
      return "PrologFlags lacks Alloc: only a job's first node runs the prolog, so no links are " ..
         "checked; set PrologFlags=Alloc,DeferBatch in slurm.conf"
   elseif not flags.deferbatch then
      return "PrologFlags lacks DeferBatch: a batch script starts while other nodes still " ..
         "check; set PrologFlags=Alloc,DeferBatch in slurm.conf"
   end
   return nil
end

-- Over ALPS the front end starts the check, for all nodes, before the job's script.
local ALPS_HINT = "over ALPS jobs of sbatch are checked; those of salloc and of srun without a " ..
   "script are not"

--- What slurm.conf says.
-- @param taken answer of taut-slurm
function settings:take_config(taken)
   taken.flags, taken.private = set_of(taken.prolog_flags), set_of(taken.private_data)
   self.config = taken
   local is_alps = self:alps() == "slurm"
   taken.flags.alloc = taken.flags.alloc or is_alps
   taken.slurm_uid = sys.user_id(taken.slurm_user or "")
   local text = ALPS_HINT
   if not is_alps then
      text = hint(taken.flags)
   end
   if text and text ~= self.hint then
      sys.log("warning", text)
   end
   self.hint = text
end

--- Is this host one of slurmctld's, and not the one that is in control?  A tautd beside a standby
-- leaves acting to the one beside the active slurmctld; a tautd elsewhere has no other one.
function settings.standby_of(reply, host)
   local function is_here(name)
      return name == host or name:match "^[^.]+" == host:match "^[^.]+"
   end
   local here
   for i, c in ipairs(reply.controllers) do
      if is_here(c.host) then
         here = here or i
      end
   end
   local active = reply.controllers[(reply.active or -1) + 1]
   if not here or #reply.controllers < 2 or active and here == reply.active + 1 then
      return nil
   elseif not active then
      return "no slurmctld answers"
   end
   return "the active slurmctld is on " .. active.host
end

--- Which slurmctld is active.
-- @param reply { controllers, active }
function settings:take_controllers(reply)
   local text = settings.standby_of(reply, sys.hostname())
   local active = reply.controllers[(reply.active or -1) + 1]
   self.controllers, self.active_host = #reply.controllers, active and active.host
   if self.tell_controllers then
      return self.tell_controllers()
   elseif text and text ~= self.standby then
      sys.log("notice", "standing by: " .. text)
   elseif text ~= self.standby then
      sys.log("notice", "acting: slurmctld is active here")
   end
   self.standby = text
end

return settings
