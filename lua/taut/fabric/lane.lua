--- Widths and speeds of InfiniBand links: the codes of PortInfo, in words and in bytes per second.
local lane = {}

local WIDTH = { [1] = 1, [2] = 4, [4] = 8, [8] = 12, [16] = 2 }

-- Slowest first: name, data bytes per second of one lane after line coding (IBA 2), and the bit of
-- LinkSpeed or of LinkSpeedExt.
local SPEEDS = {
   { name = "SDR", Bps = 2.5e9 * 8 / 10 / 8, bit = 1 },
   { name = "DDR", Bps = 5e9 * 8 / 10 / 8, bit = 2 },
   { name = "QDR", Bps = 10e9 * 8 / 10 / 8, bit = 4 },
   { name = "FDR", Bps = 14.0625e9 * 64 / 66 / 8, ext = 1 },
   { name = "EDR", Bps = 25.78125e9 * 64 / 66 / 8, ext = 2 },
   { name = "HDR", Bps = 50e9 / 8, ext = 4 },
   { name = "NDR", Bps = 100e9 / 8, ext = 8 },
   { name = "XDR", Bps = 200e9 / 8, ext = 16 },
}

local STATES = { "Down", "Init", "Armed", "Active" }
local PHYS = { "Sleep", "Polling", "Disabled", "Training", "LinkUp", "Recovery", "PhyTest" }

--- Lanes of a port's active width; nil for a code that is none.
function lane.width(port)
   return WIDTH[port.width or 0]
end

--- Its active speed: an entry of SPEEDS; nil for a code that is none.
function lane.speed(port)
   local ext = port.ext_speed or 0
   for i = #SPEEDS, 1, -1 do
      local s = SPEEDS[i]
      if ext ~= 0 and s.ext == ext or ext == 0 and s.bit == port.speed then
         return s
      end
   end
end

local function best_width(mask_a, mask_b, widest)
   local best
   for code, lanes in pairs(WIDTH) do
      if mask_a & mask_b & code ~= 0 and lanes <= widest and (not best or lanes > best) then
         best = lanes
      end
   end
   return best
end

local function best_speed(a, b, field)
   local name, ext = "speed_" .. field, "ext_speed_" .. field
   for i = #SPEEDS, 1, -1 do
      local s = SPEEDS[i]
      local both = s.ext and (a[ext] or 0) & (b[ext] or 0) & s.ext
         or s.bit and (a[name] or 0) & (b[name] or 0) & s.bit
      if both ~= 0 then
         return s
      end
   end
end

--- What two ports could do together.
-- @param field "supported" or "enabled"
-- @param widest lanes that count at most: chips claim widths that no cable of the site has
-- @return lanes, speed; either nil where a port does not say
function lane.best(a, b, field, widest)
   local mask = "width_" .. field
   return best_width(a[mask] or 0, b[mask] or 0, widest), best_speed(a, b, field)
end

function lane.bandwidth(lanes, speed)
   return lanes and speed and lanes * speed.Bps
end

function lane.state(port)
   return STATES[port.state or 0] or "?"
end

function lane.phys(port)
   return PHYS[port.phys or 0] or "?"
end

--- "4X QDR"
function lane.words(lanes, speed)
   return ("%s %s"):format(lanes and lanes .. "X" or "?", speed and speed.name or "?")
end

return lane
