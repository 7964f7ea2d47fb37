/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Between the files of the boxes. */
#ifndef TAUT_ADVISOR_LIB_BOXES_INSIDE_H
#define TAUT_ADVISOR_LIB_BOXES_INSIDE_H

#include "advisor/lib/boxes/boxes.h"
#include "advisor/lib/graph/arena.h"

struct taut_boxes {
    struct taut_arena memory;
    uint32_t dims;
    uint32_t length[TAUT_BOXES_MAX_DIMS];
    bool wraps[TAUT_BOXES_MAX_DIMS];
    uint32_t routers;
    size_t router_step[TAUT_BOXES_MAX_DIMS];

    /* the lattice of sums: span[d] + 1 cells in each dimension */
    uint32_t span[TAUT_BOXES_MAX_DIMS];
    size_t step[TAUT_BOXES_MAX_DIMS];
    size_t cells;

    uint32_t *free, *total;         /* [routers] nodes */
    uint32_t *free_sum, *total_sum; /* [cells] */
    uint32_t *router; /* [cells] of a cell; UINT32_MAX at the lattice's edge */
    uint32_t *near_sum; /* [cells] weight of the bad cables of the routers
                         * inside, in sixteenths; NULL: none are bad */
    double *bad_sum[TAUT_BOXES_MAX_DIMS]; /* [cells] per dimension */
};

/* Sum over one box, and the weight of the bad cables in it (near_sum must
 * be there). */
uint32_t taut_boxes_sum(const struct taut_boxes *b, const uint32_t *sum,
                        const uint32_t *at, const uint32_t *extent);
double taut_boxes_bad(const struct taut_boxes *b, const uint32_t *at,
                      const uint32_t *extent);

/* Next allowed extent of a dimension after e (0: the first); 0 after the
 * last. */
static inline uint32_t taut_boxes_next_extent(const struct taut_boxes *b,
                                              uint32_t d, uint32_t e)
{
    uint32_t len = b->length[d];

    if (e == len)
        return 0;
    return !b->wraps[d] || e < len / 2 + 1 ? e + 1 : len;
}

/* Positions of a box of that extent. */
static inline uint32_t taut_boxes_positions(const struct taut_boxes *b,
                                            uint32_t d, uint32_t e)
{
    if (e == b->length[d])
        return 1;
    return b->wraps[d] ? b->length[d] : b->length[d] - e + 1;
}

#endif
