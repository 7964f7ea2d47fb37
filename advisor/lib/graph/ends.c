/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/lib/graph/ends.h"

uint32_t taut_ends_of_routers(const struct taut_graph *g, const uint64_t *w,
                              struct taut_walk_end *ends)
{
    uint32_t n = 0;

    for (uint32_t r = 0; r < g->routers; r++)
        if (w[r] != 0)
            ends[n++] = (struct taut_walk_end){r, TAUT_GRAPH_NONE, w[r]};
    return n;
}

uint32_t taut_ends_of_rail(const struct taut_graph *g, const uint64_t *w,
                           uint32_t rail, struct taut_walk_end *ends)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < g->nodes; i++) {
        uint32_t e = rail * g->nodes + i;
        if (w[e] != 0 && g->at[e] != TAUT_GRAPH_NONE)
            ends[n++] = (struct taut_walk_end){g->at[e], e, w[e]};
    }
    return n;
}

void taut_ends_by_router(const struct taut_graph *g, const uint64_t *w,
                         uint32_t rail, uint64_t *by_router)
{
    memset(by_router, 0, g->routers * sizeof(*by_router));
    for (uint32_t e = rail * g->nodes; e < (rail + 1) * g->nodes; e++)
        if (w[e] != 0 && g->at[e] != TAUT_GRAPH_NONE)
            by_router[g->at[e]] += w[e];
}

void taut_ends_fini(struct taut_ends *e)
{
    free(e->src);
    free(e->dst);
}

int taut_ends_init(struct taut_ends *e, const struct taut_graph *g)
{
    size_t n = g->routers > g->nodes ? g->routers : g->nodes;

    e->src = malloc(n * sizeof(*e->src));
    e->dst = malloc(n * sizeof(*e->dst));
    if (e->src != NULL && e->dst != NULL)
        return 0;
    taut_ends_fini(e);
    errno = ENOMEM;
    return -1;
}
