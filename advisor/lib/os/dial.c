/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "advisor/lib/os/blocking.h"
#include "advisor/lib/os/dial.h"
#include "wire/root_port.h"

#define CHUNK_BYTES 65536
#define CONNECT_MS 5000 /* to one address */

/* Returns 0 once 'fd' is connected, or -1 with errno. */
static int finish_connect(int fd, int64_t deadline_ms)
{
    int error = 0;
    socklen_t length = sizeof(error);

    if (taut_blocking_wait(fd, POLLOUT, deadline_ms) != 0)
        return -1;
    getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length);
    errno = error;
    return error == 0 ? 0 : -1;
}

/* Try one address.  Returns a descriptor, or -1 with errno. */
static int connect_one(const struct addrinfo *ai, int64_t deadline_ms)
{
    int fd =
        socket(ai->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    int64_t until_ms = taut_blocking_now_ms() + CONNECT_MS;

    if (fd < 0)
        return -1;
    if (until_ms > deadline_ms)
        until_ms = deadline_ms;
    /* Administrators are told by it; whoever gets none is a user there. */
    if (geteuid() == 0)
        (void)taut_root_port_bind(fd, ai->ai_family, NULL);
    if (connect(fd, ai->ai_addr, ai->ai_addrlen) == 0 ||
        (errno == EINPROGRESS && finish_connect(fd, until_ms) == 0))
        return fd;
    int saved = errno;
    close(fd);
    errno = saved;
    return -1;
}

static int connect_any(const char *host, int port, int64_t deadline_ms,
                       struct taut_error *err)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *list;
    char service[8];
    int fd = -1;

    snprintf(service, sizeof(service), "%d", port);
    int rc = getaddrinfo(host, service, &hints, &list);
    if (rc != 0) {
        errno = EHOSTUNREACH;
        return taut_error_set(err, "%s: %s", host, gai_strerror(rc));
    }
    for (struct addrinfo *ai = list; ai != NULL && fd < 0; ai = ai->ai_next)
        fd = connect_one(ai, deadline_ms);
    int saved = errno;
    freeaddrinfo(list);
    errno = saved;
    return fd >= 0 ? fd
                   : taut_error_set(err, "%s port %d: %s", host, port,
                                    strerror(errno));
}

/* Returns room for CHUNK_BYTES more than 'have', or NULL with 'text' freed. */
static char *grow(char *text, size_t have, size_t *room)
{
    if (*room - have >= CHUNK_BYTES)
        return text;
    *room = *room * 2 + 2 * CHUNK_BYTES;
    char *larger = realloc(text, *room);
    if (larger == NULL)
        free(text);
    return larger;
}

static char *receive_all(int fd, size_t max, size_t *got, int64_t deadline_ms)
{
    size_t have = 0, room = 0;
    char *text = NULL;
    ssize_t n;

    do {
        text = grow(text, have, &room);
        if (text == NULL)
            return NULL;
        n = taut_blocking_receive(fd, text + have, CHUNK_BYTES, deadline_ms);
        have += n > 0 ? (size_t)n : 0;
    } while (n > 0 && have <= max);
    *got = have;
    if (n == 0)
        return text;
    int saved = n < 0 ? errno : EMSGSIZE;
    free(text);
    errno = saved;
    return NULL;
}

char *taut_dial(const char *host, int port, const void *bytes, size_t n,
                int timeout_ms, size_t max, size_t *got, struct taut_error *err)
{
    int64_t deadline_ms = taut_blocking_now_ms() + timeout_ms;
    int fd = connect_any(host, port, deadline_ms, err);
    char *reply = NULL;

    if (fd < 0)
        return NULL;
    if (taut_blocking_send(fd, bytes, n, deadline_ms) == 0)
        reply = receive_all(fd, max, got, deadline_ms);
    if (reply == NULL)
        taut_error_set(err, "%s port %d: %s", host, port, strerror(errno));
    int saved = errno;
    close(fd);
    errno = saved;
    return reply;
}
