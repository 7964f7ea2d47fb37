/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Random numbers that are the same on every machine, from a seed. */
#ifndef TAUT_ADVISOR_LIB_STUDY_DRAW_H
#define TAUT_ADVISOR_LIB_STUDY_DRAW_H

#include <stdint.h>

/* Next number of a stream.  Source: G. Steele, D. Lea, C. Flood, "Fast
 * splittable pseudorandom number generators", OOPSLA 2014 (SplitMix64). */
static inline uint64_t taut_draw(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* 0 .. n - 1, n > 0; its bias, below n / 2^64, is nothing here. */
static inline uint64_t taut_draw_below(uint64_t *state, uint64_t n)
{
    return taut_draw(state) % n;
}

#endif
