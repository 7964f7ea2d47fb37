-- SPDX-License-Identifier: GPL-2.0-or-later
--- What nodes are called: by the node-name map, by their own description where it is theirs alone,
-- by GUID.
local tables = require "taut.base.tables"

local names = {}

local LINE_MAX = 4096

local function guid_of(text)
   text = text:gsub("^[SHR]%-", "")
   local digits = text:match "^0[xX](%x+)$" or text:match "^%x+$"
   if not digits or #digits > 16 then
      return nil
   end
   return ("0x%016x"):format(tonumber(digits, 16))
end

-- One line: guid, name; nil for one without; false for one that is no entry.
local function parse_entry(line)
   local text = line:gsub("^%s+", "")
   if text == "" or text:sub(1, 1) == "#" then
      return nil
   end
   local word, rest = text:match "^(%S+)%s+(.*)$"
   local guid = word and guid_of(word)
   local name = rest and (rest:match '^"(.+)"%s*#?.*$' or rest:match '^([^"#%s]+)%s*#?.*$')
   return guid or false, name
end

--- Read a node-name map: lines of `0xGUID "name"`, `#` begins a comment (as of ibnetdiscover,
-- opensm and the rest of infiniband-diags); also of `H-GUID name`.
-- @return map GUID → name, or nil and "file:line: what"
function names.read(path)
   local f, err = io.open(path)
   if not f then
      return nil, err
   end
   local map, n = {}, 0
   for line in f:lines() do
      n = n + 1
      local entry = line
      if #line > LINE_MAX then
         entry = "x" -- which is none
      end
      local guid, name = parse_entry(entry)
      if guid == false or guid and not name then
         f:close()
         return nil, ('%s:%d: expected 0xGUID "name", got "%s"'):format(path, n,
            line:sub(1, 60):gsub("[^\32-\126]", "?"))
      elseif guid and map[guid] and map[guid] ~= name then
         f:close()
         return nil, ('%s:%d: %s is "%s" here and "%s" above'):format(path, n, guid, name,
            map[guid])
      elseif guid then
         map[guid] = name
      end
   end
   f:close()
   return map
end

--- The host in an adapter's name: "n12" of "n12", "n12 HCA-1", "n12 mlx5_0".
-- @return host, or nil for one that names a product
function names.host(name)
   local host, rest = name:match "^([%w_.-]+)%s*(.-)%s*$"
   if host and (rest == "" or rest:match "^HCA%-%d+$" or rest:match "^%l[%w_]*%d$") then
      return host
   end
end

--- The name of a node that has none, as ibnetdiscover writes it: "S-0002c90300a1b2c3".
-- @param node { type, guid }
function names.of_guid(node)
   local letter = "H-"
   if node.type == "switch" then
      letter = "S-"
   end
   return letter .. node.guid:sub(3)
end

--- Give each node its `name`, and an adapter its `host`.
-- @param nodes array of { guid, type, desc }
-- @param map GUID → name, or nil
function names.give(nodes, map)
   local count = {}
   for _, node in ipairs(nodes) do
      node.name = map and map[node.guid] or tables.unless_blank(node.desc)
      if node.name then
         count[node.name] = (count[node.name] or 0) + 1
      end
   end
   for _, node in ipairs(nodes) do
      if not node.name or count[node.name] > 1 then
         node.name = names.of_guid(node)
      elseif node.type ~= "switch" then
         node.host = names.host(node.name)
      end
   end
end

return names
