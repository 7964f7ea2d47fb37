/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Memory that RDMA adapters pin: RLIMIT_MEMLOCK. */
#ifndef TAUT_PLUGIN_TRANSPORT_MEMLOCK_H
#define TAUT_PLUGIN_TRANSPORT_MEMLOCK_H

#include <stddef.h>

/* Of a rail: buffers, libfabric's own, and the queues, which some adapters pin
 * as well (doc/internals/node.md reckons it). */
#define TAUT_MEMLOCK_RAIL_KB 32768

/* Raise the limit to what so many rails need; root may, others up to their hard
 * limit.  One that is higher already stays. */
void taut_memlock_raise(size_t rails);

/* The limit in kB; -1: there is none. */
long taut_memlock_kb(void);

#endif
