/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sending end of one test: its streams from connect to reset.  No data go
 * out on a stream before its receiver has answered the token: whoever is at the
 * address that a plan has may be no receiver at all. */
#ifndef TAUT_PLUGIN_STREAMS_SENDER_H
#define TAUT_PLUGIN_STREAMS_SENDER_H

#include <stdbool.h>
#include <stdint.h>

#include "plugin/common/plan.h"
#include "plugin/common/pollset.h"
#include "plugin/streams/pinger.h"
#include "plugin/streams/result.h"
#include "plugin/transport/transport.h"

struct taut_sender_stream {
    int id; /* -1 when closed */
    bool is_connected;
    size_t token_sent;
    size_t answer_got; /* TAUT_TOKEN bytes: a receiver is there */
    unsigned char answer[TAUT_TOKEN];
    int64_t limit_bytes;   /* most that may be queued */
    int64_t rest_until_ns; /* queue full: look again then */
    int64_t acked_at_start;
    int64_t connected_ns;
    int64_t busy_at_warm_ns;
    struct taut_stream_stats last;
};

struct taut_sender {
    struct taut_endpoint *endpoint; /* borrowed */
    const struct taut_test *test;
    struct taut_measure *measure;
    struct taut_sender_stream streams[TAUT_PLAN_STREAMS];
    int64_t start_ns, warm_ns, end_ns; /* by the plan */
    int64_t warm_look_ns;              /* the next look at whether it begins */
    int64_t warmed_ns;                 /* when the window really began */
    int64_t warm_acked;
    int64_t news_ns, news_acked, news_busy_ns; /* the last look that found
                                                  something acknowledged */
    int64_t started_ns;
    int64_t trip_sum_ns, trips; /* round trips in the window, one a look */
    int64_t seen_ns; /* last look at the streams */
    int64_t done_ns;
    int64_t flight_bytes; /* not acknowledged when it ended */
    bool is_started, is_warm, is_done;
    bool waits;   /* its time has come, an answer has not */
    bool listens; /* to a receiver that has seen enough */
    struct taut_pinger ping; /* of a latency test */
};

/* Open all streams of a test.
 *   plan_ns  when the plan was received
 * A stream that cannot be opened ends the test with an error. */
void taut_sender_begin(struct taut_sender *s, struct taut_endpoint *endpoint,
                       const struct taut_test *test,
                       struct taut_measure *measure, int64_t plan_ns);

/* Add what must be watched to the next round. */
void taut_sender_watch(struct taut_sender *s, struct taut_pollset *set);

/* Connect, send, look at the clock. */
void taut_sender_run(struct taut_sender *s, int64_t now_ns);

/* Bring what is known about the streams up to date and return the payload
 * that left this host, bytes. */
int64_t taut_sender_sent(struct taut_sender *s);

/* End now: early (the budget is over), the test is then an error. */
void taut_sender_abort(struct taut_sender *s, const char *why);

#endif
