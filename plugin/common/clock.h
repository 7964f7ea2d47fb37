/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One clock for everything on the node: CLOCK_MONOTONIC in nanoseconds.
 * Times of two hosts are never compared. */
#ifndef TAUT_PLUGIN_COMMON_CLOCK_H
#define TAUT_PLUGIN_COMMON_CLOCK_H

#include <stdint.h>
#include <time.h>

#define TAUT_MS_NS INT64_C(1000000)
#define TAUT_S_NS INT64_C(1000000000)

static inline int64_t taut_now_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec * TAUT_S_NS + ts.tv_nsec;
}

static inline struct timespec taut_timespec(int64_t ns)
{
    struct timespec ts = {0};

    if (ns > 0) {
        ts.tv_sec = (time_t)(ns / TAUT_S_NS);
        ts.tv_nsec = (long)(ns % TAUT_S_NS);
    }
    return ts;
}

/* Milliseconds for poll() until 'deadline_ns', rounded up, never negative. */
static inline int taut_left_ms(int64_t deadline_ns)
{
    int64_t left = deadline_ns - taut_now_ns();

    return left <= 0 ? 0 : (int)((left + TAUT_MS_NS - 1) / TAUT_MS_NS);
}

#endif
