/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The torus engine's tables: everything that is known before the first
 * route. */
#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/lib/graph/torus/torus.h"

#define MAX_DIMS TAUT_TORUS_MAX_DIMS

static int check(const struct taut_graph *g, const struct taut_torus_conf *c,
                 struct taut_error *err)
{
    uint64_t routers = 1;
    uint32_t seen = 0;

    errno = EINVAL;
    if (c->dims < 1 || c->dims > MAX_DIMS)
        return taut_error_set(err, "%u dimensions, expected 1 to %d", c->dims,
                              MAX_DIMS);
    for (uint32_t d = 0; d < c->dims; d++) {
        if (c->length[d] < 1 || c->length[d] > TAUT_TORUS_MAX_LENGTH)
            return taut_error_set(err, "a ring of %u, expected 1 to %d",
                                  c->length[d], TAUT_TORUS_MAX_LENGTH);
        routers *= c->length[d];
        seen |= c->order[d] < c->dims ? 1U << c->order[d] : 0;
        if (routers > TAUT_GRAPH_MAX_ROUTERS)
            break;
    }
    if (routers != g->routers)
        return taut_error_set(err,
                              "the rings make another number of routers "
                              "than %u",
                              g->routers);
    if (seen != (1U << c->dims) - 1)
        return taut_error_set(err,
                              "the order does not name each of the %u "
                              "dimensions",
                              c->dims);
    return 0;
}

static int place_links(struct taut_torus *t, const struct taut_graph *g,
                       const uint32_t *port, struct taut_error *err)
{
    size_t w = 2 * (size_t)t->conf.dims;

    errno = EINVAL;
    for (uint32_t l = 0; l < g->links; l++) {
        uint32_t p = port[l], r = g->from[l], d = p / 2;
        if (p >= w)
            return taut_error_set(err, "link %u has port %u of %zu", l, p, w);
        uint32_t len = t->conf.length[d], a = t->coord[r * t->conf.dims + d];
        uint32_t b = (a + ((p & 1) != 0 ? len - 1 : 1)) % len;
        if (g->to[l] != taut_torus_move(t, r, d, b) ||
            t->link[r * w + p] != TAUT_GRAPH_NONE)
            return taut_error_set(err,
                                  "link %u: port %u of router %u does "
                                  "not lead to router %u, or twice",
                                  l, p, r, g->to[l]);
        t->link[r * w + p] = l;
        t->to[r * w + p] = g->to[l];
    }
    return 0;
}

static void fill_coordinates(struct taut_torus *t, uint32_t routers)
{
    uint32_t stride = 1;

    for (uint32_t d = t->conf.dims; d-- > 0;) {
        t->stride[d] = stride;
        for (uint32_t r = 0; r < routers; r++)
            t->coord[(size_t)r * t->conf.dims + d] =
                (uint16_t)(r / stride % t->conf.length[d]);
        stride *= t->conf.length[d];
    }
}

/* The shorter way for each difference of coordinates, from 1 - length on. */
static void fill_ways(struct taut_torus *t, uint32_t d)
{
    int len = (int)t->conf.length[d];

    for (int diff = 1 - len; diff < len; diff++) {
        int up = diff < 0 ? diff + len : diff, steps = diff;
        if (t->conf.wraps[d])
            steps = 2 * up < len || (2 * up == len && !t->conf.tie_minus[d])
                        ? up
                        : up - len;
        t->way[d][diff + len - 1] = (int16_t)steps;
    }
}

/* The links of the ring that begins at router r, by both its ports. */
static void fill_ring(struct taut_torus *t, uint32_t r, uint32_t d,
                      uint32_t begin)
{
    uint32_t len = t->conf.length[d];
    size_t w = 2 * (size_t)t->conf.dims;

    for (uint32_t i = 0; i < 2 * len; i++) {
        uint32_t up = r + i % len * t->stride[d];
        uint32_t down = r + (len - 1 - i % len) * t->stride[d];
        t->strip[2 * d][begin + i] = t->link[up * w + 2 * d];
        t->strip[2 * d + 1][begin + i] = t->link[down * w + 2 * d + 1];
    }
}

static void fill_strips(struct taut_torus *t, uint32_t routers)
{
    for (uint32_t d = 0; d < t->conf.dims; d++) {
        uint32_t begin = 0;
        fill_ways(t, d);
        for (uint32_t r = 0; r < routers; r++)
            if (t->coord[(size_t)r * t->conf.dims + d] == 0) {
                fill_ring(t, r, d, begin);
                begin += 2 * t->conf.length[d];
            }
    }
}

/* All orders of the dimensions, those that change late positions first. */
static void fill_orders(struct taut_torus *t, uint8_t *at, uint32_t n,
                        uint32_t used)
{
    if (n == t->conf.dims) {
        memcpy(t->order[t->orders++], at, n);
        return;
    }
    for (uint32_t i = 0; i < t->conf.dims; i++) {
        if ((used & 1U << i) != 0 || (t->conf.no_retry && t->orders > 0))
            continue;
        at[n] = (uint8_t)t->conf.order[i];
        fill_orders(t, at, n + 1, used | 1U << i);
    }
}

static struct taut_torus *allocate(const struct taut_graph *g,
                                   const struct taut_torus_conf *conf)
{
    size_t n = (size_t)g->routers * conf->dims;
    struct taut_torus *t = calloc(1, sizeof(*t));

    if (t == NULL)
        return NULL;
    t->conf = *conf;
    t->conf.port = NULL;
    TAUT_TAKE(&t->memory, t->coord, n);
    TAUT_TAKE(&t->memory, t->link, 2 * n);
    TAUT_TAKE(&t->memory, t->to, 2 * n);
    TAUT_TAKE(&t->memory, t->clear, 2 * n);
    for (uint32_t p = 0; p < 2 * conf->dims; p++)
        TAUT_TAKE(&t->memory, t->strip[p],
                  2 * (size_t)g->routers + TAUT_ROUTE_SLACK);
    for (uint32_t d = 0; d < conf->dims; d++)
        TAUT_TAKE(&t->memory, t->way[d], 2 * (size_t)conf->length[d]);
    if (t->memory.is_short) {
        taut_torus_destroy(t);
        return NULL;
    }
    memset(t->link, 0xff, 2 * n * sizeof(*t->link)); /* NONE */
    return t;
}

int taut_torus_create(struct taut_graph *g, const struct taut_torus_conf *conf,
                      struct taut_error *err)
{
    uint8_t at[MAX_DIMS];
    uint32_t longest = 0;

    if (check(g, conf, err) < 0)
        return -1;
    struct taut_torus *t = allocate(g, conf);
    if (t == NULL)
        return -1;
    fill_coordinates(t, g->routers);
    fill_orders(t, at, 0, 0);
    if (place_links(t, g, conf->port, err) < 0) {
        taut_torus_destroy(t);
        errno = EINVAL;
        return -1;
    }
    fill_strips(t, g->routers);
    for (uint32_t d = 0; d < conf->dims; d++)
        longest += conf->length[d];
    taut_graph_route_by(g, &taut_torus_engine, t, longest);
    return taut_graph_update(g, err);
}
