-- SPDX-License-Identifier: GPL-2.0-or-later
--- What `taut init` finds on this host: Slurm, the wiring as Slurm or InfiniBand tells it, network
-- interfaces.  Each is asked by its own program; what does not answer is not there.
local hostlist = require "taut.hostlist"
local import = require "taut.topology.import"
local sys = require "taut.sys"

local look = {}

local function run_command(command)
   local pipe = io.popen(command .. " 2>/dev/null")
   if not pipe then
      return nil
   end
   local text = pipe:read "a" or ""
   if pipe:close() then
      return text
   end
   return nil
end

-- What Slurm's programs print for nothing.
local function is_null(value)
   return value == "" or value == "(null)"
end

local function words_of(text)
   local list = {}
   for word in (text or ""):gmatch "[^,%s]+" do
      if not is_null(word) then
         list[#list + 1] = word:upper()
      end
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
      out[name] = nil
      if not is_null(value) then
         out[name] = value
      end
   end
   return out
end

--- Slurm's partitions and how many nodes each has.
-- @param text of `sinfo -h -o "%R %D"`
-- @return array of { name, nodes }, in Slurm's order
function look.partitions(text)
   local list, of = {}, {}
   for name, count in text:gmatch "(%S+) (%d+)" do
      if not of[name] then
         of[name] = { name = name, nodes = 0 }
         list[#list + 1] = of[name]
      end
      of[name].nodes = of[name].nodes + tonumber(count)
   end
   return list
end

local function ask_slurm(ask)
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
   if #list > 0 then
      list = hostlist.expand(hostlist.compress(list)) or list
   end
   local conf = c.SLURM_CONF or "/etc/slurm/slurm.conf"
   return { cluster = c.ClusterName, version = c.SLURM_VERSION, user = (c.SlurmUser or "slurm")
      :match "^[^(]+", host = (c["SlurmctldHost"] or text:match "SlurmctldHost%[0%]%s*=%s*(%S+)"
      or ""):match "^[^(]*", folder = conf:match "^(.*)/" or "/etc/slurm", conf = conf,
      topology = c.TopologyPlugin, auth = c.AuthType, prolog_flags = words_of(c.PrologFlags),
      plugstack = c.PlugStackConfig, nodes = list,
      partitions = look.partitions(ask 'sinfo -h -o "%R %D"' or ""),
      health = { program = c.HealthCheckProgram, interval = c.HealthCheckInterval,
         states = words_of(c.HealthCheckNodeState) } }
end

-- Interfaces of this host: name, type and speed as the kernel says them.
local function interfaces(ask)
   local list = {}
   for name in (ask "ls /sys/class/net" or ""):gmatch "%S+" do
      local Mbps = tonumber(ask("cat /sys/class/net/" .. name .. "/speed") or "")
      if Mbps and Mbps <= 0 then
         Mbps = nil
      end
      local kind = tonumber(ask("cat /sys/class/net/" .. name .. "/type") or "")
      if name ~= "lo" then
         list[#list + 1] = { name = name, is_infiniband = kind == 32, Mbps = Mbps }
      end
   end
   return list
end

-- Regular files of a folder, sorted; nil where it cannot be read.
local function files_in(folder)
   local names = folder and sys.names(folder)
   if not names then
      return nil
   end
   local list = {}
   for _, name in ipairs(names) do
      local path = folder .. "/" .. name
      local st = sys.stat(path)
      if st and st.regular and not name:find "^%." then
         list[#list + 1] = path
      end
   end
   table.sort(list)
   return list
end

-- What a program sees of the fabric from here, in a file that is the caller's to remove; nil:
-- nothing.
local function sweep_fabric(ask, command)
   local text = ask(command)
   if not text or text == "" then
      return nil
   end
   local path = os.tmpname()
   local f = assert(io.open(path, "w"))
   f:write(text)
   f:close()
   return path
end

-- Slurm's nodes that a wiring does not have, as a host list; nil: it has all.
local function missing_nodes(wiring, nodes)
   local has, list = {}, {}
   for _, n in ipairs(wiring.nodes) do
      has[n.name] = true
   end
   for _, name in ipairs(nodes) do
      if not has[name] then
         list[#list + 1] = name
      end
   end
   if #list > 0 then
      return hostlist.compress(list)
   end
   return nil
end

-- Where the wiring may be told, best first: LLDP, ibnetdiscover and opareport see cables and ports;
-- Slurm's files know neither, but all nodes.  Calls try(format, path, what it is called) of each.
local function each_source(ask, answers, lldp, try)
   local told = files_in(lldp)
   if told and #told > 0 then
      try("lldp", told, ("%s, LLDP output of %d switches"):format(lldp, #told))
   end
   for _, f in ipairs { { "ibnetdiscover", "ibnetdiscover" },
      { "opareport", "opareport -q -o links" } } do
      local swept = sweep_fabric(ask, f[2])
      if swept then
         try(f[1], swept, f[2])
         os.remove(swept)
      end
   end
   for _, f in ipairs { { "slurm-yaml", "topology.yaml" }, { "slurm-conf", "topology.conf" } } do
      local path = answers.folder .. "/" .. f[2]
      if sys.stat(path) then
         try(f[1], path, path)
      end
   end
end

-- The wiring, by the first that knows it with all of Slurm's nodes.
-- @param ask function(command)
-- @param answers what Slurm says
-- @param lldp folder, or nil
-- @return { wiring, source, why = array of failed attempts }
local function find_wiring(ask, answers, lldp)
   local found = { why = {} }
   each_source(ask, answers, lldp, function(format, path, what)
      if found.wiring then
         return
      end
      local w, err = import.read(format, path, { nodes = answers.nodes })
      if not w then
         found.why[#found.why + 1] = ("%s: %s"):format(what, err)
      elseif #w.nodes == 0 or #w.cables == 0 and #w.routers > 1 then
         found.why[#found.why + 1] = what .. ": has no cables between switches of these nodes"
      elseif missing_nodes(w, answers.nodes) then
         found.why[#found.why + 1] = ("%s: lacks %s"):format(what, missing_nodes(w, answers.nodes))
      else
         found.wiring, found.source = w, what
      end
   end)
   return found
end

--- @param lldp folder with a file of each switch's LLDP output, or nil
-- @param ask function(command) → what it prints, or nil where it fails; nil: runs it
-- @return { slurm, interfaces, wiring }, slurm being nil where it does not answer
function look.around(lldp, ask)
   ask = ask or run_command
   local around = { slurm = ask_slurm(ask), interfaces = interfaces(ask), wiring = { why = {} } }
   if around.slurm then
      around.wiring = find_wiring(ask, around.slurm, lldp) or around.wiring
   end
   return around
end

return look
