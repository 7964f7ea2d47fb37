-- SPDX-License-Identifier: GPL-2.0-or-later
--- What `taut init` finds on this host: Slurm, the wiring as Slurm or InfiniBand tells it, network
-- interfaces.  Each is asked by its own program; what does not answer is not there.
local hostlist = require "taut.hostlist"
local import = require "taut.topology.import"
local sys = require "taut.sys"

local look = {}

local function run(command)
   local pipe = io.popen(command .. " 2>/dev/null")
   local text = pipe and pipe:read "a" or ""
   local ok = pipe and pipe:close()
   return ok and text or nil
end

local function words(text)
   local list = {}
   for word in (text or ""):gmatch "[^,%s]+" do
      list[#list + 1] = word ~= "(null)" and word:upper() or nil
   end
   return list
end

--- What Slurm says of itself.
-- @param text of `scontrol show config`
-- @return map of its settings, without "(null)"
function look.settings(text)
   local out = {}
   for name, value in (text .. "\n"):gmatch "([%w_]+)%s*=%s([^\n]*)\n" do
      value = value:gsub("%s+$", "")
      out[name] = value ~= "" and value ~= "(null)" and value or nil
   end
   return out
end

local function slurm(ask)
   local text = ask "scontrol show config"
   if not text then
      return nil
   end
   local c, names = look.settings(text), {}
   for name in (ask "sinfo -h -N -o %N" or ""):gmatch "[^\n]+" do
      names[name] = true
   end
   local list = {}
   for name in pairs(names) do
      list[#list + 1] = name
   end
   list = #list > 0 and hostlist.expand(hostlist.compress(list)) or list
   local conf = c.SLURM_CONF or "/etc/slurm/slurm.conf"
   return { cluster = c.ClusterName, version = c.SLURM_VERSION, user = (c.SlurmUser or "slurm")
      :match "^[^(]+", host = (c["SlurmctldHost"] or text:match "SlurmctldHost%[0%]%s*=%s*(%S+)"
      or ""):match "^[^(]*", folder = conf:match "^(.*)/" or "/etc/slurm", conf = conf,
      topology = c.TopologyPlugin, auth = c.AuthType, prolog_flags = words(c.PrologFlags),
      plugstack = c.PlugStackConfig, nodes = list,
      health = { program = c.HealthCheckProgram, interval = c.HealthCheckInterval,
         states = words(c.HealthCheckNodeState) } }
end

-- Interfaces of this host: name, type and speed as the kernel says them.
local function interfaces(ask)
   local list = {}
   for name in (ask "ls /sys/class/net" or ""):gmatch "%S+" do
      local speed = tonumber(ask("cat /sys/class/net/" .. name .. "/speed") or "")
      local kind = tonumber(ask("cat /sys/class/net/" .. name .. "/type") or "")
      if name ~= "lo" then
         list[#list + 1] = { name = name, is_infiniband = kind == 32,
            Mbps = speed and speed > 0 and speed or nil }
      end
   end
   return list
end

-- The wiring, by the first that knows it.
-- @return { wiring, source, why = array of what was tried in vain }
local function wiring(ask, s)
   local why = {}
   local function try(format, path, what)
      local w, err = import.read(format, path, { nodes = s.nodes })
      if w and #w.nodes > 0 and (#w.cables > 0 or #w.routers == 1) then
         return { wiring = w, source = what, format = format, path = path }
      end
      why[#why + 1] = ("%s: %s"):format(what, err or "has no cables")
      return nil
   end
   local found
   for _, f in ipairs { { "slurm-yaml", "topology.yaml" }, { "slurm-conf", "topology.conf" } } do
      local path = s.folder .. "/" .. f[2]
      if not found and sys.stat(path) then
         found = try(f[1], path, path)
      end
   end
   local swept = not found and ask "ibnetdiscover"
   if swept and swept ~= "" then
      local path = os.tmpname()
      local f = assert(io.open(path, "w"))
      f:write(swept)
      f:close()
      found = try("ibnetdiscover", path, "ibnetdiscover")
      os.remove(path)
   end
   found = found or { why = why }
   found.why = why
   return found
end

--- @param ask function(command) → what it prints, or nil where it fails; nil: runs it
-- @return { slurm, interfaces, wiring }, slurm being nil where it does not answer
function look.around(ask)
   ask = ask or run
   local s = slurm(ask)
   return { slurm = s, interfaces = interfaces(ask), wiring = s and wiring(ask, s) or { why = {} } }
end

return look
