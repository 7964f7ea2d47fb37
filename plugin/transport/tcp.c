/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <errno.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "plugin/transport/transport.h"

#define BACKLOG 1100 /* all streams of the largest plan */
#define DISCARD_MAX (256u * 1024)
#define FILL_MAX (256u * 1024)
#define UNSENT_MAX (1024 * 1024)

static int make_socket(int family)
{
    return socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

static int tcp_open(struct taut_endpoint *ep,
                    const struct taut_transport_options *options,
                    struct taut_error *err)
{
    struct taut_address bound = {.length = sizeof(bound.sa)};
    int saved;

    (void)options;
    ep->fd = make_socket(ep->local.sa.ss_family);
    if (ep->fd >= 0 &&
        bind(ep->fd, (const void *)&ep->local.sa, ep->local.length) == 0 &&
        listen(ep->fd, BACKLOG) == 0 &&
        getsockname(ep->fd, (void *)&bound.sa, &bound.length) == 0) {
        taut_address_format(&bound, ep->name);
        ep->transport = &taut_transport_tcp;
        return 0;
    }
    saved = errno;
    taut_error_set(err, "cannot listen for streams: %s", strerror(saved));
    if (ep->fd >= 0)
        close(ep->fd);
    ep->fd = -1;
    errno = saved;
    return -1;
}

static void tcp_close(struct taut_endpoint *ep)
{
    if (ep->fd >= 0)
        close(ep->fd);
    ep->fd = -1;
    ep->transport = NULL;
}

static void tcp_watch(struct taut_endpoint *ep, int stream, short events,
                      struct taut_pollset *set)
{
    taut_pollset_add(set, stream < 0 ? ep->fd : stream,
                     stream < 0 ? POLLIN : events);
}

/* Of a listening socket tcpi_unacked is the length of its queue, and
 * tcpi_sacked the most that it holds. */
static int look_at_queue(const struct taut_endpoint *ep, struct tcp_info *info)
{
    socklen_t n = sizeof(*info);

    memset(info, 0, sizeof(*info));
    return getsockopt(ep->fd, IPPROTO_TCP, TCP_INFO, info, &n);
}

/* Whoever polls for streams comes here at each round, mostly in vain: what
 * poll says of the socket tells so without a call; and the kernel makes a
 * socket before it looks whether there is one to give. */
static int tcp_accept(struct taut_endpoint *ep)
{
    struct tcp_info info;

    if (ep->is_quiet ||
        (look_at_queue(ep, &info) == 0 && info.tcpi_unacked == 0)) {
        errno = EAGAIN;
        return -1;
    }
    return accept4(ep->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
}

static int tcp_from(struct taut_endpoint *ep, int stream,
                    struct taut_address *addr)
{
    (void)ep;
    addr->length = sizeof(addr->sa);
    return getpeername(stream, (void *)&addr->sa, &addr->length);
}

static bool tcp_is_full(struct taut_endpoint *ep)
{
    struct tcp_info info;

    return !ep->is_quiet && look_at_queue(ep, &info) == 0 &&
           info.tcpi_unacked > info.tcpi_sacked;
}

/* A test of a few milliseconds must not wait for acknowledgements of small
 * segments; and what the kernel takes without sending it yet is bounded, so
 * that a slow link does not end its test with a long queue. */
static void set_sender_options(int fd, const char *interface)
{
    int one = 1, unsent = UNSENT_MAX;

    /* Rails of one network: the routing table knows one way only.  Kernels
     * before 5.7 keep this for root, and the stream goes that way. */
    if (*interface)
        setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, interface,
                   (socklen_t)strlen(interface) + 1);

    taut_account_choose_congestion(fd);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent, sizeof(unsent));
}

static int tcp_connect(struct taut_endpoint *ep, const char *peer, int port)
{
    struct taut_address local = ep->local, to;
    int fd, saved, one = 1;

    if (taut_address_parse(&to, peer, NULL) < 0)
        return -1;
    fd = make_socket(to.sa.ss_family);
    if (fd < 0)
        return -1;
    set_sender_options(fd, ep->interface);
    if (port) {
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
        taut_address_set_port(&local, (uint16_t)port);
    }
    if (local.sa.ss_family == to.sa.ss_family &&
        bind(fd, (const void *)&local.sa, local.length) < 0)
        goto fail;
    if (connect(fd, (const void *)&to.sa, to.length) == 0 ||
        errno == EINPROGRESS)
        return fd;
fail:
    saved = errno;
    close(fd);
    errno = saved;
    return -1;
}

