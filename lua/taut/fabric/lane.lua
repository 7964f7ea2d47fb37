-- SPDX-License-Identifier: GPL-2.0-or-later
--- Widths and speeds of InfiniBand links: the codes of PortInfo, in words and in bytes per second.
local lane = {}

-- Places in a port's `info`, the numbers of taut-ib's text (doc/internals/fabric.md).
local STATE, PHYS = 1, 2
local WIDTH_ACTIVE, WIDTH_ENABLED, WIDTH_SUPPORTED = 3, 4, 5
local SPEED_ACTIVE, SPEED_ENABLED, SPEED_SUPPORTED = 6, 7, 8
local EXT_ACTIVE, EXT_ENABLED, EXT_SUPPORTED = 9, 10, 11
local FIELDS = EXT_SUPPORTED

local WIDTH = { [1] = 1, [2] = 4, [4] = 8, [8] = 12, [16] = 2 }

-- Slowest first: name, data bytes per second of one lane after line coding (IBA 2), and the bit of
-- LinkSpeed, or of LinkSpeedExt and LinkSpeedExt2, the latter above the first five, as rdma-core
-- has them.
local SPEEDS = {
   { name = "SDR", Bps = 2.5e9 * 8 / 10 / 8, bit = 1 },
   { name = "DDR", Bps = 5e9 * 8 / 10 / 8, bit = 2 },
   { name = "QDR", Bps = 10e9 * 8 / 10 / 8, bit = 4 },
   { name = "FDR", Bps = 14.0625e9 * 64 / 66 / 8, ext = 1 },
   { name = "EDR", Bps = 25.78125e9 * 64 / 66 / 8, ext = 2 },
   { name = "HDR", Bps = 50e9 / 8, ext = 4 },
   { name = "NDR", Bps = 100e9 / 8, ext = 8 },
   { name = "XDR", Bps = 200e9 / 8, ext = 32 },
}

local STATES = { "Down", "Init", "Armed", "Active" }
local PHYS_STATES = { "Sleep", "Polling", "Disabled", "Training", "LinkUp", "Recovery", "PhyTest" }

local BY_BIT, BY_EXT = {}, {}
for _, s in ipairs(SPEEDS) do
   if s.ext then
      BY_EXT[s.ext] = s
   else
      BY_BIT[s.bit] = s
   end
end

--- A port's info where it could not be read.
lane.unread = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

local infos = {}

--- The numbers of taut-ib's text, shared by all ports that have the same.
function lane.info(text)
   local info = infos[text]
   if not info then
      info = {}
      for n in text:gmatch "%d+" do
         info[#info + 1] = math.tointeger(n)
      end
      if #info ~= FIELDS then
         info = lane.unread
      end
      infos[text] = info
   end
   return info
end

--- The active codes alone, as a recorded fabric keeps them.
function lane.codes(port)
   local info = port.info
   return { info[PHYS], info[WIDTH_ACTIVE], info[SPEED_ACTIVE], info[EXT_ACTIVE] }
end

--- The info of a port of which only these are known.
function lane.of_codes(codes)
   local info = table.move(lane.unread, 1, #lane.unread, 1, {})
   info[PHYS], info[WIDTH_ACTIVE], info[SPEED_ACTIVE], info[EXT_ACTIVE] = table.unpack(codes, 1, 4)
   return info
end

--- Lanes of a port's active width; nil for a code that is not valid.
function lane.width(port)
   return WIDTH[port.info[WIDTH_ACTIVE]]
end

--- Its active speed: an entry of SPEEDS; nil for a code that is not valid.
function lane.speed(port)
   local ext = port.info[EXT_ACTIVE]
   if ext ~= 0 then
      return BY_EXT[ext]
   end
   return BY_BIT[port.info[SPEED_ACTIVE]]
end

local function best_width(mask, widest)
   local best
   for code, lanes in pairs(WIDTH) do
      if mask & code ~= 0 and lanes <= widest and (not best or lanes > best) then
         best = lanes
      end
   end
   return best
end

local function best_speed(mask, ext)
   for i = #SPEEDS, 1, -1 do
      local s = SPEEDS[i]
      if s.ext and s.ext & ext ~= 0 or not s.ext and s.bit & mask ~= 0 then
         return s
      end
   end
end

-- Most links of a fabric are alike.
local known = {}

local function best_of_both(width, speed, ext, widest)
   local key = ((width << 8 | speed) << 8 | ext) << 8 | widest
   local t = known[key]
   if not t then
      t = { best_width(width, widest), best_speed(speed, ext) }
      known[key] = t
   end
   return t[1], t[2]
end

--- What two ports could do together.
-- @param widest lanes that count at most: chips claim widths that no cable of the site has
-- @return lanes, speed; either nil where a port does not say
function lane.supported(port, far, widest)
   local x, y = port.info, far.info
   return best_of_both(x[WIDTH_SUPPORTED] & y[WIDTH_SUPPORTED],
      x[SPEED_SUPPORTED] & y[SPEED_SUPPORTED], x[EXT_SUPPORTED] & y[EXT_SUPPORTED], widest)
end

--- What they have been allowed to do together.
function lane.enabled(port, far, widest)
   local x, y = port.info, far.info
   return best_of_both(x[WIDTH_ENABLED] & y[WIDTH_ENABLED], x[SPEED_ENABLED] & y[SPEED_ENABLED],
      x[EXT_ENABLED] & y[EXT_ENABLED], widest)
end

function lane.bandwidth(lanes, speed)
   return lanes and speed and lanes * speed.Bps
end

function lane.state(port)
   return STATES[port.info[STATE]] or "?"
end

function lane.phys(port)
   return PHYS_STATES[port.info[PHYS]] or "?"
end

--- "4X" and "QDR"; "?" for what is not known.
function lane.names(lanes, speed)
   local width, rate = "?", "?"
   if lanes then
      width = lanes .. "X"
   end
   if speed then
      rate = speed.name
   end
   return width, rate
end

--- "4X QDR"
function lane.words(lanes, speed)
   return ("%s %s"):format(lane.names(lanes, speed))
end

function lane.is_up(port)
   return port.info[PHYS] == 5
end

function lane.is_disabled(port)
   return port.info[PHYS] == 3
end

function lane.is_active(port)
   return port.info[STATE] == 4
end

function lane.is_init(port)
   return port.info[STATE] == 2
end

function lane.is_sm(port)
   return (port.caps or 0) & 2 ~= 0
end

return lane
