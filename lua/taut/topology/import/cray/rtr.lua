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
local tables = require "taut.base.tables"
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

local function router_of(st, made, src, line, spot)
   local r = made.router_at[spot.router]
   if not r then
      local name = cray.aries:match(spot.router)
      local wrong = name and cray.trouble(name)
      if not name or wrong then
         src:fail(line, "%s: %s", spot.router, wrong or "not the name of a router")
      end
      local key = spot.x .. "." .. spot.y .. "." .. spot.z
      if st.at[key] then
         src:fail(line, "coordinates %s are those of %s in line %d and of %s", key, st.at[key].name,
            made.lines[st.at[key]], spot.router)
      end
      local _
      _, r = made:router(line, { name = spot.router, group = spot.x, row = spot.y, col = spot.z,
         coord = { spot.x, spot.y, spot.z } })
      st.at[key] = r
      st.ends[r] = {}
   elseif r.group ~= spot.x or r.row ~= spot.y or r.col ~= spot.z then
      src:fail(line, "%s has coordinates (%d:%d:%d), in line %d it has (%d:%d:%d)", spot.router,
         spot.x, spot.y, spot.z, made.lines[r], r.group, r.row, r.col)
   end
   return r
end

local function colour_between(here, there)
   if here.group ~= there.group then
      return "blue"
   elseif here.row == there.row then
      return "green"
   elseif here.col == there.col then
      return "black"
   end
   return nil
end

-- What a cable of a kind joins: green one chassis, black one column of a group, blue two groups.
local function check_kind(src, line, kind, here, there)
   local is = colour_between(here, there)
   if is ~= kind then
      src:fail(line, "a %s link from %s to %s, expected green inside of a chassis, black between \z
         chassis of a group in one slot, blue between groups", kind, here.name, there.name)
   end
end

-- Each cable stands twice, once at each end: the second time it becomes one.
local function add_link(st, made, src, line, told, far_router, far)
   local back = st.ends[far][told.there.tile]
   if not back then
      return
   end
   if back.far ~= far_router or back.far_tile ~= told.here.tile or back.kind ~= told.kind then
      src:fail(line, "%s%s leads to %s%s, which leads to %s%s (%s) in line %d instead",
         far_router.name, told.here.tile, far.name, told.there.tile,
         tables.or_empty(back.far).name or "nothing", back.far_tile or "", back.kind, back.line)
   end
   back.met, st.ends[far_router][told.here.tile].met = true, true
   made:cable { a = far.index, a_port = told.there.tile, b = far_router.index,
      b_port = told.here.tile,
      kind = told.kind, Bps = TILE_BPS[told.kind] }
end

local function read_link(st, made, src, line, told)
   local r = router_of(st, made, src, line, told.here)
   local ends = st.ends[r]
   if ends[told.here.tile] then
      src:fail(line, "%s%s is here and in line %d, expected it once", r.name, told.here.tile,
         ends[told.here.tile].line)
   end
   local own = { line = line, kind = told.kind }
   ends[told.here.tile] = own
   if (told.kind == "ptile") ~= (told.none == "processor") then
      src:fail(line, "a %s tile that leads to %s", told.kind, told.none or told.there.router)
   end
   if told.there then
      local far = router_of(st, made, src, line, told.there)
      if far == r then
         src:fail(line, "%s%s leads to its own router", r.name, told.here.tile)
      end
      check_kind(src, line, told.kind, r, far)
      own.far, own.far_tile = far, told.there.tile
      add_link(st, made, src, line, told, r, far)
   elseif told.none == "unused" then
      st.unused[told.kind] = (st.unused[told.kind] or 0) + 1
   end
end

-- The first link whose far end is not described, if there is one.
local function half_connected(st, made, src)
   local first, from
   for _, r in ipairs(made.routers) do
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
