/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/lib/graph/engine.h"

static int check_limit(const char *what, uint32_t value, uint32_t min,
                       uint32_t max, struct taut_error *err)
{
    if (value >= min && value <= max)
        return 0;
    errno = EINVAL;
    return taut_error_set(err, "%u %s, expected %u to %u", value, what, min,
                          max);
}

static uint32_t *new_u32(struct taut_arena *m, size_t n, uint32_t value)
{
    uint32_t *a = taut_arena_take(m, n + 1, sizeof(*a));

    for (size_t i = 0; a != NULL && i < n; i++)
        a[i] = value;
    return a;
}

static double *new_double(struct taut_arena *m, size_t n, double value)
{
    double *a = taut_arena_take(m, n + 1, sizeof(*a));

    for (size_t i = 0; a != NULL && i < n; i++)
        a[i] = value;
    return a;
}

static int allocate(struct taut_graph *g)
{
    struct taut_arena *m = &g->memory;

    g->from = new_u32(m, g->links, 0);
    g->to = new_u32(m, g->links, 0);
    g->back = new_u32(m, g->links, TAUT_GRAPH_NONE);
    g->at = new_u32(m, g->endpoints, TAUT_GRAPH_NONE);
    g->capacity = new_double(m, g->components, 0);
    g->left = new_double(m, g->components, 1);
    g->out_first = new_u32(m, (size_t)g->routers + 1, 0);
    g->in_first = new_u32(m, (size_t)g->routers + 1, 0);
    g->on_first = new_u32(m, (size_t)g->routers + 1, 0);
    g->out = new_u32(m, g->links, 0);
    g->in = new_u32(m, g->links, 0);
    g->on = new_u32(m, g->endpoints, 0);
    return g->memory.is_short ? -1 : 0;
}

struct taut_graph *taut_graph_create(uint32_t routers, uint32_t nodes,
                                     uint32_t rails, uint32_t links,
                                     struct taut_error *err)
{
    if (check_limit("routers", routers, 1, TAUT_GRAPH_MAX_ROUTERS, err) < 0 ||
        check_limit("nodes", nodes, 1, TAUT_GRAPH_MAX_NODES, err) < 0 ||
        check_limit("rails", rails, 1, TAUT_GRAPH_MAX_RAILS, err) < 0 ||
        check_limit("links", links, 0, TAUT_GRAPH_MAX_LINKS, err) < 0)
        return NULL;
    struct taut_graph *g = calloc(1, sizeof(*g));
    if (g == NULL)
        return NULL;
    g->routers = routers;
    g->nodes = nodes;
    g->rails = rails;
    g->endpoints = nodes * rails;
    g->links = links;
    g->components = 2 * g->endpoints + links;
    if (allocate(g) < 0) {
        taut_graph_destroy(g);
        errno = ENOMEM;
        taut_error_set(err, "out of memory for %u links", links);
        return NULL;
    }
    return g;
}

void taut_graph_destroy(struct taut_graph *g)
{
    int saved = errno;

    if (g == NULL)
        return;
    if (g->engine != NULL)
        g->engine->destroy(g->self);
    taut_arena_free(&g->memory);
    free(g);
    errno = saved;
}

static int check_link(const struct taut_graph *g, uint32_t l,
                      struct taut_error *err)
{
    errno = EINVAL;
    if (g->from[l] >= g->routers || g->to[l] >= g->routers)
        return taut_error_set(err, "link %u goes from router %u to %u of %u", l,
                              g->from[l], g->to[l], g->routers);
    if (g->from[l] == g->to[l])
        return taut_error_set(err, "link %u goes from router %u to itself", l,
                              g->from[l]);
    uint32_t b = g->back[l];
    if (b != TAUT_GRAPH_NONE &&
        (b >= g->links || g->from[b] != g->to[l] || g->to[b] != g->from[l]))
        return taut_error_set(err, "link %u is not the way back of link %u", b,
                              l);
    return 0;
}

static int check_filled(const struct taut_graph *g, struct taut_error *err)
{
    for (uint32_t l = 0; l < g->links; l++)
        if (check_link(g, l, err) < 0)
            return -1;
    errno = EINVAL;
    for (uint32_t e = 0; e < g->endpoints; e++)
        if (g->at[e] >= g->routers && g->at[e] != TAUT_GRAPH_NONE)
            return taut_error_set(err, "endpoint %u is on router %u of %u", e,
                                  g->at[e], g->routers);
    for (uint32_t c = 0; c < g->components; c++)
        if (!(g->capacity[c] > 0) || isinf(g->capacity[c]))
            return taut_error_set(err, "component %u: capacity %g", c,
                                  g->capacity[c]);
    return 0;
}

/* first[r] … first[r + 1] - 1: the places in 'list' of those whose key is r,
 * in their order. */
static void index_by(const uint32_t *key, uint32_t n, uint32_t keys,
                     uint32_t *first, uint32_t *list)
{
    memset(first, 0, ((size_t)keys + 1) * sizeof(*first));
    for (uint32_t i = 0; i < n; i++)
        if (key[i] != TAUT_GRAPH_NONE)
            first[key[i] + 1]++;
    for (uint32_t k = 0; k < keys; k++)
        first[k + 1] += first[k];
    for (uint32_t i = 0; i < n; i++)
        if (key[i] != TAUT_GRAPH_NONE)
            list[first[key[i]]++] = i;
    for (uint32_t k = keys; k > 0; k--) /* the loop above moved them on */
        first[k] = first[k - 1];
    first[0] = 0;
}

