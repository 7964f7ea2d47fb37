/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/lib/graph/updown/steps.h"

/* A copy of an optional array. */
static uint32_t *copy_u32(struct taut_updown *u, const uint32_t *a, size_t n)
{
    uint32_t *b =
        a != NULL ? taut_arena_take(&u->memory, n + 1, sizeof(*b)) : NULL;

    if (b != NULL)
        memcpy(b, a, n * sizeof(*b));
    return b;
}

static void updown_destroy(void *self)
{
    struct taut_updown *u = self;

    taut_updown_rows_fini(u);
    taut_arena_free(&u->memory);
    free(u);
}

static int updown_update(void *self, const struct taut_graph *g,
                         struct taut_error *err)
{
    (void)g;
    (void)err;
    taut_updown_rows_drop(self);
    return 0;
}

/* The link from c->at down to router s, where there is just one: a spine has
 * many links down, a leaf few into it. */
static uint32_t only_link(const struct taut_updown_choice *c, uint32_t s)
{
    const struct taut_graph *g = c->g;
    uint32_t found = TAUT_GRAPH_NONE;

    if (c->row[c->at] != (TAUT_UPDOWN_DOWN | 1))
        return TAUT_GRAPH_NONE;
    for (uint32_t k = g->in_first[s]; k < g->in_first[s + 1]; k++) {
        uint32_t l = g->in[k];
        if (g->from[l] != c->at)
            continue;
        if (found != TAUT_GRAPH_NONE || !taut_graph_is_up(g, l))
            return TAUT_GRAPH_NONE;
        found = l;
    }
    return found;
}

static int walk(struct taut_updown_choice *c, uint32_t s, uint32_t key,
                struct taut_route *t)
{
    if (c->row[c->at] == TAUT_UPDOWN_FAR)
        return -1;
    while (c->at != s) {
        uint32_t l = only_link(c, s);
        if (l == TAUT_GRAPH_NONE)
            l = taut_updown_next_link(c, key);
        if (l == TAUT_GRAPH_NONE)
            return -1;
        taut_route_add(t, l);
        c->at = c->g->to[l];
    }
    return 0;
}

static int route_one(const void *self, const struct taut_graph *g, uint32_t r,
                     uint32_t s, uint32_t dst, struct taut_route *t)
{
    const struct taut_updown *u = self;
    struct taut_updown_choice c = {
        .u = u, .g = g, .row = taut_updown_row_take(u, g, s), .at = r};

    if (c.row == NULL)
        return TAUT_ROUTE_NO_MEMORY;
    int status = walk(&c, s, taut_updown_key_of(u, g, s, dst), t);
    taut_updown_row_give(u, c.row);
    return status;
}

/* ---- equal shares ---- */

/* Routers that traffic reaches with the same number of hops, and the share
 * of it that reaches each. */
struct front {
    uint32_t n;
    uint32_t *router;
    double *share; /* by router, 0 outside of the front */
};

static int front_init(struct front *f, uint32_t routers)
{
    f->n = 0;
    f->router = malloc(routers * sizeof(*f->router));
    f->share = calloc(routers, sizeof(*f->share));
    return f->router != NULL && f->share != NULL ? 0 : -1;
}

static void front_fini(struct front *f)
{
    free(f->router);
    free(f->share);
}

static void front_add(struct front *f, uint32_t r, double share)
{
    if (f->share[r] == 0)
        f->router[f->n++] = r;
    f->share[r] += share;
}

/* Split what is at router r over its links: they become entries of the
 * stage, 'next' gets their far ends. */
static void split(const struct taut_updown_choice *c, double share,
                  struct front *next, uint32_t *link, double *weight,
                  uint32_t *n)
{
    uint32_t first, end, old = *n;

    taut_updown_candidates(c, &first, &end);
    for (uint32_t i = first; i < end; i++)
        if (taut_updown_is_usable(c, i))
            link[(*n)++] = c->u->link[i];
    for (uint32_t i = old; i < *n; i++) {
        weight[i] = share / (*n - old);
        front_add(next, c->g->to[link[i]], weight[i]);
    }
}

static uint32_t front_links(const struct taut_graph *g, const struct front *f)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < f->n; i++)
        n += g->out_first[f->router[i] + 1] - g->out_first[f->router[i]];
    return n;
}

/* The last stage, into router s: a spine has a link to every leaf, so these
 * are found from the leaf. */
