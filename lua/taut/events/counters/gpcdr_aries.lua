-- SPDX-License-Identifier: GPL-2.0-or-later
--- Counters of a Cray Aries that a node reads through gpcdr: metric sets linktraffic, linkstalled,
-- linksendstatus, linkrecvstatus and nic.
--
-- One of each kind for each tile of the router, `traffic:0RC`: row R 0 to 4, column C 0 to 7.  The
-- Aries is shared by four nodes: all tell of the same tiles.
local catalogue = require "taut.events.counters.catalogue"

local GPCDR = "Cray gpcdr, configuration in ovis-hpc/ldms util/aries/gpcdr"
local STATUS = "ovis-hpc/ldms, sampler aries_linkstatus"
local LANES = 3 -- of a tile that is whole

local list, counter = catalogue.new { source = GPCDR }

local function add_tile(at)
   counter("traffic:" .. at, "bytes", { class = "traffic", means = "bytes that came in at tile "
      .. at })
   counter("stalled:" .. at, "ns", { class = "congestion",
      means = "time packets stood in the input queues of tile " .. at,
      misleads = "summed over channels: may pass the time of the clock; tells of load" })
   for _, each in ipairs { { "send", "send" }, { "recv", "receive" } } do
      local prefix, side = each[1], each[2]
      list[prefix .. "linkstatus:" .. at] = { state = true, unit = "lanes", class = "degrading",
         side = side, whole = LANES, absent = 0,
         means = "lanes up at tile " .. at, source = STATUS,
         misleads = "0 is also what a tile says that has no cable" }
   end
end

for row = 0, 4 do
   for column = 0, 7 do
      add_tile(("0%d%d"):format(row, column))
   end
end

for name, means in pairs {
   totaloutput = "bytes the node sent", fmaout = "bytes the node sent in small pieces (FMA)",
   bteout = "bytes the node sent in blocks (BTE)",
} do
   counter(name, "bytes", { side = "send", class = "traffic", means = means })
end
counter("totalinput", "bytes", { class = "traffic", means = "bytes the node received" })

return { title = "Aries", list = list }
