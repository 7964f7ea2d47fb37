/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tori and meshes of 1 to 6 dimensions: dimension order routing, and what a
 * fabric manager makes of it when links have failed.
 *
 * A route goes through the dimensions in order, in each ring the shorter
 * way; at half a ring the way 'tie' says.  Where that way has a failed link,
 * it goes the other way round the ring (in a mesh there is none).  Where both
 * have one, the other orders of the dimensions are tried, one after the other
 * in lexicographic order of the positions in 'order'; when all fail there is
 * no route.
 *
 * Source: M. Ezell, CUG 2013, on Cray's Gemini: X, Y, Z; routes are
 * recomputed around failures; two failures in one Z loop can leave no such
 * route; "dimension order retry". */
#ifndef TAUT_ADVISOR_LIB_GRAPH_TORUS_TORUS_H
#define TAUT_ADVISOR_LIB_GRAPH_TORUS_TORUS_H

#include "advisor/lib/graph/engine.h"

#define TAUT_TORUS_MAX_DIMS 6
#define TAUT_TORUS_MAX_LENGTH 4096

struct taut_torus_conf {
    uint32_t dims;                        /* 1..TAUT_TORUS_MAX_DIMS */
    uint32_t length[TAUT_TORUS_MAX_DIMS]; /* the last one runs fastest */
    bool wraps[TAUT_TORUS_MAX_DIMS];      /* false: a mesh */
    bool tie_minus[TAUT_TORUS_MAX_DIMS];  /* at half a ring go "-" */
    uint32_t order[TAUT_TORUS_MAX_DIMS];  /* dimension that goes first … */
    bool no_retry;                        /* only that order */
    const uint32_t *port; /* [links] 2d: "+" of dimension d, 2d + 1: "-" */
};

/* Give the graph this routing.  'conf' is not kept.
 * Returns 0, or -1 with errno EINVAL (text in 'err') or ENOMEM. */
int taut_torus_create(struct taut_graph *g, const struct taut_torus_conf *conf,
                      struct taut_error *err);

/* ---- between the files of this engine ---- */

#define TAUT_TORUS_MAX_ORDERS 720

struct taut_torus {
    struct taut_arena memory;
    struct taut_torus_conf conf; /* 'port' is not kept */
    uint32_t stride[TAUT_TORUS_MAX_DIMS];
    uint32_t orders;
    uint8_t order[TAUT_TORUS_MAX_ORDERS][TAUT_TORUS_MAX_DIMS];
    uint16_t *coord; /* [routers * dims] */
    uint32_t *link;  /* [routers * 2 dims] by port; NONE: no such link */
    uint32_t *to;    /* [routers * 2 dims] where it leads */
    uint32_t *strip[2 * TAUT_TORUS_MAX_DIMS]; /* by port: the links of ring
                        after ring, each twice, so that no way wraps */
    int16_t *way[TAUT_TORUS_MAX_DIMS]; /* steps by difference + length - 1 */
    uint16_t *clear; /* [routers * 2 dims] steps to the first failed link */
    bool is_whole;   /* nothing has failed: no need to look */
};

/* Steps from router r to coordinate b in dimension d: > 0 in "+", < 0 in
 * "-", 0 when r is there or (*blocked set) no way is left. */
int taut_torus_steps(const struct taut_torus *t, uint32_t r, uint32_t d,
                     uint32_t b, bool *blocked);

/* The order (index into t->order) that gets through from r to s; its steps
 * per dimension go to 'steps'.  Returns -1 when none does. */
int taut_torus_choose(const struct taut_torus *t, uint32_t r, uint32_t s,
                      int steps[TAUT_TORUS_MAX_DIMS]);

/* Router that differs from r in dimension d, where it has coordinate b. */
static inline uint32_t taut_torus_move(const struct taut_torus *t, uint32_t r,
                                       uint32_t d, uint32_t b)
{
    uint32_t a = t->coord[r * t->conf.dims + d];

    return r + (b - a) * t->stride[d]; /* modulo 2^32, on purpose */
}

extern const struct taut_engine taut_torus_engine;
void taut_torus_destroy(void *self);

int taut_torus_sums(const void *self, const struct taut_graph *g,
                    const uint64_t *src, const uint64_t *dst, uint64_t *sum,
                    struct taut_lost *lost);
int taut_torus_crossing(const void *self, const struct taut_graph *g,
                        uint32_t link, const uint64_t *w,
                        struct taut_crossing *out);

#endif