static void join(const struct taut_updown_choice *c, uint32_t s,
                 const struct front *now, struct front *next, uint32_t *link,
                 double *weight, uint32_t *n)
{
    const struct taut_graph *g = c->g;

    for (uint32_t k = g->in_first[s]; k < g->in_first[s + 1]; k++) {
        uint32_t l = g->in[k], r = g->from[l];
        if (now->share[r] <= 0 || !taut_updown_is_step(c, r, s) ||
            !(c->healthy || taut_graph_is_up(g, l)))
            continue;
        link[(*n)++] = l;
        next->share[r] += 1; /* so many links share what is at r */
    }
    for (uint32_t i = 0; i < *n; i++) {
        uint32_t r = g->from[link[i]];
        weight[i] = now->share[r] / next->share[r];
    }
    for (uint32_t i = 0; i < *n; i++)
        next->share[g->from[link[i]]] = 0;
}

static int stage(struct taut_updown_choice *c, uint32_t last, struct front *now,
                 struct front *next, struct taut_route *t)
{
    const struct taut_graph *g = c->g;
    uint32_t n = 0;
    uint32_t most = last != TAUT_GRAPH_NONE
                        ? g->in_first[last + 1] - g->in_first[last]
                        : front_links(g, now);
    uint32_t *link = malloc((most + 1) * sizeof(*link));
    double *weight = malloc((most + 1) * sizeof(*weight));
    int status = link != NULL && weight != NULL ? 0 : TAUT_ROUTE_NO_MEMORY;

    if (status == 0 && last != TAUT_GRAPH_NONE)
        join(c, last, now, next, link, weight, &n);
    for (uint32_t i = 0; status == 0 && last == TAUT_GRAPH_NONE && i < now->n;
         i++) {
        c->at = now->router[i];
        split(c, now->share[c->at], next, link, weight, &n);
        now->share[c->at] = 0;
    }
    now->n = 0;
    if (status == 0)
        taut_route_add_set(t, link, weight, n);
    free(link);
    free(weight);
    return status;
}

/* Stage by stage from c->at to router s, 'hops' of them. */
static int spread(struct taut_updown_choice *c, uint32_t s, uint32_t hops,
                  struct taut_route *t)
{
    struct front f[2] = {{0}, {0}};
    int status = TAUT_ROUTE_NO_MEMORY;

    if (front_init(&f[0], c->g->routers) == 0 &&
        front_init(&f[1], c->g->routers) == 0) {
        front_add(&f[0], c->at, 1);
        status = 0;
    }
    for (uint32_t h = 0; status == 0 && h < hops; h++)
        status = stage(c, h + 1 == hops && h > 0 ? s : TAUT_GRAPH_NONE,
                       &f[h % 2], &f[(h + 1) % 2], t);
    front_fini(&f[0]);
    front_fini(&f[1]);
    return status;
}

static int route_shared(const void *self, const struct taut_graph *g,
                        uint32_t r, uint32_t s, uint32_t dst,
                        struct taut_route *t)
{
    const struct taut_updown *u = self;
    struct taut_updown_choice c = {
        .u = u, .g = g, .row = taut_updown_row_take(u, g, s), .at = r};
    int status = -1;

    (void)dst;
    if (c.row == NULL)
        return TAUT_ROUTE_NO_MEMORY;
    if (c.row[r] != TAUT_UPDOWN_FAR)
        status = spread(&c, s, c.row[r] & TAUT_UPDOWN_FAR, t);
    taut_updown_row_give(u, c.row);
    return status;
}

/* ---- both ---- */

static uint32_t updown_hops(const void *self, const struct taut_graph *g,
                            uint32_t r, uint32_t s, uint32_t dst)
{
    const uint16_t *row = taut_updown_row_take(self, g, s);

    (void)dst;
    if (row == NULL)
        return TAUT_HOPS_NO_MEMORY;
    uint32_t hops =
        row[r] == TAUT_UPDOWN_FAR ? UINT32_MAX : row[r] & TAUT_UPDOWN_FAR;
    taut_updown_row_give(self, row);
    return hops;
}

/* The failed links of the route there would be if all were well. */
static int updown_blame(const void *self, const struct taut_graph *g,
                        uint32_t r, uint32_t s, uint32_t dst,
                        struct taut_route *t)
{
    const struct taut_updown *u = self;
    uint16_t *row = taut_updown_new_row(u, g, s, true);
    struct taut_updown_choice c = {
        .u = u, .g = g, .row = row, .at = r, .healthy = true};
    uint32_t failed = 0;

