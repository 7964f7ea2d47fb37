/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calls that may block longer than a prolog may last: name services (down:
 * many seconds) and munge (hung: ten).  They run in a thread of their own
 * that is left behind when the time is up; the process then ends soon. */
#ifndef TAUT_PLUGIN_PROBE_BLOCKING_H
#define TAUT_PLUGIN_PROBE_BLOCKING_H

#include <stdint.h>

typedef void taut_blocking_f(void *arg);

/* Call fn(arg) and wait until it is done or 'deadline_ns' (monotonic).
 *   arg  must stay valid for the life of the process: after a timeout the
 *        thread still uses it
 * Returns 0 when it is done, or -1 with errno ETIMEDOUT, ENOMEM or EAGAIN
 * (no thread). */
int taut_blocking_call(taut_blocking_f *fn, void *arg, int64_t deadline_ns);

#endif
