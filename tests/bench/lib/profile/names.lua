-- SPDX-License-Identifier: GPL-2.0-or-later
--- Names for what sampler.c wrote: Lua's functions by file, C's by addr2line.
local names = {}

-- Of a stripped library only what it exports has a name, and addr2line gives the one before.  libc
-- exports nearly all that anybody calls.
local function has_names(object)
   if object:find "/libc%.so" then
      return true
   end
   local pipe = io.popen(("nm '%s' 2>/dev/null"):format(object))
   local line = pipe:read "l"
   pipe:close()
   return line ~= nil
end

local function leave_nameless(object, offsets)
   local short = "[" .. object:match("([^/]*)$"):gsub("%.so.*", "") .. "]"
   for offset in pairs(offsets) do
      offsets[offset] = short
   end
end

-- object → offset → name
local function resolve(wanted)
   for object, offsets in pairs(wanted) do
      leave_nameless(object, offsets)
      local list = {}
      for offset in pairs(has_names(object) and offsets or {}) do
         list[#list + 1] = offset
      end
      local pipe = io.popen(#list == 0 and ":" or ("addr2line -f -e '%s' %s 2>/dev/null"):format(
         object, table.concat(list, " ")))
      for _, offset in ipairs(list) do
         local name = pipe:read "l"
         pipe:read "l" -- its line
         offsets[offset] = name and name ~= "??" and name or offsets[offset]
      end
      pipe:close()
   end
end

local function of_lua(frame)
   local source, name, line = frame:match "^L:(.*):([^:]*):(%-?%d+)$"
   local file = source:match "taut/lua/taut/(.*)$" or source:match "([^/]*)$"
   return ("%s:%s"):format(file, name ~= "" and name or line == "0" and "main" or line)
end

local function raw_stacks(file)
   local list = {}
   for line in io.lines(file.path) do
      local n, rest = line:match "^(%d+) (.*)$"
      local frames = { file.name }
      for frame in rest:gmatch "([^;]+);" do
         frames[#frames + 1] = frame
      end
      list[#list + 1] = { n = tonumber(n), frames = frames }
   end
   return list
end

--- @param files array of { name = of the process, path }
-- @return array of { n = samples, frames = names, callers first }
function names.read(files)
   local all, wanted = {}, {}
   for _, file in ipairs(files) do
      for _, stack in ipairs(raw_stacks(file)) do
         all[#all + 1] = stack
         for _, frame in ipairs(stack.frames) do
            local object, offset = frame:match "^C:(.*):(%x+)$"
            if object and object ~= "?" then
               wanted[object] = wanted[object] or {}
               wanted[object][offset] = true
            end
         end
      end
   end
   resolve(wanted)
   for _, stack in ipairs(all) do
      for i, frame in ipairs(stack.frames) do
         local object, offset = frame:match "^C:(.*):(%x+)$"
         if object then
            stack.frames[i] = wanted[object] and wanted[object][offset] or "[kernel or unknown]"
         elseif frame:find "^L:" then
            stack.frames[i] = of_lua(frame)
         end
      end
   end
   return all
end

return names