    if (row == NULL || row[r] == TAUT_UPDOWN_FAR) {
        free(row);
        return -1;
    }
    while (c.at != s) {
        uint32_t l =
            u->stride != NULL
                ? taut_updown_next_link(&c, taut_updown_key_of(u, g, s, dst))
                : taut_updown_first_usable(&c);
        if (!taut_graph_is_up(g, l)) {
            taut_route_add(t, l);
            failed++;
        }
        c.at = g->to[l];
    }
    free(row);
    return failed > 0 ? 0 : -1;
}

static const struct taut_engine engine_one = {
    .name = "updown",
    .destination_first = true,
    .by_destination = true,
    .route = route_one,
    .hops = updown_hops,
    .blame = updown_blame,
    .gather = taut_updown_gather,
    .update = updown_update,
    .destroy = updown_destroy,
};

static const struct taut_engine engine_shared = {
    .name = "updown",
    .destination_first = true,
    .route = route_shared,
    .hops = updown_hops,
    .blame = updown_blame,
    .gather = taut_updown_gather,
    .update = updown_update,
    .destroy = updown_destroy,
};

static int check(const struct taut_graph *g, const struct taut_updown_conf *c,
                 const struct taut_updown *u, struct taut_error *err)
{
    errno = EINVAL;
    for (uint32_t r = 0; c->rank != NULL && r < g->routers; r++)
        if (c->rank[r] >= g->routers || u->order[c->rank[r]] != r)
            return taut_error_set(err,
                                  "rank %u of router %u is given twice or "
                                  "is beyond %u",
                                  c->rank[r], r, g->routers);
    for (uint32_t r = 0; c->stride != NULL && r < g->routers; r++)
        if (c->stride[r] == 0)
            return taut_error_set(err, "stride 0 of router %u", r);
    return 0;
}

/* The links of each router, upward ones first. */
static void sort_links(struct taut_updown *u, const struct taut_graph *g)
{
    for (uint32_t r = 0; r < g->routers; r++) {
        uint32_t n = g->out_first[r];
        for (int down = 0; down < 2; down++)
            for (uint32_t i = g->out_first[r]; i < g->out_first[r + 1]; i++) {
                uint32_t l = g->out[i];
                if (taut_updown_is_upward(u, g, l) == (down != 0))
                    continue;
                u->link[n] = l;
                u->far[n++] = g->to[l];
                u->ups[r] += !down;
            }
    }
}

static void copy_conf(struct taut_updown *u, const struct taut_graph *g,
                      const struct taut_updown_conf *c)
{
    u->routers = g->routers;
    TAUT_TAKE(&u->memory, u->order, g->routers);
    TAUT_TAKE(&u->memory, u->link, (size_t)g->links + 1);
    TAUT_TAKE(&u->memory, u->far, (size_t)g->links + 1);
    TAUT_TAKE(&u->memory, u->ups, g->routers);
    u->rank = copy_u32(u, c->rank, g->routers);
    u->stride = copy_u32(u, c->stride, g->routers);
    u->key = copy_u32(u, c->key, g->endpoints);
    for (uint32_t r = 0; u->order != NULL && c->rank != NULL && r < g->routers;
         r++)
        if (c->rank[r] < g->routers)
            u->order[c->rank[r]] = r;
}

int taut_updown_create(struct taut_graph *g, const struct taut_updown_conf *c,
                       struct taut_error *err)
{
    struct taut_updown *u = calloc(1, sizeof(*u));

    if (u == NULL)
        goto memory;
    copy_conf(u, g, c);
    if (taut_updown_rows_init(
            u, c->rows_bytes > 0 ? c->rows_bytes : TAUT_UPDOWN_ROWS_BYTES) < 0)
        goto memory;
    if (u->memory.is_short)
        goto memory;
    if (check(g, c, u, err) < 0)
        goto fail;
    sort_links(u, g);
    bool one = c->stride != NULL;
    uint32_t hops =
        g->routers < TAUT_UPDOWN_HOPS_MAX ? g->routers : TAUT_UPDOWN_HOPS_MAX;
    taut_graph_route_by(g, one ? &engine_one : &engine_shared, u,
                        one || g->links < hops ? hops : g->links);
    return 0;
memory:
    errno = ENOMEM;
    taut_error_set(err, "out of memory for %u routers", g->routers);
fail:
    if (u != NULL)
        updown_destroy(u);
    return -1;
}
