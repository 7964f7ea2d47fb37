/* SPDX-License-Identifier: GPL-2.0-or-later */
/* All pairs of a HyperX at once.
 *
 * The dimensions are crossed in order. So the traffic from one coordinate of a
 * row to another is the sum of the sources over all earlier coordinates times
 * that of the destinations over all later ones. A detour stays in its row.
 *
 * With p and q two places that differ in dimension d only,
 *
 *   amount(p -> q) = S(d, p) * T(d, q)
 *
 *   S(d, p)  sum of src over the places that are like p in dimension d and all
 *            later ones: from there routes come to p before they cross d
 *   T(d, q)  sum of dst over the places that are like q in dimension d and all
 *            earlier ones: to there routes go on from q
 *
 * S(d + 1) is the sum of S(d) over the rows of dimension d, and S(0) is src; T
 * is summed from the last dimension down.  So with P places, dimensions of the
 * lengths n(d), it costs P * sum of n(d), where all pairs are P^2.  Sums of
 * whole numbers are exact up to 2^53. */
#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "advisor/lib/graph/hyperx/hyperx.h"

struct adding {
    const struct taut_hyperx *h;
    const struct taut_graph *g;
    double *src, *dst; /* [dims * places] sums for each dimension */
    double *load;      /* [links] */
    struct taut_route route;
};

/* out[p] = sum of in[] over the row of p in dimension d. */
static void sum_rows(const struct taut_hyperx *h, uint32_t d, const double *in,
                     double *out)
{
    uint32_t len = h->conf.length[d], stride = h->stride[d];

    for (uint32_t p = 0; p < h->places; p++) {
        double sum = 0;
        if (p / stride % len != 0)
            continue;
        for (uint32_t a = 0; a < len; a++)
            sum += in[p + a * stride];
        for (uint32_t a = 0; a < len; a++)
            out[p + a * stride] = sum;
    }
}

static void sum_all(struct adding *x, const uint64_t *src, const uint64_t *dst)
{
    const struct taut_hyperx *h = x->h;
    size_t n = h->places, last = h->conf.dims - 1;

    for (uint32_t p = 0; p < n; p++) {
        x->src[p] = (double)src[h->router[p]];
        x->dst[last * n + p] = (double)dst[h->router[p]];
    }
    for (uint32_t d = 0; d < last; d++) {
        sum_rows(h, d, x->src + d * n, x->src + (d + 1) * n);
        uint32_t e = (uint32_t)last - d;
        sum_rows(h, e, x->dst + e * n, x->dst + (e - 1) * n);
    }
}

/* Returns false where there is no way. */
static bool cross(struct adding *x, uint32_t p, uint32_t d, uint32_t b,
                  double amount)
{
    const struct taut_route *t = &x->route;

    taut_route_begin(&x->route);
    if (taut_hyperx_cross(x->h, x->g, x->h->router[p], d, b, &x->route) < 0)
        return false;
    for (uint32_t i = 0; i < t->entries; i++)
        x->load[t->link[i]] += amount * (t->has_sets ? t->weight[i] : 1);
    return true;
}

static bool cross_all(struct adding *x, uint32_t d)
{
    const struct taut_hyperx *h = x->h;
    const double *src = x->src + (size_t)d * h->places;
    const double *dst = x->dst + (size_t)d * h->places;
    uint32_t len = h->conf.length[d], stride = h->stride[d];

    for (uint32_t p = 0; p < h->places; p++) {
        uint32_t a = p / stride % len;
        for (uint32_t b = 0; src[p] > 0 && b < len; b++) {
            double amount = src[p] * dst[p + (b - a) * stride];
            if (a != b && amount > 0 && !cross(x, p, d, b, amount))
                return false;
        }
    }
    return true;
}

static int add_all(struct adding *x, const uint64_t *src, const uint64_t *dst,
                   double *load)
{
    sum_all(x, src, dst);
    for (uint32_t d = 0; d < x->h->conf.dims; d++)
        if (!cross_all(x, d))
            return 1; /* some pairs have no route: which, a walk can tell */
    for (uint32_t l = 0; l < x->g->links; l++)
        load[l] += x->load[l];
    return 0;
}

int taut_hyperx_loads(const void *self, const struct taut_graph *g,
                      const uint64_t *src, const uint64_t *dst, double *load,
                      struct taut_lost *lost)
{
    const struct taut_hyperx *h = self;
    struct adding x = {.h = h, .g = g};
    size_t n = (size_t)h->conf.dims * h->places;
    int rc = -1;

    (void)lost;
    if (h->places != g->routers)
        return 1; /* rows have gaps */
    x.src = malloc(n * sizeof(*x.src));
    x.dst = malloc(n * sizeof(*x.dst));
    x.load = calloc((size_t)g->links + 1, sizeof(*x.load));
    if (x.src != NULL && x.dst != NULL && x.load != NULL &&
        taut_route_init(&x.route, g) == 0)
        rc = add_all(&x, src, dst, load);
    taut_route_fini(&x.route);
    free(x.src);
    free(x.dst);
    free(x.load);
    return rc;
}
