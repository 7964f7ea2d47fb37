/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Small messages, there and back, one under way at a time: both ends of a
 * latency test, once its stream is open. */
#ifndef TAUT_PLUGIN_STREAMS_PINGER_H
#define TAUT_PLUGIN_STREAMS_PINGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plugin/streams/latency.h"
#include "plugin/transport/transport.h"

#define TAUT_PING_BYTES 8

struct taut_pinger {
    struct taut_latency times; /* of the window, one way */
    int64_t sent_ns;
    size_t sent, came; /* bytes of the message under way */
    int64_t sent_bytes;
};

/* Send messages and take their echoes until one keeps us waiting.
 *   is_warm  count their times
 *   end_ns   of the test
 * Returns 0, or -1 with errno: the stream is over. */
int taut_pinger_run(struct taut_pinger *p, struct taut_endpoint *ep, int stream,
                    bool is_warm, int64_t end_ns);

/* The other end: what came and was not sent back yet. */
struct taut_echo {
    unsigned char bytes[TAUT_PING_BYTES];
    size_t owed;
};

/* Send back what has come.  While an echo is owed because the stream takes
 * no more, nothing new is read: watch for POLLOUT then.
 *   is_live  messages are coming: wait a moment for the next one without
 *            sleeping.  Only one stream of a node may be waited for, the
 *            wait is time that all others lose.
 * Returns bytes, 0 at the end of the stream, or -1 with errno: EAGAIN when
 * nothing is there, else the stream is over. */
ssize_t taut_pinger_echo(struct taut_echo *e, struct taut_endpoint *ep,
                         int stream, bool is_live);

#endif
