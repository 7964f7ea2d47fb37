/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <jansson.h>
#include <sodium.h>

#include "plugin/common/clock.h"
#include "plugin/common/text.h"
#include "plugin/probe/session.h"
#include "wire/root_port.h"

void taut_session_init(struct taut_session *s)
{
    memset(s, 0, sizeof(*s));
    s->fd = -1;
    for (int i = 0; i < TAUT_SERVERS_MAX; i++)
        s->own[i] = -1;
    taut_seal_random(s->key, sizeof(s->key));
}

static void close_own(struct taut_session *s)
{
    for (int i = 0; i < TAUT_SERVERS_MAX; i++) {
        if (s->own[i] >= 0)
            close(s->own[i]);
        s->own[i] = -1;
    }
}

void taut_session_fini(struct taut_session *s)
{
    int saved = errno;

    if (s->fd >= 0)
        close(s->fd);
    s->fd = -1;
    close_own(s);
    sodium_memzero(s->key, sizeof(s->key));
    errno = saved;
}

/* Wait for 'events' or an error on 'fd'.
 * Returns 0, or -1 with errno ETIMEDOUT. */
static int wait_for(int fd, short events, int64_t deadline_ns)
{
    struct pollfd pfd = {.fd = fd, .events = events};

    for (;;) {
        int rc = poll(&pfd, 1, taut_left_ms(deadline_ns));

        if (rc > 0)
            return 0;
        if (rc < 0 && errno != EINTR)
            return -1;
        if (taut_now_ns() >= deadline_ns) {
            errno = ETIMEDOUT;
            return -1;
        }
    }
}

void taut_session_keep_alive(struct taut_session *s)
{
    static const int idle_s = 15, interval_s = 5, count = 4, one = 1;

    setsockopt(s->fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one));
    setsockopt(s->fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof(idle_s));
    setsockopt(s->fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval_s,
               sizeof(interval_s));
    setsockopt(s->fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof(count));
}

int taut_session_wait(struct taut_session *s, const sigset_t *mask,
                      int64_t deadline_ns)
{
    struct pollfd pfd = {.fd = s->fd, .events = POLLIN};
    int64_t left_ns = deadline_ns - taut_now_ns();
    struct timespec limit;
    int rc;

    if (left_ns < 0)
        left_ns = 0;
    limit.tv_sec = left_ns / 1000000000;
    limit.tv_nsec = left_ns % 1000000000;
    rc = ppoll(&pfd, 1, &limit, mask);
    if (rc < 0 && errno == EINTR)
        return 0;
    if (rc == 0)
        errno = ETIMEDOUT;
    return rc > 0 ? 1 : -1;
}

static int finish_connect(int fd, int64_t deadline_ns)
{
    socklen_t n = sizeof(int);
    int why = 0;

    if (wait_for(fd, POLLOUT, deadline_ns) < 0 ||
        getsockopt(fd, SOL_SOCKET, SO_ERROR, &why, &n) < 0)
        return -1;
    errno = why;
    return why ? -1 : 0;
}

