-- SPDX-License-Identifier: GPL-2.0-or-later
-- Whatever a file has in it, an importer takes it or says where it is wrong.
local import = require "taut.topology.import"
local import_fuzz = require "lib.import_fuzz"
local importing = require "lib.importing"
local lu = require "luaunit"

local tests = {}
local src = os.getenv "TAUT_SRCDIR" or "."
local dir = src .. "/tests/fuzz/corpus/import"

local ROUNDS = 400

function tests.tearDown()
   importing.clean()
end

-- `make fuzz` goes on with other seeds for as long as one likes.
local function fuzz(format)
   local corpus, others = import_fuzz.corpus(dir), {}
   for _, f in ipairs(import.formats()) do
      table.move(corpus[f.name], 1, #corpus[f.name], #others + 1, others)
   end
   math.randomseed(format:byte(1, -1))
   local ok, result = pcall(import_fuzz.run, format, corpus[format], others, import_fuzz.base(dir),
      ROUNDS)
   if not ok then
      lu.fail(type(result) == "table" and ("%s\n%q"):format(result.why, result.text) or result)
   end
   lu.assertTrue(result < ROUNDS)
end

for _, f in ipairs(import.formats()) do
   tests["test_fuzz_" .. f.name:gsub("-", "_")] = function() fuzz(f.name) end
end

function tests.test_each_format_refuses_the_others()
   local corpus, base = import_fuzz.corpus(dir), import_fuzz.base(dir)
   for _, f in ipairs(import.formats()) do
      for _, g in ipairs(import.formats()) do
         for _, text in ipairs(f.name ~= g.name and corpus[g.name] or {}) do
            lu.assertFalse(import_fuzz.try(f.name, text, base), f.name .. " took " .. g.name)
         end
      end
      for _, text in ipairs { "", "\n", "\0", ("\n"):rep(1000), ("x"):rep(70000), "\255\0x" } do
         import_fuzz.try(f.name, text, base)
      end
   end
end

-- A child reads the file, and says how much memory it had at most.
local function child(format, path)
   local script = importing.file(([[
      local import = require "taut.topology.import"
      local opts
      local m = import.module(%q)
      local w, err
      if m.read then
         w, err = import.read(%q, %q)
      else
         w, err = import.read("ibnetdiscover", %q, { with = { { format = %q, path = %q } } })
      end
      local most = io.open "/proc/self/status":read "a":match "VmHWM:%%s*(%%d+)"
      print(w and "taken" or "refused", most)
      print(err)
   ]]):format(format, format, path, dir .. "/ibnetdiscover/hx44", format, path))
   local pipe = assert(io.popen(("LUA_PATH='%s/lua/?.lua;%s/lua/?/init.lua;;' %s '%s'"):format(src,
      src, os.getenv "TAUT_LUA" or "lua5.4", script)))
   local first, err = pipe:read "l", pipe:read "a"
   pipe:close()
   local verdict, kB = (first or ""):match "(%S+)%s+(%d+)"
   return verdict, tonumber(kB), err
end

local function sanitized()
   local maps = io.open "/proc/self/maps"
   return maps and maps:read "a":find "asan" ~= nil
end

local function check_refusal(format, path, words)
   local verdict, kB, err = child(format, path)
   lu.assertEquals(verdict, "refused", format)
   lu.assertStrContains(err, path)
   lu.assertStrContains(err, words)
   -- the file, its pieces, and what of its lines is not yet collected
   if not sanitized() then
      lu.assertTrue(kB < 20000 + 6 * 16384, ("%s needed %d kB"):format(format, kB))
   end
end

function tests.test_100_MB_of_nonsense()
   local path = importing.file ""
   assert(os.execute(("truncate -s 100M '%s'"):format(path)))
   for _, f in ipairs(import.formats()) do
      check_refusal(f.name, path, "104857600 bytes, expected at most " ..
         (import.module(f.name).most_bytes or 67108864))
   end
end

function tests.test_nonsense_that_is_read()
   local path = importing.file ""
   for i, make in ipairs { "yes nonsense", "yes '# x'", "cat /dev/zero" } do
      local made
      for k, f in ipairs(import.formats()) do
         local size = i == 2 and 4 << 20 or 16 << 20
         size = math.min(size, import.module(f.name).most_bytes or size)
         -- a map of nothing but comments is a map; zeros are the same for all
         if not (i == 2 and f.name == "nodemap") and (i < 3 or k < 3) then
            if made ~= size then
               assert(os.execute(("%s | head -c %d >'%s'"):format(make, size, path)))
               made = size
            end
            check_refusal(f.name, path, ":")
         end
      end
   end
end

function tests.test_what_is_no_file()
   for path, words in pairs { ["/dev/zero"] = "more than 67108864 bytes", ["/"] = "directory",
      ["/no/such"] = "No such file" } do
      local w, err = import.read("rtr", path)
      lu.assertNil(w)
      lu.assertStrContains(err, path)
      lu.assertStrContains(err, words)
   end
end

-- A map that is too large where it grows: names out of a few bytes.
function tests.test_names_without_end()
   local refused = importing.refused
   local lines = {}
   for i = 1, 9 do
      lines[i] = ("SwitchName=s%d Nodes=n%d-[1-40000]\n"):format(i, i)
   end
   refused("slurm-conf", table.concat(lines), 7, "expected at most that many")
   refused("slurm-yaml", "- topology: t\n  torus3d: {toruses: [{name: a, dims: {x: 64, y: 64, " ..
      "z: 65}, nodes: n1}]}\n", 2, "has more than")
end

return tests
