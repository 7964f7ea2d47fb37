/* SPDX-License-Identifier: GPL-2.0-or-later */
/* HELLO: what a node tells tautd first.  doc/protocol.md has the fields. */
#ifndef TAUT_PLUGIN_PROBE_HELLO_H
#define TAUT_PLUGIN_PROBE_HELLO_H

#include <sys/types.h>

#include "plugin/common/job.h"
#include "plugin/counters/counters.h"
#include "plugin/probe/rails.h"
#include "wire/error.h"
#include "wire/seal.h"

/* munged takes 1 MiB with what it adds (MUNGE_MAXIMUM_REQ_LEN, no header has
 * it). */
#define TAUT_HELLO_MAX (1024 * 1024 - 1024)

struct taut_hello {
    const struct taut_job *job;
    const struct taut_rails *rails; /* endpoints */
    const struct taut_readings *readings;
    const char *boot;                 /* boot id, or "" */
    const char *owner;                /* of a survey: its JSON, or NULL */
    int ofi_ms; /* libfabric takes so long to open; -1: nobody knows */
    int budget_ms;                    /* left now */
    int user_port; /* the first that users may call from, as root_port.h */
    unsigned char key[TAUT_SEAL_KEY]; /* session key */
};

/* The JSON text of HELLO.  Returns a string to free(), or NULL with errno
 * EINVAL (what the owner asks for is no JSON object) or ENOMEM. */
char *taut_hello_encode(const struct taut_hello *hello);

/* Wrap 'text' in a MUNGE credential that only 'uid' can decode.
 *   socket       of munged; "" is munge's default
 *   deadline_ns  CLOCK_MONOTONIC; a munged that hangs is given up then
 * Returns a string to free(), or NULL with errno ETIMEDOUT, EMSGSIZE (more than
 * munge takes), EIO or ENOMEM and 'err', with munge's own text where it gave
 * one. */
char *taut_hello_wrap(const char *text, uid_t uid, const char *socket,
                      int64_t deadline_ns, struct taut_error *err);

#endif
