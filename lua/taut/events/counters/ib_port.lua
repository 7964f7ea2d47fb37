-- SPDX-License-Identifier: GPL-2.0-or-later
--- Counters of an InfiniBand port, as its performance management agent tells them.
--
-- Widths and that they stop at their highest value: InfiniBand Architecture Specification 1,
-- chapter 16 (PortCounters, PortCountersExtended).  The wide form of the error counters exists if
-- the agent reports it; the wide form of the traffic counters nearly always.
local HOUR, DAY = 3600, 86400

-- Where limits, and what is said to mislead, come from.
local IBTA = "IBA 1, chapter 16: PortCounters"
local SENTINEL = "NVIDIA NVSentinel, NIC health monitor configuration, default counter thresholds"
local OFA = "OpenFabrics Alliance wiki, Overview of Error Counters (LANL's practice)"
local SUN = "Oracle System Handbook 2195792.1, InfiniBand fabric errors and counters"
local LLNL = "D'Hooge and Weiny, Peloton InfiniBand Experiences, OFED conference 2007"

local list = {}

local function add_errors(name, width, entry)
   entry.unit, entry.width, entry.full = "errors", width, "saturates"
   entry.side = entry.side or "receive"
   entry.wide = { width = 64, full = "saturates" }
   list[name] = entry
end

local function add_traffic(name, unit, times, width)
   list[name] = { unit = unit, times = times, width = width, full = "saturates",
      side = name:find "xmit" and "send" or "receive",
      wide = { width = 64, full = "saturates" }, class = "traffic",
      means = unit .. " that passed" }
end

add_errors("symbol_error", 16, {
   class = "fatal", means = "bad symbols on the wire: cable, connector or transceiver",
   limits = {
      { class = "fatal", above = 120, per = HOUR, least = 10, source = SENTINEL,
        why = "the bit error rate of 10^-12 that the specification allows is passed" },
      { class = "degrading", above = 10, per = 1, source = SENTINEL,
        why = "the link corrects more than it should" },
   },
   misleads = "a port counts some whenever its cable is plugged or its other end boots",
})
add_errors("link_error_recovery", 8, {
   side = "both",
   class = "degrading", means = "the link had to be trained again, traffic stood meanwhile",
   limits = {
      { class = "degrading", above = 5, per = 60, source = SENTINEL, why = "the link flaps" },
      { class = "degrading", above = 20, per = DAY, least = 5, source = SUN,
        why = "recoveries are counted among the harmful; single ones follow reboots" },
   },
   misleads = "a reboot of the other end counts one or two",
})
add_errors("link_downed", 8, {
   side = "both",
   class = "fatal", means = "the link went down",
   limits = {
      { class = "fatal", above = 0, source = SENTINEL,
        why = "whatever was under way on it was lost" },
   },
   misleads = "a reboot of the other end counts one: see what the node did then",
})
add_errors("port_rcv_errors", 16, {
   class = "degrading", means = "packets that came in damaged or malformed",
   limits = {
      { class = "degrading", above = 10, per = 1, source = SENTINEL,
        why = "packets are damaged on this link, or the other end sends nonsense" },
      { class = "degrading", above = 120, per = HOUR, least = 10, source = SUN,
        why = "counted among the harmful; each is a packet that was lost" },
   },
})
add_errors("port_rcv_remote_physical_errors", 16, {
   class = "harmless", means = "packets that were already marked as damaged somewhere else",
   misleads = "the damage is at another link, where symbol errors or receive errors grow",
   source = OFA,
})
add_errors("port_rcv_switch_relay_errors", 16, {
   class = "harmless", means = "packets a switch could not forward",
   misleads = "alone it is how multicast loops back to its sender's port",
   source = LLNL .. "; " .. OFA,
})
add_errors("port_xmit_discards", 16, {
   side = "send",
   class = "congestion", means = "packets dropped because the port was down or congested",
   limits = {
      { class = "congestion", above = 100, per = 1, source = SENTINEL,
        why = "the other end takes no packets in time" },
   },
   misleads = "a node that reboots leaves its switch port with some to drop",
})
add_errors("port_xmit_constraint_errors", 8, {
   side = "send",
   class = "harmless", means = "packets not sent because of partition or raw-packet filters",
   misleads = "a question of partitions, not of the cable",
   source = IBTA,
})
add_errors("port_rcv_constraint_errors", 8, {
   class = "harmless", means = "packets refused because of partition or raw-packet filters",
   misleads = "a question of partitions, not of the cable",
   source = IBTA,
})
add_errors("local_link_integrity_errors", 4, {
   class = "fatal", means = "physical errors came faster than the port tolerates",
   limits = {
      { class = "fatal", above = 0, source = SENTINEL,
        why = "the threshold is set in the port itself" },
   },
})
add_errors("excessive_buffer_overrun_errors", 4, {
   class = "fatal", means = "the other end sent more than it had credits for",
   limits = {
      { class = "fatal", above = 0, source = SENTINEL,
        why = "flow control is what makes the link lossless" },
   },
})
add_errors("VL15_dropped", 16, {
   class = "harmless", means = "management packets dropped for want of buffers",
   misleads = "management packets have no flow control and are sent again; sweeps cause it",
   source = SUN,
})

list.port_xmit_wait = { side = "send", unit = "ticks", width = 32, full = "saturates",
   wide = { width = 64, full = "saturates" }, class = "congestion",
   means = "time with something to send and no credits to send it",
   misleads = "alone it tells of load, not of a fault; nearly always there",
   source = OFA }

add_traffic("port_xmit_data", "bytes", 4, 32)
add_traffic("port_rcv_data", "bytes", 4, 32)
add_traffic("port_xmit_packets", "packets", 1, 32)
add_traffic("port_rcv_packets", "packets", 1, 32)
add_traffic("unicast_xmit_packets", "packets", 1, 64)
add_traffic("unicast_rcv_packets", "packets", 1, 64)
add_traffic("multicast_xmit_packets", "packets", 1, 64)
add_traffic("multicast_rcv_packets", "packets", 1, 64)

return { title = "InfiniBand port", list = list }
