/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/lib/graph/tables/tables.h"

/* A longer way than this is taken for a loop. */
#define HOPS_MAX 1024u

struct tables {
    size_t columns; /* endpoints, then routers */
    uint16_t *next; /* [routers * columns] */
};

static void tables_destroy(void *self)
{
    struct tables *t = self;

    free(t->next);
    free(t);
}

/* Follow the tables.  With 'out' NULL failed links are passed; 'failed' gets
 * those.  Returns the hops, or -1: no entry, a loop, a failed link. */
static int follow(const struct tables *t, const struct taut_graph *g,
                  uint32_t r, uint32_t s, uint32_t dst, struct taut_route *out,
                  struct taut_route *failed)
{
    size_t column = dst != TAUT_GRAPH_NONE ? dst : (size_t)g->endpoints + s;
    uint32_t most = g->routers < HOPS_MAX ? g->routers : HOPS_MAX;
    int hops = 0;

    while (r != s) {
        uint16_t n = t->next[r * t->columns + column];
        if (n == TAUT_TABLES_NONE || (uint32_t)hops == most)
            return -1;
        uint32_t l = g->out[g->out_first[r] + n];
        if (!taut_graph_is_up(g, l)) {
            if (failed == NULL)
                return -1;
            taut_route_add(failed, l);
        }
        if (out != NULL)
            taut_route_add(out, l);
        r = g->to[l];
        hops++;
    }
    return hops;
}

static int tables_route(const void *self, const struct taut_graph *g,
                        uint32_t r, uint32_t s, uint32_t dst,
                        struct taut_route *t)
{
    return follow(self, g, r, s, dst, t, NULL) < 0 ? -1 : 0;
}

static uint32_t tables_hops(const void *self, const struct taut_graph *g,
                            uint32_t r, uint32_t s, uint32_t dst)
{
    int hops = follow(self, g, r, s, dst, NULL, NULL);

    return hops < 0 ? UINT32_MAX : (uint32_t)hops;
}

static int tables_blame(const void *self, const struct taut_graph *g,
                        uint32_t r, uint32_t s, uint32_t dst,
                        struct taut_route *t)
{
    if (follow(self, g, r, s, dst, NULL, t) < 0)
        t->stages = t->entries = 0; /* no failure would help: the tables */
    return t->entries > 0 ? 0 : -1;
}

static const struct taut_engine tables_engine = {
    .name = "tables",
    .by_destination = true,
    .route = tables_route,
    .hops = tables_hops,
    .blame = tables_blame,
    .destroy = tables_destroy,
};

int taut_tables_create(struct taut_graph *g, struct taut_error *err)
{
    struct tables *t = calloc(1, sizeof(*t));
    size_t columns = (size_t)g->endpoints + g->routers;
    size_t n = columns * g->routers;

    if (t != NULL)
        t->next = malloc(n * sizeof(*t->next));
    if (t == NULL || t->next == NULL) {
        free(t);
        errno = ENOMEM;
        return taut_error_set(err,
                              "out of memory for forwarding tables of "
                              "%u routers",
                              g->routers);
    }
    t->columns = columns;
    for (size_t i = 0; i < n; i++)
        t->next[i] = TAUT_TABLES_NONE;
    taut_graph_route_by(g, &tables_engine, t,
                        g->routers < HOPS_MAX ? g->routers : HOPS_MAX);
    return 0;
}

int taut_tables_set(struct taut_graph *g, uint32_t r, const uint16_t *next,
                    struct taut_error *err)
{
    struct tables *t = g->self;

    errno = EINVAL;
    if (g->engine != &tables_engine || r >= g->routers)
        return taut_error_set(err, "router %u of %u has no table", r,
                              g->routers);
    uint32_t links = g->out_first[r + 1] - g->out_first[r];
    for (size_t i = 0; i < t->columns; i++)
        if (next[i] != TAUT_TABLES_NONE && next[i] >= links)
            return taut_error_set(err,
                                  "router %u: link %u of %u in column "
                                  "%zu",
                                  r, next[i], links, i);
    memcpy(&t->next[r * t->columns], next, t->columns * sizeof(*next));
    return 0;
}
