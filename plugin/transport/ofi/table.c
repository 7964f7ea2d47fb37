/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The transport "ofi" as probes see it; this is taut-ofi.so. */
#include <config.h>

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "plugin/common/clock.h"
#include "plugin/transport/ofi/streams.h"
#include "plugin/transport/transport.h"
#include "wire/seal.h"

#define ACK_EVERY 4               /* messages taken; earlier before we sleep */
#define RETRY_NS (TAUT_MS_NS / 5) /* for what the provider had no room for */

static struct taut_ofi_streams *of(const struct taut_endpoint *ep)
{
    return ep->state;
}

static struct taut_ofi_stream *stream_of(const struct taut_endpoint *ep,
                                         int stream)
{
    return &of(ep)->streams[stream];
}

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
static struct taut_ofi_streams *left_open;

static void ofi_close(struct taut_endpoint *ep)
{
    struct taut_ofi_streams *o = of(ep);

    if (o != NULL && o->net.peer_count > 0) {
        taut_ofi_progress(o); /* what tells peers of the end */
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
    struct taut_ofi_streams *o = calloc(1, sizeof(*o));
    char host[INET6_ADDRSTRLEN];
    int saved;

    if (o == NULL || host_of(&ep->local, host, sizeof(host)) == NULL) {
        free(o);
        return taut_error_set(err, "libfabric: no address, or no memory");
    }
    ep->fd = -1;
    ep->state = o;
    struct taut_ofi_place place = {.node = host,
                                   .provider = options->provider,
                                   .domain = options->domain,
                                   .shares_domain = options->shares_domain};
    if (taut_ofi_open(&o->net, &place, err) == 0) {
        taut_hex(ep->name, o->net.name, o->net.name_length);
        ep->transport = &taut_transport_module;
        ep->is_paced = o->net.msg != NULL;
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

static void sleep_on_both(struct taut_pollset *set, const struct taut_ofi *net)
{
    sleep_on(set, net->wait_fd);
    if (net->eq_fd >= 0)
        sleep_on(set, net->eq_fd);
}

static bool is_ready(struct taut_ofi_streams *o,
                     const struct taut_ofi_stream *s, short events)
{
    if (s->error || o->net.error)
        return true;
    if ((events & POLLIN) && s->first != NULL)
        return true;
    return (events & POLLOUT) && taut_ofi_may_send(o, s);
}

static bool has_waiting(const struct taut_ofi_streams *o)
{
    for (int i = 0; i < o->used; i++) {
        if (o->streams[i].state == TAUT_OFI_STATE_WAITING)
            return true;
    }
    return false;
}

static void ofi_watch(struct taut_endpoint *ep, int stream, short events,
                      struct taut_pollset *set)
{
    struct taut_ofi_streams *o = of(ep);
    struct taut_ofi_stream *s = stream < 0 ? NULL : stream_of(ep, stream);

    taut_ofi_progress(o);
    if (s != NULL) {
        taut_ofi_tell_due(o, s);
        if (s->due != TAUT_OFI_NONE || s->unacked > 0)
            taut_pollset_wake(set, taut_now_ns() + RETRY_NS);
    }
    if ((s != NULL && events && is_ready(o, s, events)) ||
        (s == NULL && has_waiting(o)) || !taut_ofi_may_sleep(&o->net))
        taut_pollset_wake(set, taut_now_ns());
    else
        sleep_on_both(set, &o->net);
}

static int ofi_accept(struct taut_endpoint *ep)
{
    struct taut_ofi_streams *o = of(ep);

    taut_ofi_progress(o);
    for (int i = 0; i < o->used; i++) {
        if (o->streams[i].state == TAUT_OFI_STATE_WAITING) {
            o->streams[i].state = TAUT_OFI_STATE_OPEN;
            return i;
        }
    }
    errno = EAGAIN;
    return -1;
}

static int ofi_connect(struct taut_endpoint *ep, const char *peer, int port)
{
    struct taut_ofi_streams *o = of(ep);
    unsigned char name[TAUT_ENDPOINT_BYTES];
    int n = taut_ofi_name_parse(name, peer), i;
    fi_addr_t address;

    (void)port;
    if (n < 0 || taut_ofi_peer(&o->net, name, (size_t)n, false, &address) < 0)
        return -1;
    i = taut_ofi_stream_new(o, TAUT_OFI_STATE_OPENING, address);
    if (i < 0)
        return -1;
    o->streams[i].due = TAUT_OFI_OPEN;
    taut_ofi_tell_due(o, &o->streams[i]);
    return i;
}

static int ofi_connected(struct taut_endpoint *ep, int stream)
{
    struct taut_ofi_stream *s = stream_of(ep, stream);

    taut_ofi_progress(of(ep));
    taut_ofi_tell_due(of(ep), s);
    if (!s->error && s->state == TAUT_OFI_STATE_OPEN)
        return 0;
    errno = s->error ? s->error : EAGAIN;
    return -1;
}

static ssize_t ofi_send(struct taut_endpoint *ep, int stream, const void *data,
                        size_t n)
{
    size_t most = taut_ofi_payload(of(ep));

    return taut_ofi_send_data(of(ep), stream_of(ep, stream), data,
                              n < most ? n : most);
}

static ssize_t ofi_fill(struct taut_endpoint *ep, int stream, size_t n)
{
    struct taut_ofi_stream *s = stream_of(ep, stream);

    return taut_ofi_send_data(of(ep), s, NULL, n < s->chunk ? n : s->chunk);
}

/* The oldest message that was not taken whole, or NULL with errno. */
static struct taut_ofi_buffer *oldest(struct taut_endpoint *ep,
                                      struct taut_ofi_stream *s)
{
    if (s->first == NULL)
        taut_ofi_progress(of(ep));
    if (s->first == NULL)
        errno = s->error                 ? s->error
                : of(ep)->net.error != 0 ? of(ep)->net.error
                                         : EAGAIN;
    return s->first;
}

static void took(struct taut_endpoint *ep, struct taut_ofi_stream *s, size_t n)
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
        taut_ofi_tell_due(of(ep), s);
}

static ssize_t ofi_receive(struct taut_endpoint *ep, int stream, void *data,
                           size_t n)
{
    struct taut_ofi_stream *s = stream_of(ep, stream);
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
    struct taut_ofi_stream *s = stream_of(ep, stream);
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
    struct taut_ofi_stream *s = stream_of(ep, stream);

    taut_ofi_progress(of(ep));
    return s->sent_bytes - s->acked_bytes;
}

static int ofi_stats(struct taut_endpoint *ep, int stream,
                     struct taut_stream_stats *stats)
{
    struct taut_ofi_stream *s = stream_of(ep, stream);

    taut_ofi_progress(of(ep));
    stats->acked_bytes = s->acked_bytes;
    stats->sent_bytes = s->sent_bytes;
    stats->flight_bytes = s->sent_bytes - s->acked_bytes;
    stats->rtt_ns = s->rtt_ns;
    stats->busy_ns = -1;
    return 0;
}

static void ofi_reset(struct taut_endpoint *ep, int stream)
{
    struct taut_ofi_streams *o = of(ep);
    struct taut_ofi_stream *s = stream_of(ep, stream);
    struct taut_ofi_buffer *b;

    taut_ofi_progress(o);
    if (s->state == TAUT_OFI_STATE_OPEN && !s->error)
        taut_ofi_tell(o, s, TAUT_OFI_RESET, 0);
    while ((b = s->first)) {
        s->first = b->next;
        taut_ofi_give(&o->net, b);
    }
    taut_ofi_stream_end(o, s);
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
