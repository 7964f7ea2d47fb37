-- SPDX-License-Identifier: GPL-2.0-or-later
--- Files that others read while they are written.
local files = {}

--- Put a text in place: whoever reads has the old file or the new one.
-- @return true, or nil and why not
function files.put(path, text)
   local new = path .. ".new"
   local f, err = io.open(new, "wb")
   if not f then
      return nil, err
   end
   local ok, why = f:write(text)
   local closed, close_why = f:close()
   if ok and closed then
      ok, why = os.rename(new, path)
   else
      ok, why = nil, why or close_why
   end
   if not ok then
      os.remove(new)
      return nil, ("%s: %s"):format(new, why)
   end
   return true
end

return files
