/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/lib/graph/hyperx/hyperx.h"

#define MAX_DIMS TAUT_HYPERX_MAX_DIMS

static uint32_t coordinate(const struct taut_hyperx *h, uint32_t r, uint32_t d)
{
    return h->place[r] / h->stride[d] % h->conf.length[d];
}

/* Router that differs from r in dimension d, where it has coordinate j. */
static uint32_t moved(const struct taut_hyperx *h, uint32_t r, uint32_t d,
                      uint32_t j)
{
    return h->router[h->place[r] + (j - coordinate(h, r, d)) * h->stride[d]];
}

static uint32_t link_to(const struct taut_hyperx *h, uint32_t r, uint32_t d,
                        uint32_t j)
{
    return h->link[(size_t)r * h->width + h->first[d] + j];
}

/* The link, if it is there and healthy, else NONE. */
static uint32_t healthy_to(const struct taut_hyperx *h,
                           const struct taut_graph *g, uint32_t r, uint32_t d,
                           uint32_t j)
{
    uint32_t l = link_to(h, r, d, j);

    return l != TAUT_GRAPH_NONE && taut_graph_is_up(g, l) ? l : TAUT_GRAPH_NONE;
}

/* Two hops from r to coordinate b over coordinate j; false: not possible. */
static bool over(const struct taut_hyperx *h, const struct taut_graph *g,
                 uint32_t r, uint32_t d, uint32_t j, uint32_t b,
                 uint32_t pair[2])
{
    if (j == coordinate(h, r, d) || j == b)
        return false;
    pair[0] = healthy_to(h, g, r, d, j);
    if (pair[0] == TAUT_GRAPH_NONE)
        return false;
    pair[1] = healthy_to(h, g, g->to[pair[0]], d, b);
    return pair[1] != TAUT_GRAPH_NONE;
}

/* Static routing misroutes over the first that will do, counted from the sum
 * of both coordinates, so that detours of one row part. */
static int misroute_one(const struct taut_hyperx *h, const struct taut_graph *g,
                        uint32_t r, uint32_t d, uint32_t b,
                        struct taut_route *t)
{
    uint32_t len = h->conf.length[d], pair[2];

    for (uint32_t i = 1; i <= len; i++) {
        uint32_t j = (coordinate(h, r, d) + b + i) % len;
        if (!over(h, g, r, d, j, b, pair))
            continue;
        taut_route_add(t, pair[0]);
        taut_route_add(t, pair[1]);
        return 0;
    }
    return -1;
}

static int misroute_all(const struct taut_hyperx *h, const struct taut_graph *g,
                        uint32_t r, uint32_t d, uint32_t b,
                        struct taut_route *t)
{
    uint32_t link[2][TAUT_HYPERX_MAX_LENGTH], pair[2], n = 0;

    for (uint32_t j = 0; j < h->conf.length[d]; j++) {
        if (!over(h, g, r, d, j, b, pair))
            continue;
        link[0][n] = pair[0];
        link[1][n++] = pair[1];
    }
    taut_route_add_set(t, link[0], NULL, n);
    taut_route_add_set(t, link[1], NULL, n);
    return n > 0 ? 0 : -1;
}

/* Is there any other way than the direct one? */
static bool has_choice(const struct taut_hyperx *h, const struct taut_graph *g,
                       uint32_t r, uint32_t d, uint32_t b)
{
    uint32_t pair[2];

    for (uint32_t j = 0; j < h->conf.length[d]; j++)
        if (over(h, g, r, d, j, b, pair))
            return true;
    return false;
}

int taut_hyperx_cross(const struct taut_hyperx *h, const struct taut_graph *g,
                      uint32_t r, uint32_t d, uint32_t b, struct taut_route *t)
{
    uint32_t l = healthy_to(h, g, r, d, b);
    double direct = 1 - h->conf.misrouted;

    if (l == TAUT_GRAPH_NONE)
        return h->conf.adaptive ? misroute_all(h, g, r, d, b, t)
                                : misroute_one(h, g, r, d, b, t);
    if (h->conf.adaptive && direct < 1 && has_choice(h, g, r, d, b))
        taut_route_add_part(t, &l, &direct, 1);
    else
        taut_route_add(t, l);
    return 0;
}

static int hyperx_route(const void *self, const struct taut_graph *g,
                        uint32_t r, uint32_t s, uint32_t dst,
                        struct taut_route *t)
{
    const struct taut_hyperx *h = self;

    (void)dst;
    for (uint32_t d = 0; d < h->conf.dims; d++) {
        uint32_t b = coordinate(h, s, d);
        if (coordinate(h, r, d) == b)
            continue;
        uint32_t next = moved(h, r, d, b);
        if (next == TAUT_GRAPH_NONE || taut_hyperx_cross(h, g, r, d, b, t) < 0)
            return -1;
        r = next;
    }
    return 0;
}

/* In the dimension that cannot be crossed: the direct link, and of each two
 * hops the first failed one. */
static void blame_row(const struct taut_hyperx *h, const struct taut_graph *g,
                      uint32_t r, uint32_t d, uint32_t b, struct taut_route *t)
{
    for (uint32_t j = 0; j < h->conf.length[d]; j++) {
        uint32_t l = link_to(h, r, d, j);
        if (l != TAUT_GRAPH_NONE && taut_graph_is_up(g, l))
            l = j == b ? TAUT_GRAPH_NONE : link_to(h, g->to[l], d, b);
        if (l != TAUT_GRAPH_NONE && !taut_graph_is_up(g, l))
            taut_route_add(t, l);
    }
}

