/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the steps of patterns put on the components.
 *
 * load(c) is in bytes, of one round of a step.  A step of pairs is walked pair
 * by pair (pairs.c).  An all-to-all of n ranks has n (n - 1) of them, and is
 * summed up instead.  Let w(a) be the ranks on node a; 'each' the bytes of a
 * pair of ranks.  Node a sends to node b
 *
 *   each * w(a) * w(b)      a != b; what stays in a node loads nothing
 *
 * spread evenly over the rails that both have.  Nodes with the same rails are a
 * group.  Between the groups A and B, K rails being common to both,
 *
 *   load(tx of a, rail k) = each / K * w(a) * (ranks of B, without those of a)
 *   load(link l) = each / K * sum over a in A, b in B of w(a) w(b) u(a, b, l)
 *
 *   u   share of the route from a to b that is on l, 0..1
 *
 * and rx likewise.  The sum is taut_load_between's, which engines make of
 * products of sums; nearly everywhere there is one group.  Where some pair has
 * no route on one of several rails its part goes to the others, for which there
 * is no such sum: then all pairs of nodes are walked, as they are with more
 * than MAX_GROUPS groups. */
#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/lib/flow/pairs.h"
#include "advisor/lib/flow/traffic.h"
#include "advisor/lib/graph/load.h"

#define NONE TAUT_GRAPH_NONE
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

/* ---- pairs ---- */

static int load_pairs(struct taut_traffic *w, const struct taut_traffic_step *s,
                      const uint32_t *node)
{
    struct taut_pairs x;

    if (taut_pairs_init(&x, s->n) < 0)
        return -1;
    for (uint32_t i = 0; i < s->n; i++)
        taut_pairs_add(&x, w->g, node[s->src[i]], node[s->dst[i]], 1,
                       s->bytes != NULL ? s->bytes[i] : s->each);
    int rc = taut_pairs_load(w, &x);
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
    uint64_t set;
    uint64_t ranks;
};

/* A node's group, found or made; the number of them has no limit but that of
 * sets, and is one nearly everywhere. */
static uint32_t group_of(struct group *groups, uint32_t *n, uint64_t set)
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
        uint64_t set = taut_rails_of(w->g, w->used[i]);
        if (n == MAX_GROUPS)
            return 0;
        groups[group_of(groups, &n, set)].ranks += w->count[w->used[i]];
    }
    return n;
}

/* weight[e] = times * w(a) for the endpoints e of the nodes a of group 'of', on
 * the rails that 'on' has, too. */
static void weigh(struct taut_traffic *w, uint64_t *weight, uint64_t of,
                  uint64_t on, uint64_t times)
{
    const struct taut_graph *g = w->g;

    for (uint32_t i = 0; i < w->n_used; i++) {
        uint32_t node = w->used[i];
        if (taut_rails_of(g, node) != of)
            continue;
        for (uint32_t k = 0; k < g->rails; k++)
            if (of & on & (UINT64_C(1) << k))
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
static int count_between(struct taut_traffic *w, uint64_t from, uint64_t to,
                         double *link, uint64_t *lost)
{
    const uint64_t *dst = from == to ? w->src : w->dst;
    struct taut_lost missed = {0};

    weigh(w, w->src, from, to, 1);
    if (from != to)
        weigh(w, w->dst, to, from, 1);
    int rc = taut_load_between(w->g, w->src, dst, TAUT_PAIRS_THREADS, false,
                               link, &missed);
    clear_weights(w, w->src);
    if (from != to)
        clear_weights(w, w->dst);
    *lost += missed.pairs;
    return rc;
}

/* The links, from one group to another.
 *   only  there is no other group: the links have nothing yet, and the sums
 *         can be made in place */
static int load_between(struct taut_traffic *w, uint64_t from, uint64_t to,
                        double each, bool only, uint64_t *lost)
{
    const struct taut_graph *g = w->g;
    double *load = w->load + taut_graph_link(g, 0);
    double share = each / taut_rails_count(from & to);
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
    uint64_t both = from->set & to->set;
    double share = both != 0 ? each / taut_rails_count(both) : 0;

    for (uint32_t i = 0; i < w->n_used; i++) {
        uint32_t node = w->used[i], n = w->count[node];
        uint64_t others = to->ranks - (from->set == to->set ? n : 0);
        if (taut_rails_of(w->g, node) != from->set)
            continue;
        if (both == 0)
            w->lost += n * others;
        else
            taut_pairs_ports(w, node, node, both, share * n * (double)others);
    }
}

/* All pairs of nodes one by one, in chunks: a chunk ends with the row of a
 * node, so it has less than CHUNK + n_used pairs. */
static int walk_all(struct taut_traffic *w, double each)
{
    size_t most = w->n_used < 2 ? 1 : (size_t)w->n_used * w->n_used;
    struct taut_pairs x;
    int rc = 0;

    most = most < CHUNK ? most : CHUNK + w->n_used;
    if (taut_pairs_init(&x, most) < 0)
        return -1;
    for (uint32_t i = 0; rc == 0 && i < w->n_used; i++) {
        for (uint32_t j = 0; j < w->n_used; j++) {
            uint32_t a = w->used[i], b = w->used[j];
            uint64_t ranks = (uint64_t)w->count[a] * w->count[b];
            taut_pairs_add(&x, w->g, a, b, ranks, each * (double)ranks);
        }
        if (x.n < CHUNK && i + 1 < w->n_used)
            continue;
        rc = taut_pairs_load(w, &x);
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
