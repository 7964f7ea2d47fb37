/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Small machines for the tests of graphs, and random numbers that are the
 * same everywhere. */
#ifndef TAUT_TESTS_UNIT_ADVISOR_MACHINES_H
#define TAUT_TESTS_UNIT_ADVISOR_MACHINES_H

#include <check.h>
#include <stdlib.h>

#include "advisor/lib/graph/torus/torus.h"

static inline uint32_t pick(uint64_t *seed, uint32_t n)
{
    *seed = *seed * 6364136223846793005U + 1442695040888963407U;
    return (uint32_t)(*seed >> 33) % n;
}

/* A router's neighbour by a port of a torus (2d is "+" of dimension d), and
 * whether there is one. */
static inline bool machine_next(const struct taut_torus_conf *c, uint32_t r,
                                uint32_t port, uint32_t *to)
{
    uint32_t stride = 1, len, a, b;

    for (uint32_t d = c->dims - 1; d > port / 2; d--)
        stride *= c->length[d];
    len = c->length[port / 2];
    a = r / stride % len;
    if (len < 2 || (len == 2 && (port & 1) != 0))
        return false;
    if (!c->wraps[port / 2] && len > 2 && a == ((port & 1) != 0 ? 0 : len - 1))
        return false;
    b = (a + ((port & 1) != 0 ? len - 1 : 1)) % len;
    *to = r + (b - a) * stride;
    return true;
}

/* A torus or mesh with 'npr' nodes on each router, all capacities 1; rings
 * of two have one cable. */
static inline struct taut_graph *machine_torus(struct taut_torus_conf *c,
                                               uint32_t npr)
{
    uint32_t routers = 1, links = 0, to;
    struct taut_error err = {""};

    for (uint32_t d = 0; d < c->dims; d++)
        routers *= c->length[d];
    for (uint32_t r = 0; r < routers; r++)
        for (uint32_t p = 0; p < 2 * c->dims; p++)
            links += machine_next(c, r, p, &to);
    struct taut_graph *g =
        taut_graph_create(routers, routers * npr, 1, links, &err);
    ck_assert_msg(g != NULL, "%s", err.text);
    uint32_t *port = calloc(links + 1, sizeof(*port)), l = 0;
    for (uint32_t r = 0; r < routers; r++)
        for (uint32_t p = 0; p < 2 * c->dims; p++)
            if (machine_next(c, r, p, &g->to[l])) {
                g->from[l] = r;
                port[l++] = p;
            }
    for (uint32_t e = 0; e < g->endpoints; e++)
        g->at[e] = e / npr;
    for (uint32_t i = 0; i < g->components; i++)
        g->capacity[i] = 1;
    ck_assert_msg(taut_graph_seal(g, &err) == 0, "%s", err.text);
    c->port = port;
    ck_assert_msg(taut_torus_create(g, c, &err) == 0, "%s", err.text);
    free(port);
    c->port = NULL;
    return g;
}

/* Random dimensions with at most 'most' routers, wraps, ties and order. */
static inline struct taut_torus_conf machine_conf(uint64_t *seed, uint32_t most)
{
    struct taut_torus_conf c = {.dims = 1 + pick(seed, 4)};
    uint32_t routers = 1;

    for (uint32_t d = 0; d < c.dims; d++) {
        c.length[d] = 1 + pick(seed, 7);
        if (routers * c.length[d] > most)
            c.length[d] = 1;
        routers *= c.length[d];
        c.wraps[d] = c.length[d] == 2 || pick(seed, 4) > 0;
        c.tie_minus[d] = c.length[d] > 2 && pick(seed, 2) == 0;
        c.order[d] = d;
    }
    for (uint32_t d = c.dims; d > 1; d--) { /* shuffle */
        uint32_t other = pick(seed, d), was = c.order[d - 1];
        c.order[d - 1] = c.order[other];
        c.order[other] = was;
    }
    c.no_retry = pick(seed, 4) == 0;
    return c;
}

/* Some links fail, half of them with the other direction. */
static inline void machine_fail(struct taut_graph *g, uint64_t *seed,
                                uint32_t n)
{
    for (uint32_t i = 0; g->links > 0 && i < n; i++) {
        uint32_t l = pick(seed, g->links);
        g->left[taut_graph_link(g, l)] = 0;
        if (pick(seed, 2) == 0 && g->back[l] != TAUT_GRAPH_NONE)
            g->left[taut_graph_link(g, g->back[l])] = 0;
    }
    ck_assert_int_eq(taut_graph_update(g, NULL), 0);
}

#endif
