/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/lib/boxes/inside.h"

#define NONE UINT32_MAX

static int check(uint32_t dims, const uint32_t *length, struct taut_error *err)
{
    uint64_t routers = 1;

    errno = EINVAL;
    if (dims < 1 || dims > TAUT_BOXES_MAX_DIMS)
        return taut_error_set(err, "%u dimensions, expected 1 to %d", dims,
                              TAUT_BOXES_MAX_DIMS);
    for (uint32_t d = 0; d < dims; d++) {
        if (length[d] < 1 || length[d] > 4096)
            return taut_error_set(err, "a ring of %u, expected 1 to 4096",
                                  length[d]);
        routers *= length[d];
        if (routers > 1 << 20)
            return taut_error_set(err, "more than %d routers", 1 << 20);
    }
    errno = 0;
    return 0;
}

static void lay_out(struct taut_boxes *b)
{
    b->routers = 1;
    b->cells = 1;
    for (uint32_t d = b->dims; d-- > 0;) {
        uint32_t len = b->length[d];
        b->span[d] = len + (b->wraps[d] ? len / 2 : 0);
        b->router_step[d] = b->routers;
        b->step[d] = b->cells;
        b->routers *= len;
        b->cells *= b->span[d] + 1;
    }
}

/* The router of each cell, NONE for those with a coordinate 0. */
static uint32_t router_of_cell(const struct taut_boxes *b, size_t i)
{
    uint32_t r = 0;

    for (uint32_t d = 0; d < b->dims; d++) {
        uint32_t x = (uint32_t)(i / b->step[d] % (b->span[d] + 1));
        if (x == 0)
            return NONE;
        r += (x - 1) % b->length[d] * (uint32_t)b->router_step[d];
    }
    return r;
}

struct taut_boxes *taut_boxes_create(uint32_t dims, const uint32_t *length,
                                     const bool *wraps, struct taut_error *err)
{
    if (check(dims, length, err) < 0)
        return NULL;
    struct taut_boxes *b = calloc(1, sizeof(*b));
    if (b == NULL)
        return NULL;
    b->dims = dims;
    memcpy(b->length, length, dims * sizeof(*length));
    memcpy(b->wraps, wraps, dims * sizeof(*wraps));
    lay_out(b);
    TAUT_TAKE(&b->memory, b->free, b->routers);
    TAUT_TAKE(&b->memory, b->total, b->routers);
    TAUT_TAKE(&b->memory, b->free_sum, b->cells);
    TAUT_TAKE(&b->memory, b->total_sum, b->cells);
    TAUT_TAKE(&b->memory, b->router, b->cells);
    if (b->memory.is_short) {
        taut_boxes_destroy(b);
        return NULL;
    }
    for (size_t i = 0; i < b->cells; i++)
        b->router[i] = router_of_cell(b, i);
    return b;
}

static void drop_bad(struct taut_boxes *b)
{
    free(b->near_sum);
    b->near_sum = NULL;
    for (uint32_t d = 0; d < TAUT_BOXES_MAX_DIMS; d++) {
        free(b->bad_sum[d]);
        b->bad_sum[d] = NULL;
    }
}

void taut_boxes_destroy(struct taut_boxes *b)
{
    int saved = errno;

    if (b == NULL)
        return;
    drop_bad(b);
    taut_arena_free(&b->memory);
    free(b);
    errno = saved;
}

uint32_t taut_boxes_routers(const struct taut_boxes *b)
{
    return b->routers;
}

/* ---- sums ---- */

/* Add along each dimension in turn: cells hold values, then sums. */
#define ADD_UP(b, sum)                                                         \
    do {                                                                       \
        for (uint32_t d = 0; d < (b)->dims; d++) {                             \
            size_t step = (b)->step[d], block = step * ((b)->span[d] + 1);     \
            for (size_t i = 0; i < (b)->cells; i += block)                     \
                for (size_t k = i + step; k < i + block; k++)                  \
                    (sum)[k] += (sum)[k - step];                               \
        }                                                                      \
    } while (0)

static void sum_counts(const struct taut_boxes *b, const uint32_t *value,
                       uint32_t *sum)
{
    for (size_t i = 0; i < b->cells; i++)
        sum[i] = b->router[i] == NONE ? 0 : value[b->router[i]];
    ADD_UP(b, sum);
}

static void sum_weights(const struct taut_boxes *b, const double *value,
                        double *sum)
{
    for (size_t i = 0; i < b->cells; i++)
        sum[i] = b->router[i] == NONE ? 0 : value[b->router[i]];
    ADD_UP(b, sum);
}

