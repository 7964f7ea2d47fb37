/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "plugin/common/clock.h"
#include "plugin/transport/ofi_opening.h"
#include "plugin/transport/transport.h"

#define STREAMS_MAX 1100 /* the largest plan's, and strangers */
#define CALLERS_MAX 64   /* peers that wait for our address */

struct stream {
    bool is_used;
    int meet;  /* TCP socket to the peer, or -1 */
    int inner; /* stream of taut-ofi.so, or -1 */
    int error;
    size_t got;
    char name[TAUT_ENDPOINT_TEXT]; /* of the peer, as far as it came */
};

struct state {
    struct taut_ofi_opening *opening;
    struct stream streams[STREAMS_MAX];
    int used;
    int callers[CALLERS_MAX];
    int caller_count;
};

static struct state *of(const struct taut_endpoint *ep)
{
    return ep->state;
}

void taut_transport_ofi_load(struct taut_endpoint *ep)
{
    taut_ofi_load(of(ep)->opening);
}

static const char not_yet[] = "libfabric is not open yet";

/* libfabric's endpoint, or NULL: not yet, or never, and 'ep' tells why. */
static struct taut_endpoint *inner_of(struct taut_endpoint *ep)
{
    struct state *s = of(ep);

    if (!taut_ofi_is_over(s->opening)) {
        taut_error_set(&ep->why, "%s", not_yet);
        return NULL;
    }
    if (s->opening->error || *ep->why.text)
        ep->why = s->opening->err;
    ep->is_paced = s->opening->inner.is_paced;
    return s->opening->error ? NULL : &s->opening->inner;
}

int taut_transport_ofi_wait(struct taut_endpoint *ep, int64_t deadline_ns,
                            struct taut_error *err)
{
    struct state *s = of(ep);
    struct pollfd pfd = {.fd = s->opening->done[0], .events = POLLIN};

    while (!taut_ofi_is_over(s->opening)) {
        if (taut_now_ns() >= deadline_ns) {
            taut_error_set(err, "%s", not_yet);
            errno = ETIMEDOUT;
            return -1;
        }
        poll(&pfd, 1, taut_left_ms(deadline_ns));
    }
    if (!s->opening->error)
        return 0;
    taut_error_set(err, "%s", s->opening->err.text);
    errno = s->opening->error;
    return -1;
}

int taut_transport_ofi_took_ms(struct taut_endpoint *ep)
{
    struct taut_ofi_opening *o = of(ep)->opening;

    if (!o->is_loading)
        return -1;
    if (!taut_ofi_is_over(o))
        return (int)((taut_now_ns() - o->began_ns) * 3 / 2 / TAUT_MS_NS);
    return o->error ? -1 : (int)(o->took_ns / TAUT_MS_NS);
}

/* ---- the address, told to whoever calls ---- */

static void answer(struct state *s, int fd)
{
    const struct taut_endpoint *inner = &s->opening->inner;

    if (!s->opening->error)
        (void)!send(fd, inner->name, strlen(inner->name),
                    MSG_NOSIGNAL | MSG_MORE);
    (void)!send(fd, "\n", 1, MSG_NOSIGNAL);
    close(fd);
}

/* They wait for as long as libfabric takes to open: on a busy machine that is
 * seconds, and a refused peer would take this node for one that refuses. */
static void take_callers(struct taut_endpoint *ep)
{
    struct state *s = of(ep);

    while (s->caller_count < CALLERS_MAX) {
        int fd = taut_transport_tcp.accept(ep);

        if (fd < 0)
            break;
        s->callers[s->caller_count++] = fd;
    }
    while (s->caller_count > 0 && taut_ofi_is_over(s->opening))
        answer(s, s->callers[--s->caller_count]);
}

/* ---- streams: first to the peer's TCP socket, then by libfabric ---- */

static int new_stream(struct state *s, int meet, int inner)
{
    for (int i = 0; i < STREAMS_MAX; i++) {
        struct stream *st = &s->streams[i];

        if (st->is_used)
            continue;
        memset(st, 0, sizeof(*st));
        st->is_used = true;
        st->meet = meet;
        st->inner = inner;
        if (i >= s->used)
            s->used = i + 1;
        return i;
    }
    errno = ENOBUFS;
    return -1;
}

