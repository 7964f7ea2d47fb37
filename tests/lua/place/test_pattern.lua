-- SPDX-License-Identifier: GPL-2.0-or-later
local json = require "taut.json"
local lu = require "luaunit"
local grid = require "taut.place.pattern.grid"
local pattern = require "taut.place.pattern"

local tests = {}

local SIZES = { 1, 2, 3, 4, 5, 7, 8, 12, 13, 16, 24, 27, 31, 64, 100, 128 }

local function each(fn)
   for _, name in ipairs(pattern.names) do
      for _, n in ipairs(name ~= "matrix" and SIZES or {}) do
         fn(name, n, assert(pattern.make(name, n)))
      end
   end
end

-- Bytes from rank a to rank b, all steps: m[a][b].
local function matrix_of(P)
   local m = {}
   for a = 1, P.ranks do
      m[a] = {}
   end
   for _, s in ipairs(P.steps) do
      for k = 1, s.src and #s.src or 0 do
         local a, b = s.src[k], s.dst[k]
         local bytes = type(s.bytes) == "table" and s.bytes[k] or s.bytes
         m[a][b] = (m[a][b] or 0) + bytes * s.times
      end
   end
   return m
end

local function sums(m)
   local out, into = {}, {}
   for a, row in ipairs(m) do
      for b, bytes in pairs(row) do
         out[a], into[b] = (out[a] or 0) + bytes, (into[b] or 0) + bytes
      end
   end
   return out, into
end

