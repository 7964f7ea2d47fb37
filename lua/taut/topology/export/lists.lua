-- SPDX-License-Identifier: GPL-2.0-or-later
--- Names that Slurm can read: of switches, which we may choose, and of nodes, which we may not.
local hostlist = require "taut.hostlist"

local lists = {}
local Switches = {}
Switches.__index = Switches

local SWITCH_MAX = 60 -- Slurm's own limit is 63, and we may have to append a number

--- Names of switches of one file, each used once.
function lists.switches()
   return setmetatable({ used = {} }, Switches)
end

--- A unique name, as near as possible to the wanted one. Brackets, commas, blanks, "#", "=", and
-- what is not ASCII, mean something else to Slurm.
function Switches:take(wanted)
   local base = wanted:gsub("[^%w_.-]", "_"):sub(1, SWITCH_MAX)
   if base == "" or base:find "^[-.]" then
      base = "s" .. base:sub(1, SWITCH_MAX - 1)
   end
   local name, n = base, 1
   while self.used[name:lower()] do
      n = n + 1
      name = ("%s_%d"):format(base:sub(1, SWITCH_MAX - #tostring(n) - 1), n)
   end
   self.used[name:lower()] = true
   return name
end

--- Are all nodes called what a slurm.conf can call them?
-- @return true, or nil and which is not
function lists.check_nodes(list)
   for _, name in ipairs(list) do
      if name:find "[^%w_.-]" or name:find "^[-.]" or #name > 63 then
         return nil, ("'%s' cannot be a NodeName of Slurm (expected letters, digits, '-', '_', " ..
            "'.', at most 63): name the nodes in the topology as slurm.conf does"):format(
               name:gsub("%c", "?"))
      end
   end
   return true
end

--- A host list of names whose order does not matter.
function lists.set(list)
   return hostlist.compress(list)
end

-- Writes first, first + 1, … last as Slurm does; they have as many digits.
local function range_of(first, last, digits)
   local form = "%0" .. digits .. "d"
   if first == last then
      return form:format(first)
   end
   return (form .. "-" .. form):format(first, last)
end

-- Names that share what stands before their last digits: "n[03,01,07-09]".
local function write_piece(prefix, numbers, digits)
   local ranges, first = {}, 1
   for i = 2, #numbers + 1 do
      if numbers[i] ~= (numbers[i - 1] or 0) + 1 then
         ranges[#ranges + 1] = range_of(numbers[first], numbers[i - 1], digits)
         first = i
      end
   end
   if #numbers == 1 then
      return prefix .. ranges[1]
   end
   return ("%s[%s]"):format(prefix, table.concat(ranges, ","))
end

--- A host list of names that keeps their order.
function lists.sequence(list)
   local pieces, prefix, digits, numbers = {}, nil, nil, {}
   local function finish_piece()
      if prefix and digits then
         pieces[#pieces + 1] = write_piece(prefix, numbers, digits)
      elseif prefix then
         pieces[#pieces + 1] = prefix
      end
   end
   for _, name in ipairs(list) do
      -- more digits than that are not a number any more
      local before, tail = name:match "^(.-)(%d+)$"
      local width, number
      if tail and #tail <= 15 then
         width, number = #tail, math.tointeger(tonumber(tail))
      else
         before = name
      end
      if not (width and prefix == before and digits == width) then
         finish_piece()
         prefix, digits, numbers = before, width, {}
      end
      numbers[#numbers + 1] = number
   end
   finish_piece()
   return table.concat(pieces, ",")
end

return lists
