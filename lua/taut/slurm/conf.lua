-- SPDX-License-Identifier: GPL-2.0-or-later
--- Names of the nodes in a slurm.conf.
--
-- Only NodeName= and Include are looked at; everything else is Slurm's business.  As Slurm does:
-- "#" begins a comment unless a backslash stands before it, a backslash at the end of a line
-- continues it, keywords are read in any case, relative Includes begin at the file's folder.
local hostlist = require "taut.hostlist"

local slurmconf = {}

local NODES_MAX = 1000000
local LINE_MAX = 1 << 20
local DEPTH_MAX = 8

local read

local function fail(path, number, text)
   return nil, ("%s:%d: %s"):format(path, number, text)
end

local function add_names(self, path, number, value)
   local names, err = hostlist.expand(value, NODES_MAX)
   if not names then
      return fail(path, number, "NodeName: " .. err)
   end
   for _, name in ipairs(names) do
      if name:upper() ~= "DEFAULT" and not self.seen[name] then
         self.seen[name] = ("%s:%d"):format(path, number)
         self.list[#self.list + 1] = name
      end
   end
   return true
end

local function include(self, path, number, target, depth)
   if target:find "%%" then
      return true -- %c stands for the cluster's name, which is not known here
   elseif depth >= DEPTH_MAX then
      return fail(path, number, ("Include: more than %d files deep"):format(DEPTH_MAX))
   end
   if target:sub(1, 1) ~= "/" then
      target = (path:match "^(.*)/" or ".") .. "/" .. target
   end
   local ok, err = read(self, target, depth + 1)
   if not ok then
      return fail(path, number, "Include: " .. err)
   end
   return true
end

local function take_line(self, path, number, line, depth)
   local text = line:gsub("^%s*#.*", ""):gsub("([^\\])#.*", "%1")
   local target = text:match "^%s*[Ii][Nn][Cc][Ll][Uu][Dd][Ee]%s+(%S+)"
   if target then
      return include(self, path, number, target, depth)
   end
   local key, value = text:match "^%s*(%a+)%s*=%s*\"?([^%s\"]*)"
   if key and key:lower() == "nodename" then
      if value == "" then
         return fail(path, number, "NodeName: expected names such as n[0-31]")
      end
      return add_names(self, path, number, value)
   end
   return true
end

function read(self, path, depth)
   local f, err = io.open(path)
   if not f then
      return nil, err
   end
   local number, begun, line = 0, 1, ""
   for part in f:lines() do
      number = number + 1
      local more = part:match "^(.*)\\%s*$"
      line = line .. (more or part)
      if #line > LINE_MAX then
         f:close()
         return fail(path, begun, ("a line of more than %d bytes"):format(LINE_MAX))
      elseif not more then
         local ok
         ok, err = take_line(self, path, begun, line, depth)
         if not ok then
            f:close()
            return nil, err
         end
         line, begun = "", number + 1
      end
   end
   f:close()
   return true
end

--- @param path of slurm.conf
-- @return array of names; map name → "file:line"; or nil and "file:line: what"
function slurmconf.nodes(path)
   local self = { list = {}, seen = {} }
   local ok, err = read(self, path, 0)
   if not ok then
      return nil, err
   end
   return self.list, self.seen
end

return slurmconf
