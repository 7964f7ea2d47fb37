/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Traffic between a dragonfly's groups, added up by router and group before
 * it is laid on the links; between the files of that engine.
 *
 * If all routes from group a to group b are alike (see
 * taut_dragonfly_is_alike), only the sums count: what each router of a sends to
 * b, and what each router of b gets from a. Gateways and groups on the way do
 * not depend on both ends. */
#ifndef TAUT_ADVISOR_LIB_GRAPH_DRAGONFLY_GROUPS_H
#define TAUT_ADVISOR_LIB_GRAPH_DRAGONFLY_GROUPS_H

#include "advisor/lib/graph/dragonfly/dragonfly.h"

struct taut_groups {
    struct taut_arena memory;
    const struct taut_dragonfly *d;
    const struct taut_graph *g;
    double *out;    /* [routers * groups] from router to group */
    double *in;     /* [routers * groups] to router from group */
    double *share;  /* like d->pair: of what goes from group to group */
    bool *is_open;  /* [groups * groups] some link is up */
    uint32_t *shut; /* [groups * groups] cells of two groups without … */
    uint32_t n_shut;
    bool is_well;   /* every group is whole, and open to all others */
    double *detour; /* [groups * groups] over each other group that will do */
};

/*   room  [2 * routers * groups] all 0, for 'out' and 'in'; the caller's
 * Returns 0, or -1 with errno ENOMEM. */
int taut_groups_init(struct taut_groups *x, const struct taut_dragonfly *d,
                     const struct taut_graph *g, double *room);
void taut_groups_fini(struct taut_groups *x);

/* What router r sends to group 'to' (or s gets from group 'from'). */
static inline double *taut_groups_out(const struct taut_groups *x, uint32_t r,
                                      uint32_t to)
{
    return &x->out[(size_t)r * x->d->groups + to];
}

static inline double *taut_groups_in(const struct taut_groups *x, uint32_t s,
                                     uint32_t from)
{
    return &x->in[(size_t)s * x->d->groups + from];
}

/* Is there any way from group a to group b, direct or over another? */
bool taut_groups_has_way(const struct taut_groups *x, uint32_t a, uint32_t b);

/* Lay all of it on the links between groups, and on the demand inside them.
 *   between  [groups * groups] sums of 'out', 0 where routes are not alike
 *   moved    [groups * groups] share that goes over other groups
 *   load     [links]
 *   demand   like d->dist, between routers of one group
 * Returns 0, or -1 with errno ENOMEM. */
int taut_groups_spread(struct taut_groups *x, const double *between,
                       const double *moved, double *load, double *demand);

#endif
