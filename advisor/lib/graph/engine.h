/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Routes, and what a routing engine has to offer.
 *
 * To add one: graph_NAME.c with its struct taut_engine and a function
 * taut_NAME_create(graph, parameters) that ends in taut_graph_route_by(); a
 * row in mod_graph_engines.c that reads the parameters from Lua. */
#ifndef TAUT_ADVISOR_LIB_GRAPH_ENGINE_H
#define TAUT_ADVISOR_LIB_GRAPH_ENGINE_H

#include "advisor/lib/graph/graph.h"

#define TAUT_ROUTE_SLACK 8 /* entries that link[] has beyond max_entries */

/* Instead of a route, or of its hops: there was no memory to find it. */
#define TAUT_ROUTE_NO_MEMORY (-2)
#define TAUT_HOPS_NO_MEMORY (UINT32_MAX - 1)

/* The stages between two routers, in order.  Each is one link, or a weighted
 * set of links of which traffic takes one.  While there is no set, link[i]
 * is stage i and 'end' and 'weight' mean nothing; that is the quick case. */
struct taut_route {
    struct taut_arena memory;
    uint32_t stages;
    uint32_t entries; /* links in all stages */
    bool has_sets;
    uint32_t max_entries;
    uint32_t *link; /* [entries] */
    uint32_t *end;  /* [stages] entry after the stage's last */
    double *weight; /* [entries]; 1 in all for each stage, or less: the rest
                       of the traffic crosses none of its links */
};

/* Room for the longest route of a graph.  Returns 0, or -1 with ENOMEM. */
int taut_route_init(struct taut_route *t, const struct taut_graph *g);
void taut_route_fini(struct taut_route *t);

/* For engines: begin, then add stage after stage.  Engines without sets may
 * write stages and link[] themselves after taut_route_begin and call
 * taut_route_simple at the end. */
static inline void taut_route_begin(struct taut_route *t)
{
    t->stages = 0;
    t->entries = 0;
    t->has_sets = false;
}

static inline void taut_route_simple(struct taut_route *t, uint32_t stages)
{
    t->stages = stages;
    t->entries = stages;
}

void taut_route_add(struct taut_route *t, uint32_t link);

/* A stage that is one of 'n' links; equal weights where 'weight' is NULL,
 * else they are scaled to the sum 1.  n = 1 is taut_route_add. */
void taut_route_add_set(struct taut_route *t, const uint32_t *link,
                        const double *weight, uint32_t n);

/* A stage of 'n' links with these shares of the traffic, as they are; none
 * at all where n is 0.  One link that all of it crosses is taut_route_add. */
void taut_route_add_part(struct taut_route *t, const uint32_t *link,
                         const double *weight, uint32_t n);

/* Is stage i one link that all traffic crosses? */
static inline bool taut_route_is_sure(const struct taut_route *t, uint32_t i)
{
    uint32_t first = t->has_sets && i > 0 ? t->end[i - 1] : 0;

    return !t->has_sets ||
           (t->end[i] - first == 1 && t->weight[first] >= 1 - 1e-9);
}

/* That link, or NONE. */
static inline uint32_t taut_route_sure_link(const struct taut_route *t,
                                            uint32_t i)
{
    if (!taut_route_is_sure(t, i))
        return TAUT_GRAPH_NONE;
    return t->link[!t->has_sets ? i : i > 0 ? t->end[i - 1] : 0];
}

/* Pairs of routers that have no route: how many (weighted, see sums below),
 * and the first few of them. */
struct taut_lost {
    uint64_t pairs;
    uint32_t count, max; /* in 'pair', two routers each */
    uint32_t *pair;      /* [2 * max], the caller's; may be NULL: max = 0 */
    uint64_t *from, *to; /* [routers] by source, by destination; or NULL */
};

/* One pair without a route, of this weight. */
void taut_lost_add(struct taut_lost *lost, uint32_t r, uint32_t s,
                   uint64_t amount);

/* Pairs of routers whose routes use a link, per router. */
struct taut_crossing {
    uint64_t *from; /* [routers] += weight of the destinations */
    uint64_t *to;   /* [routers] += weight of the sources */
};

/* Traffic between two routers. */
struct taut_flow_pair {
    uint32_t from, to;
    double amount;
};

/* Stages that the routes of several pairs have in common: of all pairs of a
 * router in 'from' and one in 'to'. */
struct taut_part {
    const uint32_t *from, *to; /* no router in both */
    uint32_t n_from, n_to;
    const struct taut_route *t; /* NULL: none of these pairs has a route */
};

/* The senders to one destination. */
struct taut_gather {
    struct taut_arena memory;
    uint32_t n;
    uint32_t *router; /* [n] each once, none the destination's */
    uint64_t *weight; /* [n] */
    bool *lost;       /* [n] gets true where there is no route */
    double *at;       /* [routers] scratch, all 0 between calls */
    uint32_t *next;   /* [routers] scratch */
};

typedef void (*taut_part_f)(void *arg, const struct taut_part *part);

