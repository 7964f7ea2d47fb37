-- SPDX-License-Identifier: GPL-2.0-or-later
--- Files that a command leaves: whole or not at all.
local sys = require "taut.sys"

local save = {}

-- All or nothing: a reader never sees half a file.  The new one has a name that no one can occupy
-- before (root may well write to /tmp), and is renamed when it is whole.
-- @param fill function(f, name): writes the open file, or the one of that name; true, or nil, why
local function replace_file(path, fill)
   local f, name = sys.create_beside(path)
   if not f then
      return nil, name
   end
   local ok, why = fill(f, name)
   local closed, why_closed = f:close()
   if ok and closed then
      ok, why = os.rename(name, path)
   end
   if not ok or not closed then
      os.remove(name)
      return nil, ("%s: %s"):format(path, why or why_closed)
   end
   return true
end

--- Write a file, or to standard output.
-- @param path or "-"
-- @return true, or nil and why not
function save.text(path, text)
   if path == "-" then
      io.stdout:write(text)
      return true
   end
   return replace_file(path, function(file) return file:write(text) end)
end

--- A word for a shell.
function save.quoted(word)
   return "'" .. word:gsub("'", "'\\''") .. "'"
end

--- Write an SVG picture as PNG: librsvg's own program draws it, nothing of a picture library is
-- linked into Taut.
function save.png(path, text)
   return replace_file(path, function(_, name)
      local pipe, err = io.popen("exec rsvg-convert --format=png >" .. save.quoted(name), "w")
      if not pipe then
         return nil, err
      end
      pipe:write(text)
      local ok, how, code = pipe:close()
      if ok then
         return true
      elseif how == "exit" and code == 127 then
         return nil, "rsvg-convert is not installed (Debian: librsvg2-bin)"
      end
      return nil, ("rsvg-convert failed, %s %d"):format(how, code)
   end)
end

return save
