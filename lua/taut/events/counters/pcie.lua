-- SPDX-License-Identifier: GPL-2.0-or-later
--- The PCI Express link of an interface, and the errors on it: /sys/class/net/IF/device.
--
-- `max_…` is the smaller of what the card and the slot (the port above it) can do, so that a card
-- in a narrow slot is not a fault. A host link trained down halves what a node injects, while all
-- of the network is healthy.
local HOUR = 3600

local KERNEL = "Linux, Documentation/ABI/testing/sysfs-bus-pci-devices-aer_stats"
local PCI = "Linux, Documentation/ABI/testing/sysfs-bus-pci: current_link_width, current_link_speed"
local ALCF = "ALCF, job prologue of Aurora: refuses a node beyond it"

local list = {}

local function add_counter(name, entry)
   entry.unit, entry.width, entry.full, entry.side = "errors", 64, "wraps", "both"
   list[name] = entry
end

local function add_state(name, unit, entry)
   entry.state, entry.unit, entry.side, entry.class = true, unit, "both", "degrading"
   list[name] = entry
end

add_state("lanes", "lanes", { best = "max_lanes", means = "lanes the link was trained to",
   source = PCI })
add_state("speed_MTps", "MT/s", { best = "max_speed_MTps", means = "speed of each lane",
   misleads = "a card may slow its link down to save power while nothing passes",
   source = PCI })
add_state("max_lanes", "lanes", { before = true, means = "lanes that card and slot both have",
   source = PCI })
add_state("max_speed_MTps", "MT/s", { before = true, means = "speed of a lane that both can do",
   source = PCI })

add_counter("aer_correctable", {
   class = "degrading", means = "errors on the link that were mended by sending again",
   limits = {
      { class = "degrading", above = 10, per = HOUR, least = 11, source = ALCF
           .. " (more than 10 since the driver was loaded), taken as a rate",
        why = "contacts or lanes are bad; each costs time" },
   },
   misleads = "the port above counts what it saw: the card may show nothing",
})
add_counter("aer_nonfatal", {
   class = "degrading", means = "errors that lost a transaction but not the link",
   limits = {
      { class = "degrading", above = 0, source = ALCF, why = "data was lost on the host's side" },
   },
})
add_counter("aer_fatal", {
   class = "fatal", means = "errors that made the link unusable",
   limits = {
      { class = "fatal", above = 0, source = KERNEL .. "; " .. ALCF,
        why = "the card has to be reset" },
   },
})

return { title = "PCI Express link", list = list }
