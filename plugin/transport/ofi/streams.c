/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Streams over libfabric's reliable datagrams; this is taut-ofi.so.
 *
 * Each message has a head: what it is, which of the receiver's streams it
 * belongs to (a number nobody can guess), and a value.
 *   OPEN    value: the sender's number; its name follows.  to: 0
 *   OPENED  value: the acceptor's number
 *   DATA    bytes follow
 *   ACK     value: payload bytes that were taken so far
 *   RESET   the stream is over
 * What was sent and not acknowledged is under way, wherever it stands. */
#include <config.h>

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "plugin/common/clock.h"
#include "plugin/transport/ofi/head.h"
#include "plugin/transport/ofi/ofi.h"
#include "plugin/transport/transport.h"
#include "wire/seal.h"

#define STREAMS_MAX 2048 /* at once; a number's lower bits */
#define RESERVE 4
/* Payload of a message: CHUNK_US of the rate, so that heads (100 bytes with
 * those of the tcp provider) take little of a link and a message little of a
 * window; the receiver counts whole ones.  At least so much that heads take
 * little of a slow link, too. */
#define CHUNK_US 2000
#define CHUNK_MIN 8192
#define BURST_BYTES (64 * 1024)   /* pass buckets of tokens at once: no rate */
#define ACK_EVERY 4               /* messages taken; earlier before we sleep */
#define RETRY_NS (TAUT_MS_NS / 5) /* for what the provider had no room for */

#define PAYLOAD_MAX (TAUT_OFI_MESSAGE - sizeof(struct taut_ofi_head))

enum state {
    STATE_FREE = 0,
    STATE_OPENING, /* ours, not answered yet */
    STATE_WAITING, /* a peer's, not accepted yet */
    STATE_OPEN,
};

struct stream {
    enum state state;
    uint64_t own, peer; /* its number here and there */
    fi_addr_t address;
    int error;              /* an errno: it is over */
    enum taut_ofi_type due; /* OPEN or OPENED has yet to go out */
    size_t chunk;
    int64_t opened_ns, rtt_ns;
    int64_t burst_ns, burst_bytes; /* when and where the rate begins */
    int64_t sent_bytes, acked_bytes;
    int64_t taken_bytes; /* by our side */
    int unacked;         /* messages taken and not acknowledged */
    struct taut_ofi_buffer *first, *last; /* what came and was not taken */
};

struct ofi {
    struct ofi *next; /* left open */
    struct taut_ofi net;
    struct stream streams[STREAMS_MAX];
    int used; /* no stream at or above this was ever used */
};

static struct ofi *of(const struct taut_endpoint *ep)
{
    return ep->state;
}

static struct stream *stream_of(const struct taut_endpoint *ep, int stream)
{
    return &of(ep)->streams[stream];
}

/* The stream a message is for, or NULL. */
static struct stream *find(struct ofi *o, uint64_t number)
{
    struct stream *s = &o->streams[number % STREAMS_MAX];

    return s->state != STATE_FREE && s->own == number ? s : NULL;
}

static int new_stream(struct ofi *o, enum state state)
{
    uint64_t noise;

    if (getrandom(&noise, sizeof(noise), GRND_NONBLOCK) != sizeof(noise))
        return -1;
    for (int i = 0; i < STREAMS_MAX; i++) {
        struct stream *s = &o->streams[i];

        if (s->state != STATE_FREE)
            continue;
        memset(s, 0, sizeof(*s));
        s->state = state;
        s->own =
            (noise | STREAMS_MAX) / STREAMS_MAX * STREAMS_MAX + (uint64_t)i;
        s->chunk = CHUNK_MIN;
        s->opened_ns = taut_now_ns();
        if (i >= o->used)
            o->used = i + 1;
        return i;
    }
    errno = ENOBUFS;
    return -1;
}

/* ---- sending ---- */

static int post(struct ofi *o, struct stream *s, struct taut_ofi_buffer *b,
                struct taut_ofi_head head)
{
    memcpy(b->bytes, &head, sizeof(head));
    b->length = sizeof(head) + head.length;
    b->owner = s->own;
    return taut_ofi_send(&o->net, b, s->address);
}

/* A message without payload.  Returns 0, or -1 with errno EAGAIN or why. */
static int tell(struct ofi *o, struct stream *s, enum taut_ofi_type type,
                uint64_t value)
{
    struct taut_ofi_buffer *b = taut_ofi_take(&o->net, 0);
    struct taut_ofi_head head = {.type = type, .to = s->peer, .value = value};

    if (b == NULL) {
        errno = EAGAIN;
        return -1;
    }
    if (type == TAUT_OFI_OPEN) {
        head.length = (uint32_t)o->net.name_length;
        memcpy(b->bytes + sizeof(head), o->net.name, o->net.name_length);
    }
    return post(o, s, b, head);
}

