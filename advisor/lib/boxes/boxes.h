/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Boxes of a torus or mesh that hold enough free nodes.
 *
 * A box has an extent in each dimension: at most half a ring and one more,
 * or the whole ring, so that shortest ways between its routers stay inside.
 * The number of free nodes in a box comes from sums over all boxes that begin
 * at the origin of a lattice. The lattice goes half a ring beyond each ring's
 * end, so that a box across the end is like any other.
 *
 * Routers are numbered as coordinates are read, the last one fastest. */
#ifndef TAUT_ADVISOR_LIB_BOXES_BOXES_H
#define TAUT_ADVISOR_LIB_BOXES_BOXES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/error.h"

#define TAUT_BOXES_MAX_DIMS 6

struct taut_boxes;

struct taut_box {
    uint32_t at[TAUT_BOXES_MAX_DIMS];
    uint32_t extent[TAUT_BOXES_MAX_DIMS];
    uint32_t volume; /* routers */
    uint32_t free;   /* free nodes inside */
    uint32_t total;  /* nodes inside */
    double bad;      /* weight of the bad cables inside */
};

/* A cable that is not what it should be: between a router and the next one
 * of a dimension. */
struct taut_boxes_cable {
    uint32_t router;
    uint32_t dim;
    double weight; /* > 0 */
};

struct taut_boxes_request {
    uint32_t count; /* nodes wanted, > 0 */
    double room;    /* volumes up to so many times the least one, >= 1 */
    bool whole;     /* all nodes inside must be free */
};

/* Make one for a machine; everything is busy until it is filled.
 *   length, wraps  per dimension, 1..TAUT_BOXES_MAX_DIMS of them
 * Returns it, or NULL with errno EINVAL (text in 'err') or ENOMEM. */
struct taut_boxes *taut_boxes_create(uint32_t dims, const uint32_t *length,
                                     const bool *wraps, struct taut_error *err);
void taut_boxes_destroy(struct taut_boxes *b);

uint32_t taut_boxes_routers(const struct taut_boxes *b);

/* Free nodes and all nodes, per router. */
void taut_boxes_fill(struct taut_boxes *b, const uint32_t *free,
                     const uint32_t *total);

/* The bad cables, instead of those there were.  Returns 0, or -1 with errno
 * EINVAL (a router or dimension that is not there) or ENOMEM. */
int taut_boxes_mark(struct taut_boxes *b, size_t n,
                    const struct taut_boxes_cable *cable);

/* The best box of each shape that holds enough: the one with the least
 * weight of bad cables, then the one with fewest free nodes to spare.
 *   out  *n boxes, to be freed by the caller; NULL where there are none
 * Returns 0, or -1 with errno EINVAL or ENOMEM. */
int taut_boxes_search(const struct taut_boxes *b,
                      const struct taut_boxes_request *r, struct taut_box **out,
                      size_t *n);

/* Fill in volume, free and total of the box at 'at' with 'extent'.
 * Returns 0, or -1 with errno EINVAL for one that is not of the machine. */
int taut_boxes_count(const struct taut_boxes *b, struct taut_box *box);

/* Which of the free nodes in a box to take: whole routers far from the rest
 * are left out first.
 *   count   at most as many as the box holds
 *   router  [volume] the box's routers
 *   take    [volume] how many free nodes of each
 * Returns 0, or -1 with errno EINVAL or ENOMEM. */
int taut_boxes_choose(const struct taut_boxes *b, const struct taut_box *box,
                      uint32_t count, uint32_t *router, uint32_t *take);

/* How many of the free nodes lie in a box of which at least the share
 * 'density' of all nodes is free, and which holds 'least' free nodes or more.
 * Of such boxes the smallest compact ones are looked at: as large as these
 * two numbers ask for, no side longer than twice the shortest.
 * Returns 0, or -1 with errno ENOMEM. */
int taut_boxes_dense(const struct taut_boxes *b, uint32_t least, double density,
                     uint32_t *nodes);

#endif