static void end_meeting(struct stream *st, int error)
{
    if (st->meet >= 0)
        close(st->meet);
    st->meet = -1;
    st->error = error;
}

/* Has the peer's address come whole? */
static bool has_line(const struct stream *st)
{
    return st->got > 0 && st->name[st->got - 1] == '\n';
}

/* Read the peer's address; when it is whole and libfabric is open here too,
 * begin the real stream. */
static void meet(struct taut_endpoint *ep, struct stream *st)
{
    struct taut_endpoint *inner = inner_of(ep);
    ssize_t n;

    if (st->error || st->meet < 0)
        return;
    if (taut_transport_tcp.connected(ep, st->meet) < 0) {
        if (errno != EAGAIN)
            end_meeting(st, errno);
        return;
    }
    if (!has_line(st)) {
        n = taut_transport_tcp.receive(ep, st->meet, st->name + st->got,
                                       sizeof(st->name) - st->got);
        if (n > 0)
            st->got += (size_t)n;
        else if (n == 0 || (errno != EAGAIN && errno != EINTR))
            end_meeting(st, n == 0 ? ECONNREFUSED : errno);
        if (n <= 0)
            return;
        if (st->got == sizeof(st->name) && !has_line(st))
            end_meeting(st, EPROTO);
    }
    if (inner == NULL) {
        if (of(ep)->opening->is_over)
            end_meeting(st, of(ep)->opening->error);
        return;
    }
    if (st->error || !has_line(st))
        return;
    st->name[st->got - 1] = '\0';
    st->inner = *st->name ? inner->transport->connect(inner, st->name, 0) : -1;
    end_meeting(st, st->inner >= 0 ? 0 : *st->name ? errno : ENODEV);
}

/* ---- the table ---- */

static void ofi_close(struct taut_endpoint *ep)
{
    struct state *s = of(ep);

    if (s == NULL)
        return;
    for (int i = 0; i < s->used; i++) {
        if (s->streams[i].is_used && s->streams[i].meet >= 0)
            close(s->streams[i].meet);
    }
    for (int i = 0; i < s->caller_count; i++)
        close(s->callers[i]);
    if (inner_of(ep) != NULL)
        inner_of(ep)->transport->close(&s->opening->inner);
    taut_ofi_forget(s->opening);
    free(s);
    ep->state = NULL;
    taut_transport_tcp.close(ep);
}

static int ofi_open(struct taut_endpoint *ep,
                    const struct taut_transport_options *options,
                    struct taut_error *err)
{
    struct state *s = calloc(1, sizeof(*s));

    if (s == NULL || taut_transport_tcp.open(ep, options, err) < 0) {
        free(s);
        return s != NULL ? -1 : taut_error_set(err, "out of memory");
    }
    s->opening = taut_ofi_make(ep, options);
    if (s->opening == NULL) {
        free(s);
        taut_transport_tcp.close(ep);
        return taut_error_set(err, "transport ofi: %s", strerror(errno));
    }
    ep->state = s;
    ep->transport = &taut_transport_ofi;
    return 0;
}

static void ofi_watch(struct taut_endpoint *ep, int stream, short events,
                      struct taut_pollset *set)
{
    struct taut_endpoint *inner = inner_of(ep);
    struct stream *st = stream < 0 ? NULL : &of(ep)->streams[stream];

    if (inner == NULL && !of(ep)->opening->is_over)
        taut_pollset_add(set, of(ep)->opening->done[0], POLLIN);
    if (st == NULL) {
        if (of(ep)->caller_count < CALLERS_MAX)
            taut_transport_tcp.watch(ep, -1, POLLIN, set);
        if (inner != NULL)
            inner->transport->watch(inner, -1, POLLIN, set);
    } else if (st->inner >= 0) {
        inner->transport->watch(inner, st->inner, events, set);
    } else if (st->error) {
        taut_pollset_wake(set, events ? taut_now_ns() : INT64_MAX);
    } else if (!has_line(st)) {
        taut_transport_tcp.watch(ep, st->meet, POLLIN, set);
    }
}

/* Peers come by its TCP socket first. */
static bool ofi_is_full(struct taut_endpoint *ep)
{
    return taut_transport_tcp.is_full(ep);
}

