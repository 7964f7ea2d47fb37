/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Carries out a plan: all its tests in one poll loop. */
#ifndef TAUT_PLUGIN_STREAMS_RUNNER_H
#define TAUT_PLUGIN_STREAMS_RUNNER_H

#include <stdint.h>

#include "plugin/common/plan.h"
#include "plugin/counters/reader.h"
#include "plugin/streams/result.h"
#include "plugin/transport/transport.h"

struct taut_runner {
    struct taut_endpoint *endpoints; /* one per rail and transport; borrowed */
    size_t endpoint_count;
    struct taut_counters_reader *counters; /* for what RDMA ports lose, by
                                            * rail; borrowed; NULL: none */
};

/* Run the tests of a plan until all are done.
 *   plan_ns      when the plan was received, CLOCK_MONOTONIC
 *   deadline_ns  returns by then; tests that are not done become errors
 *   measures     plan->count of the caller's, all written
 *   refused      streams that came without a token of this plan
 * Returns 0, or -1 with errno ENOMEM: nothing was tested. */
int taut_runner_run(const struct taut_runner *runner,
                    const struct taut_plan *plan, int64_t plan_ns,
                    int64_t deadline_ns, struct taut_measure *measures,
                    unsigned *refused);

#endif
