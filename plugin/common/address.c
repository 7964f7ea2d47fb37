/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "plugin/common/address.h"
#include "plugin/common/text.h"
#include "wire/frame.h"

#define HOST_MAX 256
#define V4_MAX 64 /* addresses of this node that are asked for at once */

/* Cut "host:port", "[v6]:port", "host" or "[v6]" in two; a bare IPv6 address
 * (more than one colon) is a host.  port is "" when there is none. */
static int split(const char *text, size_t n, char *host, char *port)
{
    const char *end = text + n, *colon = NULL, *stop;

    if (n == 0 || n >= HOST_MAX)
        goto bad;
    if (*text == '[') {
        stop = memchr(text, ']', n);
        if (stop == NULL || (stop + 1 < end && stop[1] != ':'))
            goto bad;
        text++;
        colon = stop + 1 < end ? stop + 1 : NULL;
    } else {
        colon = memchr(text, ':', n);
        if (colon != NULL &&
            memchr(colon + 1, ':', (size_t)(end - colon - 1)) != NULL)
            colon = NULL;
        stop = colon != NULL ? colon : end;
    }
    if (stop == text ||
        (colon != NULL && (colon + 1 == end || end - colon > 6)))
        goto bad;
    memcpy(host, text, (size_t)(stop - text));
    host[stop - text] = '\0';
    port[0] = '\0';
    if (colon != NULL)
        snprintf(port, 6, "%.*s", (int)(end - colon - 1), colon + 1);
    return 0;
bad:
    errno = EINVAL;
    return -1;
}

static int look_up(struct taut_address *addr, const char *host, uint16_t port,
                   int flags)
{
    struct addrinfo hints = {
        .ai_family = AF_UNSPEC,
        .ai_socktype = SOCK_STREAM,
        .ai_flags = flags,
    };
    struct addrinfo *found = NULL;

    if (getaddrinfo(host, NULL, &hints, &found) != 0 || found == NULL) {
        errno = EHOSTUNREACH;
        return -1;
    }
    memcpy(&addr->sa, found->ai_addr, found->ai_addrlen);
    addr->length = found->ai_addrlen;
    taut_address_set_port(addr, port);
    freeaddrinfo(found);
    return 0;
}

int taut_address_parse(struct taut_address *addr, const char *text,
                       struct taut_error *err)
{
    char host[HOST_MAX], port[8];
    uint64_t number;

    if (split(text, strlen(text), host, port) == 0 &&
        taut_text_number(port, 1, 65535, &number) == 0 &&
        look_up(addr, host, (uint16_t)number, AI_NUMERICHOST) == 0)
        return 0;
    errno = EINVAL;
    return taut_error_set(err, "'%.60s': expected address:port", text);
}

void taut_address_format(const struct taut_address *addr, char *text)
{
    const struct sockaddr_in *v4 = (const void *)&addr->sa;
    const struct sockaddr_in6 *v6 = (const void *)&addr->sa;
    char host[INET6_ADDRSTRLEN];

    text[0] = '\0';
    if (addr->sa.ss_family == AF_INET &&
        inet_ntop(AF_INET, &v4->sin_addr, host, sizeof(host)) != NULL)
        snprintf(text, TAUT_ADDRESS_TEXT, "%s:%u", host, ntohs(v4->sin_port));
    else if (addr->sa.ss_family == AF_INET6 &&
             inet_ntop(AF_INET6, &v6->sin6_addr, host, sizeof(host)) != NULL)
        snprintf(text, TAUT_ADDRESS_TEXT, "[%s]:%u", host,
                 ntohs(v6->sin6_port));
}

bool taut_address_same_host(const struct taut_address *a,
                            const struct taut_address *b)
{
    const struct sockaddr_in *a4 = (const void *)&a->sa;
    const struct sockaddr_in *b4 = (const void *)&b->sa;
    const struct sockaddr_in6 *a6 = (const void *)&a->sa;
    const struct sockaddr_in6 *b6 = (const void *)&b->sa;

    if (a->sa.ss_family != b->sa.ss_family)
        return false;
    if (a->sa.ss_family == AF_INET6)
        return memcmp(&a6->sin6_addr, &b6->sin6_addr,
                      sizeof(a6->sin6_addr)) == 0;
    return a->sa.ss_family == AF_INET &&
           a4->sin_addr.s_addr == b4->sin_addr.s_addr;
}

void taut_address_set_port(struct taut_address *addr, uint16_t port)
{
    if (addr->sa.ss_family == AF_INET)
        ((struct sockaddr_in *)(void *)&addr->sa)->sin_port = htons(port);
    else if (addr->sa.ss_family == AF_INET6)
        ((struct sockaddr_in6 *)(void *)&addr->sa)->sin6_port = htons(port);
}

