-- SPDX-License-Identifier: GPL-2.0-or-later
--- The text of the file that etc/job_submit.lua reads.
--
--   taut-advice 1 SERIAL TIME         TIME: when Slurm was asked, seconds since 1970
--   patterns NAME …                   those --comm may name
--   switches NODES WAIT               nodes of a leaf switch; seconds a job may wait for them
--   prefer NODES [F1|F2]              features for jobs of at most so many nodes
--   part NAME USABLE CPUS EVEN NODES  a partition: usable nodes, least processors of one, whether
--                                     all are alike (1), its nodes as slurmctld writes them
--   exclude NAME LEVEL LEFT LIST      of that partition: nodes exposed to the worst LEVEL
--                                     components ("-": none), and how many usable ones are left
--   end SERIAL BYTES                  bytes before this line
--
-- Lua 5.1 reads it without any library; one that is not whole has no such end.
local tables = require "taut.base.tables"

local file = {}

file.format = 1

local function is_word(text)
   return type(text) == "string" and text:match "^%S+$" ~= nil
end

local LIST = "^[%w%[%],._-]+$"

local function add_part(out, partition)
   out[#out + 1] = ("part %s %d %d %d %s\n"):format(partition.name, partition.usable,
      partition.cpus, tables.one_if(partition.even), partition.nodes)
   for i, l in ipairs(partition.levels) do
      out[#out + 1] = ("exclude %s %d %d %s\n"):format(partition.name, i, l.left, l.list or "-")
   end
end

--- @param answer { serial, time, patterns = names, switches = { nodes, wait_s } or nil, prefer =
--   { nodes, features } or nil, parts = { { name, usable, cpus, even, nodes, levels = { { left,
--   list }, … } }, … } }; parts with names or lists of another form are left out
-- @return text
function file.text(answer)
   local out = { ("taut-advice %d %d %d\n"):format(file.format, answer.serial, answer.time),
      ("patterns %s\n"):format(table.concat(answer.patterns, " ")) }
   if answer.switches then
      out[#out + 1] = ("switches %d %d\n"):format(answer.switches.nodes, answer.switches.wait_s)
   end
   if answer.prefer then
      out[#out + 1] = ("prefer %d %s\n"):format(answer.prefer.nodes, answer.prefer.features)
   end
   for _, p in ipairs(answer.parts) do
      if is_word(p.name) and p.nodes:match(LIST) and p.cpus >= 1 then
         add_part(out, p)
      end
   end
   local text = table.concat(out)
   return text .. ("end %d %d\n"):format(answer.serial, #text)
end

return file
