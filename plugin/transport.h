/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a test needs from a network.  One table per transport; a stream is a
 * descriptor that poll() understands.  All calls return at once. */
#ifndef TAUT_PLUGIN_TRANSPORT_H
#define TAUT_PLUGIN_TRANSPORT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "plugin/address.h"
#include "wire/error.h"

/* What the sending end of a stream knows about it. */
struct taut_stream_stats {
    int64_t acked_bytes;  /* the peer has them */
    int64_t sent_bytes;   /* left this host, repeats included */
    int64_t flight_bytes; /* sent and not yet acknowledged */
    int64_t rtt_ns;       /* smoothed */
    int64_t retrans;      /* segments sent again */
    int64_t busy_ns;      /* data was under way and the peer took it; -1 =
                           * unknown */
};

struct taut_transport {
    const char *name;

    /* Open an endpoint at 'local' on a port that the system picks.
     *   endpoint  TAUT_ADDRESS_TEXT bytes: what HELLO tells
     * Returns a descriptor to close(), or -1 with errno and 'err'. */
    int (*open)(const struct taut_address *local, char *endpoint,
                struct taut_error *err);

    /* The next stream that came in: a descriptor to close(), or -1 with
     * errno EAGAIN or another. */
    int (*accept)(int endpoint);

    /* Begin a stream from 'local' to 'peer'.
     * Returns a descriptor for reset(), or -1 with errno. */
    int (*connect)(const struct taut_address *local,
                   const struct taut_address *peer);

    /* After POLLOUT: 0 when connected, else -1 with errno. */
    int (*connected)(int stream);

    /* Bytes taken, or -1 with errno EAGAIN or why the stream is over. */
    ssize_t (*send)(int stream, const void *data, size_t n);

    /* Bytes read into 'data'; 0 at the end; -1 with errno as above. */
    ssize_t (*receive)(int stream, void *data, size_t n);

    /* Take what has come without looking at it; results as receive. */
    ssize_t (*discard)(int stream);

    /* Bytes taken by send and not yet acknowledged, or -1. */
    int64_t (*queued)(int stream);

    /* Returns 0, or -1 with errno. */
    int (*stats)(int stream, struct taut_stream_stats *stats);

    /* End at once: what is queued is thrown away, the peer sees an error. */
    void (*reset)(int stream);
};

extern const struct taut_transport taut_transport_tcp;

#endif
