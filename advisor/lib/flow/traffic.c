/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the steps of patterns put on the components. */
#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/lib/flow/traffic.h"
#include "advisor/lib/graph/load.h"

#define NONE TAUT_GRAPH_NONE
#define THREADS 2 /* for walks; the daemon has other work, too */
#define CHUNK (UINT32_C(1) << 20) /* pairs looked at in one go */

/* ---- room ---- */

void taut_traffic_destroy(struct taut_traffic *w)
{
    if (w == NULL)
        return;
    taut_route_fini(&w->route);
    taut_arena_free(&w->memory);
    free(w);
}

struct taut_traffic *taut_traffic_create(const struct taut_graph *g)
{
    struct taut_traffic *w = calloc(1, sizeof(*w));

    if (w == NULL)
        return NULL;
    w->g = g;
    TAUT_TAKE(&w->memory, w->left, g->components);
    TAUT_TAKE(&w->memory, w->background, g->components);
    TAUT_TAKE(&w->memory, w->load, g->components);
    TAUT_TAKE(&w->memory, w->total, g->components);
    TAUT_TAKE(&w->memory, w->count, g->nodes);
    TAUT_TAKE(&w->memory, w->used, g->nodes);
    TAUT_TAKE(&w->memory, w->src, g->endpoints);
    TAUT_TAKE(&w->memory, w->dst, g->endpoints);
    TAUT_TAKE(&w->memory, w->link, (size_t)g->links + 1);
    if (w->memory.is_short || taut_route_init(&w->route, g) < 0) {
        taut_traffic_destroy(w);
        errno = ENOMEM;
        return NULL;
    }
    for (uint32_t c = 0; c < g->components; c++)
        w->left[c] = 1;
    return w;
}

/* ---- rails ---- */

/* Rails are bits of a set here. */
static uint32_t rails_of(const struct taut_graph *g, uint32_t node)
{
    uint32_t set = 0;

    for (uint32_t k = 0; k < g->rails; k++)
        if (g->at[k * g->nodes + node] != NONE)
            set |= UINT32_C(1) << k;
    return set;
}

static uint32_t count_bits(uint32_t set)
{
    return (uint32_t)__builtin_popcount(set);
}

static void add_ports(struct taut_traffic *w, uint32_t a, uint32_t b,
                      uint32_t set, double share)
{
    const struct taut_graph *g = w->g;

    for (uint32_t k = 0; set != 0; k++, set >>= 1)
        if (set & 1) {
            w->load[taut_graph_tx(k * g->nodes + a)] += share;
            w->load[taut_graph_rx(k * g->nodes + b)] += share;
        }
}

/* ---- pairs ---- */

/* Pairs of nodes, and which rails carry each. */
struct batch {
    uint32_t n;
    uint32_t *a, *b;   /* [n] nodes, a != b */
    double *bytes;     /* [n] */
    uint32_t *set;     /* [n] rails that both have; those left in the end */
    uint32_t *lost_on; /* [n] rails without a route */
    struct taut_flow_pair *pair; /* [n] of one rail */
    uint32_t *index;             /* [n] the pair's number */
    bool *lost;                  /* [n] */
    struct taut_arena memory;
};

static int batch_init(struct batch *x, size_t n)
{
    n++;
    *x = (struct batch){.n = 0};
    TAUT_TAKE(&x->memory, x->a, n);
    TAUT_TAKE(&x->memory, x->b, n);
    TAUT_TAKE(&x->memory, x->bytes, n);
    TAUT_TAKE(&x->memory, x->set, n);
    TAUT_TAKE(&x->memory, x->lost_on, n);
    TAUT_TAKE(&x->memory, x->pair, n);
    TAUT_TAKE(&x->memory, x->index, n);
    TAUT_TAKE(&x->memory, x->lost, n);
    return taut_arena_check(&x->memory);
}

static void batch_add(struct batch *x, const struct taut_graph *g, uint32_t a,
                      uint32_t b, double bytes)
{
    if (a == b || bytes <= 0)
        return;
    x->a[x->n] = a;
    x->b[x->n] = b;
    x->bytes[x->n] = bytes;
    x->set[x->n++] = g->rails == 1 ? g->at[a] != NONE && g->at[b] != NONE
                                   : rails_of(g, a) & rails_of(g, b);
}

/* One rail's pairs, one after the other. */
static int walk_rail(struct taut_traffic *w, struct batch *x, uint32_t rail,
                     uint32_t n)
{
    const struct taut_graph *g = w->g;
    double *load = w->load + taut_graph_link(g, 0);

    for (uint32_t i = 0; i < n; i++) {
        const struct taut_flow_pair *p = &x->pair[i];
        int rc = 0;
        if (p->from != p->to)
            rc = taut_load_route(g, p, rail * g->nodes + x->b[x->index[i]],
                                 load, &w->route);
        if (rc == TAUT_ROUTE_NO_MEMORY) {
            errno = ENOMEM;
            return -1;
        }
        x->lost[i] = rc < 0;
    }
    return 0;
}