/* Send what is due; what cannot be sent now stays due. */
static void tell_due(struct ofi *o, struct stream *s)
{
    if (s->due != TAUT_OFI_NONE && !s->error) {
        if (tell(o, s, s->due, s->own) == 0)
            s->due = TAUT_OFI_NONE;
        else if (errno != EAGAIN)
            s->error = errno;
    }
    if (s->unacked > 0 && !s->error &&
        tell(o, s, TAUT_OFI_ACK, (uint64_t)s->taken_bytes) == 0)
        s->unacked = 0;
}

static ssize_t send_data(struct taut_endpoint *ep, struct stream *s,
                         const void *data, size_t n)
{
    struct ofi *o = of(ep);
    struct taut_ofi_buffer *b;
    struct taut_ofi_head head = {.type = TAUT_OFI_DATA, .to = s->peer};

    if (s->error || o->net.error) {
        errno = s->error ? s->error : o->net.error;
        return -1;
    }
    b = s->state == STATE_OPEN ? taut_ofi_take(&o->net, RESERVE) : NULL;
    if (b == NULL) {
        errno = EAGAIN;
        return -1;
    }
    if (data != NULL)
        memcpy(b->bytes + sizeof(head), data, n);
    head.length = (uint32_t)n;
    if (post(o, s, b, head) < 0)
        return -1;
    s->sent_bytes += (int64_t)n;
    return (ssize_t)n;
}

/* ---- what comes in ---- */

static void take_open(struct ofi *o, const struct taut_ofi_head *head,
                      const unsigned char *name)
{
    fi_addr_t address;
    int i;

    if (taut_ofi_peer(&o->net, name, head->length, &address) < 0)
        return;
    i = new_stream(o, STATE_WAITING);
    if (i < 0)
        return;
    o->streams[i].address = address;
    o->streams[i].peer = head->value;
    o->streams[i].due = TAUT_OFI_OPENED;
    tell_due(o, &o->streams[i]);
}

/* A message becomes the stream's, to be taken by receive or discard. */
static void keep(struct stream *s, struct taut_ofi_buffer *b)
{
    b->next = NULL;
    b->begin = sizeof(struct taut_ofi_head);
    if (s->last != NULL)
        s->last->next = b;
    else
        s->first = b;
    s->last = b;
}

/* As much as the rate carries in CHUNK_US; not yet known at the start, and
 * what passes buckets of tokens at once tells nothing of it. */
static void adjust_chunk(struct stream *s)
{
    int64_t now_ns = taut_now_ns(), chunk;

    if (s->acked_bytes < BURST_BYTES)
        return;
    if (s->burst_ns == 0) {
        s->burst_ns = now_ns;
        s->burst_bytes = s->acked_bytes;
    }
    if (now_ns == s->burst_ns)
        return;
    chunk = (int64_t)((double)(s->acked_bytes - s->burst_bytes) /
                      (double)(now_ns - s->burst_ns) * 1000 * CHUNK_US);
    if (chunk < CHUNK_MIN)
        chunk = CHUNK_MIN;
    s->chunk = chunk < (int64_t)PAYLOAD_MAX ? (size_t)chunk : PAYLOAD_MAX;
}

static void take_ack(struct stream *s, uint64_t bytes)
{
    if (bytes > (uint64_t)s->sent_bytes || (int64_t)bytes < s->acked_bytes)
        return;
    s->acked_bytes = (int64_t)bytes;
    adjust_chunk(s);
}

/* Returns true when the message is still needed. */
static bool take_message(struct ofi *o, struct taut_ofi_buffer *b)
{
    struct taut_ofi_head head;
    struct stream *s;

    if (taut_ofi_head_parse(&head, b->bytes, b->length) < 0)
        return false;
    if (head.type == TAUT_OFI_OPEN) {
        take_open(o, &head, b->bytes + sizeof(head));
        return false;
    }
    s = find(o, head.to);
    if (s == NULL)
        return false;
    switch ((enum taut_ofi_type)head.type) {
    case TAUT_OFI_OPENED:
        if (s->state != STATE_OPENING)
            return false;
        s->peer = head.value;
        s->rtt_ns = taut_now_ns() - s->opened_ns;
        s->state = STATE_OPEN;
        return false;
    case TAUT_OFI_DATA:
        keep(s, b);
        return true;
    case TAUT_OFI_ACK:
        take_ack(s, head.value);
        return false;
    case TAUT_OFI_RESET:
        s->error = ECONNRESET;
        return false;
    case TAUT_OFI_OPEN:
    case TAUT_OFI_NONE:
        break;
    }
    return false;
}

