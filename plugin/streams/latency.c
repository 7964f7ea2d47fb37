/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <stddef.h>

#include "plugin/streams/latency.h"

#define LAST ((TAUT_LATENCY_OCTAVES + 1) * TAUT_LATENCY_STEPS - 1)

/* Below 2 * STEPS ns each class is a nanosecond; from there on each octave
 * has STEPS classes. */
static size_t class_of(uint64_t ns)
{
    int shift = 0;

    while (ns >> shift >= 2 * TAUT_LATENCY_STEPS)
        shift++;
    if (shift >= TAUT_LATENCY_OCTAVES)
        return LAST;
    return (size_t)shift * TAUT_LATENCY_STEPS + (size_t)(ns >> shift);
}

static int64_t middle_of(size_t class)
{
    size_t shift =
        class < TAUT_LATENCY_STEPS ? 0 : class / TAUT_LATENCY_STEPS - 1;
    int64_t least = (int64_t)(class - shift * TAUT_LATENCY_STEPS) << shift;

    return least + ((INT64_C(1) << shift) - 1) / 2;
}

void taut_latency_add(struct taut_latency *l, int64_t ns)
{
    l->counts[class_of(ns > 0 ? (uint64_t)ns : 0)]++;
    l->n++;
}

int64_t taut_latency_quantile(const struct taut_latency *l, int percent)
{
    int64_t wanted = (l->n * percent + 99) / 100, sum = 0;

    if (l->n == 0)
        return -1;
    if (wanted < 1)
        wanted = 1;
    for (size_t i = 0; i <= LAST; i++) {
        sum += l->counts[i];
        if (sum >= wanted)
            return middle_of(i);
    }
    return middle_of(LAST);
}
