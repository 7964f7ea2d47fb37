/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/icmp6.h>
#include <netinet/ip_icmp.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <linux/errqueue.h>

#include "plugin/common/clock.h"
#include "plugin/streams/way.h"

#define HOP_NS (2 * TAUT_MS_NS)
#define AT_ONCE 8 /* ports asked for: a router answers only so many */

enum answer {
    SILENT = 0,
    ROUTER,  /* on the way, and who it is */
    ARRIVED, /* 'to' took it, or refused */
};

static int set_int(int fd, int level, int name, int value)
{
    return setsockopt(fd, level, name, &value, sizeof value);
}

/* After 'hop' routers the next one throws the request away. */
static int set_hops(int fd, int family, int hop)
{
    if (family == AF_INET6)
        return set_int(fd, IPPROTO_IPV6, IPV6_RECVERR, 1) < 0
                   ? -1
                   : set_int(fd, IPPROTO_IPV6, IPV6_UNICAST_HOPS, hop);
    return set_int(fd, IPPROTO_IP, IP_RECVERR, 1) < 0
               ? -1
               : set_int(fd, IPPROTO_IP, IP_TTL, hop);
}

static int send_request(const struct taut_address *from,
                        const struct taut_address *to, const char *interface,
                        int hop)
{
    struct linger now = {.l_onoff = 1, .l_linger = 0};
    int fd = socket(to->sa.ss_family,
                    SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int saved;

    if (fd < 0)
        return -1;
    if (*interface)
        setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, interface,
                   (socklen_t)strlen(interface) + 1);
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    if (set_int(fd, SOL_SOCKET, SO_REUSEADDR, 1) == 0 &&
        set_hops(fd, to->sa.ss_family, hop) == 0 &&
        bind(fd, (const void *)&from->sa, from->length) == 0 &&
        (connect(fd, (const void *)&to->sa, to->length) == 0 ||
         errno == EINPROGRESS))
        return fd;
    saved = errno;
    close(fd);
    errno = saved;
    return -1;
}

/* Did a router throw the request away?  Then who. */
static bool is_from_router(const struct cmsghdr *c, char *address)
{
    const struct sock_extended_err *e = (const void *)CMSG_DATA(c);
    const struct sockaddr *who = SO_EE_OFFENDER(e);

    if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_RECVERR &&
        e->ee_origin == SO_EE_ORIGIN_ICMP && e->ee_type == ICMP_TIME_EXCEEDED)
        return inet_ntop(AF_INET, &((const struct sockaddr_in *)who)->sin_addr,
                         address, INET6_ADDRSTRLEN) != NULL;
    if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_RECVERR &&
        e->ee_origin == SO_EE_ORIGIN_ICMP6 &&
        e->ee_type == ICMP6_TIME_EXCEEDED)
        return inet_ntop(AF_INET6,
                         &((const struct sockaddr_in6 *)who)->sin6_addr,
                         address, INET6_ADDRSTRLEN) != NULL;
    return false;
}

static enum answer read_answer(int fd, char *address)
{
    _Alignas(struct cmsghdr) char room[512];
    struct msghdr m = {.msg_control = room, .msg_controllen = sizeof room};

    if (recvmsg(fd, &m, MSG_ERRQUEUE) < 0)
        return ARRIVED; /* nothing on the way has complained */
    for (struct cmsghdr *c = CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c)) {
        if (is_from_router(c, address))
            return ROUTER;
    }
    return SILENT; /* another complaint: unreachable, forbidden */
}

static enum answer wait_for_answer(int fd, int64_t until_ns, char *address)
{
    struct pollfd pfd = {.fd = fd, .events = POLLOUT};
    int64_t left_ns = until_ns - taut_now_ns();
    struct timespec wait = {.tv_nsec = left_ns > 0 ? left_ns : 0};

    if (ppoll(&pfd, 1, &wait, NULL) <= 0)
        return SILENT;
    return read_answer(fd, address);
}

int taut_way_ask(struct taut_way *way, const struct taut_address *from,
                 const struct taut_address *to, const char *interface,
                 int hops, int64_t deadline_ns)
{
    memset(way, 0, sizeof *way);
    while (way->hops < hops && taut_now_ns() < deadline_ns) {
        int64_t until_ns = taut_now_ns() + HOP_NS;
        int fd = send_request(from, to, interface, way->hops + 1);
        enum answer answer;

        if (fd < 0)
            return -1;
        answer = wait_for_answer(
            fd, until_ns < deadline_ns ? until_ns : deadline_ns,
            way->answer[way->hops]);
        close(fd);
        if (answer == ARRIVED)
            break;
        way->hops++;
    }
    return 0;
}

/* ---- aiming ---- */

struct asked {
    struct pollfd pfd[AT_ONCE]; /* one for each port; fd -1: answered */
    int first, count, open;
};

static void ask(struct asked *a, const struct taut_aim *aim,
                const struct taut_address *from, const struct taut_address *to,
                const char *interface)
{
    struct taut_address by = *from;

    for (int i = 0; i < a->count; i++) {
        taut_address_set_port(&by, (uint16_t)(a->first + i));
        a->pfd[i].fd = send_request(&by, to, interface, aim->hop);
        a->pfd[i].events = POLLOUT;
        a->open += a->pfd[i].fd >= 0;
    }
}

static void forget(struct asked *a, int i)
{
    close(a->pfd[i].fd);
    a->pfd[i].fd = -1;
    a->open--;
}

/* Ports of those that have answered, as far as it was the router wanted. */
static int take_answers(struct asked *a, const struct taut_aim *aim, int *ports,
                        int most)
{
    char address[INET6_ADDRSTRLEN];
    int found = 0;

    for (int i = 0; i < a->count; i++) {
        if (a->pfd[i].fd < 0 || a->pfd[i].revents == 0)
            continue;
        if (read_answer(a->pfd[i].fd, address) == ROUTER && found < most &&
            strcmp(address, aim->address) == 0)
            ports[found++] = a->first + i;
        forget(a, i);
    }
    return found;
}

static int wait_for_answers(struct asked *a, const struct taut_aim *aim,
                            int *ports, int most, int64_t until_ns)
{
    int found = 0;

    while (a->open > 0) {
        int64_t left_ns = until_ns - taut_now_ns();
        struct timespec wait = {.tv_nsec = left_ns > 0 ? left_ns : 0};
        if (ppoll(a->pfd, (nfds_t)a->count, &wait, NULL) <= 0)
            break;
        found += take_answers(a, aim, ports + found, most - found);
    }
    for (int i = 0; i < a->count; i++)
        if (a->pfd[i].fd >= 0)
            forget(a, i);
    return found;
}

int taut_way_aim(int *ports, int most, const struct taut_aim *aim,
                 const struct taut_address *from, const struct taut_address *to,
                 const char *interface, int64_t deadline_ns)
{
    int found = 0;

    for (int k = 0; k < aim->count && found < most; k += AT_ONCE) {
        int64_t now_ns = taut_now_ns(), until_ns = now_ns + HOP_NS;
        struct asked a = {.first = aim->first + k,
                          .count = aim->count - k < AT_ONCE ? aim->count - k
                                                            : AT_ONCE};
        if (now_ns >= deadline_ns)
            break;
        ask(&a, aim, from, to, interface);
        found += wait_for_answers(
            &a, aim, ports + found, most - found,
            until_ns < deadline_ns ? until_ns : deadline_ns);
    }
    return found;
}
