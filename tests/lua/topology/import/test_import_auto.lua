-- SPDX-License-Identifier: GPL-2.0-or-later
-- The format of a file by its contents.
local guess = require "taut.topology.import.guess"
local import = require "taut.topology.import"
local importing = require "lib.importing"
local lu = require "luaunit"
local source = require "taut.topology.import.source"

local tests = {}

local CORPUS = (os.getenv "TAUT_SRCDIR" or ".") .. "/tests/fuzz/corpus/import/"

function tests.tearDown()
   importing.clean()
end

local function files_of(format)
   local list, pipe = {}, io.popen("ls -d '" .. CORPUS .. format .. "'/*")
   for path in pipe:lines() do
      list[#list + 1] = path
   end
   pipe:close()
   return list
end

-- Each file that can stand alone is known for what it is, or for nothing; no file of another kind.
function tests.test_no_file_is_taken_for_another_s()
   local known, seen = 0, {}
   for _, f in ipairs(import.formats()) do
      for _, path in ipairs(files_of(f.name)) do
         local name = guess.format(assert(source.open(path)))
         lu.assertTrue(name == nil or name == f.name, ("%s: %s"):format(path, tostring(name)))
         known = known + (name and 1 or 0)
         seen[name or ""] = true
      end
   end
   for _, name in ipairs { "slurm-conf", "slurm-yaml", "ibnetdiscover", "opareport", "lldp", "rtr",
      "slurm-names" } do
      lu.assertTrue(seen[name], name)
   end
   lu.assertTrue(known >= 15, known)
end

function tests.test_auto_reads_what_the_format_would()
   for _, format in ipairs { "ibnetdiscover", "opareport" } do
      for _, path in ipairs(files_of(format)) do
         local w, err = import.read(format, path)
         local again, same = import.read("auto", path)
         lu.assertEquals({ w and w.format, err }, { again and again.format, same })
         lu.assertEquals(again and #again.nodes, w and #w.nodes)
      end
   end
end

function tests.test_what_is_nothing_is_refused_and_the_formats_are_named()
   local path = importing.file "what\nis\nthis\n"
   local w, err = import.read("auto", path)
   lu.assertNil(w)
   lu.assertStrContains(err, path .. ":1: its first 3 lines do not show the format, expected "
      .. "one of slurm-conf,")
   w, err = import.read("auto", "/no/such")
   lu.assertNil(w)
   lu.assertStrContains(err, "/no/such")
end

-- A line of more than 1 MB ended in an error of the program, one of 32 kB of blanks took 15 s.
function tests.test_a_long_line_is_looked_at_in_its_first_part()
   local blanks = (" "):rep(1 << 21)
   lu.assertEquals(guess.format(source.of('{"lldp": ' .. blanks .. "}\n", "a")), "lldp")
   local w, err = import.read("auto", importing.file("x\n" .. blanks .. "x\n"))
   lu.assertNil(w)
   lu.assertStrContains(err, "its first 2 lines do not show the format")
end

return tests
