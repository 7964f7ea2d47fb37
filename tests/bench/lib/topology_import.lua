-- SPDX-License-Identifier: GPL-2.0-or-later
-- The parts of topology_import that run in Taut: `read` one file, `make` a large one.
local import = require "taut.topology.import"
local recognise = require "taut.topology.import.recognise"
local stats = require "stats"
local units = require "kernel.units"

local commands = {}

local function memory_MB()
   local f = io.open "/proc/self/status"
   local kB = f:read "a":match "VmHWM:%s*(%d+)"
   f:close()
   return tonumber(kB) / 1000
end

--- @param name figure, limit "-" or a number, format, path, how many times
function commands.read(name, limit, format, path, times)
   local read, known, words = {}, {}, nil
   for i = 1, tonumber(times) do
      collectgarbage()
      local start = os.clock()
      local w, err = import.read(format, path)
      read[i] = os.clock() - start
      words = w and recognise.words(recognise.kind(w)) or "refused: " .. err:sub(#path + 2)
      known[i] = os.clock() - start
   end
   local f = assert(io.open(path))
   local bytes = f:seek "end"
   f:close()
   print(("%-14s %-24s %10.3f MB  read %7.3f s  known %7.3f s  %5.0f MB held"):format(format,
      path:match "[^/]+$", bytes / 1e6, stats.median(read), stats.median(known), memory_MB()))
   print("               " .. words)
   units.figure(name, stats.median(read), "s", limit ~= "-" and "<=" or nil, tonumber(limit))
end

-- A HyperX of 12x12x12 switches with 20 hosts each, as ibnetdiscover prints it.
function commands.make()
   local n, per, base = 12, 20, 1
   local out = io.stdout
   local function id(r, host)
      return host and ('"H-%016x"'):format(0x100000 + r * per + host) or
         ('"S-%016x"'):format(base + r)
   end
   local stride = { n * n, n, 1 }
   local function at(r, d)
      return r // stride[d] % n
   end
   -- port of switch r towards coordinate j of dimension d; hosts follow
   local function port(r, d, j)
      local x = at(r, d)
      return (d - 1) * (n - 1) + (j < x and j or j - 1) + 1
   end
   for r = 0, n * n * n - 1 do
      out:write(("switchguid=0x%x\nSwitch\t64 %s\t\t# \"sw%d\" base port 0 lid %d lmc 0\n"):format(
         base + r, id(r), r, r + 1))
      for d = 1, 3 do
         local x = at(r, d)
         for j = 0, n - 1 do
            if j ~= x then
               local s = r + (j - x) * stride[d]
               out:write(("[%d]\t%s[%d]\t\t# \"sw%d\" lid %d 4xHDR\n"):format(port(r, d, j), id(s),
                  port(s, d, x), s, s + 1))
            end
         end
      end
      for k = 0, per - 1 do
         out:write(("[%d]\t%s[1](%x)\t\t# \"n%d mlx5_0\" lid %d 4xHDR\n"):format(
            3 * (n - 1) + 1 + k, id(r, k), 0x1000000 + r * per + k, r * per + k,
            2000 + r * per + k))
      end
      out:write "\n"
   end
   for r = 0, n * n * n - 1 do
      for k = 0, per - 1 do
         out:write(("caguid=0x%x\nCa\t1 %s\t\t# \"n%d mlx5_0\"\n[1](%x)\t%s[%d]\t\t# lid %d lmc 0 "
            .. "\"sw%d\" lid %d 4xHDR\n\n"):format(0x100000 + r * per + k, id(r, k), r * per + k,
            0x1000000 + r * per + k, id(r), 3 * (n - 1) + 1 + k, 2000 + r * per + k, r, r + 1))
      end
   end
end

commands[arg[1]](table.unpack(arg, 2))
