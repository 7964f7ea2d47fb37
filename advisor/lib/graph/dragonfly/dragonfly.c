/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/lib/graph/dragonfly/dragonfly.h"

#define FAR TAUT_DRAGONFLY_FAR
#define SEVERAL (TAUT_GRAPH_NONE - 1)

/* ---- ways inside the groups ---- */

/* The healthy links from r to others of its group, where there is only one;
 * of several the second takes the first one's entry away. */
static void find_direct(const struct taut_dragonfly *d,
                        const struct taut_graph *g, uint32_t r,
                        uint32_t *direct)
{
    for (uint32_t i = d->near_first[r]; i < d->near_first[r + 1]; i++) {
        uint32_t l = d->near[i], m = d->member[g->to[l]];
        if (taut_graph_is_up(g, l))
            direct[m] = direct[m] == TAUT_GRAPH_NONE ? l : SEVERAL;
    }
    for (uint32_t i = d->near_first[r]; i < d->near_first[r + 1]; i++) {
        uint32_t m = d->member[g->to[d->near[i]]];
        if (direct[m] == SEVERAL)
            direct[m] = TAUT_GRAPH_NONE;
    }
}

/* Distances from router r to the members of its group. */
static void measure_from(struct taut_dragonfly *d, const struct taut_graph *g,
                         uint32_t r, uint32_t *queue)
{
    uint32_t mine = d->group[r], head = 0, tail = 0;
    uint32_t n = d->group_first[mine + 1] - d->group_first[mine];
    uint8_t *dist = &d->dist[d->dist_first[r]];

    uint32_t *direct = &d->direct[d->dist_first[r]];

    memset(dist, FAR, n);
    memset(direct, 0xff, n * sizeof(*direct)); /* NONE */
    find_direct(d, g, r, direct);
    dist[d->member[r]] = 0;
    queue[tail++] = r;
    while (head < tail) {
        uint32_t at = queue[head++];
        uint8_t steps = dist[d->member[at]];
        for (uint32_t i = d->near_first[at];
             steps < TAUT_DRAGONFLY_LOCAL && i < d->near_first[at + 1]; i++) {
            uint32_t l = d->near[i], to = g->to[l];
            if (dist[d->member[to]] != FAR || !taut_graph_is_up(g, l))
                continue;
            dist[d->member[to]] = (uint8_t)(steps + 1);
            queue[tail++] = to;
        }
    }
    d->is_whole[mine] = d->is_whole[mine] && tail == n;
}

static int dragonfly_update(void *self, const struct taut_graph *g,
                            struct taut_error *err)
{
    struct taut_dragonfly *d = self;
    uint32_t *queue = malloc(g->routers * sizeof(*queue));

    if (queue == NULL)
        return taut_error_set(err, "out of memory");
    memset(d->is_whole, 1, d->groups * sizeof(*d->is_whole));
    for (uint32_t r = 0; r < g->routers; r++)
        measure_from(d, g, r, queue);
    free(queue);
    return 0;
}

/* ---- blame ---- */

static void blame_link(const struct taut_graph *g, uint32_t l,
                       struct taut_route *t)
{
    for (uint32_t i = 0; i < t->entries; i++)
        if (t->link[i] == l)
            return;
    if (!taut_graph_is_up(g, l))
        taut_route_add(t, l);
}

/* What has failed at both routers, and between their groups; where that is
 * nothing, what has failed anywhere in their groups. */
static int dragonfly_blame(const void *self, const struct taut_graph *g,
                           uint32_t r, uint32_t s, uint32_t dst,
                           struct taut_route *t)
{
    const struct taut_dragonfly *d = self;
    size_t p = (size_t)d->group[r] * d->groups + d->group[s];

    (void)dst;
    for (uint32_t i = g->out_first[r]; i < g->out_first[r + 1]; i++)
        blame_link(g, g->out[i], t);
    for (uint32_t i = g->in_first[s]; i < g->in_first[s + 1]; i++)
        blame_link(g, g->in[i], t);
    for (uint32_t i = d->pair_first[p]; i < d->pair_first[p + 1]; i++)
        blame_link(g, d->pair[i], t);
    for (uint32_t l = 0, none = t->entries == 0; none && l < g->links; l++)
        if (d->group[g->from[l]] == d->group[r] ||
            d->group[g->to[l]] == d->group[s])
            blame_link(g, l, t);
    return t->entries > 0 ? 0 : -1;
}

/* ---- building ---- */

static void dragonfly_destroy(void *self)
{
    struct taut_dragonfly *d = self;

    if (d->spare != NULL)
        free(atomic_load(&d->spare->room));
    taut_arena_free(&d->memory);
    free(d);
}

static const struct taut_engine dragonfly_engine = {
    .name = "dragonfly",
    .route = taut_dragonfly_route,
    .hops = taut_dragonfly_hops,
    .blame = dragonfly_blame,
    .update = dragonfly_update,
    .loads = taut_dragonfly_loads,
    .pair_loads = taut_dragonfly_pair_loads,
    .parts = taut_dragonfly_parts,
    .destroy = dragonfly_destroy,
};

static int check(const struct taut_graph *g,
                 const struct taut_dragonfly_conf *c, struct taut_error *err)
{
    errno = EINVAL;
    if (c->mode < TAUT_DRAGONFLY_MINIMAL || c->mode > TAUT_DRAGONFLY_VALIANT)
        return taut_error_set(err, "mode %d is not known", (int)c->mode);
    if (!(c->misrouted >= 0 && c->misrouted <= 1))
        return taut_error_set(err, "misrouted %g, expected 0 to 1",
                              c->misrouted);
    for (uint32_t r = 0; r < g->routers; r++)
        if (c->group[r] >= TAUT_DRAGONFLY_MAX_GROUPS)
            return taut_error_set(err,
                                  "router %u in group %u, expected 0 to "
                                  "%d",
                                  r, c->group[r],
                                  TAUT_DRAGONFLY_MAX_GROUPS - 1);
    return 0;
}

