-- SPDX-License-Identifier: GPL-2.0-or-later
--- A Hilbert curve through a box of any size: neighbours on the curve are neighbours in the box.
--
-- A coordinate of a ring of 25 has no binary digits of its own, so each length is halved again and
-- again, the lower half being the larger one; which half a coordinate lies in is its digit.
-- The curve of the digits is J. Skilling's ("Programming the Hilbert curve", AIP Conference
-- Proceedings 707, 2004), the one that Slurm's topology/3d_torus had.
local hilbert = {}

local function digits_for(len)
   local n = 0
   while (1 << n) < len do
      n = n + 1
   end
   return n
end

-- The digits of coordinate x in 0 … len - 1, as a whole number.
local function digits_of(x, len)
   local lo, hi, v = 0, len, 0
   for _ = 1, digits_for(len) do
      local mid = lo + (hi - lo + 1) // 2
      v = v << 1
      if x < mid then
         hi = mid
      else
         lo, v = mid, v | 1
      end
   end
   return v
end

-- In place: coordinates of `bits` digits to the digits of the place on the curve, where axis i has
-- every n-th of them.
local function transpose(x, bits)
   local n, top = #x, 1 << (bits - 1)
   local q = top
   while q > 1 do
      local p = q - 1
      for i = 1, n do
         if x[i] & q ~= 0 then
            x[1] = x[1] ~ p
         else
            local t = (x[1] ~ x[i]) & p
            x[1], x[i] = x[1] ~ t, x[i] ~ t
         end
      end
      q = q >> 1
   end
   for i = 2, n do
      x[i] = x[i] ~ x[i - 1]
   end
   local t = 0
   q = top
   while q > 1 do
      if x[n] & q ~= 0 then
         t = t ~ (q - 1)
      end
      q = q >> 1
   end
   for i = 1, n do
      x[i] = x[i] ~ t
   end
end

--- Place of a point on the curve.
-- @param at coordinates, each 0 … dims[i] - 1
-- @param dims lengths
-- @return array of digits, most significant first; points that share the first k of them lie in
--   one box
function hilbert.key(at, dims)
   local bits, x = 1, {}
   for i, len in ipairs(dims) do
      x[i] = digits_of(at[i], len)
      bits = math.max(bits, digits_for(len))
   end
   transpose(x, bits)
   local key = {}
   for b = bits - 1, 0, -1 do
      local digit = 0
      for i = 1, #x do
         digit = digit << 1 | x[i] >> b & 1
      end
      key[#key + 1] = digit
   end
   return key
end

return hilbert