static int tcp_connected(struct taut_endpoint *ep, int stream)
{
    struct pollfd pfd = {.fd = stream, .events = POLLOUT};
    socklen_t n = sizeof(int);
    int why = 0;

    (void)ep;
    if (poll(&pfd, 1, 0) <= 0) {
        errno = EAGAIN;
        return -1;
    }
    if (getsockopt(stream, SOL_SOCKET, SO_ERROR, &why, &n) < 0)
        return -1;
    /* a route's own choice took the place of ours when the stream opened */
    if (why == 0)
        taut_account_choose_congestion(stream);
    errno = why;
    return why ? -1 : 0;
}

static ssize_t tcp_send(struct taut_endpoint *ep, int stream, const void *data,
                        size_t n)
{
    (void)ep;
    return send(stream, data, n, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static ssize_t tcp_fill(struct taut_endpoint *ep, int stream, size_t n)
{
    static char payload[FILL_MAX]; /* zeros that take no room in the file */

    return tcp_send(ep, stream, payload, n < FILL_MAX ? n : FILL_MAX);
}

static ssize_t tcp_receive(struct taut_endpoint *ep, int stream, void *data,
                           size_t n)
{
    (void)ep;
    return recv(stream, data, n, MSG_DONTWAIT);
}

/* MSG_TRUNC frees the data in the kernel without copying it (tcp(7)). */
static ssize_t tcp_discard(struct taut_endpoint *ep, int stream)
{
    static char nowhere[DISCARD_MAX];

    (void)ep;
    return recv(stream, nowhere, sizeof(nowhere), MSG_DONTWAIT | MSG_TRUNC);
}

static int64_t tcp_queued(struct taut_endpoint *ep, int stream)
{
    int bytes;

    (void)ep;
    return ioctl(stream, SIOCOUTQ, &bytes) < 0 ? -1 : bytes;
}

/* tcpi_busy_time came with Linux 4.10, tcpi_bytes_sent with 4.19; before them
 * the kernel returns a shorter structure, and what was acknowledged stands in
 * for it. */
static int tcp_stats(struct taut_endpoint *ep, int stream,
                     struct taut_stream_stats *stats)
{
    struct tcp_info info;
    socklen_t n = sizeof(info);

    (void)ep;
    memset(&info, 0, sizeof(info));
    if (getsockopt(stream, IPPROTO_TCP, TCP_INFO, &info, &n) < 0)
        return -1;
    stats->acked_bytes = (int64_t)info.tcpi_bytes_acked;
    stats->flight_bytes = (int64_t)info.tcpi_unacked * info.tcpi_snd_mss;
    stats->rtt_ns = (int64_t)info.tcpi_rtt * 1000;
    stats->sent_bytes = stats->acked_bytes + stats->flight_bytes;
    stats->busy_ns = -1;
    if (n >= offsetof(struct tcp_info, tcpi_rwnd_limited) +
                 sizeof(info.tcpi_rwnd_limited))
        stats->busy_ns =
            (int64_t)(info.tcpi_busy_time - info.tcpi_rwnd_limited) * 1000;
    if (n >= offsetof(struct tcp_info, tcpi_bytes_sent) +
                 sizeof(info.tcpi_bytes_sent))
        stats->sent_bytes = (int64_t)info.tcpi_bytes_sent;
    return 0;
}

static int tcp_account(struct taut_endpoint *ep, int stream, bool is_sender,
                       struct taut_account *account)
{
    (void)ep;
    return taut_account_read_tcp(stream, is_sender, account);
}

static void tcp_reset(struct taut_endpoint *ep, int stream)
{
    struct linger now = {.l_onoff = 1, .l_linger = 0};

    (void)ep;
    setsockopt(stream, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
    close(stream);
}

const struct taut_transport taut_transport_tcp = {
    .kind = TAUT_TRANSPORT_TCP,
    .open = tcp_open,
    .close = tcp_close,
    .watch = tcp_watch,
    .accept = tcp_accept,
    .from = tcp_from,
    .is_full = tcp_is_full,
    .connect = tcp_connect,
    .connected = tcp_connected,
    .send = tcp_send,
    .fill = tcp_fill,
    .receive = tcp_receive,
    .discard = tcp_discard,
    .queued = tcp_queued,
    .stats = tcp_stats,
    .account = tcp_account,
    .reset = tcp_reset,
};
