/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/graph_torus.h"

#define MAX_DIMS TAUT_TORUS_MAX_DIMS

/* ---- the way in one ring ---- */

static bool is_clear(const struct taut_torus *t, uint32_t r, uint32_t d,
                     int steps)
{
    const uint16_t *clear = &t->clear[(size_t)r * 2 * t->conf.dims + 2 * d];

    return steps > 0 ? clear[0] >= steps : clear[1] >= -steps;
}

/* Steps from coordinate a to b when nothing has failed. */
static int steps_of(const struct taut_torus *t, uint32_t d, uint32_t a,
                    uint32_t b)
{
    int len = (int)t->conf.length[d];
    int up = (int)b - (int)a;

    if (up == 0 || !t->conf.wraps[d])
        return up;
    if (up < 0)
        up += len;
    if (2 * up == len)
        return t->conf.tie_minus[d] ? up - len : up;
    return 2 * up < len ? up : up - len;
}

int taut_torus_steps(const struct taut_torus *t, uint32_t r, uint32_t d,
                     uint32_t b, bool *blocked)
{
    int steps = steps_of(t, d, t->coord[(size_t)r * t->conf.dims + d], b);

    if (t->is_whole || steps == 0 || is_clear(t, r, d, steps))
        return steps;
    int len = (int)t->conf.length[d];
    int other = steps > 0 ? steps - len : steps + len;
    if (t->conf.wraps[d] && is_clear(t, r, d, other))
        return other;
    *blocked = true;
    return 0;
}

/* ---- routes ---- */

static bool try_order(const struct taut_torus *t, const uint8_t *order,
                      uint32_t r, uint32_t s, int *steps)
{
    const uint16_t *goal = &t->coord[(size_t)s * t->conf.dims];
    bool blocked = false;

    for (uint32_t i = 0; i < t->conf.dims; i++) {
        uint32_t d = order[i];
        steps[d] = taut_torus_steps(t, r, d, goal[d], &blocked);
        if (blocked)
            return false;
        r = taut_torus_move(t, r, d, goal[d]);
    }
    return true;
}

int taut_torus_choose(const struct taut_torus *t, uint32_t r, uint32_t s,
                      int steps[MAX_DIMS])
{
    for (uint32_t k = 0; k < t->orders; k++)
        if (try_order(t, t->order[k], r, s, steps))
            return (int)k;
    return -1;
}

static int torus_route(const void *self, const struct taut_graph *g, uint32_t r,
                       uint32_t s, uint32_t dst, struct taut_route *out)
{
    const struct taut_torus *t = self;
    int steps[MAX_DIMS], k = taut_torus_choose(t, r, s, steps);
    uint32_t n = 0;

    (void)g;
    (void)dst;
    if (k < 0)
        return -1;
    for (uint32_t i = 0; i < t->conf.dims; i++) {
        uint32_t d = t->order[k][i];
        uint32_t port = 2 * d + (steps[d] < 0);
        for (int left = abs(steps[d]); left > 0; left--) {
            size_t at = (size_t)r * 2 * t->conf.dims + port;
            out->link[n++] = t->link[at];
            r = t->to[at];
        }
    }
    taut_route_simple(out, n);
    return 0;
}

static uint32_t torus_hops(const void *self, const struct taut_graph *g,
                           uint32_t r, uint32_t s, uint32_t dst)
{
    const struct taut_torus *t = self;
    int steps[MAX_DIMS];
    uint32_t n = 0;

    (void)g;
    (void)dst;
    if (taut_torus_choose(t, r, s, steps) < 0)
        return UINT32_MAX;
    for (uint32_t d = 0; d < t->conf.dims; d++)
        n += (uint32_t)abs(steps[d]);
    return n;
}

/* The failed links of the ring that stops the first order: one on each way
 * round, or the only one of a mesh. */
