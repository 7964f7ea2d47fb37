/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <errno.h>
#include <stdlib.h>

#include "advisor/lib/graph/joined/joined.h"

struct part {
    const struct taut_graph *graph;
    uint32_t router, link; /* its first of each in the whole */
};

struct joined {
    struct taut_engine engine; /* what it can do depends on the parts */
    struct taut_arena memory;
    struct part *part;
    uint32_t *of_router; /* [routers] number of the part */
    uint32_t *of_link;   /* [links] the same */
    uint32_t *endpoint;  /* [endpoints] its number in its part, or NONE */
};

static void joined_destroy(void *self)
{
    struct joined *j = self;

    taut_arena_free(&j->memory);
    free(j);
}

/* The part that both routers are in; NULL: they are in two. */
static const struct part *part_of(const struct joined *j, uint32_t r,
                                  uint32_t s)
{
    return j->of_router[r] == j->of_router[s] ? &j->part[j->of_router[r]]
                                              : NULL;
}

static uint32_t endpoint_of(const struct joined *j, uint32_t dst)
{
    return dst == TAUT_GRAPH_NONE ? dst : j->endpoint[dst];
}

static int joined_route(const void *self, const struct taut_graph *g,
                        uint32_t r, uint32_t s, uint32_t dst,
                        struct taut_route *t)
{
    const struct joined *j = self;
    const struct part *p = part_of(j, r, s);

    (void)g;
    if (p == NULL)
        return -1;
    int rc = taut_graph_route(p->graph, r - p->router, s - p->router,
                              endpoint_of(j, dst), t);
    for (uint32_t i = 0; rc == 0 && i < t->entries; i++)
        t->link[i] += p->link;
    return rc;
}

static uint32_t joined_hops(const void *self, const struct taut_graph *g,
                            uint32_t r, uint32_t s, uint32_t dst)
{
    const struct joined *j = self;
    const struct part *p = part_of(j, r, s);

    (void)g;
    if (p == NULL)
        return UINT32_MAX;
    return p->graph->engine->hops(p->graph->self, p->graph, r - p->router,
                                  s - p->router, endpoint_of(j, dst));
}

static bool joined_crosses(const void *self, const struct taut_graph *g,
                           uint32_t r, uint32_t s, uint32_t dst, uint32_t link)
{
    const struct joined *j = self;
    const struct part *p = part_of(j, r, s);

    (void)g;
    return p != NULL && &j->part[j->of_link[link]] == p &&
           p->graph->engine->crosses(p->graph->self, p->graph, r - p->router,
                                     s - p->router, endpoint_of(j, dst),
                                     link - p->link);
}

static uint32_t joined_leg(const void *self, const struct taut_graph *g,
                           uint32_t link)
{
    const struct joined *j = self;
    const struct part *p = &j->part[j->of_link[link]];

    (void)g;
    return p->graph->engine->leg(p->graph->self, p->graph, link - p->link);
}

/* What all parts can do, the whole can. */
static void choose_functions(struct joined *j, uint32_t n)
{
    j->engine = (struct taut_engine){.name = "joined",
                                     .route = joined_route,
                                     .hops = joined_hops,
                                     .crosses = joined_crosses,
                                     .leg = joined_leg,
                                     .destroy = joined_destroy};
    for (uint32_t i = 0; i < n; i++) {
        const struct taut_engine *e = j->part[i].graph->engine;
        j->engine.by_destination |= e->by_destination;
        j->engine.destination_first |= e->destination_first;
        j->engine.hops = e->hops == NULL ? NULL : j->engine.hops;
        j->engine.crosses = e->crosses == NULL ? NULL : j->engine.crosses;
        j->engine.leg = e->leg == NULL ? NULL : j->engine.leg;
    }
}

/* Part i's routers, links and endpoints; the whole has room for them. */
static void number(struct joined *j, const struct taut_graph *g, uint32_t i,
                   const uint32_t *node, uint32_t first_rail)
{
    const struct part *p = &j->part[i];

    for (uint32_t r = 0; r < p->graph->routers; r++)
        j->of_router[p->router + r] = i;
    for (uint32_t l = 0; l < p->graph->links; l++)
        j->of_link[p->link + l] = i;
    for (uint32_t k = 0; k < p->graph->rails; k++)
        for (uint32_t n = 0; n < p->graph->nodes; n++)
            j->endpoint[(first_rail + k) * g->nodes + node[n]] =
                k * p->graph->nodes + n;
}

/* Returns 0, or -1: the parts are not all of g, or more than that. */
static int check(const struct taut_graph *g,
                 const struct taut_joined_part *part, uint32_t n)
{
    uint64_t routers = 0, links = 0, rails = 0;

    for (uint32_t i = 0; i < n; i++) {
        const struct taut_graph *p = part[i].graph;
        routers += p->routers;
        links += p->links;
        rails += p->rails;
        for (uint32_t k = 0; k < p->nodes; k++)
            if (part[i].node[k] >= g->nodes)
                return -1;
    }
    return routers == g->routers && links == g->links && rails == g->rails ? 0
                                                                           : -1;
}

int taut_joined_create(struct taut_graph *g,
                       const struct taut_joined_part *part, uint32_t n,
                       struct taut_error *err)
{
    uint32_t router = 0, link = 0, rail = 0, entries = 0;

    if (check(g, part, n) < 0) {
        errno = EINVAL;
        return taut_error_set(err, "the parts are not what the graph is made of");
    }
    struct joined *j = calloc(1, sizeof(*j));
    if (j == NULL)
        return -1;
    TAUT_TAKE(&j->memory, j->part, (size_t)n + 1);
    TAUT_TAKE(&j->memory, j->of_router, (size_t)g->routers + 1);
    TAUT_TAKE(&j->memory, j->of_link, (size_t)g->links + 1);
    TAUT_TAKE(&j->memory, j->endpoint, (size_t)g->endpoints + 1);
    if (j->memory.is_short) {
        joined_destroy(j);
        errno = ENOMEM;
        return -1;
    }
    for (uint32_t e = 0; e < g->endpoints; e++)
        j->endpoint[e] = TAUT_GRAPH_NONE;
    for (uint32_t i = 0; i < n; i++) {
        const struct taut_graph *p = part[i].graph;
        j->part[i] = (struct part){.graph = p, .router = router, .link = link};
        number(j, g, i, part[i].node, rail);
        router += p->routers;
        link += p->links;
        rail += p->rails;
        entries = p->max_entries > entries ? p->max_entries : entries;
    }
    choose_functions(j, n);
    taut_graph_route_by(g, &j->engine, j, entries);
    return 0;
}