uint16_t taut_address_port(const struct taut_address *addr)
{
    const void *sa = &addr->sa;

    if (addr->sa.ss_family == AF_INET)
        return ntohs(((const struct sockaddr_in *)sa)->sin_port);
    if (addr->sa.ss_family == AF_INET6)
        return ntohs(((const struct sockaddr_in6 *)sa)->sin6_port);
    return 0;
}

/* An IPv4 address, also one that is written as IPv6; false: it is not one. */
static bool as_v4(const struct taut_address *addr, uint32_t *v4)
{
    const void *sa = &addr->sa;
    const struct in6_addr *v6 = &((const struct sockaddr_in6 *)sa)->sin6_addr;

    if (addr->sa.ss_family == AF_INET) {
        *v4 = ntohl(((const struct sockaddr_in *)sa)->sin_addr.s_addr);
        return true;
    }
    if (!IN6_IS_ADDR_V4MAPPED(v6) && !IN6_IS_ADDR_V4COMPAT(v6))
        return false;
    memcpy(v4, v6->s6_addr + 12, sizeof(*v4));
    *v4 = ntohl(*v4);
    return true;
}

bool taut_address_is_of_host(const struct taut_address *addr)
{
    const void *sa = &addr->sa;
    const struct in6_addr *v6 = &((const struct sockaddr_in6 *)sa)->sin6_addr;
    uint32_t v4;

    if (as_v4(addr, &v4))
        return v4 >> 24 != 0 && v4 >> 28 < 0xe; /* 0.0.0.0/8, from 224 on */
    return !IN6_IS_ADDR_UNSPECIFIED(v6) && !IN6_IS_ADDR_MULTICAST(v6);
}

bool taut_address_is_loopback(const struct taut_address *addr)
{
    const void *sa = &addr->sa;
    uint32_t v4;

    if (addr->sa.ss_family == AF_INET6 &&
        IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)sa)->sin6_addr))
        return true;
    return as_v4(addr, &v4) && v4 >> 24 == 127;
}

