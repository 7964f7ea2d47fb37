/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The number of free nodes that could still go to compact jobs. */
#include <config.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/lib/boxes/inside.h"

struct dense {
    const struct taut_boxes *b;
    uint32_t least;
    double density;
    double smallest, largest; /* volume */
    uint32_t extent[TAUT_BOXES_MAX_DIMS];
    size_t plus[32], minus[32]; /* corners of a box, from its origin */
    uint32_t corners;           /* in each of these */
    bool *inside;               /* [routers] */
};

/* Compact: no side is longer than twice the shortest, but where the ring
 * itself is short. */
static bool is_compact(const struct dense *s)
{
    uint32_t shortest = UINT32_MAX, longest = 0;

    for (uint32_t d = 0; d < s->b->dims; d++) {
        uint32_t e = s->extent[d];
        if (e < s->b->length[d] && e < shortest)
            shortest = e;
        longest = e > longest ? e : longest;
    }
    return shortest == UINT32_MAX || longest <= 2 * shortest;
}

static void mark(struct dense *s, const uint32_t *at, uint32_t volume)
{
    for (uint32_t i = 0; i < volume; i++) {
        uint32_t k = i, r = 0;
        for (uint32_t d = s->b->dims; d-- > 0;) {
            r += (at[d] + k % s->extent[d]) % s->b->length[d] *
                 (uint32_t)s->b->router_step[d];
            k /= s->extent[d];
        }
        s->inside[r] = true;
    }
}

/* Where the sums of a box of this shape are added, and where subtracted. */
static void find_corners(struct dense *s)
{
    uint32_t dims = s->b->dims, plus = 0, minus = 0;

    for (uint32_t k = 0; k < 1U << dims; k++) {
        size_t at = 0;
        uint32_t odd = dims & 1;
        for (uint32_t d = 0; d < dims; d++) {
            uint32_t bit = k >> d & 1;
            at += bit * s->extent[d] * s->b->step[d];
            odd ^= bit;
        }
        if (odd)
            s->minus[minus++] = at;
        else
            s->plus[plus++] = at;
    }
    s->corners = plus;
}

static uint32_t sum_at(const struct dense *s, const uint32_t *sum,
                       const uint32_t *at)
{
    uint32_t n = 0;

    for (uint32_t d = 0; d < s->b->dims; d++)
        sum += at[d] * s->b->step[d];
    for (uint32_t k = 0; k < s->corners; k++)
        n += sum[s->plus[k]] - sum[s->minus[k]];
    return n;
}

static bool next_position(const struct dense *s, uint32_t *at)
{
    for (uint32_t d = s->b->dims; d-- > 0;) {
        if (++at[d] < taut_boxes_positions(s->b, d, s->extent[d]))
            return true;
        at[d] = 0;
    }
    return false;
}

static void look_at_shape(struct dense *s)
{
    uint32_t at[TAUT_BOXES_MAX_DIMS] = {0}, volume = 1;

    for (uint32_t d = 0; d < s->b->dims; d++)
        volume *= s->extent[d];
    if (volume < s->smallest || volume > s->largest || !is_compact(s))
        return;
    find_corners(s);
    do {
        uint32_t n = sum_at(s, s->b->free_sum, at);
        if (n >= s->least && n >= s->density * sum_at(s, s->b->total_sum, at))
            mark(s, at, volume);
    } while (next_position(s, at));
}

static bool next_shape(struct dense *s)
{
    for (uint32_t d = s->b->dims; d-- > 0;) {
        uint32_t e = taut_boxes_next_extent(s->b, d, s->extent[d]);
        s->extent[d] = e > 0 ? e : 1;
        if (e > 0)
            return true;
    }
    return false;
}

int taut_boxes_dense(const struct taut_boxes *b, uint32_t least, double density,
                     uint32_t *nodes)
{
    struct dense s = {.b = b, .least = least, .density = density};
    uint32_t most = 0;

    for (uint32_t r = 0; r < b->routers; r++)
        most = b->total[r] > most ? b->total[r] : most;
    *nodes = 0;
    if (most == 0)
        return 0;
    s.smallest = ceil(least / (double)most);
    s.largest = ceil(least / (density * most));
    s.inside = calloc(b->routers, sizeof(*s.inside));
    if (s.inside == NULL)
        return -1;
    for (uint32_t d = 0; d < b->dims; d++)
        s.extent[d] = 1;
    do
        look_at_shape(&s);
    while (next_shape(&s));
    for (uint32_t r = 0; r < b->routers; r++)
        *nodes += s.inside[r] ? b->free[r] : 0;
    free(s.inside);
    return 0;
}
