/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Routing by distance to the destination: up*-down* in trees, and the
 * shortest way in any other graph. */
#ifndef TAUT_ADVISOR_LIB_GRAPH_UPDOWN_UPDOWN_H
#define TAUT_ADVISOR_LIB_GRAPH_UPDOWN_UPDOWN_H

#include "advisor/lib/graph/engine.h"

/* What taut_updown_create is given; the arrays are copied. */
struct taut_updown_conf {
    /* [routers] place in an order from the roots downwards, no two the same:
     * a link is upward when it leads to a smaller one.  A route goes up, then
     * down, and never up again; down as soon as it can.  NULL: no link is
     * upward, all shortest ways are taken. */
    const uint32_t *rank;

    /* [routers] Destination number key[e] takes upward link number
     * key / stride modulo the upward links of the router, and of several
     * links downward to where it must go the one of number key / stride
     * modulo their count.  (In a regular tree with stride = product of the
     * ways up below the router this is D-Mod-K: E. Zahavi, "D-Mod-K routing
     * providing non-blocking traffic for shift permutations on real life fat
     * trees", 2010.)  Failed: the same of those that are left.  NULL: each
     * link on a shortest way is taken in equal shares, by a hash. */
    const uint32_t *stride;

    const uint32_t *key; /* [endpoints]; NULL: the endpoint's number */

    /* Room for rows of distances; 0: TAUT_UPDOWN_ROWS_BYTES. */
    size_t rows_bytes;
};

#define TAUT_UPDOWN_ROWS_BYTES ((size_t)256 << 20)

/* Give 'g' this engine.  A row of distances, 2 bytes for each router, is made
 * when a route to its router is asked for; the latest that have room are
 * kept, which is all of them up to 11,585 routers.
 * Returns 0, or -1 with errno ENOMEM, or EINVAL for a rank that stands
 * twice or a stride of 0. */
int taut_updown_create(struct taut_graph *g, const struct taut_updown_conf *c,
                       struct taut_error *err);

#endif
