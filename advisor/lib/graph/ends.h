/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sources and destinations of a walk, from weights. */
#ifndef TAUT_ADVISOR_LIB_GRAPH_ENDS_H
#define TAUT_ADVISOR_LIB_GRAPH_ENDS_H

#include "advisor/lib/graph/walk.h"

/* Room for all routers, or all nodes. */
struct taut_ends {
    struct taut_walk_end *src, *dst;
};

/* Returns 0, or -1 with errno ENOMEM. */
int taut_ends_init(struct taut_ends *e, const struct taut_graph *g);
void taut_ends_fini(struct taut_ends *e);

/* Routers with a weight.  Returns how many.
 *   w  [routers] */
uint32_t taut_ends_of_routers(const struct taut_graph *g, const uint64_t *w,
                              struct taut_walk_end *ends);

/* Endpoints of a rail with a weight.  Returns how many.
 *   w  [endpoints] */
uint32_t taut_ends_of_rail(const struct taut_graph *g, const uint64_t *w,
                           uint32_t rail, struct taut_walk_end *ends);

/* by_router[r] = sum of the weights of a rail's endpoints on r.
 *   w  [endpoints] */
void taut_ends_by_router(const struct taut_graph *g, const uint64_t *w,
                         uint32_t rail, uint64_t *by_router);

#endif
