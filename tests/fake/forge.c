/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Somebody who may open raw sockets forges routers' answers to those who ask
 * for the way of a connection (plugin/streams/way.h).
 *
 *   fake-forge blind ROUTER FROM TO TO-PORT PORT COUNT
 *     from anywhere: tells FROM that ROUTER threw away what its ports from PORT
 *     on, COUNT of them, send to TO; what it does not see it guesses, which is
 *     a sequence number of 32 bits
 *   fake-forge see ROUTER INTERFACE
 *     on the host that asks, in its network: answers each request that leaves
 *     by INTERFACE, before a router can
 *
 * Prints a line when it begins, and ends when its standard input does; the last
 * line says how many it sent. */
#include <config.h>

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/ip_icmp.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "plugin/common/clock.h"

#define BURST 256

struct quoted { /* what a router quotes of what it threw away */
    struct iphdr ip;
    uint16_t from_port, to_port;
    uint32_t sequence;
};

struct answer {
    struct iphdr ip;
    struct icmphdr icmp;
    struct quoted quoted;
};

static int raw;
static struct in_addr router;
static long sent;

static void die(const char *what)
{
    fprintf(stderr, "fake-forge: %s: %s\n", what, strerror(errno));
    exit(1);
}

static struct in_addr address(const char *text)
{
    struct in_addr a;

    if (inet_pton(AF_INET, text, &a) != 1) {
        errno = EINVAL;
        die(text);
    }
    return a;
}

static uint16_t checksum(const void *data, size_t n)
{
    const uint8_t *p = data;
    uint32_t sum = 0;

    for (size_t i = 0; i + 1 < n; i += 2)
        sum += (uint32_t)p[i] << 8 | p[i + 1];
    while (sum >> 16 != 0)
        sum = (sum & 0xffff) + (sum >> 16);
    return htons((uint16_t)~sum);
}

static void tell(const struct quoted *q)
{
    struct answer a = {
        .ip = {.version = 4,
               .ihl = 5,
               .ttl = 64,
               .protocol = IPPROTO_ICMP,
               .saddr = router.s_addr,
               .daddr = q->ip.saddr},
        .icmp = {.type = ICMP_TIME_EXCEEDED, .code = ICMP_EXC_TTL},
        .quoted = *q};
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_addr = {q->ip.saddr}};

    a.icmp.checksum =
        checksum(&a.icmp, sizeof(a.icmp) + sizeof(a.quoted));
    if (sendto(raw, &a, sizeof(a), 0, (void *)&to, sizeof(to)) > 0)
        sent++;
}

static struct quoted request(struct in_addr from, struct in_addr to)
{
    return (struct quoted){.ip = {.version = 4,
                                  .ihl = 5,
                                  .tot_len = htons(60),
                                  .ttl = 1,
                                  .protocol = IPPROTO_TCP,
                                  .saddr = from.s_addr,
                                  .daddr = to.s_addr}};
}

static void guess(struct quoted *q, int first, int count)
{
    for (int i = 0; i < BURST; i++) {
        q->from_port = htons((uint16_t)(first + i % count));
        if (getrandom(&q->sequence, sizeof(q->sequence), 0) < 0)
            die("getrandom");
        tell(q);
    }
}

/* The system takes none while connect() has not returned yet: again and again,
 * until a router may have answered. */
static void answer(const struct quoted *q)
{
    int64_t until_ns = taut_now_ns() + 200000;

    while (taut_now_ns() < until_ns)
        tell(q);
}

/* A request to connect that leaves this host is answered. */
static void look(int fd)
{
    struct sockaddr_ll by;
    socklen_t length = sizeof(by);
    struct quoted q;
    uint8_t packet[256];
    ssize_t n = recvfrom(fd, packet, sizeof(packet), MSG_DONTWAIT, (void *)&by,
                         &length);

    if (n < (ssize_t)(sizeof(struct iphdr) + 14) ||
        by.sll_pkttype != PACKET_OUTGOING)
        return;
    memcpy(&q, packet, sizeof(q));
    if (q.ip.version == 4 && q.ip.ihl == 5 && q.ip.protocol == IPPROTO_TCP &&
        (packet[sizeof(struct iphdr) + 13] & 0x12) == 0x02)
        answer(&q);
}

static int open_interface(const char *name)
{
    struct sockaddr_ll at = {.sll_family = AF_PACKET,
                             .sll_protocol = htons(ETH_P_ALL),
                             .sll_ifindex = (int)if_nametoindex(name)};
    int fd = socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC, htons(ETH_P_ALL));

    if (fd < 0 || bind(fd, (void *)&at, sizeof(at)) != 0)
        die(name);
    return fd;
}

int main(int argc, char *argv[])
{
    struct pollfd fds[2] = {{.fd = STDIN_FILENO, .events = POLLIN},
                            {.fd = -1, .events = POLLIN}};
    int one = 1, blind = argc == 8 && strcmp(argv[1], "blind") == 0;
    struct quoted q;

    if (!blind && (argc != 4 || strcmp(argv[1], "see") != 0)) {
        fputs("usage: fake-forge blind ROUTER FROM TO TO-PORT PORT COUNT\n"
              "       fake-forge see ROUTER INTERFACE\n",
              stderr);
        return 2;
    }
    router = address(argv[2]);
    raw = socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_RAW);
    if (raw < 0 || setsockopt(raw, IPPROTO_IP, IP_HDRINCL, &one, sizeof(one)))
        die("raw socket");
    if (blind) {
        q = request(address(argv[3]), address(argv[4]));
        q.to_port = htons((uint16_t)atoi(argv[5]));
    } else {
        fds[1].fd = open_interface(argv[3]);
    }
    puts("begins");
    fflush(stdout);
    while (poll(fds, 2, blind ? 0 : -1) >= 0 && fds[0].revents == 0) {
        if (blind)
            guess(&q, atoi(argv[6]), atoi(argv[7]));
        else
            look(fds[1].fd);
    }
    printf("%ld sent\n", sent);
    return 0;
}
