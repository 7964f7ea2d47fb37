/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Segments that came to this node and found no room, of the process' network
 * namespace: /proc/net/netstat, where the kernel counts what it had to throw
 * away because a receiver was out of memory.  To the sender that looks like a
 * loss on the way. */
#ifndef TAUT_PLUGIN_COUNTERS_NETSTAT_H
#define TAUT_PLUGIN_COUNTERS_NETSTAT_H

#include <stdint.h>

/* Open the file, for reading often.  Returns a descriptor, or -1 with errno. */
int taut_netstat_open(void);

/* How often segments were thrown away since the namespace was made: PruneCalled,
 * RcvPruned, OfoPruned and TCPRcvQDrop of TcpExt, together.  The kernel adds up
 * a number of each processor for everything in the file: 0.06 ms with two, so
 * it is read where there is something to explain.
 *   fd  of taut_netstat_open(); -1 is taken
 * Returns the sum, or -1: the file cannot be read or has none of them. */
int64_t taut_netstat_pruned(int fd);

/* The same of the file's text. */
int64_t taut_netstat_parse_pruned(const char *text);

#endif
