-- SPDX-License-Identifier: GPL-2.0-or-later
-- For tests/fuzz/import: every format in turn, until the time is over.  A text that breaks one is
-- left in ./import-crash.
local import = require "taut.topology.import"
local import_fuzz = require "lib.import_fuzz"

local dir, seconds, seed, only = arg[1], tonumber(arg[2]), math.tointeger(tonumber(arg[3])), arg[4]
local corpus, others, formats = import_fuzz.corpus(dir), {}, {}
for _, f in ipairs(import.formats()) do
   table.move(corpus[f.name], 1, #corpus[f.name], #others + 1, others)
   if not only or only == f.name then
      formats[#formats + 1] = f.name
   end
end
assert(#formats > 0, "there is no such format")

print(("fuzz import for %g s, seed %d"):format(seconds, seed))
math.randomseed(seed)
local base, stop, count, taken = import_fuzz.base(dir), os.time() + seconds, {}, {}
repeat
   for _, format in ipairs(formats) do
      local ok, result = pcall(import_fuzz.run, format, corpus[format], others, base, 100)
      if not ok then
         local f = assert(io.open("import-crash", "wb"))
         f:write(type(result) == "table" and result.text or "")
         f:close()
         error(type(result) == "table" and result.why .. "\nsee import-crash" or result, 0)
      end
      count[format], taken[format] = (count[format] or 0) + 100, (taken[format] or 0) + result
   end
until os.time() >= stop
for _, format in ipairs(formats) do
   print(("%-14s %8d texts, %d of them taken"):format(format, count[format], taken[format]))
end
