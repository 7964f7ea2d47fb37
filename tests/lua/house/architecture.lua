-- SPDX-License-Identifier: GPL-2.0-or-later
-- What tests/architecture runs: each check gives a list of errors.
local arrows = require "arrows"
local dead_names = require "dead_names"
local documents = require "documents"
local files = require "files"
local names = require "names"
local naming = require "naming"
local prose = require "prose"
local tree = require "tree"

local CHECKS = {
   { "rooms use what CONTRIBUTING.md lets them use", arrows.wrong },
   { "CONTRIBUTING.md's table says what is used", arrows.table },
   { "no circles between rooms", arrows.room_circles },
   { "no circles between modules", arrows.module_circles },
   { "no require hides inside a function", arrows.hidden },
   { "no module's table is written by another", arrows.written },
   { "core asks act and diagnosis, and reads no table of theirs", arrows.read },
   { "no Lua in advisor/lib", arrows.lua_in_lib },
   { "one name for each C function and tag", names.in_c },
   { "one noun for each module of a room", names.in_lua },
   { "names and choices of Lua no worse than they were",
      function() return naming.wrong(tree) end },
   { "a licence in every source", files.without_spdx },
   { "no folder of more than 25 sources", files.too_many },
   { "a list names every source and test", files.unlisted },
   { "no test asserts nothing with `!`", files.silent },
   { "documents and comments name files that are there", documents.dead },
   { "documents and comments name modules and functions that are there", dead_names.wrong },
   { "sentences no longer, and no harder to read, than they were",
      function() return prose.wrong(tree) end },
   { "tables of modules name modules that are there", documents.modules },
   { "links between documents lead somewhere", documents.links },
   { "doc/tour.md names functions that are there", documents.tour },
   { "doc/faults.md and the tests of faults name each other", documents.faults },
   { "no paragraph of doc/internals is too long", documents.long },
}

local rooms, order = tree.rooms()
local failed = #order == 0
print(("1..%d"):format(#CHECKS))
for i, check in ipairs(CHECKS) do
   local wrong = check[2]()
   table.sort(wrong)
   for _, text in ipairs(wrong) do
      print("# " .. text)
   end
   local is_good = #wrong == 0
   print(("%s %d - %s"):format(is_good and "ok" or "not ok", i, check[1]))
   failed = failed or not is_good
end
print "# how Lua is named, and what could be held tighter:"
for _, line in ipairs(naming.report(tree)) do
   print(line)
end
print "# how prose reads, and what could be held tighter:"
for _, line in ipairs(prose.report(tree)) do
   print(line)
end
print "# modules by how many files use them:"
for _, m in ipairs(arrows.fan_in(15)) do
   print(("# %4d %s (%s)"):format(m.n, m.path, tree.room_of(rooms, m.path) or "no room"))
end
os.exit(not failed)
