/* SPDX-License-Identifier: GPL-2.0-or-later */
/* RESULT: what a node measured. */
#ifndef TAUT_PLUGIN_STREAMS_RESULT_H
#define TAUT_PLUGIN_STREAMS_RESULT_H

#include <stdint.h>

#include "plugin/common/plan.h"
#include "plugin/counters/counters.h"
#include "plugin/counters/gauge.h"
#include "plugin/counters/port.h"
#include "plugin/streams/way.h"
#include "plugin/transport/account.h"

#define TAUT_RESULT_PARTS 8 /* sub-intervals of a window */
#define TAUT_RESULT_ERROR 120

/* One test; -1 in a number means that it is not known. */
struct taut_measure {
    int64_t bytes;
    int64_t window_ns;
    int64_t total_bytes;
    int64_t sub_bytes[TAUT_RESULT_PARTS]; /* of a receiver */
    int parts;                            /* of them, in window_ns */
    int64_t rtt_ns;                       /* of a sender */
    int64_t mean_rtt_ns;                  /* of a sender, in the window */
    int64_t busy_ns;                      /* of a sender: data under way */
    int64_t lat_median_ns; /* of a latency test's sender: one way, that is */
    int64_t lat_p99_ns;    /* half of the round trip */
    int64_t lat_n;         /* round trips counted */
    int64_t looks;         /* of a receiver: parts in which it had a look */
    int64_t strangers;     /* of a receiver: came and were of no test */
    int64_t full;          /* of a receiver: looks that found its queue full */
    int64_t delay_ns;
    int64_t foreign_bytes;
    struct taut_account account; /* of losses, all streams */
    int64_t pruned; /* of a receiver: segments its node had no room for */
    struct taut_port_losses port_losses; /* of RDMA, around the test */
    struct taut_gauge_port port; /* in the window */
    struct taut_way way;           /* of a sender's first stream */
    int64_t aimed;                 /* streams that took the way aimed at */
    int64_t trace_ns;              /* what asking for ways took */
    char error[TAUT_RESULT_ERROR]; /* "" or why there are no numbers */
};

struct taut_result {
    const struct taut_plan *plan;
    const struct taut_measure *measures; /* one for each test of the plan */
    const struct taut_readings *readings;
    unsigned refused; /* streams without a token */
};

/* The JSON text of RESULT.  Returns a string to free(), or NULL with errno
 * ENOMEM. */
char *taut_result_encode(const struct taut_result *result);

#endif
