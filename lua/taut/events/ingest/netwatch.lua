-- SPDX-License-Identifier: GPL-2.0-or-later
--- Cray's netwatch log: lanes that Gemini links lost.
--
-- "140212 08:07:30 c2-0c2s3g0l27 c2-0c2s4g0l17 1 RX lanemask=3": the tile l27 of the first Gemini
-- receives over two of its three lanes what tile l17 of the second sends.  The sender's line says
-- TX and means the same.  Some copies of such logs have a digit 1 for the letter l.
-- Source: M. Ezell, CUG 2013 (lines, masks, tiles).
local lpeg = require "lpeg"
local clock = require "taut.events.ingest.clock"

local P, R, S, C, Cg, Ct = lpeg.P, lpeg.R, lpeg.S, lpeg.C, lpeg.Cg, lpeg.Ct

local netwatch = { summary = "Cray netwatch: lane degrades of Gemini links",
   words = { "lanemask=" } }

local digit, sp = R "09", S " \t" ^ 1
local small = digit * digit ^ -2

-- The letter l may stand as 1: a Gemini is g0 or g1, a tile two octal digits, so nothing is lost.
local tile = Ct(Cg(C("c" * small * "-" * small * "c" * R "02" * "s" * R "07" * "g" * R "01"),
   "gemini") * S "l1" * Cg(R "05" / tonumber, "row") * Cg(R "07" / tonumber, "column"))

netwatch.line = Cg(clock.short, "time") * sp * Cg(tile, "tile") * sp * Cg(tile, "other") * sp
   * digit ^ 1 * sp * Cg(C(P "RX" + "TX"), "way") * sp * "lanemask=" * (P "0x") ^ -1
   * Cg(C(R("09", "az", "AZ") ^ 1), "mask")

-- What a tile's direction is (row, column from 0; the same source).
local MAP = {
   [0] = "Z+ Z+ X- X- X+ X+ Z- Z-", "Z+ Z+ X- X- X+ X+ Z- Z-", "Z- Z- Z- P P Z+ Z+ Z+",
   "X- X- Z- P P Z+ X+ X+", "X- X- Y- P P Y+ X+ X+", "Y- Y- Y- P P Y+ Y+ Y+",
}
local LANES = { X = 24, Y = 12, Z = 24 }
local COUNT = { [0] = 0, 1, 1, 2, 1, 2, 2, 3 }

local direction = {}
for row, text in pairs(MAP) do
   direction[row] = {}
   local column = 0
   for word in text:gmatch "%S+" do
      if word ~= "P" then
         direction[row][column] = word
      end
      column = column + 1
   end
end

local function name_tile(named)
   return ("%sl%d%d"):format(named.gemini, named.row, named.column)
end

--- One line's meaning.
-- @param record of `line`
-- @param state kept from call to call: `masks`, sending tile → mask that is not 7
-- @return observation; nil for no news; nil and what is wrong with the line
function netwatch.observe(record, state)
   local mask = math.tointeger(tonumber(record.mask))
   if not mask or mask < 0 or mask > 7 then
      return nil, ("lanemask '%s', expected 0 to 7"):format(record.mask:sub(1, 20))
   end
   local sender, receiver = record.other, record.tile
   if record.way == "TX" then
      sender, receiver = record.tile, record.other
   end
   local way = direction[sender.row][sender.column]
   if not way then
      return nil, ("%s is a tile of the processors"):format(name_tile(sender))
   end
   local name = name_tile(sender)
   state.masks = state.masks or {}
   local before = state.masks[name] or 7
   if mask == before then
      return nil
   end
   local lanes = COUNT[mask]
   local all = LANES[way:sub(1, 1)]
   local text = ("%s to %s (%s): %d of 3 lanes"):format(name, name_tile(receiver), way, lanes)
   local class
   if mask == 7 then
      class, text = "harmless", text .. " again"
      state.masks[name] = nil
   else
      class = "degrading"
      text = ("%s, %d of %d of the direction"):format(text, all - 3 + lanes, all)
      state.masks[name] = mask
   end
   return { what = "lanes", scope = "link", class = class,
      left = (all - 3 + lanes) / all, have = ("%d of 3 lanes"):format(lanes), best = "3 of 3 lanes",
      port = name, far = name_tile(receiver), origin = name,
      at = { gemini = sender.gemini, direction = way },
      text = text }
end

return netwatch
