-- SPDX-License-Identifier: GPL-2.0-or-later
--- Where a command writes what is a file by itself: standard output, or a file of its own.
local output = {}

--- @param path nil or "-": standard output
-- @return true, or nil and why not
function output.write(path, text)
   if not path or path == "-" then
      io.stdout:write(text)
      return true
   end
   local f, err = io.open(path, "w")
   if not f then
      return nil, "cannot write " .. err
   end
   local ok
   ok, err = f:write(text)
   if ok then
      ok, err = f:close()
   else
      f:close()
   end
   if not ok then
      return nil, ("cannot write %s: %s"):format(path, err)
   end
   return true
end

return output