/* All functions but route and destroy may be NULL.  All but update are
 * called from several threads at once. */
struct taut_engine {
    const char *name;

    /* Routes depend on the destination endpoint, not on its router alone
     * (d-mod-k, forwarding tables). */
    bool by_destination;

    /* Routes to one destination have work in common, which is best kept
     * while others to it are asked for. */
    bool destination_first;

    /* Fill 't' with the route from router r to router s, r != s.
     *   dst  destination endpoint; NONE: any on s will do
     * Returns 0, -1 where there is none, or TAUT_ROUTE_NO_MEMORY. */
    int (*route)(const void *self, const struct taut_graph *g, uint32_t r,
                 uint32_t s, uint32_t dst, struct taut_route *t);

    /* Links on the shortest way that route may take, UINT32_MAX: none, or
     * TAUT_HOPS_NO_MEMORY.  NULL: the number of stages. */
    uint32_t (*hops)(const void *self, const struct taut_graph *g, uint32_t r,
                     uint32_t s, uint32_t dst);

    /* May the route from r to s, r != s, take 'link'?  For engines that know
     * without making it. */
    bool (*crosses)(const void *self, const struct taut_graph *g, uint32_t r,
                    uint32_t s, uint32_t dst, uint32_t link);

    /* In which leg of a route it takes this link, for engines whose routes go
     * leg by leg, in one order while nothing has failed (dimensions). */
    uint32_t (*leg)(const void *self, const struct taut_graph *g,
                    uint32_t link);

    /* Why route returned -1: 't' gets the failed links that are in the way.
     * Returns 0, or -1 where that is not known. */
    int (*blame)(const void *self, const struct taut_graph *g, uint32_t r,
                 uint32_t s, uint32_t dst, struct taut_route *t);

    /* Health has changed.  Returns 0, or -1 with errno. */
    int (*update)(void *self, const struct taut_graph *g,
                  struct taut_error *err);

    /* sum[l] += src[r] * dst[s] for each pair r != s whose route uses link
     * l, modulo 2^64; for engines without sets that know better than to
     * walk every pair.  Returns 0, or -1 with errno. */
    int (*sums)(const void *self, const struct taut_graph *g,
                const uint64_t *src, const uint64_t *dst, uint64_t *sum,
                struct taut_lost *lost);

    /* load[l] += src[r] * dst[s] * share for each pair r != s, for engines
     * with sets that know better than to walk every pair.  Returns 0; 1
     * where a walk is as good (nothing was added); or -1 with errno. */
    int (*loads)(const void *self, const struct taut_graph *g,
                 const uint64_t *src, const uint64_t *dst, double *load,
                 struct taut_lost *lost);

    /* load[l] += weight * amount * share for the routes from some routers to
     * endpoint dst of router s, for engines that know better than to walk
     * each of them.  Returns 0, or -1 with errno ENOMEM. */
    int (*gather)(const void *self, const struct taut_graph *g,
                  const struct taut_gather *from, uint32_t s, uint32_t dst,
                  double amount, double *load);

    /* load[l] += amount * share for n pairs of routers at once, for engines
     * whose choice of routes depends on the traffic there is.  lost[i]: pair
     * i has no route.  Returns 0, or -1 with errno. */
    int (*pair_loads)(const void *self, const struct taut_graph *g, size_t n,
                      const struct taut_flow_pair *pair, double *load,
                      bool *lost);

    /* out->from[r] += w[s], out->to[s] += w[r] for each pair whose route
     * uses 'link'.  Returns 0, or -1 with errno. */
    int (*crossing)(const void *self, const struct taut_graph *g, uint32_t link,
                    const uint64_t *w, struct taut_crossing *out);

    /* All routes of pairs r != s with neither src[r] nor dst[s] 0, in parts,
     * each visited once; others may be among them.  Parts of one route have
     * no link in common.  Returns 0; 1 where a walk of all pairs is as good
     * (nothing was visited); or -1 with errno. */
    int (*parts)(const void *self, const struct taut_graph *g,
                 const uint64_t *src, const uint64_t *dst, taut_part_f visit,
                 void *arg);

    void (*destroy)(void *self);
};

/* Sum of w[r] over n routers. */
uint64_t taut_part_weight(const uint64_t *w, const uint32_t *router,
                          uint32_t n);

/* The route of the graph's engine; r = s is a route without stages.  Returns
 * what the engine does. */
int taut_graph_route(const struct taut_graph *g, uint32_t r, uint32_t s,
                     uint32_t dst, struct taut_route *t);

/* May the route from r to s take 'link'?  't' is scratch. */
bool taut_graph_crosses(const struct taut_graph *g, uint32_t r, uint32_t s,
                        uint32_t dst, uint32_t link, struct taut_route *t);

/* Links on the shortest way; UINT32_MAX: no route; TAUT_HOPS_NO_MEMORY.  't'
 * is scratch. */
uint32_t taut_graph_hops(const struct taut_graph *g, uint32_t r, uint32_t s,
                         uint32_t dst, struct taut_route *t);

#endif
