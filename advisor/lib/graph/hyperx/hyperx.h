/* SPDX-License-Identifier: GPL-2.0-or-later */
/* HyperX: each router is linked to all others that differ from it in one
 * coordinate.
 *
 * A route goes through the dimensions in order, each in one hop.  Where that
 * link has failed it takes two, over another router of the row; where that
 * is not possible either there is no route.  Adaptive routing with one
 * misroute in each dimension (DOAL: N. McDonald et al., "Practical and
 * efficient incremental adaptive routing for HyperX networks", SC 2019)
 * does the same when the network is quiet, and around a failed link uses all
 * other routers of the row. */
#ifndef TAUT_ADVISOR_LIB_GRAPH_HYPERX_HYPERX_H
#define TAUT_ADVISOR_LIB_GRAPH_HYPERX_HYPERX_H

#include "advisor/lib/graph/engine.h"

#define TAUT_HYPERX_MAX_DIMS 8
#define TAUT_HYPERX_MAX_LENGTH 1024

struct taut_hyperx_conf {
    uint32_t dims; /* 1..TAUT_HYPERX_MAX_DIMS */
    uint32_t length[TAUT_HYPERX_MAX_DIMS];
    const uint32_t *place; /* [routers] number of the router's coordinates,
                              the last one runs fastest; not kept */
    bool adaptive;
    double misrouted; /* share of adaptive traffic that is not on the direct
                         link though that is healthy, 0..1 */
};

/* Give the graph this routing.
 * Returns 0, or -1 with errno EINVAL (two routers in one place, a link that
 * changes no or several coordinates, or stands beside another one) or
 * ENOMEM. */
int taut_hyperx_create(struct taut_graph *g,
                       const struct taut_hyperx_conf *conf,
                       struct taut_error *err);

/* ---- between the files of this engine ---- */

struct taut_hyperx {
    struct taut_hyperx_conf conf; /* 'place' is not kept */
    uint32_t stride[TAUT_HYPERX_MAX_DIMS];
    uint32_t first[TAUT_HYPERX_MAX_DIMS]; /* of a dimension in a router's row of
                                             'link' */
    uint32_t width;                       /* sum of the lengths */
    uint32_t places;
    uint32_t *place;  /* [routers] */
    uint32_t *router; /* [places] NONE: nobody there */
    uint32_t *link;   /* [routers * width] NONE: no such link */
};

/* Add the stages that cross dimension d, from router r to coordinate b.
 * Returns 0, or -1 where there is no way. */
int taut_hyperx_cross(const struct taut_hyperx *h, const struct taut_graph *g,
                      uint32_t r, uint32_t d, uint32_t b, struct taut_route *t);

/* taut_engine's loads. */
int taut_hyperx_loads(const void *self, const struct taut_graph *g,
                      const uint64_t *src, const uint64_t *dst, double *load,
                      struct taut_lost *lost);

#endif
