-- SPDX-License-Identifier: GPL-2.0-or-later
--- A site's own traffic matrix: bytes from each rank to each other (matrix_file.lua reads it).
local matrix = { takes = { "format", "per_node" } }

local MOST_RANKS = 1 << 20

-- What a program sent, or matrix_file read: { ranks =, src = { … }, dst = { … }, bytes = { … } }.
local function check(d)
   if type(d) ~= "table" or math.type(d.ranks) ~= "integer" or d.ranks < 1 or
      d.ranks > MOST_RANKS or type(d.src) ~= "table" or type(d.dst) ~= "table" or
      type(d.bytes) ~= "table" or #d.src ~= #d.dst or #d.src ~= #d.bytes then
      return nil, "expected ranks and equally many src, dst and bytes"
   end
   for i = 1, #d.src do
      local a, b, v = d.src[i], d.dst[i], d.bytes[i]
      if math.type(a) ~= "integer" or math.type(b) ~= "integer" or a < 1 or b < 1 or
         a > d.ranks or b > d.ranks then
         return nil, ("pair %d: ranks are not within 1 to %d"):format(i, d.ranks)
      elseif type(v) ~= "number" or not (v >= 0 and v < math.huge) then
         return nil, ("pair %d: expected bytes, got %s"):format(i, tostring(v))
      end
   end
   return d
end

-- Sum up blocks of `per` ranks.
local function fold(d, per)
   local at, src, dst, bytes = {}, {}, {}, {}
   for i = 1, #d.src do
      local a, b = (d.src[i] - 1) // per + 1, (d.dst[i] - 1) // per + 1
      local k = at[a * (MOST_RANKS + 1) + b]
      if not k then
         k = #src + 1
         at[a * (MOST_RANKS + 1) + b] = k
         src[k], dst[k], bytes[k] = a, b, 0
      end
      bytes[k] = bytes[k] + d.bytes[i]
   end
   return src, dst, bytes
end

--- One step of all pairs.
-- @param n ranks; with per_node the file's ranks per_node * (i - 1) … per_node * i - 1 are rank i
-- @param o { data = { ranks =, src =, dst =, bytes = }, per_node = (default 1) }
-- @return steps, or nil and what was expected
function matrix.steps(n, o)
   local d, err = check(o.data)
   if not d then
      return nil, err
   end
   local per = o.per_node or 1
   if d.ranks ~= n * per then
      return nil, ("%d ranks%s are asked for, the matrix has %d"):format(n * per,
         per > 1 and (" (%d on each of %d nodes)"):format(per, n) or "", d.ranks)
   end
   local src, dst, bytes = d.src, d.dst, d.bytes
   if per > 1 then
      src, dst, bytes = fold(d, per)
   end
   return { { kind = "pairs", src = src, dst = dst, bytes = bytes, times = 1 } }
end

return matrix
