/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which free nodes of a box to take. */
#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/lib/boxes/inside.h"

/* A router shared with strangers goes before one as far out that is not. */
#define SHARED 1.05

#define ALMOST 0.98 /* of the distance of the farthest one */
#define BATCH 16    /* rounds in which most of what is too much goes */

struct choice {
    const struct taut_boxes *b;
    const struct taut_box *box;
    uint32_t *router, *take;
    uint32_t *place; /* [volume * dims] within the box */
    double *away;    /* [dims * widest] hops to all chosen, by place */
    double *far;     /* [volume] */
    uint32_t widest;
};

/* Hops between places i and j of a dimension. */
static uint32_t apart(const struct choice *c, uint32_t d, uint32_t i,
                      uint32_t j)
{
    uint32_t n = i > j ? i - j : j - i, len = c->b->length[d];

    return c->b->wraps[d] && len - n < n ? len - n : n;
}

static void list_routers(struct choice *c)
{
    uint32_t dims = c->b->dims;

    for (uint32_t i = 0; i < c->box->volume; i++) {
        uint32_t k = i, r = 0;
        for (uint32_t d = dims; d-- > 0;) {
            uint32_t x = k % c->box->extent[d];
            k /= c->box->extent[d];
            c->place[i * dims + d] = x;
            r += (c->box->at[d] + x) % c->b->length[d] *
                 (uint32_t)c->b->router_step[d];
        }
        c->router[i] = r;
        c->take[i] = c->b->free[r];
    }
}

/* 'n' nodes of router number i are chosen, or with n < 0 no more. */
static void count_in(struct choice *c, uint32_t i, int n)
{
    for (uint32_t d = 0; d < c->b->dims; d++) {
        double *away = c->away + (size_t)d * c->widest;
        uint32_t x = c->place[i * c->b->dims + d];
        for (uint32_t j = 0; j < c->box->extent[d]; j++)
            away[j] += n * (double)apart(c, d, x, j);
    }
}

static double distance(const struct choice *c, uint32_t i)
{
    double sum = 0;

    for (uint32_t d = 0; d < c->b->dims; d++)
        sum += c->away[(size_t)d * c->widest + c->place[i * c->b->dims + d]];
    uint32_t r = c->router[i];
    return c->b->total[r] > c->b->free[r] ? sum * SHARED : sum;
}

/* Distances of all chosen; returns the largest. */
static double look(struct choice *c)
{
    double most = 0;

    for (uint32_t i = 0; i < c->box->volume; i++) {
        c->far[i] = c->take[i] > 0 ? distance(c, i) : -1;
        most = c->far[i] > most ? c->far[i] : most;
    }
    return most;
}

static void drop(struct choice *c, uint32_t i, uint32_t n)
{
    count_in(c, i, -(int)n);
    c->take[i] -= n;
}

/* Leave out whole routers that are almost as far out as the farthest one, at
 * most 'batch' nodes (one router at least).  Returns how many nodes. */
static uint32_t drop_routers(struct choice *c, uint32_t batch, uint32_t spare)
{
    double most = look(c);
    uint32_t dropped = 0;

    for (uint32_t i = 0; i < c->box->volume && dropped < batch; i++)
        if (c->far[i] >= ALMOST * most && c->take[i] > 0 &&
            c->take[i] <= spare - dropped) {
            dropped += c->take[i];
            drop(c, i, c->take[i]);
        }
    return dropped;
}

/* Nothing that is as far out fits in whole. */
static uint32_t drop_nodes(struct choice *c, uint32_t spare)
{
    uint32_t best = 0;
    double most = -1;

    for (uint32_t i = 0; i < c->box->volume; i++) {
        bool fits = c->take[i] <= spare; /* farther in, but whole */
        double far = fits ? c->far[i] + 1e-9 : c->far[i] * ALMOST * ALMOST;
        if (c->take[i] > 0 && far > most) {
            most = far;
            best = i;
        }
    }
    uint32_t n = c->take[best] < spare ? c->take[best] : spare;
    drop(c, best, n);
    return n;
}

static void leave_out(struct choice *c, uint32_t spare)
{
    for (uint32_t i = 0; i < c->box->volume; i++)
        if (c->take[i] > 0)
            count_in(c, i, (int)c->take[i]);
    while (spare > 0) {
        uint32_t n = drop_routers(c, spare / BATCH + 1, spare);
        spare -= n > 0 ? n : drop_nodes(c, spare);
    }
}

int taut_boxes_choose(const struct taut_boxes *b, const struct taut_box *box,
                      uint32_t count, uint32_t *router, uint32_t *take)
{
    struct choice c = {.b = b, .box = box, .router = router, .take = take};
    int rc = -1;

    for (uint32_t d = 0; d < b->dims; d++)
        if (box->extent[d] > c.widest)
            c.widest = box->extent[d];
    c.place = calloc((size_t)box->volume * b->dims, sizeof(*c.place));
    c.away = calloc((size_t)c.widest * b->dims, sizeof(*c.away));
    errno = ENOMEM;
    c.far = calloc(box->volume, sizeof(*c.far));
    if (c.place == NULL || c.away == NULL || c.far == NULL)
        goto out;
    list_routers(&c);
    uint32_t held = 0;
    for (uint32_t i = 0; i < box->volume; i++)
        held += take[i];
    errno = EINVAL;
    if (held < count)
        goto out;
    leave_out(&c, held - count);
    errno = 0;
    rc = 0;
out:
    free(c.place);
    free(c.away);
    free(c.far);
    return rc;
}
