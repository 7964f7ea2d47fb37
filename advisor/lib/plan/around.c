/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Surroundings: a busy neighbourhood slows all links of a router, a broken
 * cable one.  Beside a test that decides about a link, others leave each
 * router on its way by another link. */
#include <config.h>

#include "advisor/lib/plan/inside.h"

#define LINKS_MOST 5 /* on the way of a test of the surroundings */
#define TRIES 24     /* far ends looked at, where no neighbour takes part */

/* A good one leaves u by another link than l, does not meet c, is short, and
 * has no suspect on it.  Sets are out: it is not known which of their links the
 * test takes. */
static bool is_beside(const struct taut_board *b, uint32_t u, uint32_t l,
                      uint32_t c)
{
    const struct taut_graph *g = b->g;
    bool leaves = false;

    if (b->way.n > LINKS_MOST + 2)
        return false;
    for (uint32_t i = 1; i + 1 < b->way.n; i++) {
        uint32_t on = b->way.c[i];
        if ((on & TAUT_PLAN_UNSURE) != 0 || on == c || b->mark[on] != 0)
            return false;
        uint32_t link = on - 2 * g->endpoints;
        leaves = leaves || (g->from[link] == u && link != l);
    }
    return leaves;
}

/* A test from a node of router 'from' to one of router 'to', if it shows what
 * it is to show. */
static bool lay(struct taut_board *b, uint32_t from, uint32_t to, uint32_t u,
                uint32_t l, const struct taut_plan_want *w)
{
    if (from == to ||
        !taut_board_way(b, b->ep[b->first[from]], b->ep[b->first[to]],
                        &b->way) ||
        !is_beside(b, u, l, w->c))
        return false;
    for (uint32_t j = b->first[from]; j < b->first[from + 1]; j++)
        for (uint32_t k = b->first[to]; k < b->first[to + 1]; k++) {
            struct taut_plan_test t = {.src = b->ep[j],
                                       .dst = b->ep[k],
                                       .confirms = TAUT_GRAPH_NONE,
                                       .kind = TAUT_PLAN_SURROUND,
                                       .flows =
                                           w->flows > 2 ? 2 : (uint8_t)w->flows,
                                       .streams = 1};
            if (taut_board_place(b, &t, 0, true) >= 0)
                return true;
        }
    return false;
}

/* Has this plan a test already that leaves u by another link? */
static uint32_t count_beside(const struct taut_board *b, uint32_t u, uint32_t l)
{
    const struct taut_graph *g = b->g;
    uint32_t n = 0;

    for (uint32_t k = g->out_first[u]; k < g->out_first[u + 1]; k++)
        n += g->out[k] != l &&
             b->cov->asked[taut_graph_link(g, g->out[k])] >= b->r.now;
    return n;
}

/* Straight on over each other link of u, from a node of u, until there are
 * w->around tests that leave u beside l; those of this plan that were laid out
 * for something else count. */
static uint32_t around_router(struct taut_board *b, uint32_t src, uint32_t u,
                              uint32_t l, const struct taut_plan_want *w)
{
    const struct taut_graph *g = b->g;
    uint32_t n = count_beside(b, u, l), before = n;

    for (uint32_t k = g->out_first[u];
         b->local[u] != 0 && k < g->out_first[u + 1] && n < w->around; k++) {
        uint32_t to = g->out[k] == l
                          ? TAUT_GRAPH_NONE
                          : taut_board_over(b, LINKS_MOST, g->out[k]);
        n += to != TAUT_GRAPH_NONE && lay(b, b->local[u] - 1, to, u, l, w);
    }
    /* nobody there: the same sender, or its router's others, to elsewhere */
    for (uint32_t k = 0; k < TRIES && n == 0 && b->n_routers > 2; k++)
        n += lay(b, b->local[src] - 1, taut_board_random(b, b->n_routers), u, l,
                 w);
    return n - before;
}

uint32_t taut_board_around(struct taut_board *b, uint32_t src, uint32_t dst,
                           const struct taut_plan_want *w)
{
    uint32_t link[LINKS_MOST], n = 0, laid = 0;

    if (!taut_board_way(b, src, dst, &b->way))
        return 0;
    for (uint32_t i = 1; i + 1 < b->way.n && n < LINKS_MOST; i++)
        if ((b->way.c[i] & TAUT_PLAN_UNSURE) == 0)
            link[n++] = b->way.c[i] - 2 * b->g->endpoints;
    for (uint32_t i = 0; i < n; i++)
        laid +=
            around_router(b, b->g->at[src], b->g->from[link[i]], link[i], w);
    return laid;
}