function tests.test_ranks_are_there_and_nobody_sends_to_himself()
   each(function(name, n, P)
      lu.assertEquals(P.ranks, n)
      lu.assertEquals(P.name, name)
      for _, s in ipairs(P.steps) do
         lu.assertTrue(s.times > 0, name)
         if s.kind == "pairs" then
            lu.assertEquals(#s.src, #s.dst, name)
            for k, a in ipairs(s.src) do
               local b = s.dst[k]
               lu.assertTrue(a >= 1 and a <= n and b >= 1 and b <= n and a ~= b,
                  ("%s of %d: %d to %d"):format(name, n, a, b))
            end
         end
      end
   end)
end

local SYMMETRIC = { halo2d = true, halo3d = true, halo27 = true, lattice4d = true, sweep = true,
   bisection = true, ["random-pairs"] = true, ["all-reduce-rd"] = true, halo3d26 = true,
   sweep3d = true, lqcd = true }

function tests.test_neighbours_are_symmetric()
   each(function(name, n, P)
      local m = SYMMETRIC[name] and matrix_of(P) or {}
      for a, row in ipairs(m) do
         for b, bytes in pairs(row) do
            lu.assertEquals(m[b][a], bytes, ("%s of %d: %d, %d"):format(name, n, a, b))
         end
      end
   end)
end

function tests.test_everybody_gets_what_he_sends()
   each(function(name, n, P)
      local out, into = sums(matrix_of(P))
      for a = 1, name ~= "all-to-all" and name ~= "many-to-one" and n or 0 do
         lu.assertAlmostEquals(out[a] or 0, into[a] or 0, 1e-3, ("%s of %d"):format(name, n))
      end
   end)
end

function tests.test_periodic_halos_are_the_same_for_all()
   for name, messages in pairs { halo2d = 4, halo3d = 6, lattice4d = 8 } do
      local n = name == "lattice4d" and 81 or 27 * 3
      local P = assert(pattern.make({ name = name, bytes = 10 }, n))
      local out = sums(matrix_of(P))
      for a = 1, n do
         lu.assertEquals(out[a], messages * 10, name)
      end
   end
   local out = sums(matrix_of(assert(pattern.make("halo27:bytes=16,side=4", 64))))
   for a = 1, 64 do
      lu.assertEquals(out[a], 6 * 16 + 12 * 4 + 8 * 1)
   end
end

function tests.test_halo3d_neighbours()
   local P = assert(pattern.make("halo3d:grid=3x4x5,bytes=1", 60))
   local m = matrix_of(P)
   -- rank at (1, 2, 4), counted from 0
   local function rank(x, y, z)
      return (x * 4 + y) * 5 + z + 1
   end
   lu.assertEquals(m[rank(1, 2, 4)], { [rank(0, 2, 4)] = 1, [rank(2, 2, 4)] = 1,
      [rank(1, 1, 4)] = 1, [rank(1, 3, 4)] = 1, [rank(1, 2, 3)] = 1, [rank(1, 2, 0)] = 1 })
   P = assert(pattern.make("halo3d:grid=3x4x5,bytes=1,periodic=no", 60))
   lu.assertEquals(matrix_of(P)[rank(0, 0, 0)], { [rank(1, 0, 0)] = 1, [rank(0, 1, 0)] = 1,
      [rank(0, 0, 1)] = 1 })
end

function tests.test_balanced_grids()
   lu.assertEquals(grid.balanced(64, 3), { 4, 4, 4 })
   lu.assertEquals(grid.balanced(12, 2), { 4, 3 })
   lu.assertEquals(grid.balanced(1000, 3), { 10, 10, 10 })
   lu.assertEquals(grid.balanced(13, 3), { 13, 1, 1 })
   lu.assertEquals(grid.balanced(1024, 4), { 8, 8, 4, 4 })
   for n = 1, 200 do
      for dims = 1, 4 do
         local product, before = 1, math.huge
         for _, len in ipairs(grid.balanced(n, dims)) do
            product = product * len
            lu.assertTrue(len <= before)
            before = len
         end
         lu.assertEquals(product, n)
      end
   end
end

function tests.test_all_reduce_moves_the_vector()
   for _, n in ipairs(SIZES) do
      if n > 1 then
         local out = sums(matrix_of(assert(pattern.make("all-reduce-ring:bytes=1M", n))))
         for a = 1, n do
            lu.assertAlmostEquals(out[a], 2 * (n - 1) / n * 1e6, 1e-3)
         end
      end
   end
   -- after recursive doubling everybody has heard of everybody
   for _, n in ipairs(SIZES) do
      local knows = {}
      for a = 1, n do
         knows[a] = { [a] = true }
      end
      for _, s in ipairs(assert(pattern.make("all-reduce-rd", n)).steps) do
         local now = {}
         for a = 1, n do
            now[a] = {}
            for k in pairs(knows[a]) do
               now[a][k] = true
            end
         end
         for k, a in ipairs(s.src) do
            for x in pairs(knows[a]) do
               now[s.dst[k]][x] = true
            end
         end
         knows = now
      end
      for a = 1, n do
         for b = 1, n do
            lu.assertTrue(knows[a][b], ("%d ranks: %d has not heard of %d"):format(n, a, b))
         end
      end
   end
end

function tests.test_a_seed_means_the_same_pairs()
   local a, b = pattern.make("random-pairs:seed=5", 50), pattern.make("random-pairs:seed=5", 50)
   lu.assertEquals(a.steps, b.steps)
   lu.assertNotEquals(a.steps, pattern.make("random-pairs:seed=6", 50).steps)
end

local WRONG = {
   { "nonsense", 4, "pattern 'nonsense' is not known %(known: all%-reduce%-rd, " },
   { "ring:by=2", 4, "pattern ring: parameter 'by' is not known %(known: compute, bytes%)" },
   { "ring:bytes=-1", 4, "pattern ring: bytes: expected bytes such as 64k or 1M" },
   { "ring:bytes=nan", 4, "got nan" },
   { "ring:bytes=1e300", 4, "got 1e300" },
   { "ring:bytes", 4, "expected PARAMETER=VALUE, got 'bytes'" },
   { "ring:bytes=1,bytes=2", 4, "'bytes' is given twice" },
   { "ring:compute=1.5", 4, "compute: expected a share from 0 to 1, got 1.5" },
   { "ring", 0, "expected 1 to 1048576 ranks, got 0" },
   { "ring", 2.5, "got 2.5" },
   { "ring", 1 << 21, "got 2097152" },
   { "halo3d:grid=4x4", 16, "grid 4x4 has 2 dimensions, the pattern has 3" },
   { "halo3d:grid=4x4x4", 63, "grid 4x4x4 does not have 63 places" },
   { "halo3d:grid=0x4x4", 0x10, "expected lengths such as 8x4x4, got '0x4x4'" },
   { "halo3d:grid=4x4x4x", 64, "expected lengths" },
   { "halo3d:grid=9999999x9999999x9999999", 64, "does not have 64 places" },
   { "shift:by=0", 4, "by: expected a whole number from 1 to 1048576, got 0" },
   { "halo2d:periodic=maybe", 4, "periodic: expected yes or no, got maybe" },
   { "halo27", 1 << 18, "expected at most 4194304" },
   { 7, 4, "expected a text or a table, got a number" },
   { { name = "ring", bytes = {} }, 4, "bytes: expected bytes" },
   { { name = "halo2d", grid = { "4", 1 } }, 4, "expected an array of lengths" },
   { "matrix:/etc/passwd", 4, "its file has not been read" },
   { { name = "matrix", data = 3 }, 4, "expected ranks and equally many" },
   { { name = "matrix", data = { ranks = 2, src = { 1 }, dst = { 3 }, bytes = { 1 } } }, 2,
      "pair 1: ranks are not within 1 to 2" },
   { { name = "matrix", data = { ranks = 2, src = { 1 }, dst = { 2 }, bytes = { 0 / 0 } } }, 2,
      "pair 1: expected bytes" },
   { { name = "matrix", data = { ranks = 2, src = {}, dst = {}, bytes = {} } }, 3,
      "3 ranks are asked for, the matrix has 2" },
}

function tests.test_wrong_specifications()
   for i, w in ipairs(WRONG) do
      local P, err = pattern.make(w[1], w[2])
      lu.assertNil(P, i)
      lu.assertTrue(err:find(w[3]) ~= nil or err:find(w[3], 1, true) ~= nil,
         ("%d: %s, expected %s"):format(i, err, w[3]))
   end
end

function tests.test_units()
   for text, bytes in pairs { ["64k"] = 64e3, ["1M"] = 1e6, ["2Mi"] = 2 << 20, ["1.5G"] = 1.5e9,
      ["100"] = 100, ["10KB"] = 10e3, ["8MiB"] = 8 << 20 } do
      lu.assertEquals(assert(pattern.make("ring:bytes=" .. text, 2)).bytes, bytes)
   end
end

---------------------------------------------------------------- matrices

local function with_file(text, fn)
   local name = os.tmpname()
   local f = assert(io.open(name, "wb"))
   f:write(text)
   f:close()
   local a, b = fn(name)
   os.remove(name)
   return a, b and b:gsub(name:gsub("%p", "%%%0"), "FILE") or b
end

local function read(text, n, more)
   return with_file(text, function(name)
      local spec, err = pattern.read("matrix:" .. name .. (more or ""))
      if not spec then
         return nil, err
      end
      return pattern.make(assert(json.decode(json.encode(spec))), n) -- as tautd gets it
   end)
end

function tests.test_csv()
   local P = assert(read("# mine\n0, 10,0\n20,0,1.5e3\r\n\n0,0,99\n", 3))
   lu.assertEquals(matrix_of(P), { { [2] = 10 }, { [1] = 20, [3] = 1500 }, {} })
   lu.assertNil(P.bytes)
end

function tests.test_sparse()
   local P = assert(read("0 1 10\n1 0 20\n1 2 1500\n0 1 5\n2 2 7\n", 3, ",compute=0.25"))
   lu.assertEquals(matrix_of(P), { { [2] = 15 }, { [1] = 20, [3] = 1500 }, {} })
   lu.assertEquals(P.compute, 0.25)
end

function tests.test_several_ranks_on_a_node()
   local P = assert(read("0 1 10\n1 2 20\n3 0 5\n2 1 1\n", 2, ",per_node=2"))
   lu.assertEquals(matrix_of(P), { { [1] = 10, [2] = 20 }, { [1] = 6 } })
   local _, err = read("0 1 10\n1 2 20\n3 0 5\n", 3, ",per_node=2")
   lu.assertStrContains(err, "6 ranks (2 on each of 3 nodes) are asked for, the matrix has 4")
end

function tests.test_names_with_commas()
   local s = assert(pattern.parse("matrix:/a,b:c=d/e,per_node=2,compute=0.5"))
   lu.assertEquals(s, { name = "matrix", file = "/a,b:c=d/e", per_node = "2", compute = "0.5" })
end

local HOSTILE = {
   { "", "FILE: no traffic in it, expected a matrix" },
   { "\n\n# only words\n", "no traffic in it" },
   { "0,1\n1,0,2\n", "FILE:2: row 2 has 3 columns, the rows before it 2" },
   { "0,1\n1,\n", "FILE:2: column 2 of row 2 is empty" },
   { "0,1,2\n1,0,2\n", "2 rows of 3 columns, expected as many rows as columns" },
   { "0,x\n1,0\n", "FILE:1: column 2: expected a number of bytes from 0 to 1e+18, got 'x'" },
   { "0,-5\n1,0\n", "got '-5'" },
   { "0,nan\n1,0\n", "got 'nan'" },
   { "0,0x10\n1,0\n", "got '0x10'" },
   { "0,1e30\n1,0\n", "got '1e30'" },
   { "0,1e999\n1,0\n", "got '1e999'" },
   { "0 1\n", "FILE:1: expected SRC DST BYTES, got '0 1'" },
   { "0 1 2 3\n", "expected SRC DST BYTES" },
   { "0 1 5\na 1 2\n", "FILE:2: expected ranks from 0 to 1048575, got 'a'" },
   { "0 -1 5\n", "got '-1'" },
   { "0 1048576 5\n", "got '1048576'" },
   { "0 1.5 5\n", "got '1.5'" },
   { "0 1 -5\n", "FILE:1: expected a number of bytes" },
   { "0 1 5\n3 7 1\n", "no line for rank 2, 4-6 of 8 (one that is silent needs a line such as " ..
      "'2 2 0')" },
   { "0 1 5\n0 30 1\n" .. ("0 2 1\n"):rep(5), "no line for rank 3-29 of 31" },
   { ("\0"):rep(100) .. "\n", "got '" .. ("?"):rep(40) },
   { ("x"):rep(5 << 20), "FILE:1: line of more than 4194304 bytes" },
   { ("1,"):rep(9000) .. "1\n", "more than 8192 columns" },
}

function tests.test_hostile_matrices()
   for i, h in ipairs(HOSTILE) do
      local P, err = read(h[1], 2)
      lu.assertNil(P, i)
      lu.assertStrContains(err, h[2], false, i)
   end
   local _, err = pattern.read("matrix:/nonexistent/file")
   lu.assertStrContains(err, "/nonexistent/file: No such file")
   _, err = pattern.read("matrix:")
   lu.assertStrContains(err, "expected a file")
   _, err = pattern.read("matrix:/proc")
   lu.assertStrContains(err, "Is a directory")
   _, err = pattern.read("matrix:/dev/zero")
   lu.assertStrContains(err, "/dev/zero:1: line of more than")
end

function tests.test_random_bytes_are_an_error_and_no_crash()
   math.randomseed(3)
   local letters = "0123456789 ,.\n\te-#x\0\255"
   for _ = 1, 500 do
      local t = {}
      for i = 1, math.random(60) do
         local k = math.random(#letters)
         t[i] = letters:sub(k, k)
      end
      local P, err = read(table.concat(t), math.random(4))
      lu.assertTrue(P ~= nil or type(err) == "string")
   end
end

return tests
