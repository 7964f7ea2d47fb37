-- SPDX-License-Identifier: GPL-2.0-or-later
--- Slurm's own node names with coordinates: the last three characters, base 36 (0-9A-Z), are
-- x, y and z; with four the last one counts nodes at a point.
--
-- Sources: slurm.conf(5) ("tux[000x333]" is the box between two corners) and src/common/select.c
-- up to 18.08; the guide for Sun Constellation systems of Slurm 2.3 for four characters.  The
-- letters of the prefix are lower case, so that it can be told from coordinates.
local report = require "taut.report"
local tables = require "taut.base.tables"
local grammar = require "taut.topology.import.grammar"
local grid = require "taut.topology.import.grid"
local lpeg = require "lpeg"
local source = require "taut.topology.import.source"
local wiring = require "taut.topology.import.wiring"

local slurm_names = { summary = "Slurm node names with coordinates (tux[000x333]); a torus" }

local P, R, S, C, Ct, Cg = lpeg.P, lpeg.R, lpeg.S, lpeg.C, lpeg.Ct, lpeg.Cg
local ws = grammar.ws
local quote = source.quote

local digit36 = R("09", "AZ")
local prefix = C(R "az" * (R "az" + S "-_") ^ 0)
local place = C(digit36 ^ 1)
local box = Ct(Cg(place, "from") * "x" * Cg(place, "to")) + Ct(Cg(place, "from"))
local boxes = P "[" * box * (P "," * box) ^ 0 * "]"
local item = Ct(Cg(prefix, "prefix") * (boxes + Ct(Cg(place, "from"))))
-- NodeName=… with whatever stands behind it, or the list itself
local nodename = grammar.anycase "nodename" * ws * "=" * ws
local key = R("az", "AZ") * (R("az", "AZ", "09") + "_") ^ 0 * ws * "=" * (1 - grammar.blank) ^ 1
local line_of = Ct(ws * nodename ^ -1 * item * (P "," * item) ^ 0 * (grammar.sep * key) ^ 0 * ws *
   (P "#" * P(1) ^ 0) ^ -1 * -P(1))
local nothing = ws * (P "#" * P(1) ^ 0) ^ -1 * -P(1)

local function digits_of(text)
   return tables.fill(1, #text, function(index) return tonumber(text:sub(index, index), 36) end)
end

local DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"

local function check_width(st, src, number, from, to)
   if #from ~= 3 and #from ~= 4 or to and #to ~= #from then
      src:fail(number, "coordinates %s, expected three characters, or four with a node's number",
         quote(from .. report.text_with("x", to)))
   end
   if st.width and st.width ~= #from then
      src:fail(number, "coordinates of %d characters after some of %d, expected all alike", #from,
         st.width)
   end
   st.width = #from
end

local function add_name(st, src, number, name, at)
   if st.line[name] then
      src:fail(number, "node %s is here and in line %d, expected it once", quote(name),
         st.line[name])
   end
   if #st.list >= source.limits.names then
      src:fail(number, "more than %d nodes, expected at most that many", source.limits.names)
   end
   st.line[name] = number
   st.list[#st.list + 1] = { name = name, at = at, line = number }
end

-- All names between two corners, last coordinate fastest.
local function add_box(st, src, number, prefix_, corners)
   check_width(st, src, number, corners.from, corners.to)
   local from, to = digits_of(corners.from), digits_of(corners.to or corners.from)
   for d = 1, #from do
      if to[d] < from[d] then
         src:fail(number, "box %sx%s, expected the lower corner first", corners.from, corners.to)
      end
   end
   local at = { table.unpack(from) }
   while true do
      local chars = tables.map(at, function(value) return DIGITS:sub(value + 1, value + 1) end)
      add_name(st, src, number, prefix_ .. table.concat(chars), { table.unpack(at) })
      local d = #at
      while d > 0 and at[d] == to[d] do
         at[d], d = from[d], d - 1
      end
      if d == 0 then
         return
      end
      at[d] = at[d] + 1
   end
end

local function read_names(src)
   local st = { list = {}, line = {} }
   for n, line in src:lines() do
      local items = line_of:match(line)
      if items then
         for _, it in ipairs(items) do
            for _, t in ipairs(it) do
               add_box(st, src, n, it.prefix, t)
            end
         end
      elseif not nothing:match(line) then
         src:fail(n, "%s, expected names such as tux[000x333] or NodeName=tux[000x333]",
            quote(line))
      end
   end
   if #st.list == 0 then
      src:fail(nil, "the file ends without a node name")
   end
   return st
end

--- Read it.
function slurm_names.read(src, opts)
   local st = read_names(src)
   local w, dims, taken = wiring.new(src, "slurm-names"), { 1, 1, 1 }, {}
   for _, t in ipairs(st.list) do
      for d = 1, 3 do
         dims[d] = math.max(dims[d], t.at[d] + 1)
      end
   end
   local router_at = grid.torus(w, 1, dims, "r", source.limits.names)
   for _, t in ipairs(st.list) do
      local at = { t.at[1], t.at[2], t.at[3] }
      local r = router_at(at)
      taken[r] = (taken[r] or 0) + 1
      w:node(t.line, { name = t.name, coord = at,
         rails = { { router = r, port = "n" .. taken[r] - 1 } } })
   end
   src:note(1, "the names do not describe cables: a torus of %dx%dx%d is assumed", dims[1],
      dims[2], dims[3])
   w:only(opts.nodes, true)
   return w:finish()
end

return slurm_names
