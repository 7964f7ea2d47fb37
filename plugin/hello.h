/* SPDX-License-Identifier: GPL-2.0-or-later */
/* HELLO: what a node tells tautd first.  doc/protocol.md has the fields. */
#ifndef TAUT_PLUGIN_HELLO_H
#define TAUT_PLUGIN_HELLO_H

#include <sys/types.h>

#include "plugin/counters.h"
#include "plugin/job.h"
#include "wire/error.h"
#include "wire/seal.h"

struct taut_hello {
    const struct taut_job *job;
    const struct taut_counters *counters;
    const char *endpoint;             /* "" for an epilog */
    const char *boot;                 /* boot id, or "" */
    int budget_ms;                    /* left now */
    unsigned char key[TAUT_SEAL_KEY]; /* session key */
};

/* The JSON text of HELLO.  Returns a string to free(), or NULL with errno
 * ENOMEM. */
char *taut_hello_encode(const struct taut_hello *hello);

/* Wrap 'text' in a MUNGE credential that only 'uid' can decode.  Blocks up
 * to ten seconds when munged hangs: see blocking.h.
 *   socket  of munged; "" is munge's default
 * Returns a string to free(), or NULL with errno EIO and 'err' with munge's
 * own text. */
char *taut_hello_wrap(const char *text, uid_t uid, const char *socket,
                      struct taut_error *err);

#endif
