-- SPDX-License-Identifier: GPL-2.0-or-later
--- A site's own traffic matrix: bytes from each rank to each other (matrix_file.lua reads it).
local matrix = { takes = { "format", "per_node" } }

local MOST_RANKS = 1 << 20

-- What a program sent, or matrix_file read: { ranks =, src = { … }, dst = { … }, bytes = { … } }.
local function check_data(data)
   if type(data) ~= "table" or math.type(data.ranks) ~= "integer" or data.ranks < 1 or
      data.ranks > MOST_RANKS or type(data.src) ~= "table" or type(data.dst) ~= "table" or
      type(data.bytes) ~= "table" or #data.src ~= #data.dst or #data.src ~= #data.bytes then
      return nil, "expected ranks and equally many src, dst and bytes"
   end
   for i = 1, #data.src do
      local a, b, v = data.src[i], data.dst[i], data.bytes[i]
      if math.type(a) ~= "integer" or math.type(b) ~= "integer" or a < 1 or b < 1 or
         a > data.ranks or b > data.ranks then
         return nil, ("pair %d: ranks are not within 1 to %d"):format(i, data.ranks)
      elseif type(v) ~= "number" or not (v >= 0 and v < math.huge) then
         return nil, ("pair %d: expected bytes, got %s"):format(i, tostring(v))
      end
   end
   return data
end

-- Sum up blocks of `per` ranks.
local function fold_blocks(data, per)
   local at, src, dst, bytes = {}, {}, {}, {}
   for i = 1, #data.src do
      local a, b = (data.src[i] - 1) // per + 1, (data.dst[i] - 1) // per + 1
      local k = at[a * (MOST_RANKS + 1) + b]
      if not k then
         k = #src + 1
         at[a * (MOST_RANKS + 1) + b] = k
         src[k], dst[k], bytes[k] = a, b, 0
      end
      bytes[k] = bytes[k] + data.bytes[i]
   end
   return src, dst, bytes
end

--- One step of all pairs.
-- @param ranks ranks; with per_node the file's ranks per_node * (i - 1) … per_node * i - 1 are rank
--   i
-- @param options { data = { ranks =, src =, dst =, bytes = }, per_node = (default 1) }
-- @return steps, or nil and what was expected
function matrix.steps(ranks, options)
   local d, err = check_data(options.data)
   if not d then
      return nil, err
   end
   local per = options.per_node or 1
   if d.ranks ~= ranks * per and per > 1 then
      return nil, ("%d ranks (%d on each of %d nodes) are asked for, the matrix has %d"):format(
         ranks * per, per, ranks, d.ranks)
   elseif d.ranks ~= ranks * per then
      return nil, ("%d ranks are asked for, the matrix has %d"):format(ranks * per, d.ranks)
   end
   local src, dst, bytes = d.src, d.dst, d.bytes
   if per > 1 then
      src, dst, bytes = fold_blocks(d, per)
   end
   return { { kind = "pairs", src = src, dst = dst, bytes = bytes, times = 1 } }
end

return matrix