static void pair_links(struct taut_graph *g)
{
    for (uint32_t l = 0; l < g->links; l++) {
        uint32_t r = g->to[l];
        for (uint32_t i = g->out_first[r];
             g->back[l] == TAUT_GRAPH_NONE && i < g->out_first[r + 1]; i++) {
            uint32_t b = g->out[i];
            if (g->to[b] == g->from[l] && g->back[b] == TAUT_GRAPH_NONE) {
                g->back[l] = b;
                g->back[b] = l;
            }
        }
    }
}

int taut_graph_seal(struct taut_graph *g, struct taut_error *err)
{
    if (check_filled(g, err) < 0)
        return -1;
    index_by(g->from, g->links, g->routers, g->out_first, g->out);
    index_by(g->to, g->links, g->routers, g->in_first, g->in);
    index_by(g->at, g->endpoints, g->routers, g->on_first, g->on);
    pair_links(g);
    return 0;
}

void taut_graph_route_by(struct taut_graph *g, const struct taut_engine *e,
                         void *self, uint32_t max_entries)
{
    if (g->engine != NULL)
        g->engine->destroy(g->self);
    g->engine = e;
    g->self = self;
    g->max_entries = max_entries;
}

int taut_graph_update(struct taut_graph *g, struct taut_error *err)
{
    if (g->engine == NULL || g->engine->update == NULL)
        return 0;
    return g->engine->update(g->self, g, err);
}

/* ---- routes ---- */

int taut_route_init(struct taut_route *t, const struct taut_graph *g)
{
    *t = (struct taut_route){.max_entries = g->max_entries};
    t->link = new_u32(&t->memory, (size_t)g->max_entries + TAUT_ROUTE_SLACK, 0);
    t->end = new_u32(&t->memory, g->max_entries, 0);
    t->weight = new_double(&t->memory, g->max_entries, 0);
    return taut_arena_check(&t->memory);
}

void taut_route_fini(struct taut_route *t)
{
    taut_arena_free(&t->memory);
    *t = (struct taut_route){.entries = 0};
}

/* From the first set on, all stages have an end and weights. */
static void begin_sets(struct taut_route *t)
{
    for (uint32_t i = 0; !t->has_sets && i < t->stages; i++) {
        t->end[i] = i + 1;
        t->weight[i] = 1;
    }
    t->has_sets = true;
}

void taut_route_add(struct taut_route *t, uint32_t link)
{
    if (t->entries >= t->max_entries)
        return; /* the engine promised that this cannot be */
    t->link[t->entries] = link;
    t->weight[t->entries] = 1;
    t->end[t->stages++] = ++t->entries;
}

void taut_route_add_set(struct taut_route *t, const uint32_t *link,
                        const double *weight, uint32_t n)
{
    double sum = 0;

    if (n <= 1) {
        if (n == 1)
            taut_route_add(t, link[0]);
        return;
    }
    if (n > t->max_entries - t->entries)
        return;
    begin_sets(t);
    for (uint32_t i = 0; i < n; i++)
        sum += weight != NULL ? weight[i] : 1;
    for (uint32_t i = 0; i < n; i++) {
        t->link[t->entries] = link[i];
        t->weight[t->entries++] = (weight != NULL ? weight[i] : 1) / sum;
    }
    t->end[t->stages++] = t->entries;
}

void taut_route_add_part(struct taut_route *t, const uint32_t *link,
                         const double *weight, uint32_t n)
{
    if (n == 1 && weight[0] >= 1 - 1e-9) {
        taut_route_add(t, link[0]);
        return;
    }
    if (n == 0 || n > t->max_entries - t->entries)
        return;
    begin_sets(t);
    for (uint32_t i = 0; i < n; i++) {
        t->link[t->entries] = link[i];
        t->weight[t->entries++] = weight[i];
    }
    t->end[t->stages++] = t->entries;
}

void taut_lost_add(struct taut_lost *lost, uint32_t r, uint32_t s,
                   uint64_t amount)
{
    lost->pairs += amount;
    if (lost->from != NULL) {
        lost->from[r] += amount;
        lost->to[s] += amount;
    }
    if (lost->count < lost->max) {
        lost->pair[2 * lost->count] = r;
        lost->pair[2 * lost->count + 1] = s;
        lost->count++;
    }
}

uint64_t taut_part_weight(const uint64_t *w, const uint32_t *router, uint32_t n)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < n; i++)
        sum += w[router[i]];
    return sum;
}

int taut_graph_route(const struct taut_graph *g, uint32_t r, uint32_t s,
                     uint32_t dst, struct taut_route *t)
{
    taut_route_begin(t);
    if (r == s)
        return 0;
    return g->engine->route(g->self, g, r, s, dst, t);
}

bool taut_graph_crosses(const struct taut_graph *g, uint32_t r, uint32_t s,
                        uint32_t dst, uint32_t link, struct taut_route *t)
{
    if (r == s)
        return false;
    if (g->engine->crosses != NULL)
        return g->engine->crosses(g->self, g, r, s, dst, link);
    if (taut_graph_route(g, r, s, dst, t) != 0)
        return false;
    for (uint32_t i = 0; i < t->entries; i++)
        if (t->link[i] == link)
            return true;
    return false;
}

uint32_t taut_graph_hops(const struct taut_graph *g, uint32_t r, uint32_t s,
                         uint32_t dst, struct taut_route *t)
{
    if (r == s)
        return 0;
    if (g->engine->hops != NULL)
        return g->engine->hops(g->self, g, r, s, dst);
    int rc = taut_graph_route(g, r, s, dst, t);
    if (rc == TAUT_ROUTE_NO_MEMORY)
        return TAUT_HOPS_NO_MEMORY;
    return rc < 0 ? UINT32_MAX : t->stages;
}
