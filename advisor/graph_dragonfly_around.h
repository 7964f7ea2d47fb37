/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Traffic that a dragonfly sends over other groups, added up by what its
 * routes have in common before it is laid on the links; between the files of
 * that engine. */
#ifndef TAUT_ADVISOR_GRAPH_DRAGONFLY_AROUND_H
#define TAUT_ADVISOR_GRAPH_DRAGONFLY_AROUND_H

#include "advisor/graph_dragonfly.h"

struct taut_around {
    double *between; /* [groups * groups] from group to group */
    double *first;   /* [routers * groups] from router to group */
    double *last;    /* [routers * groups] to router from group */
    signed char *is; /* [groups * groups] 1: there are routes, -1: none,
                        0: nobody has looked */
};

/* Returns false when out of memory: taut_around_add() then takes nothing. */
bool taut_around_init(struct taut_around *a, const struct taut_dragonfly *d,
                      const struct taut_graph *g);
void taut_around_fini(struct taut_around *a);

/* Add what goes from router r to router s of another group.
 *   t  scratch
 * Returns 0; -1 where there is no route; 1 where this pair has to be routed
 * by itself (nothing was added). */
int taut_around_add(struct taut_around *a, const struct taut_dragonfly *d,
                    const struct taut_graph *g, uint32_t r, uint32_t s,
                    double amount, struct taut_route *t);

/* Lay all of it on the links: load[l] += amount * share.
 *   t  scratch */
void taut_around_spread(const struct taut_around *a,
                        const struct taut_dragonfly *d,
                        const struct taut_graph *g, double *load,
                        struct taut_route *t);

#endif