static bool allocate(struct taut_dragonfly *d, const struct taut_graph *g)
{
    size_t pairs = (size_t)d->groups * d->groups;

    TAUT_TAKE(&d->memory, d->group, g->routers);
    TAUT_TAKE(&d->memory, d->member, g->routers);
    TAUT_TAKE(&d->memory, d->group_first, (size_t)d->groups + 1);
    TAUT_TAKE(&d->memory, d->routers, g->routers);
    TAUT_TAKE(&d->memory, d->near_first, (size_t)g->routers + 1);
    TAUT_TAKE(&d->memory, d->near, (size_t)g->links + 1);
    TAUT_TAKE(&d->memory, d->dist_first, g->routers);
    TAUT_TAKE(&d->memory, d->is_whole, d->groups);
    TAUT_TAKE(&d->memory, d->spare, 1);
    TAUT_TAKE(&d->memory, d->pair_first, pairs + 1);
    TAUT_TAKE(&d->memory, d->pair, (size_t)g->links + 1);
    return !d->memory.is_short;
}

/* The usual two passes: first[k + 1] counts, then moves on to first[k]. */
static void list_members(struct taut_dragonfly *d, uint32_t routers)
{
    for (uint32_t r = 0; r < routers; r++)
        d->member[r] = d->group_first[d->group[r] + 1]++;
    for (uint32_t k = 0; k < d->groups; k++)
        d->group_first[k + 1] += d->group_first[k];
    for (uint32_t r = 0; r < routers; r++)
        d->routers[d->group_first[d->group[r]] + d->member[r]] = r;
}

static void list_near(struct taut_dragonfly *d, const struct taut_graph *g)
{
    uint32_t n = 0;

    for (uint32_t r = 0; r < g->routers; r++) {
        d->near_first[r] = n;
        for (uint32_t i = g->out_first[r]; i < g->out_first[r + 1]; i++)
            if (d->group[g->to[g->out[i]]] == d->group[r])
                d->near[n++] = g->out[i];
    }
    d->near_first[g->routers] = n;
}

static void list_pairs(struct taut_dragonfly *d, const struct taut_graph *g)
{
    size_t pairs = (size_t)d->groups * d->groups;

    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t l = 0; l < g->links; l++) {
            uint32_t a = d->group[g->from[l]], b = d->group[g->to[l]];
            size_t p = (size_t)a * d->groups + b;
            if (a != b && pass == 0)
                d->pair_first[p + 1]++;
            else if (a != b)
                d->pair[d->pair_first[p]++] = l;
        }
        for (size_t p = 0; pass == 0 && p < pairs; p++)
            d->pair_first[p + 1] += d->pair_first[p];
    }
    for (size_t p = pairs; p > 0; p--) /* the second pass moved them on */
        d->pair_first[p] = d->pair_first[p - 1];
    d->pair_first[0] = 0;
}

static bool place(struct taut_dragonfly *d, const struct taut_graph *g)
{
    size_t n = 0;

    for (uint32_t r = 0; r < g->routers; r++) {
        d->dist_first[r] = n;
        n += d->group_first[d->group[r] + 1] - d->group_first[d->group[r]];
    }
    TAUT_TAKE(&d->memory, d->dist, n + 1);
    TAUT_TAKE(&d->memory, d->direct, n + 1);
    return !d->memory.is_short;
}

/* A stage holds a link once.  Each hop of each leg is a stage: both ends'
 * groups have one leg, all others together another one. */
static uint32_t entries_max(const struct taut_dragonfly *d,
                            const struct taut_graph *g)
{
    uint32_t inside = 0, most = 0;

    for (uint32_t k = 0; k < d->groups; k++) {
        uint32_t n = 0;
        for (uint32_t i = d->group_first[k]; i < d->group_first[k + 1]; i++)
            n +=
                d->near_first[d->routers[i] + 1] - d->near_first[d->routers[i]];
        inside += n;
        most = n > most ? n : most;
    }
    return TAUT_DRAGONFLY_LOCAL * (inside + 2 * most) + 2 * g->links;
}

int taut_dragonfly_create(struct taut_graph *g,
                          const struct taut_dragonfly_conf *conf,
                          struct taut_error *err)
{
    struct taut_dragonfly *d;

    if (check(g, conf, err) < 0)
        return -1;
    d = calloc(1, sizeof(*d));
    if (d == NULL)
        return taut_error_set(err, "out of memory");
    d->mode = conf->mode;
    d->misrouted = conf->misrouted;
    for (uint32_t r = 0; r < g->routers; r++)
        if (conf->group[r] >= d->groups)
            d->groups = conf->group[r] + 1;
    if (!allocate(d, g))
        goto memory;
    memcpy(d->group, conf->group, g->routers * sizeof(*d->group));
    list_members(d, g->routers);
    list_near(d, g);
    list_pairs(d, g);
    if (!place(d, g))
        goto memory;
    taut_graph_route_by(g, &dragonfly_engine, d, entries_max(d, g));
    return taut_graph_update(g, err);
memory:
    dragonfly_destroy(d);
    errno = ENOMEM;
    return taut_error_set(err, "out of memory for %u routers", g->routers);
}
