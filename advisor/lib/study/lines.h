/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Between the files about a HyperX, whose lines of routers each have an
 * equilibrium of their own.
 *
 * The dimensions are crossed in order, so what one line carries does not
 * depend on the choices on others.  A cell is a router and a coordinate of
 * one of its lines that traffic goes to. */
#ifndef TAUT_ADVISOR_LIB_STUDY_LINES_H
#define TAUT_ADVISOR_LIB_STUDY_LINES_H

#include "advisor/lib/study/study.h"

struct taut_lines {
    const struct taut_study *s;
    const struct taut_overlay *o;
    const struct taut_demand *d;
    const struct taut_study_rules *rules;
    size_t cells, first[TAUT_STUDY_MAX_DIMS]; /* of each dimension */
    double *room;
    double *capacity, *stand, *demand, *x, *total, *load, *use;
    bool *is_lost; /* [pairs] */
};

/* Coordinate of a place in a dimension. */
static inline uint32_t taut_lines_at(const struct taut_study *s, uint32_t p,
                                     uint32_t d)
{
    return p / s->stride[d] % s->length[d];
}

static inline size_t taut_lines_cell(const struct taut_lines *w, uint32_t d,
                                     uint32_t p, uint32_t b)
{
    return w->first[d] + (size_t)p * w->s->length[d] + b;
}

/* The router of p's line in dimension d that has coordinate k there. */
static inline uint32_t taut_lines_moved(const struct taut_study *s, uint32_t d,
                                        uint32_t p, uint32_t k)
{
    return p + (k - taut_lines_at(s, p, d)) * s->stride[d];
}

/* Find the shares that go direct; 'load' and 'use' are filled.
 * Returns 0, or -1 with errno ENOMEM. */
int taut_lines_settle(struct taut_lines *w);

/* What the messages meet, and the totals.  Returns 0, or -1 with ENOMEM. */
int taut_lines_meet(const struct taut_lines *w, struct taut_meet *meet);

#endif
