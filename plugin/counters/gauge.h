/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What happened around a test besides the test: how long this process was
 * ready to run but did not, and how much the port carried that our own
 * streams do not explain. */
#ifndef TAUT_PLUGIN_COUNTERS_GAUGE_H
#define TAUT_PLUGIN_COUNTERS_GAUGE_H

#include <stdint.h>

#include "plugin/counters/counters.h"

struct taut_gauge {
    int bytes_fd[2]; /* received, sent; -1 = unknown */
    int sched_fd;    /* schedstat; -1 = unknown */
    int netstat_fd;  /* what TCP threw away; -1 = unknown */
};

/* A moment; -1 where nothing is known. */
struct taut_gauge_mark {
    int64_t port_rx, port_tx; /* the port's counters */
    int64_t own_rx, own_tx;   /* payload of our own streams */
    int64_t delay_ns;
    int64_t at_ns; /* monotonic clock */
};

/* Nothing is open, nothing is known; close may follow. */
void taut_gauge_init(struct taut_gauge *gauge);

/* Open what is read during tests, before privileges are dropped.
 * Missing files are not an error. */
void taut_gauge_open(struct taut_gauge *gauge, int root_fd,
                     const char *interface);

void taut_gauge_close(struct taut_gauge *gauge);

/* Note this moment.
 *   own_rx, own_tx  payload read and sent since the plan began, bytes */
void taut_gauge_mark(const struct taut_gauge *gauge,
                     struct taut_gauge_mark *mark, int64_t own_rx,
                     int64_t own_tx);

/* Bytes in both directions between two marks that our streams do not
 * explain, headers (6 %), acknowledgements (5 % the other way) and
 * 'slack_bytes' allowed for; of those, what falls to 'test_ns' where the marks
 * lie further apart; or -1. */
int64_t taut_gauge_foreign(const struct taut_gauge_mark *from,
                           const struct taut_gauge_mark *to,
                           int64_t slack_bytes, int64_t test_ns);

/* What a port carried, bytes; -1: not known. */
struct taut_gauge_port {
    int64_t ns;   /* in so long */
    int64_t data; /* all that went as a test's data did */
    int64_t with; /* of that, others' */
    int64_t back; /* others', the other way */
};

/* What the port carried between two marks, for a test that sends or receives;
 * of others with the allowances of taut_gauge_foreign, but no slack. */
struct taut_gauge_port taut_gauge_port(const struct taut_gauge_mark *from,
                                       const struct taut_gauge_mark *to,
                                       bool is_sender);

/* Run delay between two marks, or -1. */
int64_t taut_gauge_delay(const struct taut_gauge_mark *from,
                         const struct taut_gauge_mark *to);

#endif
