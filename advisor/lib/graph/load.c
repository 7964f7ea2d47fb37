/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/lib/graph/ends.h"
#include "advisor/lib/graph/load.h"

/* ---- loads ---- */

static void add_load(const void *arg, struct taut_walk_sums *sums,
                     const struct taut_walk_end *src,
                     const struct taut_walk_end *dst,
                     const struct taut_route *t)
{
    double amount = (double)(src->weight * dst->weight);

    (void)arg;
    if (t->has_sets)
        for (uint32_t i = 0; i < t->entries; i++)
            sums->load[t->link[i]] += amount * t->weight[i];
    else
        for (uint32_t i = 0; i < t->entries; i++)
            sums->load[t->link[i]] += amount;
}

static int walk_load(const struct taut_graph *g, const struct taut_ends *e,
                     uint32_t n_src, uint32_t n_dst, unsigned threads,
                     double *load, struct taut_lost *lost)
{
    struct taut_walk w = {.graph = g,
                          .src = e->src,
                          .dst = e->dst,
                          .n_src = n_src,
                          .n_dst = n_dst,
                          .n_load = g->links,
                          .visit = add_load,
                          .threads = threads};
    struct taut_walk_sums sums = {.load = load, .lost = *lost};

    if (taut_walk_run(&w, &sums) < 0)
        return -1;
    *lost = sums.lost;
    return 0;
}

/* ---- by destination ---- */

static int gather_init(struct taut_gather *x, const struct taut_graph *g)
{
    *x = (struct taut_gather){.n = 0};
    TAUT_TAKE(&x->memory, x->router, g->routers);
    TAUT_TAKE(&x->memory, x->weight, g->routers);
    TAUT_TAKE(&x->memory, x->lost, g->routers);
    TAUT_TAKE(&x->memory, x->at, g->routers);
    TAUT_TAKE(&x->memory, x->next, g->routers);
    return taut_arena_check(&x->memory);
}

/* Sources on other routers than the destination's. */
static void list_sources(struct taut_gather *x, const struct taut_walk_end *src,
                         uint32_t n_src, uint32_t s)
{
    x->n = 0;
    for (uint32_t i = 0; i < n_src; i++)
        if (src[i].router != s) {
            x->router[x->n] = src[i].router;
            x->weight[x->n++] = src[i].weight;
        }
}

static int gather_load(const struct taut_graph *g, const struct taut_ends *e,
                       uint32_t n_src, uint32_t n_dst, double *load,
                       struct taut_lost *lost)
{
    struct taut_gather x;
    int rc = gather_init(&x, g);

    for (uint32_t k = 0; rc == 0 && k < n_dst; k++) {
        const struct taut_walk_end *d = &e->dst[k];
        list_sources(&x, e->src, n_src, d->router);
        rc = g->engine->gather(g->self, g, &x, d->router, d->endpoint,
                               (double)d->weight, load);
        for (uint32_t i = 0; rc == 0 && i < x.n; i++)
            if (x.lost[i]) {
                taut_lost_add(lost, x.router[i], d->router,
                              x.weight[i] * d->weight);
                x.lost[i] = false;
            }
    }
    if (x.at != NULL)
        taut_arena_free(&x.memory);
    return rc;
}

static int ends_load(const struct taut_graph *g, const struct taut_ends *e,
                     uint32_t n_src, uint32_t n_dst, unsigned threads,
                     bool walk, double *load, struct taut_lost *lost)
{
    if (g->engine->gather != NULL && !walk)
        return gather_load(g, e, n_src, n_dst, load, lost);
    return walk_load(g, e, n_src, n_dst, threads, load, lost);
}

/* ---- both ---- */

static int quick_load(const struct taut_graph *g, const uint64_t *src,
                      const uint64_t *dst, double *load, struct taut_lost *lost)
{
    uint64_t *sum = calloc((size_t)g->links + 1, sizeof(*sum));

    if (sum == NULL)
        return -1;
    int rc = g->engine->sums(g->self, g, src, dst, sum, lost);
    for (uint32_t l = 0; rc == 0 && l < g->links; l++)
        if (sum[l] != 0)
            load[l] += (double)sum[l];
    free(sum);
    return rc;
}

