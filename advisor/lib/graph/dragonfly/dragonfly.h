/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Dragonfly: groups of routers, wired in any way inside, and any number of
 * links between two groups (J. Kim et al., "Technology-driven, highly-
 * scalable dragonfly topology", ISCA 2008).
 *
 * Inside a group traffic takes the shortest ways, in equal shares (Aries:
 * row then column, and column then row).  Between groups:
 *   minimal   one of the links between the two groups, of those that make
 *             the way shortest, in shares of their capacity
 *   adaptive  any of the links between the two groups, in shares of the
 *             capacity that is left; 'misrouted' of the traffic goes
 *             elsewhere, over another group (of the same group: another
 *             router), and is in no stage
 *   valiant   over a group drawn at random, and minimal ('any') to it and
 *             from it; inside a group over another router of it
 * Where no link leads from one group to the other any more, and where a
 * group falls apart, every kind goes over other groups.  A way inside a
 * group has at most TAUT_DRAGONFLY_LOCAL links. */
#ifndef TAUT_ADVISOR_LIB_GRAPH_DRAGONFLY_DRAGONFLY_H
#define TAUT_ADVISOR_LIB_GRAPH_DRAGONFLY_DRAGONFLY_H

#include <stdatomic.h>

#include "advisor/lib/graph/engine.h"

#define TAUT_DRAGONFLY_MAX_GROUPS 4096
#define TAUT_DRAGONFLY_LOCAL 6

enum taut_dragonfly_mode {
    TAUT_DRAGONFLY_NONE,
    TAUT_DRAGONFLY_MINIMAL,
    TAUT_DRAGONFLY_ADAPTIVE,
    TAUT_DRAGONFLY_VALIANT,
};

struct taut_dragonfly_conf {
    const uint32_t *group; /* [routers] from 0; not kept */
    enum taut_dragonfly_mode mode;
    double misrouted; /* of adaptive traffic, 0..1 */
};

/* Give the graph this routing.
 * Returns 0, or -1 with errno EINVAL (text in 'err') or ENOMEM. */
int taut_dragonfly_create(struct taut_graph *g,
                          const struct taut_dragonfly_conf *conf,
                          struct taut_error *err);

/* ---- between the files of this engine ---- */

#define TAUT_DRAGONFLY_FAR UINT8_MAX

/* Room that the last to need it has left for the next: what is given back to
 * the system has to be cleared by it, page by page, each time. */
struct taut_dragonfly_spare {
    _Atomic(double *) room; /* all 0; or NULL */
};

struct taut_dragonfly {
    struct taut_arena memory;
    enum taut_dragonfly_mode mode;
    double misrouted;
    uint32_t groups;
    uint32_t *group;       /* [routers] */
    uint32_t *member;      /* [routers] number inside the group */
    uint32_t *group_first; /* [groups + 1] into 'routers' */
    uint32_t *routers;     /* [routers] by group */
    uint32_t *near_first;  /* [routers + 1] into 'near' */
    uint32_t *near;        /* links out of a router that stay in its group */
    size_t *dist_first;    /* [routers] into 'dist' */
    uint8_t *dist;         /* links from router to member, or FAR */
    uint32_t *direct;      /* like dist: the only link there; else NONE */
    bool *is_whole;        /* [groups] every member reaches every other */
    uint32_t *pair_first;  /* [groups * groups + 1] into 'pair' */
    uint32_t *pair;        /* links from one group to another */
    struct taut_dragonfly_spare *spare; /* its size: load.c */
};

struct taut_routers {
    const uint32_t *router;
    uint32_t n;
};

static inline struct taut_routers
taut_routers_of(const struct taut_dragonfly *d, uint32_t group)
{
    return (struct taut_routers){
        &d->routers[d->group_first[group]],
        d->group_first[group + 1] - d->group_first[group]};
}

/* Links from r to s, both of one group. */
static inline uint8_t taut_dragonfly_dist(const struct taut_dragonfly *d,
                                          uint32_t r, uint32_t s)
{
    return d->dist[d->dist_first[r] + d->member[s]];
}

/* The only link from r to s, both of one group; or NONE. */
static inline uint32_t taut_dragonfly_direct(const struct taut_dragonfly *d,
                                             uint32_t r, uint32_t s)
{
    return d->direct[d->dist_first[r] + d->member[s]];
}

/* Is 'link', out of x and inside its group, the first hop of a shortest way
 * from there to y?  Whether it is up is another question. */
static inline bool taut_dragonfly_leads_to(const struct taut_dragonfly *d,
                                           const struct taut_graph *g,
                                           uint32_t link, uint32_t x,
                                           uint32_t y)
{
    return taut_dragonfly_dist(d, g->to[link], y) + 1 ==
           taut_dragonfly_dist(d, x, y);
}

/* Part of the traffic from router r that takes minimal ways. */
double taut_dragonfly_minimal_share(const struct taut_dragonfly *d, uint32_t r);

int taut_dragonfly_route(const void *self, const struct taut_graph *g,
                         uint32_t r, uint32_t s, uint32_t dst,
                         struct taut_route *t);
uint32_t taut_dragonfly_hops(const void *self, const struct taut_graph *g,
                             uint32_t r, uint32_t s, uint32_t dst);

/* Parts of a route from one group to another: what is in the first group, the
 * links between groups with what is in other groups, what is in the last. */
enum taut_dragonfly_legs {
    TAUT_DRAGONFLY_FIRST = 1,
    TAUT_DRAGONFLY_BETWEEN = 2,
    TAUT_DRAGONFLY_LAST = 4,
    TAUT_DRAGONFLY_WHOLE = 7,
};

struct taut_dragonfly_way {
    enum taut_dragonfly_mode mode;
    double share;  /* of the traffic that takes it, 0..1 */
    unsigned legs; /* sum of taut_dragonfly_legs; other stages are left out */
};

/* The route of that kind. */
int taut_dragonfly_route_by(const struct taut_dragonfly *d,
                            const struct taut_graph *g,
                            const struct taut_dragonfly_way *way, uint32_t r,
                            uint32_t s, struct taut_route *t);

/* Have all routes from group a to group b, a != b, the same legs, LAST but
 * for where they end, FIRST but for where they begin?  They do where all
 * gateways can be used from everywhere, and how far they are counts for
 * nothing. */
bool taut_dragonfly_is_alike(const struct taut_dragonfly *d,
                             enum taut_dragonfly_mode mode, uint32_t a,
                             uint32_t b);

/* taut_engine's parts. */
int taut_dragonfly_parts(const void *self, const struct taut_graph *g,
                         const uint64_t *src, const uint64_t *dst,
                         taut_part_f visit, void *arg);

/* What share of each pair of groups' traffic goes over other groups.
 *   demand  [groups * groups] bytes from one group to another
 *   moved   [groups * groups] 0..1, written on success
 * Returns 0, or -1 with errno ENOMEM. */
int taut_dragonfly_balance(const struct taut_dragonfly *d,
                           const struct taut_graph *g, const double *demand,
                           double *moved);

/* taut_engine's loads and pair_loads.  Adaptive traffic chooses by
 * taut_dragonfly_balance here; 'misrouted' is for a quiet network. */
int taut_dragonfly_loads(const void *self, const struct taut_graph *g,
                         const uint64_t *src, const uint64_t *dst, double *load,
                         struct taut_lost *lost);
int taut_dragonfly_pair_loads(const void *self, const struct taut_graph *g,
                              size_t n, const struct taut_flow_pair *pair,
                              double *load, bool *lost);

#endif
