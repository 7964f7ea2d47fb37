/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Small messages, there and back, one under way at a time: both ends of a
 * latency test, once its stream is open. */
#ifndef TAUT_PLUGIN_PINGER_H
#define TAUT_PLUGIN_PINGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plugin/latency.h"
#include "plugin/transport.h"

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

/* Send back what has come.
 * Returns bytes, 0 at the end of the stream, or -1 with errno: EAGAIN when
 * nothing is there, else the stream is over. */
ssize_t taut_pinger_echo(struct taut_endpoint *ep, int stream);

#endif