static int torus_blame(const void *self, const struct taut_graph *g, uint32_t r,
                       uint32_t s, uint32_t dst, struct taut_route *out)
{
    const struct taut_torus *t = self;
    const uint16_t *goal = &t->coord[(size_t)s * t->conf.dims];
    bool blocked = false;

    (void)g;
    (void)dst;
    for (uint32_t i = 0; i < t->conf.dims; i++) {
        uint32_t d = t->order[0][i];
        bool up = goal[d] > t->coord[(size_t)r * t->conf.dims + d];
        taut_torus_steps(t, r, d, goal[d], &blocked);
        for (uint32_t port = 2 * d; blocked && port <= 2 * d + 1; port++) {
            uint32_t at = r;
            if (!t->conf.wraps[d] && up == ((port & 1) != 0))
                continue;
            size_t w = 2 * (size_t)t->conf.dims;
            for (uint32_t k = t->clear[r * w + port]; k > 0; k--)
                at = t->to[at * w + port];
            if (t->link[at * w + port] != TAUT_GRAPH_NONE)
                taut_route_add(out, t->link[at * w + port]);
        }
        if (blocked)
            return 0;
        r = taut_torus_move(t, r, d, goal[d]);
    }
    return -1;
}

/* ---- health ---- */

/* Steps from r by a port until a link that has failed or is not there;
 * every ring is walked twice, against the direction, so that each router
 * finds what its successor knows. */
static void find_clear(struct taut_torus *t, const struct taut_graph *g,
                       uint32_t r, uint32_t d, uint32_t port)
{
    size_t w = 2 * (size_t)t->conf.dims;
    uint32_t len = t->conf.length[d], steps = 0;

    for (uint32_t i = 0; i < 2 * len; i++) {
        uint32_t a = (port & 1) != 0 ? i : 2 * len - 1 - i;
        uint32_t at = taut_torus_move(t, r, d, a % len);
        uint32_t l = t->link[at * w + port];
        bool up = l != TAUT_GRAPH_NONE && taut_graph_is_up(g, l);
        t->is_whole = t->is_whole && (l == TAUT_GRAPH_NONE || up);
        steps = up ? steps + (steps < len - 1) : 0;
        t->clear[at * w + port] = (uint16_t)steps;
    }
}

static int torus_update(void *self, const struct taut_graph *g,
                        struct taut_error *err)
{
    struct taut_torus *t = self;

    (void)err;
    t->is_whole = true;
    for (uint32_t r = 0; r < g->routers; r++)
        for (uint32_t d = 0; d < t->conf.dims; d++)
            if (t->coord[(size_t)r * t->conf.dims + d] == 0) {
                find_clear(t, g, r, d, 2 * d);
                find_clear(t, g, r, d, 2 * d + 1);
            }
    return 0;
}

static void torus_destroy(void *self)
{
    struct taut_torus *t = self;

    free(t->coord);
    free(t->link);
    free(t->to);
    free(t->clear);
    free(t);
}

static const struct taut_engine torus_engine = {
    .name = "torus",
    .route = torus_route,
    .hops = torus_hops,
    .blame = torus_blame,
    .update = torus_update,
    .sums = taut_torus_sums,
    .crossing = taut_torus_crossing,
    .destroy = torus_destroy,
};

/* ---- building ---- */

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
    t->coord = calloc(n, sizeof(*t->coord));
    t->link = malloc(2 * n * sizeof(*t->link));
    t->to = calloc(2 * n, sizeof(*t->to));
    t->clear = calloc(2 * n, sizeof(*t->clear));
    if (!t->coord || !t->link || !t->to || !t->clear) {
        torus_destroy(t);
        errno = ENOMEM;
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
        torus_destroy(t);
        errno = EINVAL;
        return -1;
    }
    for (uint32_t d = 0; d < conf->dims; d++)
        longest += conf->length[d];
    taut_graph_route_by(g, &torus_engine, t, longest);
    return taut_graph_update(g, err);
}