static int between_routers(const struct taut_graph *g, const uint64_t *src,
                           const uint64_t *dst, unsigned threads, bool walk,
                           double *load, struct taut_lost *lost)
{
    struct taut_ends e;

    if (g->engine->sums != NULL && !walk)
        return quick_load(g, src, dst, load, lost);
    if (g->engine->loads != NULL && !walk) {
        int done = g->engine->loads(g->self, g, src, dst, load, lost);
        if (done != 1)
            return done;
    }
    if (taut_ends_init(&e, g) < 0)
        return -1;
    uint32_t n_src = taut_ends_of_routers(g, src, e.src);
    uint32_t n_dst = taut_ends_of_routers(g, dst, e.dst);
    int rc = ends_load(g, &e, n_src, n_dst, threads, walk, load, lost);
    taut_ends_fini(&e);
    return rc;
}

int taut_load_routers(const struct taut_graph *g, const uint64_t *w,
                      unsigned threads, bool walk, double *load,
                      struct taut_lost *lost)
{
    return between_routers(g, w, w, threads, walk, load, lost);
}

/* Sources are alike when they are on one router; destinations are not where
 * routes depend on them. */
static int rail_by_destination(const struct taut_graph *g,
                               const uint64_t *src_by_router,
                               const uint64_t *dst, uint32_t rail,
                               unsigned threads, bool walk, double *load,
                               struct taut_lost *lost)
{
    struct taut_ends e;

    if (taut_ends_init(&e, g) < 0)
        return -1;
    uint32_t n_src = taut_ends_of_routers(g, src_by_router, e.src);
    uint32_t n_dst = taut_ends_of_rail(g, dst, rail, e.dst);
    int rc = ends_load(g, &e, n_src, n_dst, threads, walk, load, lost);
    taut_ends_fini(&e);
    return rc;
}

int taut_load_between(const struct taut_graph *g, const uint64_t *src,
                      const uint64_t *dst, unsigned threads, bool walk,
                      double *load, struct taut_lost *lost)
{
    uint64_t *from = malloc(g->routers * sizeof(*from));
    uint64_t *to = malloc(g->routers * sizeof(*to));
    int rc = from != NULL && to != NULL ? 0 : -1;

    for (uint32_t k = 0; rc == 0 && k < g->rails; k++) {
        taut_ends_by_router(g, src, k, from);
        if (dst == src)
            memcpy(to, from, g->routers * sizeof(*to));
        else
            taut_ends_by_router(g, dst, k, to);
        rc = g->engine->by_destination
                 ? rail_by_destination(g, from, dst, k, threads, walk, load,
                                       lost)
                 : between_routers(g, from, to, threads, walk, load, lost);
    }
    free(from);
    free(to);
    return rc;
}

int taut_load_route(const struct taut_graph *g,
                    const struct taut_flow_pair *pair, uint32_t dst,
                    double *load, struct taut_route *t)
{
    int rc = taut_graph_route(g, pair->from, pair->to, dst, t);

    if (rc < 0)
        return rc;
    for (uint32_t i = 0; i < t->entries; i++)
        load[t->link[i]] += pair->amount * (t->has_sets ? t->weight[i] : 1);
    return 0;
}

/* ---- who crosses a link ---- */

struct crossed {
    const struct taut_graph *graph;
    uint32_t link;
};

/* count[]: by the source's router, then by the destination's router or,
 * where routes depend on it, endpoint. */
static void add_crossing(const void *arg, struct taut_walk_sums *sums,
                         const struct taut_walk_end *src,
                         const struct taut_walk_end *dst,
                         const struct taut_route *t)
{
    const struct crossed *c = arg;
    uint32_t to =
        c->graph->engine->by_destination ? dst->endpoint : dst->router;

    for (uint32_t i = 0; i < t->entries; i++)
        if (t->link[i] == c->link) {
            sums->count[src->router] += dst->weight;
            sums->count[c->graph->routers + to] += src->weight;
            return;
        }
}

/* A rail's endpoints, each with the weight 1. */
struct ones {
    uint64_t *by_endpoint, *by_router;
};

static void ones_fini(struct ones *o)
{
    free(o->by_endpoint);
    free(o->by_router);
}

