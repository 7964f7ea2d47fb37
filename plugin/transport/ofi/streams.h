/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The streams of one endpoint of libfabric, and the messages they are made
 * of; streams.c says what these are. */
#ifndef TAUT_PLUGIN_TRANSPORT_OFI_STREAMS_H
#define TAUT_PLUGIN_TRANSPORT_OFI_STREAMS_H

#include "plugin/transport/ofi/head.h"
#include "plugin/transport/ofi/ofi.h"

#define TAUT_OFI_STREAMS 2048 /* at once; a number's lower bits */
#define TAUT_OFI_PEERS 2048   /* addresses are below */
#define TAUT_OFI_RESERVE 4 /* buffers that data leaves to other messages */

enum taut_ofi_state {
    TAUT_OFI_STATE_FREE = 0,
    TAUT_OFI_STATE_OPENING, /* ours, not answered yet */
    TAUT_OFI_STATE_WAITING, /* a peer's, not accepted yet */
    TAUT_OFI_STATE_OPEN,
};

/* A message with data, under way. */
struct taut_ofi_sent {
    int64_t end;   /* sent_bytes after it */
    int64_t bytes; /* under way then, its own among them */
    int64_t at_ns;
};

struct taut_ofi_stream {
    enum taut_ofi_state state;
    uint64_t own, peer; /* its number here and there */
    fi_addr_t address;
    int error;              /* an errno: it is over */
    enum taut_ofi_type due; /* OPEN or OPENED has yet to go out */
    size_t chunk, window; /* bytes of a message, and under way */
    int64_t opened_ns, rtt_ns;
    int64_t least_ns; /* quickest answer, 0: none yet */
    int64_t burst_ns, burst_bytes; /* when and where the rate begins */
    int64_t sent_bytes, acked_bytes;
    struct taut_ofi_sent sent[TAUT_OFI_WINDOW]; /* a ring, the oldest at 'oldest' */
    int oldest, under_way;
    int64_t taken_bytes; /* by our side */
    int unacked;         /* messages taken and not acknowledged */
    struct taut_ofi_buffer *first, *last; /* what came and was not taken */
};

/* Where the receives of peers may run out. */
struct taut_ofi_share {
    int streams;   /* to this peer */
    int under_way; /* messages with data */
};

struct taut_ofi_streams {
    struct taut_ofi_streams *next; /* left open */
    struct taut_ofi net;
    struct taut_ofi_stream streams[TAUT_OFI_STREAMS];
    struct taut_ofi_share shares[TAUT_OFI_PEERS]; /* by address */
    int used; /* no stream at or above this was ever used */
};

/* Most payload of a message. */
static inline size_t taut_ofi_payload(const struct taut_ofi_streams *o)
{
    return o->net.message - sizeof(struct taut_ofi_head);
}

/* A new stream with a peer.  Returns its place, or -1 with errno ENOBUFS or why there are
 * no random bytes. */
int taut_ofi_stream_new(struct taut_ofi_streams *o, enum taut_ofi_state state,
                        fi_addr_t address);

/* A message without payload.  Returns 0, or -1 with errno EAGAIN or why. */
int taut_ofi_tell(struct taut_ofi_streams *o, struct taut_ofi_stream *s,
                  enum taut_ofi_type type, uint64_t value);

/* Send what is due; what cannot be sent now stays due. */
void taut_ofi_tell_due(struct taut_ofi_streams *o, struct taut_ofi_stream *s);

/* May a message with data go out: is a buffer free, and a receive of the peer's? */
bool taut_ofi_may_send(struct taut_ofi_streams *o,
                       const struct taut_ofi_stream *s);

/* The stream has ended: its data in flight are dropped. */
void taut_ofi_stream_end(struct taut_ofi_streams *o, struct taut_ofi_stream *s);

/* Send up to a message's worth of data; NULL: whatever the buffer holds.
 * Returns how much, or -1 with errno EAGAIN or why. */
ssize_t taut_ofi_send_data(struct taut_ofi_streams *o,
                           struct taut_ofi_stream *s, const void *data,
                           size_t n);

/* Take what has come in, and what was sent. */
void taut_ofi_progress(struct taut_ofi_streams *o);

#endif
