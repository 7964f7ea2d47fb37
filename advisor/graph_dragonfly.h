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
#ifndef TAUT_ADVISOR_GRAPH_DRAGONFLY_H
#define TAUT_ADVISOR_GRAPH_DRAGONFLY_H

#include "advisor/graph_engine.h"

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

struct taut_dragonfly {
    enum taut_dragonfly_mode mode;
    double misrouted;
    uint32_t groups;
    uint32_t *group;       /* [routers] */
    uint32_t *member;      /* [routers] number inside the group */
    uint32_t *group_first; /* [groups + 1] into 'routers' */
    uint32_t *routers;     /* [routers] by group */
    size_t *dist_first;    /* [routers] into 'dist' */
    uint8_t *dist;         /* links from router to member, or FAR */
    uint32_t *direct;      /* like dist: the only link there; else NONE */
    bool *is_whole;        /* [groups] every member reaches every other */
    uint32_t *pair_first;  /* [groups * groups + 1] into 'pair' */
    uint32_t *pair;        /* links from one group to another */
};

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

/* Part of the traffic from router r that takes minimal ways. */
double taut_dragonfly_minimal_share(const struct taut_dragonfly *d, uint32_t r);

int taut_dragonfly_route(const void *self, const struct taut_graph *g,
                         uint32_t r, uint32_t s, uint32_t dst,
                         struct taut_route *t);
uint32_t taut_dragonfly_hops(const void *self, const struct taut_graph *g,
                             uint32_t r, uint32_t s, uint32_t dst);

/* The route if the mode were this one, and all traffic took it. */
int taut_dragonfly_route_as(const struct taut_dragonfly *d,
                            const struct taut_graph *g,
                            enum taut_dragonfly_mode mode, uint32_t r,
                            uint32_t s, struct taut_route *t);

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
