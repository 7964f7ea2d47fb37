/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Many times in little room: counted in classes that are 1/128 of their
 * value wide, so that a median is right within half a percent. */
#ifndef TAUT_PLUGIN_STREAMS_LATENCY_H
#define TAUT_PLUGIN_STREAMS_LATENCY_H

#include <stdint.h>

#define TAUT_LATENCY_STEPS 128 /* classes from one power of two to the next */
#define TAUT_LATENCY_OCTAVES                                                   \
    25 /* times up to 2^31 ns; longer count as that                            \
        */

struct taut_latency {
    uint32_t counts[(TAUT_LATENCY_OCTAVES + 1) * TAUT_LATENCY_STEPS];
    int64_t n;
};

/* Count a time of 'ns' (below 0 is 0). */
void taut_latency_add(struct taut_latency *l, int64_t ns);

/* The time that 'percent' (0..100) of the counted ones do not exceed, the
 * middle of its class; -1 when there are none. */
int64_t taut_latency_quantile(const struct taut_latency *l, int percent);

#endif
