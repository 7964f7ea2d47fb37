-- SPDX-License-Identifier: GPL-2.0-or-later
--- Slurm's topology.conf: SwitchName= lines (tree), BlockName= and BlockSizes= (block),
-- RingName= (ring), as topology.conf(5) of 22.05 to 26.05 has them; and what slurmctld makes of
-- them, as `scontrol show topology` prints it.
local grammar = require "taut.topology.import.grammar"
local lpeg = require "lpeg"
local slurm_tree = require "taut.topology.import.slurm.tree"
local source = require "taut.topology.import.source"

local slurm_conf = { summary = "Slurm's topology.conf (tree, block, ring)" }

local P, R, C, Ct = lpeg.P, lpeg.R, lpeg.C, lpeg.Ct
local ws, eol = grammar.ws, grammar.eol
local quote = source.quote

local key = C(R("az", "AZ") ^ 1) / string.lower
local value = P '"' * grammar.upto '"' * '"' + C((1 - grammar.blank) ^ 1)
-- "Nodes= Switches=s1": nothing, and not what comes after
local no_value = lpeg.Cc "" * #(ws * (R("az", "AZ") ^ 1 * "=" + -1))
local setting = Ct(key * ws * "=" * (no_value + ws * value))
local settings = Ct((ws * setting) ^ 0 * eol)

-- what a line may say, by what it begins with
local LINES = {
   switchname = { nodes = true, switches = true, linkspeed = true, level = true },
   blockname = { nodes = true, blockindex = true, blocksize = true },
   ringname = { nodes = true },
   blocksizes = {},
   aggregatedblock = { nodes = true, blockindex = true, blocksize = true },
}

-- `scontrol show topology` repeats below each switch the nodes of those below it, and says of what
-- has none that it has "" or "(null)".
local function as_shown(topology)
   for _, k in ipairs { "nodes", "switches" } do
      if topology[k] == "" or topology[k] == "(null)" then
         topology[k] = nil
      end
   end
   if topology.level and topology.switches then
      topology.nodes = nil
   end
   return topology
end

local function sizes_of(src, number, text)
   local sizes = {}
   for item in (text .. ","):gmatch "([^,]*)," do
      local v = item:match "^%d%d?%d?%d?%d?%d?%d?$" and math.tointeger(tonumber(item))
      if not v or v < 1 then
         src:fail(number, "block size %s, expected a whole number", quote(item))
      end
      sizes[#sizes + 1] = v
   end
   return sizes
end

-- One logical line into { kind =, name =, line =, nodes =, switches = }.
local function parse_record(src, number, text)
   local list = settings:match(text)
   if not list or not list[1] then
      src:fail(number, "%s, expected SwitchName=, BlockName=, RingName= or BlockSizes=",
         quote(text))
   end
   local kind = list[1][1]
   local allowed = LINES[kind]
   if not allowed then
      src:fail(number, "%s, expected SwitchName=, BlockName=, RingName= or BlockSizes= first",
         quote(list[1][1]))
   end
   local t = { kind = kind, name = list[1][2], line = number }
   for i = 2, #list do
      local k, v = list[i][1], list[i][2]
      if not allowed[k] then
         src:fail(number, "%s does not go with %s", quote(k), quote(kind))
      elseif t[k] then
         src:fail(number, "%s is given twice", quote(k))
      end
      t[k] = v
   end
   if t.name == "" then
      src:fail(number, "%s without a name", quote(kind))
   end
   return as_shown(t)
end

-- Lines with their comments taken away and their continuations joined: number, text.
local function logical_lines(src)
   local next_line = src:lines()
   return function()
      local first, joined, size
      while true do
         local n, line = next_line()
         if not n then
            if joined then
               src:fail(first, "the file ends in a line that goes on")
            end
            return nil
         end
         line = line:gsub("#.*", "")
         local more = line:match "^(.*)\\%s*$"
         first, joined, size = first or n, joined or {}, (size or 0) + #line
         joined[#joined + 1] = more or line
         if size > source.limits.line_bytes then
            src:fail(first, "a line of more than %d bytes", source.limits.line_bytes)
         end
         if not more then
            local text = table.concat(joined)
            if text:find "%S" then
               return first, text
            end
            first, joined, size = nil, nil, nil
         end
      end
   end
end

-- Of `scontrol show topology`, which has them a line each: all of them, ascending.
local function sizes_shown(shown)
   local list = {}
   for text in pairs(shown) do
      list[#list + 1] = text
   end
   table.sort(list, function(one, other) return (tonumber(one) or 0) < (tonumber(other) or 0) end)
   return table.concat(list, ",")
end

local function read_records(src)
   local by = { switchname = {}, blockname = {}, ringname = {} }
   local shown, sizes, sizes_line, shown_line = {}, nil, nil, nil
   for n, text in logical_lines(src) do
      if text:lower():find "^%s*include%s" then
         src:fail(n, "%s is not followed, expected one file with all of it", quote(text))
      end
      local t = parse_record(src, n, text)
      if t.kind == "blocksizes" then
         if sizes then
            src:fail(n, "BlockSizes is here and in line %d, expected it once", sizes_line)
         end
         sizes, sizes_line = sizes_of(src, n, t.name), n
      elseif t.kind ~= "aggregatedblock" then -- what several blocks are together
         table.insert(by[t.kind], t)
      end
      if t.blocksize then
         shown[t.blocksize], shown_line = true, n
      end
   end
   if not sizes and shown_line then
      sizes, sizes_line = sizes_of(src, shown_line, sizes_shown(shown)), shown_line
   end
   return by, sizes, sizes_line
end

--- Read it.
function slurm_conf.read(src, opts)
   local by, sizes, sizes_line = read_records(src)
   local kinds, first = {}, nil
   for _, kind in ipairs { "switchname", "blockname", "ringname" } do
      if #by[kind] > 0 then
         kinds[#kinds + 1] = kind
         first = math.max(first or 0, by[kind][1].line)
      end
   end
   if #kinds > 1 then
      src:fail(first, "the file has both %s and %s lines, expected one kind", kinds[1], kinds[2])
   elseif kinds[1] == "switchname" then
      return slurm_tree.tree(src, "slurm-conf", by.switchname, opts)
   elseif kinds[1] == "blockname" then
      return slurm_tree.blocks(src, "slurm-conf", by.blockname, sizes, sizes_line, opts)
   elseif kinds[1] == "ringname" then
      for _, ring in ipairs(by.ringname) do
         if not ring.nodes then
            src:fail(ring.line, "ring %s has no nodes", quote(ring.name))
         end
      end
      return slurm_tree.rings(src, "slurm-conf", by.ringname, opts)
   end
   src:fail(nil, "the file ends without a switch, a block or a ring")
end

return slurm_conf
