-- SPDX-License-Identifier: GPL-2.0-or-later
--- What an InfiniBand width and speed carry.
--
-- Data rate of one lane after line coding, bytes per second (InfiniBand Architecture
-- Specification, volume 2: 8b/10b up to QDR, 64b/66b from FDR10 on).
local speed = {}

local LANE_BPS = {
   SDR = 2.5e9 * 8 / 10 / 8,
   DDR = 5e9 * 8 / 10 / 8,
   QDR = 10e9 * 8 / 10 / 8,
   FDR10 = 10.3125e9 * 64 / 66 / 8,
   FDR = 14.0625e9 * 64 / 66 / 8,
   EDR = 25.78125e9 * 64 / 66 / 8,
   HDR = 50e9 / 8,
   NDR = 100e9 / 8,
   XDR = 200e9 / 8,
}

local WIDTHS = { ["1x"] = 1, ["2x"] = 2, ["4x"] = 4, ["8x"] = 8, ["12x"] = 12 }

--- Bandwidth of a link.
-- @param width "4x"
-- @param name "QDR"
-- @return bytes per second, or nil when one of them is not known
function speed.Bps(width, name)
   local lanes, lane = WIDTHS[width:lower()], LANE_BPS[name:upper()]
   return lanes and lane and math.floor(lanes * lane)
end

return speed
