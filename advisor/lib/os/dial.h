/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The taut command calls a tautd on another host: one frame there, frames
 * back until tautd closes. */
#ifndef TAUT_ADVISOR_LIB_OS_DIAL_H
#define TAUT_ADVISOR_LIB_OS_DIAL_H

#include <stddef.h>

#include "wire/error.h"

/* Connect, send 'n' bytes, take what comes until the other side has closed.
 * Blocks as long as a name is resolved, besides.
 *   host, port  name or address; 1..65535
 *   timeout_ms  for connecting and for all of the rest, 1 and more
 *   max         most bytes to take
 *   got         set to how many came on success
 * Returns them, to free(), or NULL with 'err'; errno is ECONNREFUSED or the
 * like if no server was reached. */
char *taut_dial(const char *host, int port, const void *bytes, size_t n,
                int timeout_ms, size_t max, size_t *got,
                struct taut_error *err);

#endif
