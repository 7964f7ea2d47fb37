/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The nearest free nodes of a router, over links that are well. */
#ifndef TAUT_ADVISOR_LIB_BOXES_BALL_H
#define TAUT_ADVISOR_LIB_BOXES_BALL_H

#include "advisor/lib/graph/graph.h"

/* Scratch for one graph after another of the same size. */
struct taut_ball {
    const struct taut_graph *g;
    uint32_t *queue; /* [routers] in the order they are reached */
    uint32_t *hops;  /* [routers] from the first one */
};

/* Returns 0, or -1 with errno ENOMEM. */
int taut_ball_init(struct taut_ball *b, const struct taut_graph *g);
void taut_ball_fini(struct taut_ball *b);

/* Take free nodes in the order of their distance from a router, those of
 * routers with more of them first among equals.
 *   is_free  [nodes]
 *   spare    [routers] free nodes, made with is_free
 *   avoid    [links] not to be used; or NULL
 *   node     [count] out
 *   hops     out: sum over the nodes of their distance; or NULL
 * Returns how many were found: fewer than 'count' where no more can be
 * reached. */
uint32_t taut_ball_grow(struct taut_ball *b, const bool *is_free,
                        const uint32_t *spare, const bool *avoid,
                        uint32_t router, uint32_t count, uint32_t *node,
                        uint64_t *hops);

/* The surface of a set: free nodes that are not in it, on its routers and on
 * those next to them.  It is what a set that is taken leaves in pieces.
 *   node  [n] the set
 *   spare [routers] free nodes, those of the set among them */
uint32_t taut_ball_surface(struct taut_ball *b, const uint32_t *spare,
                           const bool *is_free, const uint32_t *node,
                           uint32_t n);

#endif
