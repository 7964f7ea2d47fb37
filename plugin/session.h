/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The connection to tautd: frames in a fixed order, each under a deadline. */
#ifndef TAUT_PLUGIN_SESSION_H
#define TAUT_PLUGIN_SESSION_H

#include <stddef.h>
#include <stdint.h>

#include "plugin/address.h"
#include "wire/error.h"
#include "wire/frame.h"
#include "wire/seal.h"

struct taut_session {
    int fd;                         /* -1 when there is no connection */
    char server[TAUT_ADDRESS_TEXT]; /* who was reached */
    unsigned char key[TAUT_SEAL_KEY];
};

/* Make a session key; no connection yet. */
void taut_session_init(struct taut_session *s);

/* Close and forget the key. */
void taut_session_fini(struct taut_session *s);

/* Connect to the first of 'n' servers that answers, in their order; each
 * gets an equal share of what is left, at most TAUT_CONNECT_MS.
 * Returns 0, or -1 with errno and 'err' of the last one. */
#define TAUT_CONNECT_MS 300
int taut_session_connect(struct taut_session *s,
                         const struct taut_address *servers, int n,
                         int64_t deadline_ns, struct taut_error *err);

/* Send a frame.  Returns 0, or -1 with errno (ETIMEDOUT, EPIPE ...) and
 * 'err'. */
int taut_session_send(struct taut_session *s, enum taut_frame_type type,
                      const void *payload, size_t n, int64_t deadline_ns,
                      struct taut_error *err);

/* Receive a frame of one type.
 *   max       largest type + payload accepted, bytes
 *   payload   to free(), written on success, with a NUL after it
 * Returns its length, or -1 with errno ETIMEDOUT, ECONNRESET (closed by
 * the server), EPROTO (bad frame) or ENOMEM, and 'err'. */
long taut_session_receive(struct taut_session *s, enum taut_frame_type type,
                          size_t max, unsigned char **payload,
                          int64_t deadline_ns, struct taut_error *err);

/* The same with sealed payloads: text goes in, text comes out. */
int taut_session_send_sealed(struct taut_session *s, enum taut_frame_type type,
                             const char *text, int64_t deadline_ns,
                             struct taut_error *err);
long taut_session_receive_sealed(struct taut_session *s,
                                 enum taut_frame_type type, size_t max,
                                 char **text, int64_t deadline_ns,
                                 struct taut_error *err);

#endif
