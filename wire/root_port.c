/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "wire/protocol.h"
#include "wire/root_port.h"

#define COUNT (TAUT_ROOT_PORT_LAST - TAUT_ROOT_PORT_FIRST + 1)

#define USER_PORT_PATH "proc/sys/net/ipv4/ip_unprivileged_port_start"

_Static_assert(TAUT_ROOT_PORT_LAST < TAUT_USER_PORT, "tautd asks for less");

static int bind_port(int fd, int family, unsigned port)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};

    if (family == AF_INET6) {
        v6.sin6_port = htons((uint16_t)port);
        return bind(fd, (const struct sockaddr *)&v6, sizeof(v6));
    }
    v4.sin_port = htons((uint16_t)port);
    return bind(fd, (const struct sockaddr *)&v4, sizeof(v4));
}

int taut_root_port_bind(int fd, int family, struct taut_error *err)
{
    unsigned first = 0;

    /* without random bytes one begins with the first port */
    (void)!getrandom(&first, sizeof(first), GRND_NONBLOCK);
    for (unsigned i = 0; i < COUNT; i++) {
        unsigned port = TAUT_ROOT_PORT_FIRST + (first % COUNT + i) % COUNT;

        if (bind_port(fd, family, port) == 0)
            return 0;
        if (errno != EADDRINUSE)
            break;
    }
    return taut_error_set(err, "a port from %d to %d: %s", TAUT_ROOT_PORT_FIRST,
                          TAUT_ROOT_PORT_LAST,
                          errno == EADDRINUSE ? "none is free"
                                              : strerror(errno));
}

int taut_user_port(int root_fd)
{
    int fd = openat(root_fd, USER_PORT_PATH, O_RDONLY | O_CLOEXEC);
    char text[16], *end = text;
    ssize_t n = -1;
    long port;

    if (fd >= 0) {
        n = read(fd, text, sizeof(text) - 1);
        close(fd);
    }
    text[n > 0 ? n : 0] = '\0';
    port = strtol(text, &end, 10);
    if (end == text || port < 0 || port > TAUT_USER_PORT)
        return TAUT_USER_PORT;
    return (int)port;
}
