/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "advisor/lib/graph/torus/torus.h"

#define MAX_DIMS TAUT_TORUS_MAX_DIMS

/* ---- the way in one ring ---- */

static bool is_clear(const struct taut_torus *t, uint32_t r, uint32_t d,
                     int steps)
{
    const uint16_t *clear = &t->clear[(size_t)r * 2 * t->conf.dims + 2 * d];

    return steps > 0 ? clear[0] >= steps : clear[1] >= -steps;
}

/* Steps from coordinate a to b when nothing has failed: looked up, since a
 * branch that goes either way half of the time costs more. */
static int steps_of(const struct taut_torus *t, uint32_t d, uint32_t a,
                    uint32_t b)
{
    return t->way[d][b + t->conf.length[d] - 1 - a];
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
    if (t->is_whole) { /* the first order gets through, no need to look */
        const uint16_t *a = &t->coord[(size_t)r * t->conf.dims];
        const uint16_t *b = &t->coord[(size_t)s * t->conf.dims];
        for (uint32_t d = 0; d < t->conf.dims; d++)
            steps[d] = steps_of(t, d, a[d], b[d]);
        return 0;
    }
    for (uint32_t k = 0; k < t->orders; k++)
        if (try_order(t, t->order[k], r, s, steps))
            return (int)k;
    return -1;
}

/* Where the ring of router r in dimension d begins in a strip: rings stand in
 * the order of their first routers.  'at' are r's coordinates. */
static uint32_t ring_begin(const struct taut_torus *t, uint32_t r, uint32_t d,
                           const uint32_t *at)
{
    uint32_t first = r - at[d] * t->stride[d], low = 0;

    for (uint32_t e = d + 1; e < t->conf.dims; e++)
        low += at[e] * t->stride[e];
    return 2 * (first - low + low * t->conf.length[d]);
}

/* Copies the links of so many steps in dimension d, and a few more: most legs
 * are one or two copies, with nothing to guess for the processor.
 * Returns how many count. */
static uint32_t copy_leg(const struct taut_torus *t, uint32_t r, uint32_t d,
                         const uint32_t *at, int steps, uint32_t *link)
{
    uint32_t n = (uint32_t)abs(steps), len = t->conf.length[d];
    const uint32_t *from = t->strip[2 * d + (steps < 0)] +
                           ring_begin(t, r, d, at) +
                           (steps < 0 ? len - 1 - at[d] : at[d]);

    for (uint32_t i = 0; i < n; i += TAUT_ROUTE_SLACK)
        memcpy(link + i, from + i, TAUT_ROUTE_SLACK * sizeof(*link));
    return n;
}

static int torus_route(const void *self, const struct taut_graph *g, uint32_t r,
                       uint32_t s, uint32_t dst, struct taut_route *out)
{
    const struct taut_torus *t = self;
    const uint16_t *start = &t->coord[(size_t)r * t->conf.dims];
    const uint16_t *goal = &t->coord[(size_t)s * t->conf.dims];
    int steps[MAX_DIMS], k = taut_torus_choose(t, r, s, steps);
    uint32_t n = 0, at[MAX_DIMS];

    (void)g;
    (void)dst;
    if (k < 0)
        return -1;
    for (uint32_t d = 0; d < t->conf.dims; d++)
        at[d] = start[d];
    for (uint32_t i = 0; i < t->conf.dims; i++) {
        uint32_t d = t->order[k][i];
        n += copy_leg(t, r, d, at, steps[d], out->link + n);
        r += (goal[d] - at[d]) * t->stride[d]; /* modulo 2^32, on purpose */
        at[d] = goal[d];
    }
    taut_route_simple(out, n);
    return 0;
}

/* The port by which link l leaves its router. */
static uint32_t port_of(const struct taut_torus *t, const struct taut_graph *g,
                        uint32_t l)
{
    const uint32_t *link =
        &t->link[(size_t)g->from[l] * 2 * t->conf.dims];
    uint32_t port = 0;

    while (link[port] != l)
        port++;
    return port;
}

/* Does the leg from coordinate a, so many steps in dimension d, take the link
 * that leaves coordinate 'at' by 'port'? */
static bool is_on_leg(const struct taut_torus *t, uint32_t port, uint32_t a,
                      int steps, uint32_t at)
{
    uint32_t len = t->conf.length[port / 2];
    bool down = (port & 1) != 0;
    uint32_t ahead = down ? a - at : at - a; /* modulo 2^32 */

    return (steps < 0) == down &&
           (ahead < len ? ahead : ahead + len) < (uint32_t)abs(steps);
}

/* The link is in the leg of its dimension: before it the route is still where
 * it began, in dimensions that come later, and at its goal in those that came
 * before. */
static bool torus_crosses(const void *self, const struct taut_graph *g,
                          uint32_t r, uint32_t s, uint32_t dst, uint32_t link)
{
    const struct taut_torus *t = self;
    const uint16_t *start = &t->coord[(size_t)r * t->conf.dims];
    const uint16_t *goal = &t->coord[(size_t)s * t->conf.dims];
    const uint16_t *at = &t->coord[(size_t)g->from[link] * t->conf.dims];
    uint32_t port = port_of(t, g, link), d = port / 2, i = 0;
    int steps[MAX_DIMS], k = taut_torus_choose(t, r, s, steps);

    (void)dst;
    if (k < 0 || !is_on_leg(t, port, start[d], steps[d], at[d]))
        return false;
    for (; t->order[k][i] != d; i++)
        if (at[t->order[k][i]] != goal[t->order[k][i]])
            return false;
    for (i++; i < t->conf.dims; i++)
        if (at[t->order[k][i]] != start[t->order[k][i]])
            return false;
    return true;
}

static uint32_t torus_leg(const void *self, const struct taut_graph *g,
                          uint32_t link)
{
    const struct taut_torus *t = self;
    uint32_t d = port_of(t, g, link) / 2, i = 0;

    while (t->order[0][i] != d)
        i++;
    return i;
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

void taut_torus_destroy(void *self)
{
    struct taut_torus *t = self;

    taut_arena_free(&t->memory);
    free(t);
}

const struct taut_engine taut_torus_engine = {
    .name = "torus",
    .route = torus_route,
    .hops = torus_hops,
    .crosses = torus_crosses,
    .leg = torus_leg,
    .blame = torus_blame,
    .update = torus_update,
    .sums = taut_torus_sums,
    .crossing = taut_torus_crossing,
    .destroy = taut_torus_destroy,
};
