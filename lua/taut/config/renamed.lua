-- SPDX-License-Identifier: GPL-2.0-or-later
--- The site's map of nodes that were renamed: a file of lines "OLD NEW", `#` begins a comment.
local renamed = {}

local NAME_MAX = 255 -- bytes

local function is_name(word)
   return #word <= NAME_MAX and word:find "^[%w_.-]+$" ~= nil
end

-- One line; true, or what was expected.
local function take_line(map, news, line)
   local words = {}
   for word in line:gsub("#.*", ""):gmatch "%S+" do
      words[#words + 1] = word
   end
   local old, new = words[1], words[2]
   if #words == 0 then
      return true
   elseif #words ~= 2 or not is_name(old) or not is_name(new) then
      return 'expected "OLD NEW", two names of nodes'
   elseif map[old] then
      return ("'%s' was renamed to '%s' above"):format(old, map[old])
   elseif news[new] then
      return ("'%s' is the new name of '%s' already"):format(new, news[new])
   elseif old == new then
      return ("old and new name are both '%s'"):format(new)
   end
   map[old], news[new] = new, old
   return true
end

--- @return map old name → new name; or nil and "FILE:LINE: what, got what stands there"
function renamed.read(path)
   local f, err = io.open(path)
   if not f then
      return nil, err
   end
   local map, news, n = {}, {}, 0
   for line in f:lines() do
      n = n + 1
      local ok = take_line(map, news, line)
      if ok ~= true then
         f:close()
         return nil, ('%s:%d: %s, got "%s"'):format(path, n, ok,
            (line:sub(1, 60):gsub("[^\32-\126]", "?")))
      end
   end
   f:close()
   return map
end

return renamed
