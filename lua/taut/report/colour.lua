-- SPDX-License-Identifier: GPL-2.0-or-later
--- Colour scales that colour-blind people and grey printers can read: lightness runs one way.
--
-- Colours are blended in OKLab, where equal steps look equal.
-- Source of its matrices: B. Ottosson, "A perceptual color space for image processing" (2020).
local colour = {}

--- Colours of the verdicts; they differ in lightness, too.
colour.verdict = { ok = "#9cc5a1", suspect = "#f2b134", slow = "#d1495b", lossy = "#4f56c9",
   failed = "#3b1c4a", unknown = "#d5dbe1" }

-- Bad is dark, good is light.
local HEAT = { "#2a0a3a", "#7d1d5c", "#cf4446", "#f19c4b", "#fdf3d6" }

local function linear_of_byte(byte)
   local v = byte / 255
   if v <= 0.04045 then
      return v / 12.92
   end
   return ((v + 0.055) / 1.055) ^ 2.4
end

local function byte_of_linear(linear)
   linear = math.max(0, math.min(1, linear))
   local v = linear * 12.92
   if linear > 0.0031308 then
      v = 1.055 * linear ^ (1 / 2.4) - 0.055
   end
   return math.floor(v * 255 + 0.5)
end

--- The three numbers 0 … 255 of a colour.
function colour.rgb(text)
   local r, g, b = text:match "^#(%x%x)(%x%x)(%x%x)$"
   if not r then
      error(("colour '%s': expected #rrggbb"):format(text), 3)
   end
   return tonumber(r, 16), tonumber(g, 16), tonumber(b, 16)
end

local function parse_oklab(text)
   local r, g, b = colour.rgb(text)
   r, g, b = linear_of_byte(r), linear_of_byte(g), linear_of_byte(b)
   local l = (0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b) ^ (1 / 3)
   local m = (0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b) ^ (1 / 3)
   local s = (0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b) ^ (1 / 3)
   return { 0.2104542553 * l + 0.7936177850 * m - 0.0040720468 * s,
      1.9779984951 * l - 2.4285922050 * m + 0.4505937099 * s,
      0.0259040371 * l + 0.7827717662 * m - 0.8086757660 * s }
end

local function text_of_oklab(lab)
   local l = (lab[1] + 0.3963377774 * lab[2] + 0.2158037573 * lab[3]) ^ 3
   local m = (lab[1] - 0.1055613458 * lab[2] - 0.0638541728 * lab[3]) ^ 3
   local s = (lab[1] - 0.0894841775 * lab[2] - 1.2914855480 * lab[3]) ^ 3
   return ("#%02x%02x%02x"):format(
      byte_of_linear(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s),
      byte_of_linear(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s),
      byte_of_linear(-0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s))
end

--- A scale through some colours, evenly spaced.
-- @param list array of at least two "#rrggbb"
-- @return function of 0 … 1 (what is outside is taken as the end) → "#rrggbb"
function colour.scale(list)
   local stops = {}
   for i, text in ipairs(list) do
      stops[i] = parse_oklab(text)
   end
   return function(channel)
      local at = math.max(0, math.min(1, channel)) * (#stops - 1)
      local i = math.min(math.floor(at), #stops - 2)
      local a, b, f, lab = stops[i + 1], stops[i + 2], at - i, {}
      for k = 1, 3 do
         lab[k] = a[k] + (b[k] - a[k]) * f
      end
      return text_of_oklab(lab)
   end
end

--- 0 (bad, dark) … 1 (good, light).
colour.heat = colour.scale(HEAT)

--- Black or white, whichever reads better on a background.
function colour.ink(background)
   if parse_oklab(background)[1] > 0.62 then
      return "#1c1c1c"
   end
   return "#ffffff"
end

return colour
