/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "advisor/lib/os/blocking.h"
#include "advisor/lib/os/sys_socket.h"

#define CHUNK_BYTES 65536

int taut_socket_address(struct sockaddr_un *address, const char *path,
                        struct taut_error *err)
{
    size_t n = strlen(path);

    memset(address, 0, sizeof(*address));
    address->sun_family = AF_UNIX;
    if (n >= sizeof(address->sun_path)) {
        errno = ENAMETOOLONG;
        return taut_error_set(err, "%s: a socket's path has at most %zu bytes",
                              path, sizeof(address->sun_path) - 1);
    }
    memcpy(address->sun_path, path, n + 1);
    return 0;
}

static int connect_to(const char *path, int64_t deadline_ms,
                      struct taut_error *err)
{
    struct sockaddr_un address;

    if (taut_socket_address(&address, path, err) != 0)
        return -1;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return taut_error_set(err, "socket: %s", strerror(errno));
    /* EAGAIN: the server's backlog is full; it is worth another try. */
    while (connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0) {
        if (errno == EAGAIN && taut_blocking_now_ms() < deadline_ms) {
            poll(NULL, 0, 10);
            continue;
        }
        taut_error_set(err, "%s: %s", path, strerror(errno));
        close(fd);
        return -1;
    }
    return fd;
}

static char *give_up(char *text, struct taut_error *err, const char *path,
                     const char *why)
{
    free(text);
    taut_error_set(err, "%s: %s", path, why);
    return NULL;
}

static char *receive_line(int fd, const char *path, size_t max, size_t *got,
                          int64_t deadline_ms, struct taut_error *err)
{
    char *text = NULL;
    size_t have = 0, room = 0;

    for (;;) {
        if (room - have < CHUNK_BYTES) {
            room = room * 2 + 2 * CHUNK_BYTES;
            char *larger = realloc(text, room);
            if (larger == NULL)
                return give_up(text, err, path, strerror(errno));
            text = larger;
        }
        ssize_t n = taut_blocking_receive(fd, text + have, CHUNK_BYTES, deadline_ms);
        if (n < 0)
            return give_up(text, err, path, strerror(errno));
        if (n == 0)
            return give_up(text, err, path, "closed without a reply");
        const char *end = memchr(text + have, '\n', (size_t)n);
        have += (size_t)n;
        if (end != NULL) {
            *got = (size_t)(end - text);
            return text;
        }
        if (have > max)
            return give_up(text, err, path, "the reply is too long");
    }
}

char *taut_socket_request(const char *path, const char *line, size_t n,
                          int timeout_ms, size_t max, size_t *got,
                          struct taut_error *err)
{
    int64_t deadline_ms = taut_blocking_now_ms() + timeout_ms;
    char *reply = NULL;
    int fd = connect_to(path, deadline_ms, err);

    if (fd < 0)
        return NULL;
    if (taut_blocking_send(fd, line, n, deadline_ms) != 0 ||
        taut_blocking_send(fd, "\n", 1, deadline_ms) != 0)
        taut_error_set(err, "%s: %s", path, strerror(errno));
    else
        reply = receive_line(fd, path, max, got, deadline_ms, err);
    close(fd);
    return reply;
}

int taut_socket_notify(const char *path, const char *text)
{
    struct sockaddr_un address;

    if (path == NULL || path[0] == '\0')
        return 0;
    if (taut_socket_address(&address, path, NULL) != 0)
        return -1;
    socklen_t length =
        (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path));
    if (path[0] == '@')
        address.sun_path[0] = '\0';
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    ssize_t n = sendto(fd, text, strlen(text), MSG_NOSIGNAL,
                       (struct sockaddr *)&address, length);
    int saved = errno;
    close(fd);
    errno = saved;
    return n < 0 ? -1 : 0;
}