static int load_rail(struct taut_traffic *w, struct batch *x, uint32_t rail,
                     uint32_t n)
{
    const struct taut_graph *g = w->g;

    if (n == 0)
        return 0;
    if (g->engine->pair_loads == NULL)
        return walk_rail(w, x, rail, n);
    return g->engine->pair_loads(g->self, g, n, x->pair,
                                 w->load + taut_graph_link(g, 0), x->lost);
}

/* Each pair's part on each of its rails.  'again': only those that some rail
 * lost, and only what the rails that are left have to take on more. */
static int load_rails(struct taut_traffic *w, struct batch *x, bool again)
{
    const struct taut_graph *g = w->g;

    for (uint32_t k = 0; k < g->rails; k++) {
        uint32_t n = 0, bit = UINT32_C(1) << k;
        for (uint32_t i = 0; i < x->n; i++) {
            uint32_t set = x->set[i] & ~x->lost_on[i];
            if (!(set & bit) || (again && x->lost_on[i] == 0))
                continue;
            double amount = x->bytes[i] / count_bits(set);
            if (again)
                amount -= x->bytes[i] / count_bits(x->set[i]);
            x->index[n] = i;
            x->pair[n++] =
                (struct taut_flow_pair){g->at[k * g->nodes + x->a[i]],
                                        g->at[k * g->nodes + x->b[i]], amount};
        }
        memset(x->lost, 0, n * sizeof(*x->lost));
        if (load_rail(w, x, k, n) < 0)
            return -1;
        for (uint32_t i = 0; !again && i < n; i++)
            if (x->lost[i])
                x->lost_on[x->index[i]] |= bit << 16;
    }
    return 0;
}

static int load_batch(struct taut_traffic *w, struct batch *x)
{
    bool any_lost = false;

    if (load_rails(w, x, false) < 0)
        return -1;
    for (uint32_t i = 0; i < x->n; i++) {
        x->lost_on[i] >>= 16;
        any_lost |= x->lost_on[i] != 0;
    }
    if (any_lost && w->g->rails > 1 && load_rails(w, x, true) < 0)
        return -1;
    for (uint32_t i = 0; i < x->n; i++) {
        uint32_t set = x->set[i] & ~x->lost_on[i];
        if (set == 0)
            w->lost++;
        else
            add_ports(w, x->a[i], x->b[i], set, x->bytes[i] / count_bits(set));
    }
    return 0;
}

static int load_pairs(struct taut_traffic *w, const struct taut_traffic_step *s,
                      const uint32_t *node)
{
    struct batch x;

    if (batch_init(&x, s->n) < 0)
        return -1;
    for (uint32_t i = 0; i < s->n; i++)
        batch_add(&x, w->g, node[s->src[i]], node[s->dst[i]],
                  s->bytes != NULL ? s->bytes[i] : s->each);
    int rc = load_batch(w, &x);
    taut_arena_free(&x.memory);
    return rc;
}

/* ---- all-to-all ---- */

/* Ranks on each node; the nodes that have some. */
static void count_ranks(struct taut_traffic *w, const uint32_t *node,
                        uint32_t ranks)
{
    w->n_used = 0;
    for (uint32_t i = 0; i < ranks; i++)
        if (w->count[node[i]]++ == 0)
            w->used[w->n_used++] = node[i];
}

static void forget_ranks(struct taut_traffic *w)
{
    for (uint32_t i = 0; i < w->n_used; i++)
        w->count[w->used[i]] = 0;
    w->n_used = 0;
}

/* Nodes with the same rails. */
struct group {
    uint32_t set;
    uint64_t ranks;
};

/* A node's group, found or made; the number of them has no limit but that of
 * sets, and is one nearly everywhere. */
static uint32_t group_of(struct group *groups, uint32_t *n, uint32_t set)
{
    uint32_t i = 0;

    while (i < *n && groups[i].set != set)
        i++;
    if (i == *n)
        groups[(*n)++] = (struct group){.set = set};
    return i;
}

#define MAX_GROUPS 32

/* Returns how many, or 0 where there are too many. */
static uint32_t find_groups(const struct taut_traffic *w, struct group *groups)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < w->n_used; i++) {
        uint32_t set = rails_of(w->g, w->used[i]);
        if (n == MAX_GROUPS)
            return 0;
        groups[group_of(groups, &n, set)].ranks += w->count[w->used[i]];
    }
    return n;
}

static void weigh(struct taut_traffic *w, uint64_t *weight, uint32_t of,
                  uint32_t on, uint64_t times)
{
    const struct taut_graph *g = w->g;

    for (uint32_t i = 0; i < w->n_used; i++) {
        uint32_t node = w->used[i];
        if (rails_of(g, node) != of)
            continue;
        for (uint32_t k = 0; k < g->rails; k++)
            if (of & on & (UINT32_C(1) << k))
                weight[k * g->nodes + node] = times * w->count[node];
    }
}

