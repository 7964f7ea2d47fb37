/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "advisor/lib/os/tcp_port.h"

void taut_port_peer(char *out, size_t size, const struct sockaddr *sa,
                    socklen_t length)
{
    char host[64] = "?", port[8] = "?";

    getnameinfo(sa, length, host, sizeof(host), port, sizeof(port),
                NI_NUMERICHOST | NI_NUMERICSERV);
    /* A dual-stack socket shows IPv4 as ::ffff:1.2.3.4. */
    const char *v4 = strncmp(host, "::ffff:", 7) == 0 ? host + 7 : host;
    snprintf(out, size, strchr(v4, ':') != NULL ? "[%s]:%s" : "%s:%s", v4,
             port);
}

/* Try one address.  Returns a descriptor, or -1 with errno. */
static int bind_to(const struct addrinfo *ai, bool any)
{
    int one = 1, zero = 0;
    int fd =
        socket(ai->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    if (ai->ai_family == AF_INET6 && any)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof(zero));
    if (bind(fd, ai->ai_addr, ai->ai_addrlen) == 0)
        return fd;
    int saved = errno;
    close(fd);
    errno = saved;
    return -1;
}

int taut_port_open(const char *host, int port, struct taut_error *err)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
                             .ai_flags = AI_PASSIVE};
    struct addrinfo *list, *ai;
    char service[8];
    int fd = -1;

    snprintf(service, sizeof(service), "%d", port);
    int rc = getaddrinfo(host, service, &hints, &list);
    if (rc != 0)
        return taut_error_set(err, "%s: %s", host != NULL ? host : "*",
                              gai_strerror(rc));
    /* IPv6 first: without a host it serves IPv4 as well. */
    for (ai = list; ai != NULL && fd < 0; ai = ai->ai_next)
        if (ai->ai_family == AF_INET6 || host != NULL)
            fd = bind_to(ai, host == NULL);
    for (ai = list; ai != NULL && fd < 0; ai = ai->ai_next)
        fd = bind_to(ai, host == NULL);
    freeaddrinfo(list);
    if (fd < 0)
        return taut_error_set(err, "%s port %d: %s", host != NULL ? host : "*",
                              port, strerror(errno));
    return fd;
}
