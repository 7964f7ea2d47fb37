-- SPDX-License-Identifier: GPL-2.0-or-later
--- LIDs of an Omni-Path fabric: `opaextractlids`, `opareport -o lids`; added to its links.
local forms = require "taut.topology.import.opa.forms"
local source = require "taut.topology.import.source"

local opa_lids = {
   summary = "LIDs of an Omni-Path fabric: `opaextractlids`, `opareport -o lids`; added to " ..
      "opareport",
}

local quote = source.quote

local MOST = 0xFFFFFF -- 24 bits, of which LIDs for one port are the lower part

-- "0x0001", or a range of them, "0x0010-0x0013".
local function first_of(src, line, text)
   local lid = text and tonumber(text:match "^0x(%x+)" or "", 16)
   if not lid or lid < 1 or lid > MOST then
      src:fail(line, "LID %s, expected 0x0001 to 0x%x", quote(text or ""), MOST)
   end
   return lid
end

local function places_of(wiring)
   local at = {}
   for _, r in ipairs(wiring.routers) do
      if r.guid then
         at[r.guid] = r
      end
   end
   for _, n in ipairs(wiring.nodes) do
      for _, rail in ipairs(n.rails) do
         if rail and rail.guid then
            at[rail.guid] = rail
         end
      end
   end
   return at
end

--- Put them into the wiring.
function opa_lids.apply(wiring, src)
   local at, seen, strangers = places_of(wiring), {}, 0
   forms.read(src, {
      link = function() end,
      total = function() end,
      lid = function(line, text, port)
         local lid = first_of(src, line, text)
         if seen[lid] then
            src:fail(line, "LID 0x%04x is here and in line %d, expected it once", lid,
               seen[lid])
         end
         seen[lid] = line
         local place = at[port.guid]
         if place then
            place.lid = lid
         else
            strangers = strangers + 1
         end
      end })
   if not next(seen) then
      src:fail(nil, "the file ends without a LID, expected those of opaextractlids")
   elseif strangers > 0 then
      src:note(1, "%d LIDs are of ports that %s does not have", strangers, wiring.source)
   end
end

return opa_lids