static void clear_weights(struct taut_traffic *w, uint64_t *weight)
{
    for (uint32_t i = 0; i < w->n_used; i++)
        for (uint32_t k = 0; k < w->g->rails; k++)
            weight[k * w->g->nodes + w->used[i]] = 0;
}

/* Pairs of ranks on each link, from one group to another. */
static int count_between(struct taut_traffic *w, uint32_t from, uint32_t to,
                         double *link, uint64_t *lost)
{
    const uint64_t *dst = from == to ? w->src : w->dst;
    struct taut_lost missed = {0};

    weigh(w, w->src, from, to, 1);
    if (from != to)
        weigh(w, w->dst, to, from, 1);
    int rc =
        taut_load_between(w->g, w->src, dst, THREADS, false, link, &missed);
    clear_weights(w, w->src);
    if (from != to)
        clear_weights(w, w->dst);
    *lost += missed.pairs;
    return rc;
}

/* The links, from one group to another.
 *   only  there is no other group: the links have nothing yet, and the sums
 *         can be made in place */
static int load_between(struct taut_traffic *w, uint32_t from, uint32_t to,
                        double each, bool only, uint64_t *lost)
{
    const struct taut_graph *g = w->g;
    double *load = w->load + taut_graph_link(g, 0);
    double share = each / count_bits(from & to);
    double *link = only ? load : w->link;

    if (!only)
        memset(link, 0, g->links * sizeof(*link));
    int rc = count_between(w, from, to, link, lost);
    for (uint32_t l = 0; rc == 0 && l < g->links; l++)
        if (link[l] != 0)
            load[l] = link[l] * share + (only ? 0 : load[l]);
    return rc;
}

/* tx and rx, from one group to another. */
static void load_ports(struct taut_traffic *w, const struct group *from,
                       const struct group *to, double each)
{
    uint32_t both = from->set & to->set;
    double share = both != 0 ? each / count_bits(both) : 0;

    for (uint32_t i = 0; i < w->n_used; i++) {
        uint32_t node = w->used[i], n = w->count[node];
        uint64_t others = to->ranks - (from->set == to->set ? n : 0);
        if (rails_of(w->g, node) != from->set)
            continue;
        if (both == 0)
            w->lost += n * others;
        else
            add_ports(w, node, node, both, share * n * (double)others);
    }
}

/* All pairs of nodes one by one, in chunks. */
static int walk_all(struct taut_traffic *w, double each)
{
    size_t most = w->n_used < 2 ? 1 : (size_t)w->n_used * w->n_used;
    struct batch x;
    int rc = 0;

    most = most < CHUNK ? most : CHUNK + w->n_used;
    if (batch_init(&x, most) < 0)
        return -1;
    for (uint32_t i = 0; rc == 0 && i < w->n_used; i++) {
        for (uint32_t j = 0; j < w->n_used; j++)
            batch_add(&x, w->g, w->used[i], w->used[j],
                      each * w->count[w->used[i]] * w->count[w->used[j]]);
        if (x.n < CHUNK && i + 1 < w->n_used)
            continue;
        rc = load_batch(w, &x);
        memset(x.lost_on, 0, x.n * sizeof(*x.lost_on));
        x.n = 0;
    }
    taut_arena_free(&x.memory);
    return rc;
}

/* Group by group; where a rail has lost some, its share has to go to others,
 * and pair by pair is the only way to tell. */
static int load_groups(struct taut_traffic *w, double each)
{
    struct group groups[MAX_GROUPS + 1];
    uint32_t n = find_groups(w, groups);
    uint64_t lost = 0, before = w->lost;
    int rc = 0;

    for (uint32_t a = 0; a < n; a++)
        for (uint32_t b = 0; rc == 0 && b < n; b++) {
            load_ports(w, &groups[a], &groups[b], each);
            if ((groups[a].set & groups[b].set) != 0)
                rc = load_between(w, groups[a].set, groups[b].set, each, n == 1,
                                  &lost);
        }
    w->lost += w->g->rails == 1 ? lost : 0;
    if (rc < 0 || (n > 0 && (lost == 0 || w->g->rails == 1)))
        return rc;
    memset(w->load, 0, w->g->components * sizeof(*w->load));
    w->lost = before;
    return walk_all(w, each);
}

int taut_traffic_load(struct taut_traffic *w, const struct taut_traffic_step *s,
                      const uint32_t *node, uint32_t ranks)
{
    memset(w->load, 0, w->g->components * sizeof(*w->load));
    if (!s->all_to_all)
        return load_pairs(w, s, node);
    count_ranks(w, node, ranks);
    int rc = w->n_used < 2 ? 0 : load_groups(w, s->each);
    forget_ranks(w);
    return rc;
}
