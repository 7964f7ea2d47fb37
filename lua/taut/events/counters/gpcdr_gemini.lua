-- SPDX-License-Identifier: GPL-2.0-or-later
--- Counters of a Cray Gemini that a node reads through gpcdr: metric sets `links` and `nic`.
--
-- One set for each direction of the torus: `traffic:X+`.  The Gemini is shared by two nodes: both
-- tell of the same links.  Names and units are gpcdr's configuration (gpcdr-init.conf).
local catalogue = require "taut.events.counters.catalogue"

local GPCDR = "Cray gpcdr, configuration in ovis-hpc/ldms util/gemini/gpcdr"
local EZELL = "M. Ezell, Understanding the Impact of Interconnect Failures, CUG 2013"
local LOAD = "summed over tiles and channels: may pass the time of the clock; tells of load"
local LDMS = "Agelastos et al., Lightweight Distributed Metric Service, SC14"

-- Lanes of a direction that is whole: 4 tiles of 3 lanes in Y, 8 in X and Z.
local LANES = { X = 24, Y = 12, Z = 24 }

local list, counter = catalogue.new { source = GPCDR }

for dimension, lanes in pairs(LANES) do
   for _, way in ipairs { "+", "-" } do
      local dir = dimension .. way
      counter("traffic:" .. dir, "bytes", { class = "traffic", means = "bytes from " .. dir })
      counter("packets:" .. dir, "packets", { class = "traffic", means = "packets from " .. dir })
      counter("inq_stall:" .. dir, "ns", { class = "congestion", source = LDMS,
         means = "time packets from " .. dir .. " stood in the input queues",
         misleads = LOAD })
      counter("credit_stall:" .. dir, "ns", { side = "send", class = "congestion", source = LDMS,
         means = "time packets to " .. dir .. " waited for room at the other end",
         misleads = LOAD })
      for _, each in ipairs { { "send", "send" }, { "recv", "receive" } } do
         local prefix, side = each[1], each[2]
         list[prefix .. "linkstatus:" .. dir] = { state = true, unit = "lanes", class = "degrading",
            side = side, whole = lanes, absent = 0,
            means = "lanes up in " .. dir, source = EZELL,
            misleads = "0 is also what a machine says that has nothing in this direction" }
      end
   end
end

for name, means in pairs {
   totaloutput_optA = "bytes the node sent, counted one way",
   totaloutput_optB = "bytes the node sent, counted another way",
   fmaout = "bytes the node sent in small pieces (FMA)",
   bteout_optA = "bytes the node sent in blocks (BTE), counted one way",
   bteout_optB = "bytes the node sent in blocks (BTE), counted another way",
} do
   counter(name, "bytes", { side = "send", class = "traffic", means = means })
end
counter("totalinput", "bytes", { class = "traffic", means = "bytes the node received" })

return { title = "Gemini", list = list }