bool taut_address_is_own(const struct taut_address *addr)
{
    struct taut_address from = {.length = sizeof(from.sa)};
    int fd = socket(addr->sa.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool is_own = true;

    if (taut_address_is_loopback(addr) || fd < 0) {
        if (fd >= 0)
            close(fd);
        return true;
    }
    /* connect() of a datagram socket sends nothing; where there is no route
     * to it, it is another's */
    if (connect(fd, (const void *)&addr->sa, addr->length) < 0)
        is_own = false;
    else if (getsockname(fd, (void *)&from.sa, &from.length) == 0)
        is_own = taut_address_same_host(&from, addr);
    close(fd);
    return is_own;
}

/* The address that packets to 'server' leave with: connecting a datagram
 * socket asks the routing table and sends nothing. */
static int local_towards(struct taut_address *local,
                         const struct taut_address *server)
{
    int fd = socket(server->sa.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    int rc, saved;

    if (fd < 0)
        return -1;
    local->length = sizeof(local->sa);
    rc = connect(fd, (const void *)&server->sa, server->length);
    if (rc == 0)
        rc = getsockname(fd, (void *)&local->sa, &local->length);
    saved = errno;
    close(fd);
    errno = saved;
    return rc;
}

static bool is_same_host(const struct taut_address *a, const struct sockaddr *b)
{
    const struct sockaddr_in *a4 = (const void *)&a->sa;
    const struct sockaddr_in6 *a6 = (const void *)&a->sa;

    if (b == NULL || b->sa_family != a->sa.ss_family)
        return false;
    if (b->sa_family == AF_INET)
        return a4->sin_addr.s_addr ==
               ((const struct sockaddr_in *)(const void *)b)->sin_addr.s_addr;
    return b->sa_family == AF_INET6 &&
           memcmp(&a6->sin6_addr,
                  &((const struct sockaddr_in6 *)(const void *)b)->sin6_addr,
                  sizeof(a6->sin6_addr)) == 0;
}

static void name_of(char *interface, const struct taut_address *local,
                    const struct ifaddrs *list)
{
    for (const struct ifaddrs *i = list; i != NULL; i = i->ifa_next) {
        if (is_same_host(local, i->ifa_addr)) {
            snprintf(interface, IFNAMSIZ, "%s", i->ifa_name);
            return;
        }
    }
}

static const struct sockaddr *pick(const struct ifaddrs *list,
                                   const char *interface, int family)
{
    for (const struct ifaddrs *i = list; i != NULL; i = i->ifa_next) {
        const struct sockaddr_in6 *v6 = (const void *)i->ifa_addr;

        if (strcmp(i->ifa_name, interface) != 0 || i->ifa_addr == NULL ||
            i->ifa_addr->sa_family != family)
            continue;
        if (family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&v6->sin6_addr))
            continue;
        return i->ifa_addr;
    }
    return NULL;
}

static int pick_address(struct taut_address *addr, const char *interface,
                        const struct ifaddrs *list, struct taut_error *err)
{
    const struct sockaddr *sa = pick(list, interface, AF_INET);

    addr->length = sizeof(struct sockaddr_in);
    if (sa == NULL) {
        sa = pick(list, interface, AF_INET6);
        addr->length = sizeof(struct sockaddr_in6);
    }
    if (sa == NULL) {
        errno = EADDRNOTAVAIL;
        return taut_error_set(err, "interface %s has no usable address",
                              interface);
    }
    memset(&addr->sa, 0, sizeof(addr->sa));
    memcpy(&addr->sa, sa, addr->length);
    taut_address_set_port(addr, 0);
    return 0;
}

/* ---- IPv4 by ioctl: getifaddrs() has the kernel ask each interface's driver
 * for its statistics, and takes longer ---- */

static int ask_v4(unsigned long what, void *answer)
{
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    int rc = fd < 0 ? -1 : ioctl(fd, what, answer);

    if (fd >= 0)
        close(fd);
    return rc;
}

static int v4_of(struct taut_address *addr, const char *interface)
{
    struct ifreq asked;

    memset(&asked, 0, sizeof(asked));
    snprintf(asked.ifr_name, sizeof(asked.ifr_name), "%s", interface);
    if (ask_v4(SIOCGIFADDR, &asked) < 0 ||
        asked.ifr_addr.sa_family != AF_INET)
        return -1;
    memset(&addr->sa, 0, sizeof(addr->sa));
    addr->length = sizeof(struct sockaddr_in);
    memcpy(&addr->sa, &asked.ifr_addr, addr->length);
    taut_address_set_port(addr, 0);
    return 0;
}

static int v4_name_of(char *interface, const struct taut_address *local)
{
    struct ifreq list[V4_MAX];
    struct ifconf all = {.ifc_len = sizeof(list), .ifc_req = list};

    if (local->sa.ss_family != AF_INET || ask_v4(SIOCGIFCONF, &all) < 0)
        return -1;
    for (size_t i = 0; i < (size_t)all.ifc_len / sizeof(list[0]); i++) {
        if (is_same_host(local, &list[i].ifr_addr)) {
            snprintf(interface, IFNAMSIZ, "%.*s", IFNAMSIZ - 1,
                     list[i].ifr_name);
            return 0;
        }
    }
    return -1;
}

/* ---- all of it ---- */

static int any_name_of(char *interface, const struct taut_address *local)
{
    struct ifaddrs *list = NULL;

    if (getifaddrs(&list) < 0)
        return -1;
    name_of(interface, local, list);
    freeifaddrs(list);
    return *interface ? 0 : -1;
}

static int find_towards(struct taut_address *addr, char *interface,
                        const struct taut_address *server,
                        struct taut_error *err)
{
    if (local_towards(addr, server) < 0)
        return taut_error_set(err, "no route to the server: %s",
                              strerror(errno));
    if (v4_name_of(interface, addr) < 0 && any_name_of(interface, addr) < 0) {
        errno = ENODEV;
        return taut_error_set(err, "no interface on the route to the server");
    }
    taut_address_set_port(addr, 0);
    return 0;
}

int taut_address_local(struct taut_address *addr, char *interface,
                       const struct taut_address *server,
                       struct taut_error *err)
{
    struct ifaddrs *list = NULL;
    int rc, saved;

    if (!*interface)
        return find_towards(addr, interface, server, err);
    if (v4_of(addr, interface) == 0)
        return 0;
    if (getifaddrs(&list) < 0)
        return taut_error_set(err, "getifaddrs: %s", strerror(errno));
    rc = pick_address(addr, interface, list, err);
    saved = errno;
    freeifaddrs(list);
    errno = saved;
    return rc;
}

static int resolve_one(struct taut_address *addr, const char *text, size_t n,
                       struct taut_error *err)
{
    char host[HOST_MAX], port[8];
    uint64_t number = TAUT_DEFAULT_PORT;

    if (split(text, n, host, port) < 0 ||
        (*port && taut_text_number(port, 1, 65535, &number) < 0)) {
        errno = EINVAL;
        return taut_error_set(err, "server '%.*s': expected host[:port]",
                              (int)(n > 60 ? 60 : n), text);
    }
    /* Without AI_NUMERICHOST first, a plain address would load the name
     * service's libraries. */
    if (look_up(addr, host, (uint16_t)number, AI_NUMERICHOST) == 0 ||
        look_up(addr, host, (uint16_t)number, 0) == 0)
        return 0;
    return taut_error_set(err, "server '%.60s' is not known", host);
}

int taut_address_resolve(struct taut_address *addrs, int max,
                         const char *servers, struct taut_error *err)
{
    int found = 0;

    for (const char *p = servers; *p && found < max;) {
        size_t n = strcspn(p, ",");

        if (n > 0 && resolve_one(&addrs[found], p, n, err) == 0)
            found++;
        p += n + (p[n] == ',');
    }
    if (found > 0)
        return found;
    if (!*servers) {
        errno = EINVAL;
        return taut_error_set(err, "no server is configured (servers=)");
    }
    return -1;
}