static void take_event(struct ofi *o, const struct taut_ofi_event *event)
{
    struct taut_ofi_buffer *b = event->buffer;
    struct stream *s;

    if (b->is_send && event->error) {
        s = find(o, b->owner);
        if (s != NULL)
            s->error = event->error;
    }
    if (b->is_send || event->error || !take_message(o, b))
        taut_ofi_give(&o->net, b);
}

static void progress(struct ofi *o)
{
    struct taut_ofi_event event;

    for (int i = 0; i < TAUT_OFI_BUFFERS && taut_ofi_next(&o->net, &event); i++)
        take_event(o, &event);
}

/* ---- the table ---- */

/* "10.0.0.1" of an address with a port. */
static const char *host_of(const struct taut_address *a, char *text, size_t n)
{
    const struct sockaddr_in *v4 = (const void *)&a->sa;
    const struct sockaddr_in6 *v6 = (const void *)&a->sa;
    const void *bytes = a->sa.ss_family == AF_INET
                            ? (const void *)&v4->sin_addr
                            : (const void *)&v6->sin6_addr;

    return inet_ntop(a->sa.ss_family, bytes, text, (socklen_t)n);
}

/* Endpoints that had a connection stay open until the process ends, which is
 * soon: to close one now and then ends in a crash inside libfabric's rxm
 * (seen with 1.17; its issue 11828 is about 2.4).  The kernel tidies up. */
static struct ofi *left_open;

static void ofi_close(struct taut_endpoint *ep)
{
    struct ofi *o = of(ep);

    if (o != NULL && o->net.peer_count > 0) {
        progress(o); /* what tells peers of the end */
        o->next = left_open;
        left_open = o;
    } else if (o != NULL) {
        taut_ofi_close(&o->net);
        free(o);
    }
    ep->state = NULL;
    ep->transport = NULL;
}

extern const struct taut_transport taut_transport_module
    __attribute__((visibility("default")));

static int ofi_open(struct taut_endpoint *ep,
                    const struct taut_transport_options *options,
                    struct taut_error *err)
{
    struct ofi *o = calloc(1, sizeof(*o));
    char host[INET6_ADDRSTRLEN];
    int saved;

    if (o == NULL || host_of(&ep->local, host, sizeof(host)) == NULL) {
        free(o);
        return taut_error_set(err, "libfabric: no address, or no memory");
    }
    ep->fd = -1;
    ep->state = o;
    if (taut_ofi_open(&o->net, host, options->provider, options->domain, err) ==
        0) {
        taut_hex(ep->name, o->net.name, o->net.name_length);
        ep->transport = &taut_transport_module;
        return 0;
    }
    saved = errno;
    ofi_close(ep);
    errno = saved;
    return -1;
}

/* A descriptor several streams share is watched once. */
static void sleep_on(struct taut_pollset *set, int fd)
{
    for (size_t i = 0; i < set->count; i++) {
        if (set->fds[i].fd == fd)
            return;
    }
    taut_pollset_add(set, fd, POLLIN);
}

static bool is_ready(const struct ofi *o, const struct stream *s, short events)
{
    if (s->error || o->net.error)
        return true;
    if ((events & POLLIN) && s->first != NULL)
        return true;
    return (events & POLLOUT) && s->state == STATE_OPEN &&
           o->net.free_send_count > RESERVE;
}

static bool has_waiting(const struct ofi *o)
{
    for (int i = 0; i < o->used; i++) {
        if (o->streams[i].state == STATE_WAITING)
            return true;
    }
    return false;
}

static void ofi_watch(struct taut_endpoint *ep, int stream, short events,
                      struct taut_pollset *set)
{
    struct ofi *o = of(ep);
    struct stream *s = stream < 0 ? NULL : stream_of(ep, stream);

    progress(o);
    if (s != NULL) {
        tell_due(o, s);
        if (s->due != TAUT_OFI_NONE || s->unacked > 0)
            taut_pollset_wake(set, taut_now_ns() + RETRY_NS);
    }
    if ((s != NULL && events && is_ready(o, s, events)) ||
        (s == NULL && has_waiting(o)) || !taut_ofi_may_sleep(&o->net))
        taut_pollset_wake(set, taut_now_ns());
    else
        sleep_on(set, o->net.wait_fd);
}

static int ofi_accept(struct taut_endpoint *ep)
{
    struct ofi *o = of(ep);

    progress(o);
    for (int i = 0; i < o->used; i++) {
        if (o->streams[i].state == STATE_WAITING) {
            o->streams[i].state = STATE_OPEN;
            return i;
        }
    }
    errno = EAGAIN;
    return -1;
}

