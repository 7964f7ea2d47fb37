/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The receiving end of all tests of a plan: strangers at the door, and what
 * the streams with a token bring.  The receiver's account is the figure.
 *
 * A connection from another host than the plan's senders is closed at once. One
 * without a token is closed when its time is up and others wait. A test reports
 * such connections during its time, because they may have kept its own streams
 * out. */
#ifndef TAUT_PLUGIN_STREAMS_RECEIVER_H
#define TAUT_PLUGIN_STREAMS_RECEIVER_H

#include <stdbool.h>
#include <stdint.h>

#include "plugin/common/plan.h"
#include "plugin/common/pollset.h"
#include "plugin/streams/pinger.h"
#include "plugin/streams/result.h"
#include "plugin/transport/transport.h"

#define TAUT_PENDING_MAX 64       /* streams that gave no token yet */
#define TAUT_ACCEPTS_MAX 256      /* of one round: the clock is seen in time */
#define TAUT_TOKEN_MS 200         /* for it, when room is wanted */
#define TAUT_RECEIVE_GRACE_MS 150 /* after which no stream comes any more */

struct taut_inflow {
    const struct taut_test *test;
    struct taut_measure *measure;
    struct taut_endpoint *endpoint; /* borrowed */
    struct taut_address from;       /* of the sender; length 0 = any */
    int64_t strangers;              /* that came until the test was over */
    int64_t full;                   /* looks that found no room for more */
    int streams[TAUT_PLAN_STREAMS];
    int accepted;                /* streams that came so far */
    int open;                    /* of these, not ended yet */
    int64_t give_up_ns;          /* nothing came by then: 0 B/s */
    int64_t first_ns;            /* first byte; 0 = none yet */
    int64_t look_ns;             /* last look */
    int64_t last_ns, last_bytes; /* last arrival, total then */
    int64_t total_bytes;         /* payload, what came after the end too */
    int64_t marks[TAUT_RESULT_PARTS + 1]; /* bytes at the parts' borders */
    int next_mark;
    unsigned looked; /* a bit for each part in which we had a look */
    int64_t done_ns;
    bool is_done;
    bool is_settled; /* its account of losses is */
    struct taut_echo echo; /* of a latency test */
};

struct taut_stranger {
    struct taut_endpoint *endpoint;
    int stream;
    int64_t until_ns;
    size_t length;
    unsigned char token[TAUT_TOKEN];
};

struct taut_receiver {
    struct taut_endpoint *endpoints; /* borrowed */
    size_t endpoint_count;
    struct taut_inflow *inflows;
    size_t count;
    struct taut_stranger strangers[TAUT_PENDING_MAX];
    size_t stranger_count;
    size_t admitted; /* streams that came from where tests come from */
    unsigned refused;
};

/* Prepare for the receiving tests of a plan.
 *   inflows  room for TAUT_PLAN_TESTS, the caller's
 *   endpoints, count  where streams come in, the caller's */
void taut_receiver_begin(struct taut_receiver *r, struct taut_inflow *inflows,
                         struct taut_endpoint *endpoints, size_t count);

/* Add a test.
 *   endpoint  its streams come in there and nowhere else
 *   plan_ns   when the plan was received */
struct taut_inflow *taut_receiver_add(struct taut_receiver *r,
                                      struct taut_endpoint *endpoint,
                                      const struct taut_test *test,
                                      struct taut_measure *measure,
                                      int64_t plan_ns);

/* Add what must be watched to the next round. */
void taut_receiver_watch(struct taut_receiver *r, struct taut_pollset *set);

/* Accept, check tokens, read, look at the clock. */
void taut_receiver_run(struct taut_receiver *r, int64_t now_ns);

/* Settle a test's account of losses: what its streams count from now on is not
 * in it.  How many segments arrived is known only where the sender has ended
 * all of them; what it still had under way would be missing. */
void taut_receiver_settle(struct taut_inflow *in);

/* Close everything; tests that are not done become errors. */
void taut_receiver_end(struct taut_receiver *r, const char *why);

#endif
