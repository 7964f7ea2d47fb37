/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Processor time of the tasks that ended on this node since it booted, in
 * microseconds: one number in a file of the runtime directory, which only
 * grows.  slurmstepd adds what its tasks took; the counters' reader reads it
 * before and after a job. */
#ifndef TAUT_PLUGIN_SPANK_USAGE_H
#define TAUT_PLUGIN_SPANK_USAGE_H

#include <stdint.h>

/* Add to it; the file is made where there is none.  Another slurmstepd that
 * has it is waited for 20 ms at most.
 *   rundir  the runtime directory
 *   us      microseconds; nothing is done for 0 or less
 * Returns 0, or -1 with errno: EWOULDBLOCK another one has it, or that of
 * open() or pwrite(). */
int taut_usage_add(const char *rundir, int64_t us);

/* Microseconds that this process' children that have ended took. */
int64_t taut_usage_of_children(void);

#endif
