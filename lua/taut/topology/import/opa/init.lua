-- SPDX-License-Identifier: GPL-2.0-or-later
--- An Omni-Path fabric out of `opareport -o links`: each of its links once, with both ends.
local forms = require "taut.topology.import.opa.forms"
local ib = require "taut.topology.import.ib"
local source = require "taut.topology.import.source"

local opareport = {
   summary = "Omni-Path fabric: `opareport -o links`, also with -x, and `opaextractsellinks`",
}

local quote = source.quote

local MOST_G = 100000

-- "100g": bits per second of data, after line coding (opa-ff, StlStaticRateToText).
local function Bps_of(st, line, rate)
   local g = rate and tonumber(rate:match "^([%d.]+)g$")
   if g and g > MOST_G then
      st.src:fail(line, "rate %s, expected at most %dg", quote(rate), MOST_G)
   end
   if g and g > 0 then
      return g * 1e9 / 8
   end
   return nil
end

local function element_of(st, port)
   local e = st.at[port.guid]
   if not e then
      e = { type = port.type, guid = port.guid, desc = port.desc, line = port.line, ports = {},
         nports = 0 }
      st.at[port.guid] = e
      st.elements[#st.elements + 1] = e
   elseif e.type ~= port.type then
      st.src:fail(port.line, "GUID %s is a %s here and a %s in line %d", quote(port.guid),
         port.type, e.type, e.line)
   end
   e.nports = math.max(e.nports, port.number)
   return e
end

-- The same link again, as of a report of all and one of those between switches.
local function is_known(st, element, here, there)
   local known = element.ports[here.number]
   if not known then
      return false
   elseif known.peer == there.guid and known.peer_port == there.number then
      return true
   end
   st.src:fail(here.line, "port %d of %s is here and in line %d, expected it once",
      here.number, quote(here.guid), known.line)
end

-- An adapter has one port, and its node the GUID of that (Linux, the driver hfi1).
local function port_guid(port)
   if port.type == "ca" then
      return port.port_guid or port.guid
   end
   return nil
end

local function add_link(st, line, rate, here, there)
   local x, y = element_of(st, here), element_of(st, there)
   st.links = st.links + 1
   if x == y and here.number == there.number then
      st.src:fail(line, "a link of port %d of %s with itself", here.number, quote(here.guid))
   elseif is_known(st, x, here, there) then
      st.again = st.again + 1
      return
   end
   is_known(st, y, there, here)
   local Bps = Bps_of(st, line, rate)
   if not Bps and not st.no_rate then
      st.no_rate = true
      st.src:note(line, "links without a rate: give --capacity, or it is learned")
   end
   x.ports[here.number] = { line = here.line, guid = port_guid(here), peer = there.guid,
      peer_port = there.number,
      Bps = Bps }
   y.ports[there.number] = { line = there.line, guid = port_guid(there), peer = here.guid,
      peer_port = here.number,
      Bps = Bps }
end

-- How many links the report says that there are; with a focus, how many it has.
local function add_total(st, line, name, text)
   if name == "LinkCount" or name == "MatchingLinks" then
      local count = text:find "^%d+$" and math.tointeger(tonumber(text))
      st[name] = { line = line, count = count or st.src:fail(line,
         "%s links in all, expected a whole number", quote(text)) }
   end
end

--- Read it, in whichever of its forms.
function opareport.read(src, opts)
   local st = { src = src, elements = {}, at = {}, links = 0, again = 0 }
   forms.read(src, {
      link = function(...) add_link(st, ...) end,
      lid = function() end,
      total = function(...) add_total(st, ...) end })
   local total = st.MatchingLinks or st.LinkCount
   if st.links == 0 then
      src:fail(nil, "the file ends without a link, expected what opareport -o links prints")
   elseif total and total.count > st.links then
      src:fail(total.line, "%d links, and the file has %d; is it cut short?", total.count, st.links)
   end
   return ib.assemble(src, "opareport", st.elements, opts)
end

return opareport
