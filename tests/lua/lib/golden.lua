-- SPDX-License-Identifier: GPL-2.0-or-later
-- Runs commands of `taut` and compares what they print with a file: "$ command", then its output,
-- and so on.  With TAUT_GOLDEN=write in the environment the file is written anew: read the
-- difference before it is committed.
local cli = require "taut.cli"
local lu = require "luaunit"

local golden = {}

local WIDE = 79 -- of a terminal with 80 columns

local function folder()
   golden.dir = golden.dir or io.popen("mktemp -d"):read "l"
   return golden.dir
end

--- A file in a folder of its own that only its owner may write.
-- @return its path
function golden.file(name, text)
   local path = folder() .. "/" .. name
   local f = assert(io.open(path, "w"))
   f:write(text)
   f:close()
   return path
end

function golden.clean()
   if golden.dir then
      os.execute("rm -rf '" .. golden.dir .. "'")
      golden.dir = nil
   end
end

--- What a command prints, its exit status, and what it says on stderr; the folder's name is left
-- out of what it prints.
function golden.run(arguments)
   local lines, keep, complaint, stderr = {}, print, {}, io.stderr
   rawset(io, "stderr", { write = function(_, ...)
      table.move({ ... }, 1, select("#", ...), #complaint + 1, complaint)
   end })
   rawset(_G, "print", function(...)
      local parts = table.pack(...)
      for i = 1, parts.n do
         parts[i] = tostring(parts[i])
      end
      lines[#lines + 1] = table.concat(parts, "\t")
   end)
   local ok, status = pcall(cli.main, arguments)
   rawset(_G, "print", keep)
   rawset(io, "stderr", stderr)
   assert(ok, status)
   local text = table.concat(lines, "\n"):gsub(folder():gsub("%p", "%%%0") .. "/", "")
   return text, status, table.concat(complaint)
end

local function words_of(line)
   local list = {}
   for w in line:gmatch "%S+" do
      list[#list + 1] = w:gsub("^@", folder() .. "/")
   end
   return list
end

--- No line of a text is wider than a terminal.
-- @param line the command that printed it
function golden.narrow(line, text)
   for l in text:gmatch "[^\n]+" do
      lu.assertTrue((utf8.len(l) or #l) <= WIDE, line .. ": too wide: " .. l)
   end
end

--- Runs every command of a file tests/data/topology/NAME.txt; "@" in an argument stands for the
-- folder of golden.file.
function golden.check(name)
   local path = ("%s/tests/data/topology/%s.txt"):format(os.getenv "TAUT_SRCDIR" or ".", name)
   local f = assert(io.open(path))
   local wanted = f:read "a"
   f:close()
   local out, commands, differs = {}, 0, nil
   for line in wanted:gmatch "[^\n]+" do
      local command = line:match "^%$ (.*)"
      if command then
         commands = commands + 1
         local text, status = golden.run(words_of(command))
         golden.narrow(command, text)
         out[#out + 1] = ("%s$ %s\n%s%s\n"):format(commands > 1 and "\n" or "", command, text,
            status ~= 0 and ("\n[exit %d]"):format(status) or "")
         differs = differs or not wanted:find(out[#out], 1, true) and out[#out]
      end
   end
   lu.assertTrue(commands > 0, path .. " has no commands")
   local got = table.concat(out)
   if os.getenv "TAUT_GOLDEN" == "write" then
      f = assert(io.open(path, "w"))
      f:write(got)
      f:close()
   end
   lu.assertTrue(got == wanted, ("%s differs, first at: %s"):format(path, differs or "its end"))
end

return golden
