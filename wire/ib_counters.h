/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counters of an InfiniBand port as the kernel names them: a node reads them
 * there, the controller by management datagrams. */
#ifndef TAUT_WIRE_IB_COUNTERS_H
#define TAUT_WIRE_IB_COUNTERS_H

#define TAUT_IB_COUNTERS                                                       \
    "symbol_error", "link_error_recovery", "link_downed", "port_rcv_errors",   \
    "port_rcv_remote_physical_errors", "port_rcv_switch_relay_errors",         \
    "port_xmit_discards", "port_xmit_constraint_errors",                       \
    "port_rcv_constraint_errors", "local_link_integrity_errors",               \
    "excessive_buffer_overrun_errors", "VL15_dropped", "port_xmit_wait",       \
    "port_xmit_data", "port_rcv_data", "port_xmit_packets",                    \
    "port_rcv_packets", "unicast_xmit_packets", "unicast_rcv_packets",         \
    "multicast_xmit_packets", "multicast_rcv_packets"

#endif
