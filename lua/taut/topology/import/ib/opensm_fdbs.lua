-- SPDX-License-Identifier: GPL-2.0-or-later
--- Forwarding tables as OpenSM's opensm.fdbs gives them: port and hop count per lid.
local grammar = require "taut.topology.import.grammar"
local lpeg = require "lpeg"
local source = require "taut.topology.import.source"
local forwarding = require "taut.topology.import.forwarding"

local opensm_fdbs = { summary = "forwarding tables (opensm.fdbs), added to ibnetdiscover" }

local P, Cg, Ct, Cc = lpeg.P, lpeg.Cg, lpeg.Ct, lpeg.Cc
local ws, number, guid = grammar.ws, grammar.number, grammar.guid

local colon = ws * ":" * ws
local lid = P "0x" * (grammar.hex * grammar.hex ^ -7 / function(text) return tonumber(text, 16) end)
-- ibdiagnet begins it with "osm_ucast_mgr_"
local head = (P "osm_ucast_mgr_" ^ -1 * "dump_ucast_routes:" * ws) ^ -1
local switch = Ct(ws * head * "Switch " * Cg(guid, "guid") * grammar.eol)
-- "0x0001 : 036  : 02   : yes", "… : No 2 hop path possible via port 5!", "UNREACHABLE"
local how = number / 0 * colon * (P "yes" + "No " * number / 0 * " hop path possible via port " *
   number / 0 * "!") + P "HOPS UNKNOWN"
local entry = Ct(ws * Cg(lid, "lid") * colon * (
   P "UNREACHABLE" * Cg(Cc(255), "port") +
   Cg(number, "port") * colon * how) * grammar.eol)
local ignored = grammar.eol + ws * "LID" * ws * ":" + ws * "#"

function opensm_fdbs.apply(wiring, src)
   local st = forwarding.start(wiring, src)
   for n, line in src:lines(1024) do
      local e = entry:match(line)
      if e then
         forwarding.entry(st, n, e.lid, e.port)
      else
         local s = switch:match(line)
         if s then
            forwarding.switch(st, n, s.guid)
         elseif not ignored:match(line) then
            src:fail(n, "%s, expected 'Switch 0x...' or '0xLID : PORT : HOPS : yes'",
               source.quote(line))
         end
      end
   end
   forwarding.finish(st, true)
end

return opensm_fdbs