static int hyperx_blame(const void *self, const struct taut_graph *g,
                        uint32_t r, uint32_t s, uint32_t dst,
                        struct taut_route *t)
{
    const struct taut_hyperx *h = self;

    (void)dst;
    for (uint32_t d = 0; d < h->conf.dims; d++) {
        uint32_t b = coordinate(h, s, d), pair[2];
        bool blocked = coordinate(h, r, d) != b &&
                       healthy_to(h, g, r, d, b) == TAUT_GRAPH_NONE;
        for (uint32_t j = 0; blocked && j < h->conf.length[d]; j++)
            blocked = !over(h, g, r, d, j, b, pair);
        if (blocked) {
            blame_row(h, g, r, d, b, t);
            return t->entries > 0 ? 0 : -1;
        }
        r = moved(h, r, d, b);
        if (r == TAUT_GRAPH_NONE)
            return -1;
    }
    return -1;
}

static void hyperx_destroy(void *self)
{
    struct taut_hyperx *h = self;

    free(h->place);
    free(h->router);
    free(h->link);
    free(h);
}

static const struct taut_engine hyperx_engine = {
    .name = "hyperx",
    .route = hyperx_route,
    .blame = hyperx_blame,
    .loads = taut_hyperx_loads,
    .destroy = hyperx_destroy,
};

/* ---- building ---- */

static int measure(struct taut_hyperx *h, struct taut_error *err)
{
    const struct taut_hyperx_conf *c = &h->conf;
    uint64_t places = 1;

    errno = EINVAL;
    if (c->dims < 1 || c->dims > MAX_DIMS)
        return taut_error_set(err, "%u dimensions, expected 1 to %d", c->dims,
                              MAX_DIMS);
    if (!(c->misrouted >= 0 && c->misrouted <= 1))
        return taut_error_set(err, "misrouted %g, expected 0 to 1",
                              c->misrouted);
    for (uint32_t d = c->dims; d-- > 0;) {
        if (c->length[d] < 1 || c->length[d] > TAUT_HYPERX_MAX_LENGTH)
            return taut_error_set(err, "a row of %u, expected 1 to %d",
                                  c->length[d], TAUT_HYPERX_MAX_LENGTH);
        h->stride[d] = (uint32_t)places;
        h->first[d] = h->width;
        h->width += c->length[d];
        places *= c->length[d];
        if (places > TAUT_GRAPH_MAX_ROUTERS)
            return taut_error_set(err, "more than %u places",
                                  TAUT_GRAPH_MAX_ROUTERS);
    }
    h->places = (uint32_t)places;
    return 0;
}

static uint32_t *new_none(size_t n)
{
    uint32_t *a = malloc((n + 1) * sizeof(*a));

    if (a != NULL)
        memset(a, 0xff, n * sizeof(*a)); /* NONE */
    return a;
}

static int place_routers(struct taut_hyperx *h, const struct taut_graph *g,
                         const uint32_t *place, struct taut_error *err)
{
    for (uint32_t r = 0; r < g->routers; r++) {
        errno = EINVAL;
        if (place[r] >= h->places)
            return taut_error_set(err, "router %u in place %u of %u", r,
                                  place[r], h->places);
        if (h->router[place[r]] != TAUT_GRAPH_NONE)
            return taut_error_set(err, "routers %u and %u in place %u",
                                  h->router[place[r]], r, place[r]);
        h->place[r] = place[r];
        h->router[place[r]] = r;
    }
    return 0;
}

static int place_link(struct taut_hyperx *h, const struct taut_graph *g,
                      uint32_t l, struct taut_error *err)
{
    uint32_t r = g->from[l], s = g->to[l], dim = 0, changed = 0;

    for (uint32_t d = 0; d < h->conf.dims; d++)
        if (coordinate(h, r, d) != coordinate(h, s, d)) {
            dim = d;
            changed++;
        }
    errno = EINVAL;
    if (changed != 1)
        return taut_error_set(err,
                              "link %u from router %u to %u changes %u "
                              "coordinates, expected 1",
                              l, r, s, changed);
    uint32_t *at =
        &h->link[(size_t)r * h->width + h->first[dim] + coordinate(h, s, dim)];
    if (*at != TAUT_GRAPH_NONE)
        return taut_error_set(err,
                              "links %u and %u both from router %u to "
                              "%u",
                              *at, l, r, s);
    *at = l;
    return 0;
}

static uint32_t entries_max(const struct taut_hyperx *h)
{
    return 2 * h->width;
}

int taut_hyperx_create(struct taut_graph *g,
                       const struct taut_hyperx_conf *conf,
                       struct taut_error *err)
{
    struct taut_hyperx *h = calloc(1, sizeof(*h));

    if (h == NULL)
        return -1;
    h->conf = *conf;
    h->conf.place = NULL;
    if (measure(h, err) < 0)
        goto fail;
    h->place = new_none(g->routers);
    h->router = new_none(h->places);
    h->link = new_none((size_t)g->routers * h->width);
    if (h->place == NULL || h->router == NULL || h->link == NULL) {
        errno = ENOMEM;
        taut_error_set(err, "out of memory for %u routers", g->routers);
        goto fail;
    }
    if (place_routers(h, g, conf->place, err) < 0)
        goto fail;
    for (uint32_t l = 0; l < g->links; l++)
        if (place_link(h, g, l, err) < 0)
            goto fail;
    taut_graph_route_by(g, &hyperx_engine, h, entries_max(h));
    return 0;
fail:
    hyperx_destroy(h);
    return -1;
}
