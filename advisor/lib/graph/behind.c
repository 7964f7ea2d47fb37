/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <errno.h>
#include <stdlib.h>

#include "advisor/lib/graph/flow_run.h"

#define NONE TAUT_GRAPH_NONE

static bool is_behind(struct taut_flow *f, uint32_t node, bool outward,
                      uint32_t c, double left, double share)
{
    struct taut_flow_setting s = {
        .outward = outward, .healthy = true, .c = NONE};
    double whole = taut_flow_run(f, node, &s);

    s.healthy = false;
    double as_is = taut_flow_run(f, node, &s);
    s.c = c;
    s.left = left;
    double with_c = taut_flow_run(f, node, &s);
    return with_c < share * whole && with_c < as_is * (1 - TAUT_FLOW_LITTLE);
}

/* The routers whose nodes a link can cut off: those before it (outward) or
 * behind it, so far as the endpoints on the way do not take what the nodes
 * send.  A cut that a link is part of has all of that way on one side. */
struct suspects {
    uint32_t *list, count;
    double *cost; /* [routers] of the way; < 0: not reached */
};

static double endpoints_take(const struct taut_graph *g,
                             const struct taut_flow_setting *s, uint32_t r)
{
    double sum = 0;

    for (uint32_t i = g->on_first[r]; i < g->on_first[r + 1]; i++)
        sum += taut_flow_capacity(g, s, taut_flow_port(s, g->on[i], false));
    return sum;
}

static double largest_source(const struct taut_graph *g,
                             const struct taut_flow_setting *s)
{
    double most = 0;

    for (uint32_t i = 0; i < g->nodes; i++) {
        double sum = 0;
        for (uint32_t k = 0; k < g->rails; k++)
            sum += g->capacity[taut_flow_port(s, k * g->nodes + i, true)];
        most = sum > most ? sum : most;
    }
    return most;
}

/* One router's neighbours, one step further from the link.  Returns whether
 * any of them can be had for less than before. */
static bool suspect_before(const struct taut_graph *g,
                           const struct taut_flow_setting *s,
                           struct suspects *sus, uint32_t r, double most)
{
    double cost = sus->cost[r] + endpoints_take(g, s, r);
    const uint32_t *first = s->outward ? g->in_first : g->out_first;
    bool any = false;

    for (uint32_t k = first[r]; cost < most && k < first[r + 1]; k++) {
        uint32_t p = s->outward ? g->from[g->in[k]] : g->to[g->out[k]];
        if (sus->cost[p] >= 0 && sus->cost[p] <= cost)
            continue;
        if (sus->cost[p] < 0)
            sus->list[sus->count++] = p;
        sus->cost[p] = cost;
        any = true;
    }
    return any;
}

static void suspect_from(const struct taut_graph *g,
                         const struct taut_flow_setting *s,
                         struct suspects *sus, uint32_t start, double most)
{
    bool again = true;

    for (uint32_t r = 0; r < g->routers; r++)
        sus->cost[r] = -1;
    sus->cost[start] = 0;
    sus->list[0] = start;
    sus->count = 1;
    while (again) {
        again = false;
        for (uint32_t i = 0; i < sus->count; i++)
            again |= suspect_before(g, s, sus, sus->list[i], most);
    }
}

/* Marks the nodes behind link c in one direction.  Nodes on one router are
 * alike when they have one rail of the same capacity. */
static void mark_router(struct taut_flow *f, uint32_t r,
                        const struct taut_flow_setting *s, double share,
                        bool *marked)
{
    const struct taut_graph *g = f->g;
    double last = -1;
    bool behind = false;

    for (uint32_t i = g->on_first[r]; i < g->on_first[r + 1]; i++) {
        uint32_t e = g->on[i], node = e % g->nodes;
        double cap =
            taut_flow_capacity(g, &(struct taut_flow_setting){.c = NONE},
                               taut_flow_port(s, e, true));
        if (marked[node])
            continue;
        if (cap != last || g->rails > 1)
            behind = is_behind(f, node, s->outward, s->c, s->left, share);
        marked[node] = behind;
        last = cap;
    }
}

static int mark_link(struct taut_flow *f, struct taut_flow_setting *s,
                     double share, bool *marked)
{
    const struct taut_graph *g = f->g;
    struct suspects sus = {
        .list = malloc(g->routers * sizeof(*sus.list)),
        .cost = malloc(g->routers * sizeof(*sus.cost)),
    };
    uint32_t l = s->c - 2 * g->endpoints;
    int rc = sus.list != NULL && sus.cost != NULL ? 0 : -1;

    if (rc == 0)
        suspect_from(g, s, &sus, s->outward ? g->from[l] : g->to[l],
                     share * largest_source(g, s));
    for (uint32_t i = 0; rc == 0 && i < sus.count; i++)
        mark_router(f, sus.list[i], s, share, marked);
    free(sus.list);
    free(sus.cost);
    return rc;
}

static int mark(struct taut_flow *f, uint32_t c, double left, double share,
                bool *marked)
{
    const struct taut_graph *g = f->g;
    struct taut_flow_setting s = {.outward = true, .c = c, .left = left};

    if (c < 2 * g->endpoints) {
        /* in a machine of a few nodes others may lose flow as well: not
         * they, but the rest that they talk to has less */
        uint32_t node = c / 2 % g->nodes;
        marked[node] = is_behind(f, node, c % 2 == 0, c, left, share);
        return 0;
    }
    if (mark_link(f, &s, share, marked) < 0)
        return -1;
    s.outward = false;
    return mark_link(f, &s, share, marked);
}

int taut_flow_behind(const struct taut_graph *g, uint32_t c, double left,
                     double share, uint32_t *nodes)
{
    struct taut_flow *f = taut_flow_create(g);
    bool *marked = calloc(g->nodes, sizeof(*marked));
    int n = -1;

    if (f != NULL && marked != NULL && mark(f, c, left, share, marked) == 0) {
        n = 0;
        for (uint32_t i = 0; i < g->nodes; i++)
            if (marked[i])
                nodes[n++] = i;
    }
    taut_flow_destroy(f);
    free(marked);
    if (n < 0)
        errno = ENOMEM;
    return n;
}
