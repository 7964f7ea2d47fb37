-- SPDX-License-Identifier: GPL-2.0-or-later
--- The jobs of a machine as they are, or were: from squeue, or from a trace.
local hostlist = require "taut.hostlist"
local quoted = require("taut.report.save").quoted
local jobs = require "taut.study.jobs"

local mix = {}

local LEAST_NODES = 2 -- of a job that loads the network
local MOST_LINE = 1 << 20

--- Jobs that run now, on their nodes: what `squeue` says.
-- @param lines iterator of lines "ID NODELIST"
-- @return array of { id, nodes = array of node numbers }, how many were left out (of one node, or
--   on nodes that the machine does not have)
function mix.running(machine, lines)
   local list, out = {}, 0
   for line in lines do
      local id, names = line:match "^(%S+) (%S+)$"
      local nodes, list_of = {}, {}
      if id then
         list_of = hostlist.expand(names, 1 << 20) or list_of
      end
      for _, name in ipairs(list_of) do
         nodes[#nodes + 1] = machine.topo.node_id[name]
      end
      if #nodes >= LEAST_NODES then
         list[#list + 1] = { id = id, nodes = nodes }
      else
         out = out + 1
      end
   end
   return list, out
end

--- Ask Slurm.
-- @return as mix.running; or nil and what is wrong
function mix.squeue(machine, program)
   local pipe, err = io.popen(quoted(program or "squeue") .. " -h -t R -o '%A %N' 2>/dev/null", "r")
   if not pipe then
      return nil, err
   end
   local list, out = mix.running(machine, pipe:lines())
   local ok, _, code = pipe:close()
   if not ok then
      return nil, ("squeue failed, exit status %s"):format(tostring(code))
   end
   return list, out
end

-- Fields of the Standard Workload Format: submit, wait, run, processors used, asked for.
local function read_fields(line)
   local f, k = {}, 0
   for word in line:gmatch "%S+" do
      k = k + 1
      f[k] = tonumber(word)
      if k == 8 then
         break
      end
   end
   if k == 8 then
      return f
   end
   return nil
end

--- Jobs of a trace.
-- @param lines iterator; D. Feitelson, "Standard Workload Format", 2.2
-- @param per_node processors on a node
-- @return array of { submit, begin, over = seconds, nodes = how many }; or nil and what is wrong
function mix.trace(lines, name, per_node)
   local all, n = {}, 0
   for line in lines do
      n = n + 1
      if #line > MOST_LINE then
         return nil, ("%s:%d: the line is too long"):format(name, n)
      elseif not line:find "^%s*;" and line:find "%S" then
         local f = read_fields(line)
         if not f then
            return nil, ("%s:%d: at least 8 numbers expected"):format(name, n)
         end
         local procs = f[8] or -1
         if (f[5] or -1) > 0 then
            procs = f[5]
         end
         if (f[4] or -1) > 0 and procs > 0 and (f[2] or -1) >= 0 then
            local begin = f[2] + math.max(0, f[3] or 0)
            all[#all + 1] = { submit = f[2], begin = begin, over = begin + f[4],
               nodes = math.ceil(procs / per_node) }
         end
      end
   end
   if #all == 0 then
      return nil, name .. ": no job that ran"
   end
   return all
end

--- Jobs that tautd's store has.
-- @param rows of its table `job`
-- @param since seconds, from which on they count
-- @return as mix.trace
function mix.stored(rows, since)
   local all = {}
   for _, r in ipairs(rows) do
      if r.nodes and r.seconds then
         local begin = r.time - r.seconds - since
         all[#all + 1] = { submit = begin, begin = begin, over = r.time - since, nodes = r.nodes }
      end
   end
   if #all == 0 then
      return nil, "tautd's store has no job of these days"
   end
   table.sort(all, function(first, second) return first.submit < second.submit end)
   return all
end

--- Those of a trace that ran at one moment.
-- @param at seconds since the trace began; nil: when half of its jobs had been submitted
-- @return array of nodes of each job
function mix.at(all, at)
   at = at or all[(#all + 1) // 2].submit
   local list = {}
   for _, j in ipairs(all) do
      if j.begin <= at and at < j.over and j.nodes >= LEAST_NODES then
         list[#list + 1] = j.nodes
      end
   end
   return list
end

--- Place jobs of these sizes on the machine, one after the other as far as there is room.
-- @param sizes array of nodes
-- @return array of { id, nodes }, how many had no room
function mix.place(machine, sizes)
   local list, first, out = {}, 1, 0
   for i, n in ipairs(sizes) do
      if first + n - 1 <= #machine.topo.nodes then
         local nodes = {}
         for k = 1, n do
            nodes[k] = first + k - 1
         end
         list[#list + 1], first = { id = tostring(i), nodes = nodes }, first + n
      else
         out = out + 1
      end
   end
   return list, out
end

--- Jobs as load.of wants them.
function mix.layout(machine, list, per_node)
   local out = {}
   for i, j in ipairs(list) do
      out[i] = jobs.on(machine, j.nodes, per_node)
   end
   return out
end

return mix
