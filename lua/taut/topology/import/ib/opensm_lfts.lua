-- SPDX-License-Identifier: GPL-2.0-or-later
--- Forwarding tables as OpenSM's opensm-lfts.dump and dump_lfts.sh (ibroute) give them.
local grammar = require "taut.topology.import.grammar"
local lpeg = require "lpeg"
local source = require "taut.topology.import.source"
local forwarding = require "taut.topology.import.forwarding"

local opensm_lfts = {
   summary = "forwarding tables (opensm-lfts.dump, dump_lfts), added to ibnetdiscover",
}

local P, S, Cg, Ct = lpeg.P, lpeg.S, lpeg.Cg, lpeg.Ct
local ws, sep, number, guid = grammar.ws, grammar.sep, grammar.number, grammar.guid

local lid = P "0x" * (grammar.hex * grammar.hex ^ -7 / function(text) return tonumber(text, 16) end)
-- OpenSM's first line has the highest lid in decimal, and so has its last one in place of how many
-- there are: lids without a way are left out, as those between ftree's spines.
local highest = P "0-" * Cg(number, "highest") * #P "]"
local switch = Ct(P "Unicast lids [" * highest ^ -1 * (1 - P "]") ^ 0 * "] of switch " *
   (P "Lid " * number / 0 * sep) ^ -1 * (1 - P "guid ") ^ 0 * "guid " * Cg(guid, "guid"))
local entry = Ct(ws * Cg(lid, "lid") * sep * Cg(number, "port") *
   (sep * S "#:" * (1 - P "portguid ") ^ 0 * "portguid " * Cg(guid, "guid")) ^ -1)
local dumped = number * sep * (P "valid " ^ -1 * "lids dumped")
local ignored = grammar.eol + ws * "Lid" * sep + ws * "Port" * sep + ws * "#"

function opensm_lfts.apply(wiring, src)
   local st = forwarding.start(wiring, src)
   for n, line in src:lines(1024) do
      local e = entry:match(line)
      if e then
         forwarding.entry(st, n, e.lid, e.port, e.guid)
      else
         local s = switch:match(line)
         if s then
            forwarding.switch(st, n, s.guid, s.highest)
         elseif dumped:match(line) then
            forwarding.ends(st, n, dumped:match(line))
         elseif not ignored:match(line) then
            src:fail(n, "%s, expected 'Unicast lids ... of switch ... guid 0x...' or \z
               '0xLID PORT # ...'", source.quote(line))
         end
      end
   end
   forwarding.finish(st)
end

return opensm_lfts
