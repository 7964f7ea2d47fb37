/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <string.h>

#include "advisor/lib/graph/ends.h"
#include "advisor/lib/graph/load.h"

/* A link that is sure counts otherwise than one of a set; in which stage it
 * is, no test can tell. */
#define OF_A_SET 0x9e3779b97f4a7c15U

static void hash_stages(const struct taut_route *t, uint64_t h, uint64_t *hash)
{
    uint32_t first = 0;

    for (uint32_t i = 0; i < t->stages; i++) {
        uint32_t end = t->has_sets ? t->end[i] : i + 1;
        uint64_t salt = taut_route_is_sure(t, i) ? 1 : OF_A_SET;
        for (; first < end; first++)
            hash[t->link[first]] += h * salt;
    }
}

static void add_hash(const void *arg, struct taut_walk_sums *sums,
                     const struct taut_walk_end *src,
                     const struct taut_walk_end *dst,
                     const struct taut_route *t)
{
    (void)arg;
    hash_stages(t, src->weight * dst->weight, sums->count);
}

/* splitmix64, of Steele, Lea and Flood (OOPSLA 2014): its output function */
static uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15U;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
    return (x ^ (x >> 31)) | 1;
}

/* The two halves of the pairs' numbers, for one rail. */
struct halves {
    uint64_t *src;    /* [routers] */
    uint64_t *dst;    /* [routers] sum over what counts as a destination */
    uint64_t *dst_of; /* [endpoints] where routes depend on them */
    uint64_t all_src, all_dst;
    struct taut_lost lost; /* by router: not among the routes */
    struct taut_arena memory;
};

static int halves_init(struct halves *h, const struct taut_graph *g,
                       uint32_t rail)
{
    *h = (struct halves){.all_src = 0};
    TAUT_TAKE(&h->memory, h->src, g->routers);
    TAUT_TAKE(&h->memory, h->dst, g->routers);
    TAUT_TAKE(&h->memory, h->dst_of, g->endpoints);
    TAUT_TAKE(&h->memory, h->lost.from, g->routers);
    TAUT_TAKE(&h->memory, h->lost.to, g->routers);
    if (taut_arena_check(&h->memory) < 0)
        return -1;
    for (uint32_t e = rail * g->nodes; e < (rail + 1) * g->nodes; e++) {
        uint32_t r = g->at[e];
        if (r == TAUT_GRAPH_NONE)
            continue;
        uint64_t salt = mix((uint64_t)rail << 32);
        bool is_first = h->src[r] == 0;
        h->src[r] = mix(salt ^ r);
        h->dst_of[e] = g->engine->by_destination ? mix(~salt ^ e)
                       : is_first                ? mix(salt ^ ~(uint64_t)r)
                                                 : 0;
        h->dst[r] += h->dst_of[e];
        h->all_src += is_first ? h->src[r] : 0;
        h->all_dst += h->dst_of[e];
    }
    return 0;
}

struct hashed {
    struct halves *halves;
    uint64_t *hash;
};

static void add_part(void *arg, const struct taut_part *p)
{
    const struct hashed *h = arg;
    uint64_t src = taut_part_weight(h->halves->src, p->from, p->n_from);
    uint64_t dst = taut_part_weight(h->halves->dst, p->to, p->n_to);

    if (p->t != NULL) {
        hash_stages(p->t, src * dst, h->hash);
        return;
    }
    for (uint32_t i = 0; i < p->n_from; i++)
        h->halves->lost.from[p->from[i]] += h->halves->src[p->from[i]] * dst;
    for (uint32_t i = 0; i < p->n_to; i++)
        h->halves->lost.to[p->to[i]] += src * h->halves->dst[p->to[i]];
}

static int walk_links(const struct taut_graph *g, struct halves *h,
                      uint32_t rail, unsigned threads, uint64_t *hash)
{
    struct taut_ends e;

    if (taut_ends_init(&e, g) < 0)
        return -1;
    struct taut_walk w = {.graph = g,
                          .src = e.src,
                          .dst = e.dst,
                          .n_count = g->links,
                          .visit = add_hash,
                          .threads = threads};
    struct taut_walk_sums sums = {.count = hash, .lost = h->lost};
    w.n_src = taut_ends_of_routers(g, h->src, e.src);
    w.n_dst = g->engine->by_destination
                  ? taut_ends_of_rail(g, h->dst_of, rail, e.dst)
                  : taut_ends_of_routers(g, h->dst, e.dst);
    int rc = taut_walk_run(&w, &sums);
    taut_ends_fini(&e);
    return rc;
}

static int hash_links(const struct taut_graph *g, struct halves *h,
                      uint32_t rail, unsigned threads, uint64_t *hash)
{
    struct hashed parts = {.halves = h, .hash = hash};
    int rc = 1;

    if (g->engine->sums != NULL)
        return g->engine->sums(g->self, g, h->src, h->dst, hash, &h->lost);
    if (g->engine->parts != NULL)
        rc = g->engine->parts(g->self, g, h->src, h->dst, add_part, &parts);
    return rc == 1 ? walk_links(g, h, rail, threads, hash) : rc;
}

/* Endpoints of a rail on its router r but e; *other is one of them. */
static uint32_t count_others(const struct taut_graph *g, uint32_t rail,
                             uint32_t e, uint32_t *other)
{
    uint32_t r = g->at[e], n = 0;

    for (uint32_t i = g->on_first[r]; i < g->on_first[r + 1]; i++)
        if (g->on[i] != e && g->on[i] / g->nodes == rail) {
            *other = g->on[i];
            n++;
        }
    return n;
}

/* A tx is on all routes from its node.  Alone on its router, these are the
 * routes from the router; beside others it is like no link, and like an rx
 * only where two nodes have no routes but to each other. */
static void hash_ports(const struct taut_graph *g, const struct halves *h,
                       uint32_t rail, uint64_t *hash)
{
    for (uint32_t e = rail * g->nodes; e < (rail + 1) * g->nodes; e++) {
        uint32_t r = g->at[e], other = e;
        if (r == TAUT_GRAPH_NONE)
            continue;
        uint32_t others = count_others(g, rail, e, &other);
        uint64_t from = h->src[r] * (h->all_dst - h->dst[r]) - h->lost.from[r];
        uint64_t to = h->dst[r] * (h->all_src - h->src[r]) - h->lost.to[r];
        bool is_pair = others == 1 && from == 0 && to == 0;
        hash[taut_graph_tx(e)] = others > 0 ? mix(taut_graph_tx(e)) : from;
        hash[taut_graph_rx(e)] = others == 0 ? to
                                 : is_pair   ? mix(taut_graph_tx(other))
                                             : mix(taut_graph_rx(e));
    }
}

int taut_load_hash(const struct taut_graph *g, unsigned threads, uint64_t *hash)
{
    int rc = 0;

    memset(hash, 0, g->components * sizeof(*hash));
    for (uint32_t k = 0; rc == 0 && k < g->rails; k++) {
        struct halves h;
        rc = halves_init(&h, g, k);
        if (rc < 0)
            break;
        rc = hash_links(g, &h, k, threads, hash + 2 * (size_t)g->endpoints);
        hash_ports(g, &h, k, hash);
        taut_arena_free(&h.memory);
    }
    return rc;
}
