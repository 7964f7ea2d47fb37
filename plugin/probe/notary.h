/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A process that keeps root to put one text into a MUNGE credential, and then
 * ends: for a HELLO that can only be written when libfabric is open, which is
 * not loaded as root. */
#ifndef TAUT_PLUGIN_PROBE_NOTARY_H
#define TAUT_PLUGIN_PROBE_NOTARY_H

#include <stdint.h>
#include <sys/types.h>

#include "wire/error.h"

struct taut_notary {
    int fd; /* -1: there is none */
    pid_t pid;
};

/* Start the process; before anything is loaded that does not bear fork().
 *   uid, socket  as of taut_hello_wrap()
 *   deadline_ns  when it gives up
 * Returns 0, or -1 with errno and 'err'. */
int taut_notary_start(struct taut_notary *n, uid_t uid, const char *socket,
                      int64_t deadline_ns, struct taut_error *err);

/* Have it wrap 'text', and end it.  Returns as taut_hello_wrap(). */
char *taut_notary_wrap(struct taut_notary *n, const char *text,
                       int64_t deadline_ns, struct taut_error *err);

/* End it without. */
void taut_notary_close(struct taut_notary *n);

#endif
