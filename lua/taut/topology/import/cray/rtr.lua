-- SPDX-License-Identifier: GPL-2.0-or-later
--- What `rtr --interconnect` prints on an Aries machine: each tile of each router, its kind and
-- the tile at the other end.
--
--    c0-0c0s0a0l00(0:0:0) green -> c0-0c0s6a0l10(0:0:6)
--
-- Coordinates are group, chassis in the group, slot.  Rates of one tile (three lanes): 14 Gb/s a
-- lane on copper (green inside of a chassis, black between chassis), 12.5 Gb/s on optical cables
-- (blue, between groups): "Cray XC Series Network", WP-Aries01-1112.
local cray = require "taut.topology.import.cray"
local grammar = require "taut.topology.import.grammar"
local lpeg = require "lpeg"
local source = require "taut.topology.import.source"
local wiring = require "taut.topology.import.wiring"

local cray_rtr = { summary = "Cray `rtr --interconnect` (Aries)" }

local P, C, Cg, Ct = lpeg.P, lpeg.C, lpeg.Cg, lpeg.Ct
local ws, sep, number, eol = grammar.ws, grammar.sep, grammar.number, grammar.eol
local quote = source.quote

local TILE_BPS = { green = 3 * 14e9 // 8, black = 3 * 14e9 // 8, blue = 3 * 12.5e9 // 8 }
local router = C(P "c" * grammar.digit ^ 1 * "-" * grammar.digit ^ 1 * "c" * grammar.digit ^ 1 *
   "s" * grammar.digit ^ 1 * "a0")
local tile = Cg(C(P "l" * grammar.digit * grammar.digit), "tile")
local at = P "(" * Cg(number, "x") * ":" * Cg(number, "y") * ":" * Cg(number, "z") * ")"
local place = Ct(Cg(router, "router") * tile * at)
local kind_word = C(P "green" + "black" + "blue" + "ptile")
local link = Ct(Cg(place, "here") * sep * Cg(kind_word, "kind") * sep *
   "->" * sep * (Cg(place, "there") + Cg(C(P "unused" + "processor"), "none")) * eol)
local ignored = eol + ws * "#"

local function router_of(st, w, src, n, p)
   local r = w.router_at[p.router]
   if not r then
      local name = cray.aries:match(p.router)
      local wrong = name and cray.trouble(name)
      if not name or wrong then
         src:fail(n, "%s: %s", p.router, wrong or "not the name of a router")
      end
      local key = p.x .. "." .. p.y .. "." .. p.z
      if st.at[key] then
         src:fail(n, "coordinates %s are those of %s in line %d and of %s", key, st.at[key].name,
            w.lines[st.at[key]], p.router)
      end
      local _
      _, r = w:router(n, { name = p.router, group = p.x, row = p.y, col = p.z,
         coord = { p.x, p.y, p.z } })
      st.at[key] = r
      st.ends[r] = {}
   elseif r.group ~= p.x or r.row ~= p.y or r.col ~= p.z then
      src:fail(n, "%s has coordinates (%d:%d:%d), in line %d it has (%d:%d:%d)", p.router, p.x, p.y,
         p.z, w.lines[r], r.group, r.row, r.col)
   end
   return r
end

-- What a cable of a kind joins: green one chassis, black one column of a group, blue two groups.
local function check_kind(src, n, kind, a, b)
   local is = a.group ~= b.group and "blue" or a.row == b.row and "green" or
      a.col == b.col and "black"
   if is ~= kind then
      src:fail(n, "a %s link from %s to %s, expected green inside of a chassis, black between \z
         chassis of a group in one slot, blue between groups", kind, a.name, b.name)
   end
end

-- Each cable stands twice, once at each end: the second time it becomes one.
local function add_link(st, w, src, n, t, r, far)
   local back = st.ends[far][t.there.tile]
   if not back then
      return
   end
   if back.far ~= r or back.far_tile ~= t.here.tile or back.kind ~= t.kind then
      src:fail(n, "%s%s leads to %s%s, which leads to %s%s (%s) in line %d instead", r.name,
         t.here.tile, far.name, t.there.tile, back.far and back.far.name or "nothing",
         back.far_tile or "", back.kind, back.line)
   end
   back.met, st.ends[r][t.here.tile].met = true, true
   w:cable { a = far.index, a_port = t.there.tile, b = r.index, b_port = t.here.tile,
      kind = t.kind, Bps = TILE_BPS[t.kind] }
end

local function read_link(st, w, src, n, t)
   local r = router_of(st, w, src, n, t.here)
   local ends = st.ends[r]
   if ends[t.here.tile] then
      src:fail(n, "%s%s stands here and in line %d, expected it once", r.name, t.here.tile,
         ends[t.here.tile].line)
   end
   local own = { line = n, kind = t.kind }
   ends[t.here.tile] = own
   if (t.kind == "ptile") ~= (t.none == "processor") then
      src:fail(n, "a %s tile that leads to %s", t.kind, t.none or t.there.router)
   end
   if t.there then
      local far = router_of(st, w, src, n, t.there)
      if far == r then
         src:fail(n, "%s%s leads to its own router", r.name, t.here.tile)
      end
      check_kind(src, n, t.kind, r, far)
      own.far, own.far_tile = far, t.there.tile
      add_link(st, w, src, n, t, r, far)
   elseif t.none == "unused" then
      st.unused[t.kind] = (st.unused[t.kind] or 0) + 1
   end
end

-- The first link whose far end is not described, if there is one.
local function half_connected(st, w, src)
   local first, from
   for _, r in ipairs(w.routers) do
      for name, own in pairs(st.ends[r]) do
         if own.far and not own.met and (not first or own.line < first.line) then
            first, from = own, r.name .. name
         end
      end
   end
   if first then
      src:fail(first.line, "%s leads to %s%s, which is not described; is the file cut short?",
         from, first.far.name, first.far_tile)
   end
end

--- Read it.
function cray_rtr.read(src, opts)
   local w, st = wiring.new(src, "rtr"), { at = {}, ends = {}, unused = {} }
   for n, line in src:lines(4096) do
      local t = link:match(line)
      if t then
         read_link(st, w, src, n, t)
      elseif not ignored:match(line) then
         src:fail(n, "%s, expected a tile such as 'c0-0c0s0a0l00(0:0:0) green -> \z
            c0-0c0s6a0l10(0:0:6)'", quote(line))
      end
   end
   if #w.routers == 0 then
      src:fail(nil, "the file ends without a router")
   end
   half_connected(st, w, src)
   for _, kind in ipairs { "green", "black", "blue" } do
      if st.unused[kind] then
         src:note(1, "%d %s tiles are unused", st.unused[kind], kind)
      end
   end
   w:only(opts.nodes, true)
   return w:finish()
end

return cray_rtr