static int ofi_accept(struct taut_endpoint *ep)
{
    struct taut_endpoint *inner = inner_of(ep);
    int stream, number;

    take_callers(ep);
    if (inner == NULL) {
        errno = EAGAIN;
        return -1;
    }
    stream = inner->transport->accept(inner);
    if (stream < 0)
        return -1;
    number = new_stream(of(ep), -1, stream);
    if (number < 0)
        inner->transport->reset(inner, stream);
    return number;
}

static int ofi_connect(struct taut_endpoint *ep, const char *peer, int port)
{
    int fd = taut_transport_tcp.connect(ep, peer, port);
    int number;

    if (fd < 0)
        return -1;
    number = new_stream(of(ep), fd, -1);
    if (number < 0)
        close(fd);
    return number;
}

/* libfabric's stream behind one of ours, or -1 with errno. */
static int behind(struct taut_endpoint *ep, int stream)
{
    struct stream *st = &of(ep)->streams[stream];

    meet(ep, st);
    if (st->inner < 0)
        errno = st->error ? st->error : EAGAIN;
    return st->inner;
}

static int ofi_connected(struct taut_endpoint *ep, int stream)
{
    int number = behind(ep, stream);
    struct taut_endpoint *inner = inner_of(ep);

    return number < 0 ? -1 : inner->transport->connected(inner, number);
}

/* Over TCP, with its address. */
static bool ofi_is_answered(struct taut_endpoint *ep, int stream)
{
    return of(ep)->streams[stream].got > 0;
}

static ssize_t ofi_send(struct taut_endpoint *ep, int stream, const void *data,
                        size_t n)
{
    int number = behind(ep, stream);
    struct taut_endpoint *inner = inner_of(ep);

    return number < 0 ? -1 : inner->transport->send(inner, number, data, n);
}

static ssize_t ofi_fill(struct taut_endpoint *ep, int stream, size_t n)
{
    int number = behind(ep, stream);
    struct taut_endpoint *inner = inner_of(ep);

    return number < 0 ? -1 : inner->transport->fill(inner, number, n);
}

static ssize_t ofi_receive(struct taut_endpoint *ep, int stream, void *data,
                           size_t n)
{
    int number = behind(ep, stream);
    struct taut_endpoint *inner = inner_of(ep);

    return number < 0 ? -1 : inner->transport->receive(inner, number, data, n);
}

static ssize_t ofi_discard(struct taut_endpoint *ep, int stream)
{
    int number = behind(ep, stream);
    struct taut_endpoint *inner = inner_of(ep);

    return number < 0 ? -1 : inner->transport->discard(inner, number);
}

static int64_t ofi_queued(struct taut_endpoint *ep, int stream)
{
    int number = behind(ep, stream);
    struct taut_endpoint *inner = inner_of(ep);

    return number < 0 ? -1 : inner->transport->queued(inner, number);
}

static int ofi_stats(struct taut_endpoint *ep, int stream,
                     struct taut_stream_stats *stats)
{
    int number = behind(ep, stream);
    struct taut_endpoint *inner = inner_of(ep);

    return number < 0 ? -1 : inner->transport->stats(inner, number, stats);
}

static void ofi_reset(struct taut_endpoint *ep, int stream)
{
    struct stream *st = &of(ep)->streams[stream];
    struct taut_endpoint *inner = inner_of(ep);

    if (st->inner >= 0)
        inner->transport->reset(inner, st->inner);
    end_meeting(st, 0);
    st->is_used = false;
}

const struct taut_transport taut_transport_ofi = {
    .kind = TAUT_TRANSPORT_OFI,
    .open = ofi_open,
    .close = ofi_close,
    .watch = ofi_watch,
    .accept = ofi_accept,
    .is_full = ofi_is_full,
    .connect = ofi_connect,
    .connected = ofi_connected,
    .is_answered = ofi_is_answered,
    .send = ofi_send,
    .fill = ofi_fill,
    .receive = ofi_receive,
    .discard = ofi_discard,
    .queued = ofi_queued,
    .stats = ofi_stats,
    .reset = ofi_reset,
};

const struct taut_transport *taut_transport_of(enum taut_transport_kind kind)
{
    switch (kind) {
    case TAUT_TRANSPORT_TCP:
        return &taut_transport_tcp;
    case TAUT_TRANSPORT_OFI:
        return &taut_transport_ofi;
    case TAUT_TRANSPORT_NONE:
        break;
    }
    return NULL;
}
