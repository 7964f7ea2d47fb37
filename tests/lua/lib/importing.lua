-- SPDX-License-Identifier: GPL-2.0-or-later
-- What the tests of the importers share: recorded files, and files made of text.
local import = require "taut.topology.import"
local lu = require "luaunit"

local importing = {}

local here = (os.getenv "TAUT_SRCDIR" or ".") .. "/tests/data/"
local made = {}

local function temporary(text)
   local path = os.tmpname()
   local f = assert(io.open(path, "wb"))
   f:write(text)
   f:close()
   made[#made + 1] = path
   return path
end

--- A recorded file, unpacked when it is compressed.
function importing.data(name)
   local path = here .. name
   if not name:find "%.gz$" then
      return path
   end
   local pipe = assert(io.popen("gzip -dc '" .. path .. "'"))
   local text = pipe:read "a"
   assert(pipe:close(), path)
   return temporary(text)
end

function importing.text_of(path)
   local f = assert(io.open(path, "rb"))
   local text = f:read "a"
   f:close()
   return text
end

importing.file = temporary

function importing.clean()
   for _, path in ipairs(made) do
      os.remove(path)
   end
   made = {}
end

--- Read text as a file of a format.
function importing.read(format, text, opts)
   return import.read(format, temporary(text), opts)
end

--- The text must be refused with a message that has FILE:LINE: and the words.
function importing.refused(format, text, line, words, opts)
   local path = temporary(text)
   local w, err = import.read(format, path, opts)
   lu.assertNil(w, format .. " took\n" .. text)
   lu.assertStrContains(err, ("%s:%d: "):format(path, line))
   lu.assertStrContains(err, words)
   lu.assertNotStrContains(err, "cannot be read")
end

--- Do the notes tell of these words?
function importing.noted(w, words)
   for _, n in ipairs(w.notes) do
      if n.text:find(words, 1, true) then
         return n
      end
   end
   lu.fail(("no note has '%s'"):format(words))
end

return importing