static int ones_init(struct ones *o, const struct taut_graph *g, uint32_t rail)
{
    o->by_endpoint = malloc(g->endpoints * sizeof(*o->by_endpoint));
    o->by_router = malloc(g->routers * sizeof(*o->by_router));
    if (o->by_endpoint == NULL || o->by_router == NULL) {
        ones_fini(o);
        errno = ENOMEM;
        return -1;
    }
    for (uint32_t e = 0; e < g->endpoints; e++)
        o->by_endpoint[e] = 1;
    taut_ends_by_router(g, o->by_endpoint, rail, o->by_router);
    return 0;
}

static int walk_crossing(const struct taut_graph *g, uint32_t link,
                         uint32_t rail, const struct ones *ones,
                         unsigned threads, uint64_t *count)
{
    struct crossed c = {.graph = g, .link = link};
    struct taut_walk_sums sums = {.count = count};
    struct taut_ends e;

    if (taut_ends_init(&e, g) < 0)
        return -1;
    struct taut_walk w = {.graph = g,
                          .src = e.src,
                          .dst = e.dst,
                          .n_count =
                              (size_t)g->routers + g->routers + g->endpoints,
                          .visit = add_crossing,
                          .arg = &c,
                          .threads = threads};
    w.n_src = taut_ends_of_routers(g, ones->by_router, e.src);
    w.n_dst = g->engine->by_destination
                  ? taut_ends_of_rail(g, ones->by_endpoint, rail, e.dst)
                  : taut_ends_of_routers(g, ones->by_router, e.dst);
    int rc = taut_walk_run(&w, &sums);
    taut_ends_fini(&e);
    return rc;
}

struct crossed_part {
    uint32_t link;
    const uint64_t *w; /* [routers] */
    struct taut_crossing *out;
};

static void add_part(void *arg, const struct taut_part *p)
{
    const struct crossed_part *c = arg;
    uint32_t at = 0, n = p->t != NULL ? p->t->entries : 0;

    while (at < n && p->t->link[at] != c->link)
        at++;
    if (at == n)
        return;
    uint64_t src = taut_part_weight(c->w, p->from, p->n_from);
    uint64_t dst = taut_part_weight(c->w, p->to, p->n_to);
    for (uint32_t i = 0; i < p->n_from; i++)
        c->out->from[p->from[i]] += dst;
    for (uint32_t i = 0; i < p->n_to; i++)
        c->out->to[p->to[i]] += src;
}

/* Returns 1 where the engine knows no better way than a walk. */
static int engine_crossing(const struct taut_graph *g, uint32_t link,
                           const uint64_t *w, struct taut_crossing *out)
{
    struct crossed_part c = {.link = link, .w = w, .out = out};

    if (g->engine->crossing != NULL)
        return g->engine->crossing(g->self, g, link, w, out);
    if (g->engine->parts != NULL)
        return g->engine->parts(g->self, g, w, w, add_part, &c);
    return 1;
}

static int count_crossing(const struct taut_graph *g, uint32_t link,
                          uint32_t rail, unsigned threads, uint64_t *count)
{
    struct taut_crossing out = {.from = count, .to = count + g->routers};
    struct ones ones;

    if (ones_init(&ones, g, rail) < 0)
        return -1;
    int rc = engine_crossing(g, link, ones.by_router, &out);
    if (rc == 1)
        rc = walk_crossing(g, link, rail, &ones, threads, count);
    ones_fini(&ones);
    return rc;
}

int taut_load_crossing(const struct taut_graph *g, uint32_t link, uint32_t rail,
                       unsigned threads, uint64_t *from, uint64_t *to)
{
    size_t n = (size_t)g->routers + g->routers + g->endpoints;
    uint64_t *count = calloc(n, sizeof(*count));

    if (count == NULL || count_crossing(g, link, rail, threads, count) < 0) {
        free(count);
        errno = ENOMEM;
        return -1;
    }
    for (uint32_t i = 0; i < g->nodes; i++) {
        uint32_t e = rail * g->nodes + i, r = g->at[e];
        if (r == TAUT_GRAPH_NONE)
            continue;
        from[i] += count[r];
        to[i] += count[g->routers + (g->engine->by_destination ? e : r)];
    }
    free(count);
    return 0;
}