static int new_socket(const struct taut_address *server)
{
    return socket(server->sa.ss_family,
                  SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

int taut_session_bind(struct taut_session *s,
                      const struct taut_address *servers, int n,
                      struct taut_error *err)
{
    int rc = 0;

    for (int i = 0; i < n && i < TAUT_SERVERS_MAX; i++) {
        s->own[i] = new_socket(&servers[i]);
        if (s->own[i] >= 0 &&
            taut_root_port_bind(s->own[i], servers[i].sa.ss_family, err) < 0)
            rc = -1;
    }
    return rc;
}

/* Takes the socket that is there for this server, or a new one.
 * Returns a connected socket, or -1 with errno. */
static int connect_one(const struct taut_address *server, int *own,
                       int64_t deadline_ns)
{
    int fd = *own >= 0 ? *own : new_socket(server);
    int one = 1, rc, saved;

    *own = -1;
    if (fd < 0)
        return -1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    rc = connect(fd, (const void *)&server->sa, server->length);
    if (rc < 0 && errno == EINPROGRESS)
        rc = finish_connect(fd, deadline_ns);
    if (rc == 0)
        return fd;
    saved = errno;
    close(fd);
    errno = saved;
    return -1;
}

int taut_session_connect(struct taut_session *s,
                         const struct taut_address *servers, int from, int n,
                         int64_t deadline_ns, struct taut_error *err)
{
    if (s->fd >= 0)
        close(s->fd);
    s->fd = -1;
    s->is_elsewhere = false;
    for (int i = from; i < n && i < TAUT_SERVERS_MAX; i++) {
        int64_t now = taut_now_ns();
        int64_t share = (deadline_ns - now) / (n - i);

        if (share > TAUT_CONNECT_MS * TAUT_MS_NS)
            share = TAUT_CONNECT_MS * TAUT_MS_NS;
        taut_address_format(&servers[i], s->server);
        s->reached = i;
        s->fd = connect_one(&servers[i], &s->own[i], now + share);
        if (s->fd >= 0)
            return 0;
        taut_error_set(err, "server %s: %s", s->server, strerror(errno));
    }
    return -1;
}

static int send_all(struct taut_session *s, const void *data, size_t n,
                    int flags, int64_t deadline_ns)
{
    const char *p = data;

    while (n > 0) {
        ssize_t done = send(s->fd, p, n, flags | MSG_NOSIGNAL);

        if (done >= 0) {
            p += done;
            n -= (size_t)done;
        } else if (errno == EAGAIN) {
            if (wait_for(s->fd, POLLOUT, deadline_ns) < 0)
                return -1;
        } else if (errno != EINTR) {
            return -1;
        }
    }
    return 0;
}

int taut_session_send(struct taut_session *s, enum taut_frame_type type,
                      const void *payload, size_t n, int64_t deadline_ns,
                      struct taut_error *err)
{
    unsigned char head[TAUT_FRAME_HEAD];

    if (taut_frame_encode(head, type, n) < 0)
        return taut_error_set(err, "message of %zu bytes is too long", n);
    if (send_all(s, head, sizeof(head), MSG_MORE, deadline_ns) < 0 ||
        send_all(s, payload, n, 0, deadline_ns) < 0)
        return taut_error_set(err, "sending to %s: %s", s->server,
                              strerror(errno));
    return 0;
}

/* Returns 0, or -1 with errno; the end of the stream is ECONNRESET. */
static int receive_all(struct taut_session *s, void *data, size_t n,
                       int64_t deadline_ns)
{
    char *p = data;

    while (n > 0) {
        ssize_t done = recv(s->fd, p, n, 0);

        if (done > 0) {
            p += done;
            n -= (size_t)done;
        } else if (done == 0) {
            errno = ECONNRESET;
            return -1;
        } else if (errno == EAGAIN) {
            if (wait_for(s->fd, POLLIN, deadline_ns) < 0)
                return -1;
        } else if (errno != EINTR) {
            return -1;
        }
    }
    return 0;
}

static int receive_head(struct taut_session *s, struct taut_frame *frame,
                        size_t max, int64_t deadline_ns, struct taut_error *err)
{
    unsigned char head[TAUT_FRAME_HEAD];

    if (receive_all(s, head, sizeof(head), deadline_ns) < 0)
        return taut_error_set(err, "waiting for %s: %s", s->server,
                              strerror(errno));
    if (taut_frame_decode(frame, head, max, err) < 0)
        return -1;
    if (frame->type != TAUT_FRAME_ELSEWHERE) {
        close_own(s); /* no other server will be asked */
        return 0;
    }
    s->is_elsewhere = true;
    errno = EPROTO;
    return taut_error_set(err, "server %s is not active", s->server);
}

/* Receive a frame's payload, to free().  Returns 0, or -1 with errno and
 * 'err'. */
static int receive_frame(struct taut_session *s, struct taut_frame *frame,
                         size_t max, unsigned char **payload,
                         int64_t deadline_ns, struct taut_error *err)
{
    unsigned char *room;
    int saved;

    if (receive_head(s, frame, max, deadline_ns, err) < 0)
        return -1;
    room = malloc(frame->length + 1);
    if (room == NULL)
        return taut_error_set(err, "out of memory");
    if (receive_all(s, room, frame->length, deadline_ns) == 0) {
        *payload = room;
        return 0;
    }
    saved = errno;
    free(room);
    errno = saved;
    return taut_error_set(err, "waiting for %s: %s", s->server,
                          strerror(errno));
}

int taut_session_send_sealed(struct taut_session *s, enum taut_frame_type type,
                             const char *text, int64_t deadline_ns,
                             struct taut_error *err)
{
    size_t n = strlen(text), sealed_length;
    unsigned char *sealed = malloc(n + TAUT_SEAL_OVERHEAD);
    int rc;

    if (sealed == NULL)
        return taut_error_set(err, "out of memory");
    sealed_length = taut_seal(
        sealed, s->key, s->version != 0 ? s->version : TAUT_PROTOCOL_VERSION,
        type, s->sealed++, text, n);
    rc = taut_session_send(s, type, sealed, sealed_length, deadline_ns, err);
    free(sealed);
    return rc;
}

/* In the version of the frames before, or, of the first, in the one that it is
 * in.  Returns the length of the text, or -1. */
static long open_sealed(struct taut_session *s, char *text,
                        enum taut_frame_type type, const unsigned char *sealed,
                        size_t n)
{
    int newest = s->version != 0 ? s->version : TAUT_PROTOCOL_VERSION;
    int oldest = s->version != 0 ? s->version : TAUT_PROTOCOL_OLDEST;

    if (type == TAUT_FRAME_REFUSED)
        return taut_seal_open(text, s->key, TAUT_PROTOCOL_ANY, type, 0, sealed,
                              n);
    for (int version = newest; version >= oldest; version--) {
        long length =
            taut_seal_open(text, s->key, version, type, s->opened, sealed, n);

        if (length >= 0) {
            s->version = version;
            s->opened++;
            return length;
        }
    }
    return -1;
}

/* REFUSED: the server says why.  Returns -1 with errno ECONNREFUSED. */
static long say_refused(const struct taut_session *s, const char *text,
                        size_t n, struct taut_error *err)
{
    json_t *json = json_loadb(text, n, JSON_REJECT_DUPLICATES, NULL);
    const char *why = json_string_value(json_object_get(json, "why"));
    char clean[TAUT_REFUSED_WHY];

    snprintf(clean, sizeof(clean), "%s", why != NULL ? why : "it says not why");
    taut_text_clean(clean);
    taut_error_set(err, "%s refused this node: %s", s->server, clean);
    json_decref(json);
    errno = ECONNREFUSED;
    return -1;
}

/* 'room' has a byte more than 'sealed'.  Returns its length then, or -1 with
 * errno EPROTO or ECONNREFUSED and 'err'. */
static long open_frame(struct taut_session *s, char *room,
                       const struct taut_frame *frame,
                       const unsigned char *sealed, enum taut_frame_type type,
                       struct taut_error *err)
{
    bool is_refused = frame->type == TAUT_FRAME_REFUSED;
    long length;

    if (type != TAUT_FRAME_NONE && frame->type != type && !is_refused) {
        errno = EPROTO;
        return taut_error_set(err, "frame of type %d, expected %d",
                              (int)frame->type, (int)type);
    }
    length = open_sealed(s, room, frame->type, sealed, frame->length);
    if (length < 0) {
        taut_error_set(err, "the answer of %s is forged or damaged", s->server);
        errno = EPROTO;
        return -1;
    }
    room[length] = '\0';
    return is_refused ? say_refused(s, room, (size_t)length, err) : length;
}

long taut_session_receive_sealed(struct taut_session *s,
                                 enum taut_frame_type type, size_t max,
                                 char **text, enum taut_frame_type *got,
                                 int64_t deadline_ns, struct taut_error *err)
{
    unsigned char *sealed = NULL;
    struct taut_frame frame;
    long length = -1;
    char *room;
    int saved;

    if (receive_frame(s, &frame, max, &sealed, deadline_ns, err) < 0)
        return -1;
    room = malloc(frame.length + 1);
    if (room == NULL)
        taut_error_set(err, "out of memory");
    else
        length = open_frame(s, room, &frame, sealed, type, err);
    saved = errno;
    free(sealed);
    if (length < 0) {
        free(room);
        errno = saved;
        return -1;
    }
    *text = room;
    if (got != NULL)
        *got = frame.type;
    return length;
}