void taut_boxes_fill(struct taut_boxes *b, const uint32_t *free,
                     const uint32_t *total)
{
    bool same = memcmp(b->total, total, b->routers * sizeof(*total)) == 0;

    memcpy(b->free, free, b->routers * sizeof(*free));
    sum_counts(b, free, b->free_sum);
    if (!same) {
        memcpy(b->total, total, b->routers * sizeof(*total));
        sum_counts(b, total, b->total_sum);
    }
}

/* A weight in sixteenths, at least one. */
static uint32_t near_weight(double weight)
{
    double v = 16 * weight;

    return v < 1 ? 1 : v > 1024 ? 1024 : (uint32_t)v;
}

static int mark_all(struct taut_boxes *b, size_t n,
                    const struct taut_boxes_cable *cable, double *weight,
                    uint32_t *near)
{
    for (uint32_t d = 0; d < b->dims; d++) {
        memset(weight, 0, b->routers * sizeof(*weight));
        for (size_t i = 0; i < n; i++)
            if (cable[i].dim == d) {
                weight[cable[i].router] += cable[i].weight;
                near[cable[i].router] += near_weight(cable[i].weight);
            }
        b->bad_sum[d] = malloc(b->cells * sizeof(double));
        if (b->bad_sum[d] == NULL)
            return -1;
        sum_weights(b, weight, b->bad_sum[d]);
    }
    b->near_sum = malloc(b->cells * sizeof(*b->near_sum));
    if (b->near_sum == NULL)
        return -1;
    sum_counts(b, near, b->near_sum);
    return 0;
}

int taut_boxes_mark(struct taut_boxes *b, size_t n,
                    const struct taut_boxes_cable *cable)
{
    drop_bad(b);
    if (n == 0)
        return 0;
    for (size_t i = 0; i < n; i++)
        if (cable[i].router >= b->routers || cable[i].dim >= b->dims) {
            errno = EINVAL;
            return -1;
        }
    double *weight = calloc(b->routers, sizeof(*weight));
    uint32_t *near = calloc(b->routers, sizeof(*near));
    int rc = -1;
    if (weight != NULL && near != NULL)
        rc = mark_all(b, n, cable, weight, near);
    free(weight);
    free(near);
    if (rc < 0) {
        drop_bad(b);
        errno = ENOMEM;
    }
    return rc;
}

/* ---- one box ---- */

/* Offset of the box's corner 'k' (a bit per dimension) from its origin. */
static size_t corner(const struct taut_boxes *b, const uint32_t *extent,
                     uint32_t k)
{
    size_t i = 0;

    for (uint32_t d = 0; d < b->dims; d++)
        if (k >> d & 1)
            i += extent[d] * b->step[d];
    return i;
}

static bool is_subtracted(const struct taut_boxes *b, uint32_t k)
{
    return (__builtin_popcount(k) ^ (int)b->dims) & 1;
}

static size_t origin(const struct taut_boxes *b, const uint32_t *at)
{
    size_t i = 0;

    for (uint32_t d = 0; d < b->dims; d++)
        i += at[d] * b->step[d];
    return i;
}

uint32_t taut_boxes_sum(const struct taut_boxes *b, const uint32_t *sum,
                        const uint32_t *at, const uint32_t *extent)
{
    size_t base = origin(b, at);
    uint32_t n = 0;

    for (uint32_t k = 0; k < 1U << b->dims; k++) {
        uint32_t v = sum[base + corner(b, extent, k)];
        n += is_subtracted(b, k) ? -v : v;
    }
    return n;
}

double taut_boxes_bad(const struct taut_boxes *b, const uint32_t *at,
                      const uint32_t *extent)
{
    uint32_t e[TAUT_BOXES_MAX_DIMS];
    size_t base = origin(b, at);
    double bad = 0;

    memcpy(e, extent, sizeof(e));
    for (uint32_t d = 0; d < b->dims; d++) {
        if (!(b->wraps[d] && extent[d] == b->length[d]))
            e[d] = extent[d] - 1; /* the last router's cable leads out */
        for (uint32_t k = 0; e[d] > 0 && k < 1U << b->dims; k++) {
            double v = b->bad_sum[d][base + corner(b, e, k)];
            bad += is_subtracted(b, k) ? -v : v;
        }
        e[d] = extent[d];
    }
    return bad > 1e-9 ? bad : 0; /* what rounding left */
}

int taut_boxes_count(const struct taut_boxes *b, struct taut_box *box)
{
    box->volume = 1;
    for (uint32_t d = 0; d < b->dims; d++) {
        uint32_t e = box->extent[d];
        if (e < 1 || e > b->length[d] || box->at[d] >= b->length[d] ||
            box->at[d] + e > b->span[d]) {
            errno = EINVAL;
            return -1;
        }
        box->volume *= e;
    }
    box->free = taut_boxes_sum(b, b->free_sum, box->at, box->extent);
    box->total = taut_boxes_sum(b, b->total_sum, box->at, box->extent);
    return 0;
}
