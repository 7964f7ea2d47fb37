--- Pixels of a palette as PNG, for pictures that would need an element for every pixel.
--
-- Stored without compression: that would need a library, and a viewer reads the pixels once.
-- Source of the format: W3C, PNG (second edition); RFC 1950.
local png = {}

local crc_table

local function crc(text)
   if not crc_table then
      crc_table = {}
      for n = 0, 255 do
         local c = n
         for _ = 1, 8 do
            c = c & 1 == 1 and 0xEDB88320 ~ c >> 1 or c >> 1
         end
         crc_table[n] = c
      end
   end
   local c = 0xFFFFFFFF
   for i = 1, #text do
      c = crc_table[(c ~ text:byte(i)) & 0xFF] ~ c >> 8
   end
   return c ~ 0xFFFFFFFF
end

local function adler(text)
   local a, b = 1, 0
   for i = 1, #text do
      a = a + text:byte(i)
      b = b + a
      if i % 4096 == 0 then
         a, b = a % 65521, b % 65521
      end
   end
   return b % 65521 << 16 | a % 65521
end

local function chunk(kind, data)
   return string.pack(">I4", #data) .. kind .. data .. string.pack(">I4", crc(kind .. data))
end

-- A zlib stream of stored blocks.
local function stored(data)
   local parts = { "\x78\x01" }
   for at = 1, math.max(1, #data), 65535 do
      local part = data:sub(at, at + 65534)
      parts[#parts + 1] = string.pack("<I1I2I2", at + 65535 > #data and 1 or 0, #part,
         ~#part & 0xFFFF) .. part
   end
   parts[#parts + 1] = string.pack(">I4", adler(data))
   return table.concat(parts)
end

--- A picture of palette colours.
-- @param rows array of strings of equal length, a byte per pixel: its place in the palette, from 0
-- @param palette array of { red, green, blue } (0 … 255) or { red, green, blue, opacity },
--   256 at most
-- @return the PNG's bytes
function png.encode(rows, palette)
   local colours, opacity = {}, {}
   for i, p in ipairs(palette) do
      colours[i] = string.char(p[1], p[2], p[3])
      opacity[i] = string.char(p[4] or 255)
   end
   local lines = {}
   for i, row in ipairs(rows) do
      lines[i] = "\0" .. row -- filter: none
   end
   return "\x89PNG\r\n\x1a\n"
      .. chunk("IHDR", string.pack(">I4I4I1I1I1I1I1", #rows[1], #rows, 8, 3, 0, 0, 0))
      .. chunk("PLTE", table.concat(colours)) .. chunk("tRNS", table.concat(opacity))
      .. chunk("IDAT", stored(table.concat(lines))) .. chunk("IEND", "")
end

local DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

--- Bytes as base64 (RFC 4648), for data: addresses.
function png.base64(bytes)
   local parts = {}
   for at = 1, #bytes, 3 do
      local a, b, c = bytes:byte(at, at + 2)
      local n = a << 16 | (b or 0) << 8 | (c or 0)
      local text = {}
      for k = 0, 3 do
         local d = n >> 18 - 6 * k & 63
         text[k + 1] = DIGITS:sub(d + 1, d + 1)
      end
      if not b then
         text[3] = "="
      end
      if not c then
         text[4] = "="
      end
      parts[#parts + 1] = table.concat(text)
   end
   return table.concat(parts)
end

return png
