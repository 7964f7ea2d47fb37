/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "plugin/common/clock.h"
#include "plugin/counters/gauge.h"
#include "plugin/counters/netstat.h"

/* Ethernet, IPv4 and TCP with timestamps: 66 of 1514 bytes, 4.6 % of the
 * payload; an acknowledgement of 66 bytes for every second segment, 2.3 %,
 * and up to one for each. */
#define HEADER_PERCENT 6
#define ACK_PERCENT 5

void taut_gauge_init(struct taut_gauge *gauge)
{
    gauge->bytes_fd[0] = gauge->bytes_fd[1] = -1;
    gauge->sched_fd = gauge->netstat_fd = -1;
}

void taut_gauge_open(struct taut_gauge *gauge, int root_fd,
                     const char *interface)
{
    taut_counters_open_bytes(gauge->bytes_fd, root_fd, interface);
    gauge->sched_fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    gauge->netstat_fd = taut_netstat_open();
}

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

void taut_gauge_close(struct taut_gauge *gauge)
{
    close_fd(&gauge->bytes_fd[0]);
    close_fd(&gauge->bytes_fd[1]);
    close_fd(&gauge->sched_fd);
    close_fd(&gauge->netstat_fd);
}

/* schedstat: time on a cpu, time waiting for one (both ns), slices. */
static int64_t read_delay(int fd)
{
    char text[96], *end;
    ssize_t n = fd < 0 ? -1 : pread(fd, text, sizeof(text) - 1, 0);

    if (n <= 0)
        return -1;
    text[n] = '\0';
    strtoll(text, &end, 10);
    return *end == ' ' ? strtoll(end, NULL, 10) : -1;
}

static int64_t read_bytes(int fd)
{
    int64_t value = -1;

    if (fd >= 0)
        taut_counter_poll(fd, &value);
    return value;
}

void taut_gauge_mark(const struct taut_gauge *gauge,
                     struct taut_gauge_mark *mark, int64_t own_rx,
                     int64_t own_tx)
{
    mark->port_rx = read_bytes(gauge->bytes_fd[0]);
    mark->port_tx = read_bytes(gauge->bytes_fd[1]);
    mark->own_rx = own_rx;
    mark->own_tx = own_tx;
    mark->delay_ns = read_delay(gauge->sched_fd);
    mark->at_ns = taut_now_ns();
}

/* What 'port' bytes leave when 'own' payload in this direction and the
 * acknowledgements of 'other' are taken off. */
static int64_t surplus(int64_t port, int64_t own, int64_t other,
                       int64_t slack_bytes)
{
    int64_t rest = port - own - own * HEADER_PERCENT / 100 -
                   other * ACK_PERCENT / 100 - slack_bytes;

    return rest > 0 ? rest : 0;
}

int64_t taut_gauge_foreign(const struct taut_gauge_mark *from,
                           const struct taut_gauge_mark *to,
                           int64_t slack_bytes, int64_t test_ns)
{
    int64_t own_rx = to->own_rx - from->own_rx;
    int64_t own_tx = to->own_tx - from->own_tx;
    int64_t span_ns = to->at_ns - from->at_ns, bytes;

    if (from->port_rx < 0 || from->port_tx < 0 || to->port_rx < 0 ||
        to->port_tx < 0)
        return -1;
    bytes = surplus(to->port_rx - from->port_rx, own_rx, own_tx, slack_bytes) +
            surplus(to->port_tx - from->port_tx, own_tx, own_rx, slack_bytes);
    return span_ns > test_ns
               ? (int64_t)((double)bytes * (double)test_ns / (double)span_ns)
               : bytes;
}

struct taut_gauge_port taut_gauge_port(const struct taut_gauge_mark *from,
                                       const struct taut_gauge_mark *to,
                                       bool is_sender)
{
    int64_t own_rx = to->own_rx - from->own_rx;
    int64_t own_tx = to->own_tx - from->own_tx;
    int64_t rx = to->port_rx - from->port_rx;
    int64_t tx = to->port_tx - from->port_tx;
    struct taut_gauge_port p = {.ns = to->at_ns - from->at_ns};

    if (p.ns <= 0 || from->port_rx < 0 || from->port_tx < 0 || rx < 0 || tx < 0)
        return (struct taut_gauge_port){-1, -1, -1, -1};
    p.data = is_sender ? tx : rx;
    p.with = is_sender ? surplus(tx, own_tx, own_rx, 0)
                       : surplus(rx, own_rx, own_tx, 0);
    p.back = is_sender ? surplus(rx, own_rx, own_tx, 0)
                       : surplus(tx, own_tx, own_rx, 0);
    return p;
}

int64_t taut_gauge_delay(const struct taut_gauge_mark *from,
                         const struct taut_gauge_mark *to)
{
    if (from->delay_ns < 0 || to->delay_ns < from->delay_ns)
        return -1;
    return to->delay_ns - from->delay_ns;
}