static int ofi_connect(struct taut_endpoint *ep, const char *peer)
{
    struct ofi *o = of(ep);
    unsigned char name[TAUT_ENDPOINT_BYTES];
    int n = taut_ofi_name_parse(name, peer), i;
    fi_addr_t address;

    if (n < 0 || taut_ofi_peer(&o->net, name, (size_t)n, &address) < 0)
        return -1;
    i = new_stream(o, STATE_OPENING);
    if (i < 0)
        return -1;
    o->streams[i].address = address;
    o->streams[i].due = TAUT_OFI_OPEN;
    tell_due(o, &o->streams[i]);
    return i;
}

static int ofi_connected(struct taut_endpoint *ep, int stream)
{
    struct stream *s = stream_of(ep, stream);

    progress(of(ep));
    tell_due(of(ep), s);
    if (!s->error && s->state == STATE_OPEN)
        return 0;
    errno = s->error ? s->error : EAGAIN;
    return -1;
}

static ssize_t ofi_send(struct taut_endpoint *ep, int stream, const void *data,
                        size_t n)
{
    return send_data(ep, stream_of(ep, stream), data,
                     n < PAYLOAD_MAX ? n : PAYLOAD_MAX);
}

static ssize_t ofi_fill(struct taut_endpoint *ep, int stream, size_t n)
{
    struct stream *s = stream_of(ep, stream);

    return send_data(ep, s, NULL, n < s->chunk ? n : s->chunk);
}

/* The oldest message that was not taken whole, or NULL with errno. */
static struct taut_ofi_buffer *oldest(struct taut_endpoint *ep,
                                      struct stream *s)
{
    if (s->first == NULL)
        progress(of(ep));
    if (s->first == NULL)
        errno = s->error                 ? s->error
                : of(ep)->net.error != 0 ? of(ep)->net.error
                                         : EAGAIN;
    return s->first;
}

static void took(struct taut_endpoint *ep, struct stream *s, size_t n)
{
    struct taut_ofi_buffer *b = s->first;

    s->taken_bytes += (int64_t)n;
    b->begin += n;
    if (b->begin < b->length)
        return;
    s->first = b->next;
    if (s->first == NULL)
        s->last = NULL;
    taut_ofi_give(&of(ep)->net, b);
    if (++s->unacked >= ACK_EVERY)
        tell_due(of(ep), s);
}

static ssize_t ofi_receive(struct taut_endpoint *ep, int stream, void *data,
                           size_t n)
{
    struct stream *s = stream_of(ep, stream);
    struct taut_ofi_buffer *b = oldest(ep, s);

    if (b == NULL)
        return -1;
    if (n > b->length - b->begin)
        n = b->length - b->begin;
    memcpy(data, b->bytes + b->begin, n);
    took(ep, s, n);
    return (ssize_t)n;
}

static ssize_t ofi_discard(struct taut_endpoint *ep, int stream)
{
    struct stream *s = stream_of(ep, stream);
    struct taut_ofi_buffer *b = oldest(ep, s);
    size_t n;

    if (b == NULL)
        return -1;
    n = b->length - b->begin;
    took(ep, s, n);
    return (ssize_t)n;
}

static int64_t ofi_queued(struct taut_endpoint *ep, int stream)
{
    struct stream *s = stream_of(ep, stream);

    progress(of(ep));
    return s->sent_bytes - s->acked_bytes;
}

static int ofi_stats(struct taut_endpoint *ep, int stream,
                     struct taut_stream_stats *stats)
{
    struct stream *s = stream_of(ep, stream);

    progress(of(ep));
    stats->acked_bytes = s->acked_bytes;
    stats->sent_bytes = s->sent_bytes;
    stats->flight_bytes = s->sent_bytes - s->acked_bytes;
    stats->rtt_ns = s->rtt_ns;
    stats->retrans = 0;
    stats->busy_ns = -1;
    return 0;
}

static void ofi_reset(struct taut_endpoint *ep, int stream)
{
    struct ofi *o = of(ep);
    struct stream *s = stream_of(ep, stream);
    struct taut_ofi_buffer *b;

    progress(o);
    if (s->state == STATE_OPEN && !s->error)
        tell(o, s, TAUT_OFI_RESET, 0);
    while ((b = s->first)) {
        s->first = b->next;
        taut_ofi_give(&o->net, b);
    }
    s->state = STATE_FREE;
}

const struct taut_transport taut_transport_module = {
    .kind = TAUT_TRANSPORT_OFI,
    .open = ofi_open,
    .close = ofi_close,
    .watch = ofi_watch,
    .accept = ofi_accept,
    .connect = ofi_connect,
    .connected = ofi_connected,
    .send = ofi_send,
    .fill = ofi_fill,
    .receive = ofi_receive,
    .discard = ofi_discard,
    .queued = ofi_queued,
    .stats = ofi_stats,
    .reset = ofi_reset,
};
