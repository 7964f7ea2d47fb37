/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The connection to tautd: frames in a fixed order, each under a deadline. */
#ifndef TAUT_PLUGIN_PROBE_SESSION_H
#define TAUT_PLUGIN_PROBE_SESSION_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plugin/common/address.h"
#include "wire/error.h"
#include "wire/frame.h"
#include "wire/seal.h"

#define TAUT_SERVERS_MAX 8

struct taut_session {
    int fd;                         /* -1 when there is no connection */
    int own[TAUT_SERVERS_MAX];      /* for each server a socket, or -1 */
    char server[TAUT_ADDRESS_TEXT]; /* who was reached */
    int reached;                    /* its number among the servers, from 0 */
    bool is_elsewhere;              /* it said that it does not act */
    unsigned char key[TAUT_SEAL_KEY];
    int version; /* of the protocol: 0 until the server's first frame */
    uint64_t sealed, opened; /* frames so far, each way */
};

/* Make a session key; no connection yet. */
void taut_session_init(struct taut_session *s);

/* Close and forget the key. */
void taut_session_fini(struct taut_session *s);

/* As root: have for each of 'n' servers a socket with a port that only root may
 * call from, which are used once root is gone (wire/root_port.h).
 * Returns 0, or -1 with errno and 'err': some will be called from others. */
int taut_session_bind(struct taut_session *s,
                      const struct taut_address *servers, int n,
                      struct taut_error *err);

/* Connect to the first of 'n' servers that answers, in their order from
 * number 'from' on; each gets an equal share of what is left, at most
 * TAUT_CONNECT_MS.  An older connection is closed.
 * Returns 0, or -1 with errno and 'err' of the last one. */
#define TAUT_CONNECT_MS 300
int taut_session_connect(struct taut_session *s,
                         const struct taut_address *servers, int from, int n,
                         int64_t deadline_ns, struct taut_error *err);

/* Send a frame.  Returns 0, or -1 with errno (ETIMEDOUT, EPIPE ...) and
 * 'err'. */
int taut_session_send(struct taut_session *s, enum taut_frame_type type,
                      const void *payload, size_t n, int64_t deadline_ns,
                      struct taut_error *err);

/* Have the system notice a server that has vanished, for a connection on
 * which long nothing is said. */
void taut_session_keep_alive(struct taut_session *s);

/* Wait until something has come, or a signal that 'mask' lets through.
 * Returns 1, or 0 after a signal, or -1 with errno ETIMEDOUT. */
int taut_session_wait(struct taut_session *s, const sigset_t *mask,
                      int64_t deadline_ns);

/* The same with a sealed payload. */
int taut_session_send_sealed(struct taut_session *s, enum taut_frame_type type,
                             const char *text, int64_t deadline_ns,
                             struct taut_error *err);

/* Receive a frame.  The first one says which version of the protocol the
 * server took.
 *   type  the one that is expected, or TAUT_FRAME_NONE for any
 *   max   largest type + payload accepted, bytes
 *   text  to free(), written on success, with a NUL after it
 *   got   its type; may be NULL
 * Returns its length, or -1 with errno ETIMEDOUT, ECONNRESET (closed by
 * the server), ECONNREFUSED (it said why), EPROTO (bad frame) or ENOMEM, and
 * 'err'.  A server that is not active reports it in place of any frame:
 * EPROTO, and 'is_elsewhere'. */
long taut_session_receive_sealed(struct taut_session *s,
                                 enum taut_frame_type type, size_t max,
                                 char **text, enum taut_frame_type *got,
                                 int64_t deadline_ns, struct taut_error *err);

#endif
