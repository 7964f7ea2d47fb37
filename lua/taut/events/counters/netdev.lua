-- SPDX-License-Identifier: GPL-2.0-or-later
--- Counters of a Linux network interface: /sys/class/net/IF.
--
-- The kernel keeps them in 64 bits and lets them wrap; a driver that is loaded again begins at 0.
local catalogue = require "taut.events.counters.catalogue"

local HOUR, DAY = 3600, 86400

local KERNEL = "Linux, Documentation/ABI/testing/sysfs-class-net-statistics"
local CLASS_NET = "Linux, Documentation/ABI/testing/sysfs-class-net"
local IEEE = "IEEE 802.3: a bit error rate of 10^-12 or better is asked of a link"
local SENTINEL = "NVIDIA NVSentinel, NIC health monitor configuration, default counter thresholds"
local PRACTICE = "Taut's own: as for InfiniBand's symbol and receive errors"

local list, counter, state = catalogue.new {
   side = function(name) return name:find "^tx" and "send" or "receive" end }

for _, name in ipairs { "rx_bytes", "tx_bytes", "rx_packets", "tx_packets" } do
   counter(name, name:match "_(%a+)", { class = "traffic", means = name:match "_(%a+)"
      .. " through the kernel", misleads = "RDMA goes past it" })
end

counter("rx_errors", "packets", {
   class = "degrading", means = "packets that came in damaged or malformed, of all kinds",
   limits = {
      { class = "degrading", above = 10, per = 1, source = SENTINEL .. " (port_rcv_errors)",
        why = "packets are damaged on this link" },
      { class = "degrading", above = 120, per = HOUR, least = 10, source = PRACTICE,
        why = "each is a packet that was lost and sent again" },
   },
   misleads = "some drivers count packets here that are only too long or unwanted",
})
counter("rx_crc_errors", "packets", {
   class = "degrading", means = "packets whose checksum was wrong: cable, connector or transceiver",
   limits = {
      { class = "degrading", above = 120, per = HOUR, least = 10, source = IEEE,
        why = "a link within its bit error rate, busy or not, damages hardly any packet" },
   },
   misleads = "a switch that forwards before it has checked passes on damage from elsewhere",
})
counter("tx_errors", "packets", {
   class = "degrading", means = "packets that could not be sent",
   limits = {
      { class = "degrading", above = 10, per = 1, source = PRACTICE,
        why = "the interface or its driver is ill" },
   },
   misleads = "grows while the cable is out",
})
counter("tx_carrier_errors", "packets", {
   class = "degrading", means = "packets that could not be sent because the link was down",
   limits = {
      { class = "degrading", above = 0, source = KERNEL, why = "the link was lost under traffic" },
   },
})
counter("rx_missed_errors", "packets", {
   class = "congestion", means = "packets the host did not take off the card in time",
   misleads = "tells of processors and buffers of this host, not of the network", source = KERNEL,
})
counter("rx_dropped", "packets", {
   class = "harmless", means = "packets the kernel did not pass on",
   misleads = "counts protocols and VLANs nobody listens to, besides full queues", source = KERNEL,
})
counter("tx_dropped", "packets", {
   class = "congestion", means = "packets dropped on their way out, mostly for want of room",
   misleads = "a queue discipline that shapes drops as its normal work", source = KERNEL,
})
counter("carrier_changes", "changes", {
   side = "both", width = 32,
   class = "degrading", means = "the link went up or down",
   limits = {
      { class = "degrading", above = 9, per = DAY, least = 10, source = SENTINEL
           .. " (any beyond 2), taken as a rate",
        why = "five losses in a day, two changes each: it flaps" },
   },
   misleads = "somebody who sets the interface down and up counts, too, and so does a reboot of "
      .. "the switch",
})
counter("carrier_down_count", "losses", {
   side = "both", width = 32,
   class = "degrading", means = "the link went down",
   limits = {
      { class = "degrading", above = 4, per = DAY, least = 5,
        source = "Taut's own: five losses in 24 h",
        why = "it flaps; one or two belong to reboots and work on cables" },
   },
   misleads = "somebody who sets the interface down and up counts, too",
})

-- Of the node as a whole, with its first interface (plugin/counters/host.c).
local SNMP = "RFC 4022: tcpOutSegs, tcpRetransSegs; Linux, /proc/net/snmp"
counter("tcp_out", "segments", { side = "send",
   class = "traffic", means = "segments that TCP sent, of the whole node", source = SNMP,
})
counter("tcp_retransmitted", "segments", { side = "send",
   class = "congestion", means = "segments that TCP sent once more, since no answer came",
   misleads = "of all the node's networks, and of what a receiver had no room for", source = SNMP,
})
counter("task_cpu_us", "microseconds", { side = "both",
   class = "traffic", means = "processor time of jobs' tasks that ended on the node",
   misleads = "a library that waits by looking again and again takes all of a processor",
   source = "Taut's plugin, out of getrusage(2) in slurmstepd",
})

state("state", "text", { class = "fatal", good = { "up", "unknown" }, left = 0,
   means = "operational state of the interface (RFC 2863)",
   misleads = "`unknown` is what interfaces say that cannot tell, such as loopback",
   source = CLASS_NET })
state("duplex", "text", { good = { "full", "unknown" }, left = 0.5,
   means = "whether both directions can be used at once", source = CLASS_NET })
state("speed_Mbps", "Mbit/s", { before = true, means = "speed the link was trained to",
   misleads = "what a card could do is not told here: compare with before, and with its peers",
   source = CLASS_NET })

return { title = "network interface", list = list }
