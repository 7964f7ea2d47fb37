/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The receiving end of all tests of a plan: strangers at the door, and what
 * the streams with a token bring.  The receiver's account is the figure. */
#ifndef TAUT_PLUGIN_RECEIVER_H
#define TAUT_PLUGIN_RECEIVER_H

#include <stdbool.h>
#include <stdint.h>

#include "plugin/plan.h"
#include "plugin/pollset.h"
#include "plugin/result.h"
#include "plugin/transport.h"

#define TAUT_PENDING_MAX 64       /* streams that gave no token yet */
#define TAUT_TOKEN_MS 200         /* a stream has this long for it */
#define TAUT_RECEIVE_GRACE_MS 150 /* after which nobody comes any more */

struct taut_inflow {
    const struct taut_plan_test *test;
    struct taut_measure *measure;
    int fds[TAUT_PLAN_STREAMS];
    int accepted;                /* streams that came so far */
    int open;                    /* of these, not ended yet */
    int64_t give_up_ns;          /* nothing came by then: 0 B/s */
    int64_t first_ns;            /* first byte; 0 = none yet */
    int64_t look_ns;             /* last look */
    int64_t last_ns, last_bytes; /* last arrival, total then */
    int64_t total_bytes;
    int64_t marks[TAUT_RESULT_PARTS + 1]; /* bytes at the parts' borders */
    int next_mark;
    int64_t done_ns;
    bool is_done;
};

struct taut_stranger {
    int fd;
    int64_t until_ns;
    size_t length;
    unsigned char token[TAUT_TOKEN];
};

struct taut_receiver {
    const struct taut_transport *transport;
    int endpoint; /* borrowed; -1 = none */
    struct taut_inflow *inflows;
    size_t count;
    struct taut_stranger strangers[TAUT_PENDING_MAX];
    size_t stranger_count;
    unsigned refused;
    int64_t read_bytes; /* payload, all tests, tails too */
};

/* Prepare for the receiving tests of a plan.
 *   inflows  room for TAUT_PLAN_TESTS, the caller's
 *   plan_ns  when the plan was received
 * measures[i] belongs to plan->tests[i]. */
void taut_receiver_begin(struct taut_receiver *r,
                         const struct taut_transport *transport, int endpoint,
                         struct taut_inflow *inflows,
                         const struct taut_plan *plan,
                         struct taut_measure *measures, int64_t plan_ns);

/* The inflow of a test, or NULL. */
struct taut_inflow *taut_receiver_find(struct taut_receiver *r,
                                       const struct taut_plan_test *test);

/* Add what must be watched to the next round. */
void taut_receiver_watch(struct taut_receiver *r, struct taut_pollset *set);

/* Accept, check tokens, read, look at the clock. */
void taut_receiver_run(struct taut_receiver *r, int64_t now_ns);

/* Close everything; tests that are not done become errors. */
void taut_receiver_end(struct taut_receiver *r, const char *why);

#endif
