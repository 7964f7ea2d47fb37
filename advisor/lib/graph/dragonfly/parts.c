/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Routes of a dragonfly in parts.  From a group of n routers to one of m, n + m
 * + 1 parts describe n * m routes.  The part of each router in the first group
 * is the same to all of the last group.  The part in the last group before each
 * router is the same from all of the first one, and the part between is the
 * same for all. */
#include <config.h>

#include "advisor/lib/graph/dragonfly/dragonfly.h"

struct parts {
    const struct taut_dragonfly *d;
    const struct taut_graph *g;
    const uint64_t *src, *dst;
    taut_part_f visit;
    void *arg;
    struct taut_route t;
};

/* What these pairs have in common is what the first of them has of 'legs'.
 * Returns false where that has no route. */
static bool visit_part(struct parts *p, unsigned legs, struct taut_routers from,
                       struct taut_routers to)
{
    uint32_t r = from.router[0], s = to.router[0];
    struct taut_dragonfly_way way = {
        p->d->mode, taut_dragonfly_minimal_share(p->d, r), legs};
    bool found = taut_dragonfly_route_by(p->d, p->g, &way, r, s, &p->t) == 0;
    struct taut_part part = {.from = from.router,
                             .to = to.router,
                             .n_from = from.n,
                             .n_to = to.n,
                             .t = found ? &p->t : NULL};

    p->visit(p->arg, &part);
    return found;
}

static void visit_pairs(struct parts *p, struct taut_routers from,
                        struct taut_routers to)
{
    for (uint32_t i = 0; i < from.n; i++)
        for (uint32_t k = 0; p->src[from.router[i]] != 0 && k < to.n; k++)
            if (from.router[i] != to.router[k] && p->dst[to.router[k]] != 0)
                visit_part(p, TAUT_DRAGONFLY_WHOLE,
                           (struct taut_routers){&from.router[i], 1},
                           (struct taut_routers){&to.router[k], 1});
}

static void visit_groups(struct parts *p, uint32_t a, uint32_t b)
{
    struct taut_routers from = taut_routers_of(p->d, a);
    struct taut_routers to = taut_routers_of(p->d, b);

    if (from.n == 0 || to.n == 0)
        return;
    if (a == b || !taut_dragonfly_is_alike(p->d, p->d->mode, a, b)) {
        visit_pairs(p, from, to);
        return;
    }
    if (!visit_part(p, TAUT_DRAGONFLY_BETWEEN, from, to))
        return;
    for (uint32_t i = 0; i < from.n; i++)
        if (p->src[from.router[i]] != 0)
            visit_part(p, TAUT_DRAGONFLY_FIRST,
                       (struct taut_routers){&from.router[i], 1}, to);
    for (uint32_t i = 0; i < to.n; i++)
        if (p->dst[to.router[i]] != 0)
            visit_part(p, TAUT_DRAGONFLY_LAST, from,
                       (struct taut_routers){&to.router[i], 1});
}

bool taut_dragonfly_is_alike(const struct taut_dragonfly *d,
                             enum taut_dragonfly_mode mode, uint32_t a,
                             uint32_t b)
{
    return mode != TAUT_DRAGONFLY_MINIMAL && d->is_whole[a] && d->is_whole[b];
}

int taut_dragonfly_parts(const void *self, const struct taut_graph *g,
                         const uint64_t *src, const uint64_t *dst,
                         taut_part_f visit, void *arg)
{
    struct parts p = {
        .d = self, .g = g, .src = src, .dst = dst, .visit = visit, .arg = arg};

    if (p.d->mode == TAUT_DRAGONFLY_MINIMAL)
        return 1; /* each pair has the nearest links of its own */
    if (taut_route_init(&p.t, g) < 0)
        return -1;
    for (uint32_t a = 0; a < p.d->groups; a++)
        for (uint32_t b = 0; b < p.d->groups; b++)
            visit_groups(&p, a, b);
    taut_route_fini(&p.t);
    return 0;
}
