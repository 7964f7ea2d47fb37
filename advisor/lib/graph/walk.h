/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Every route between some sources and some destinations, by several
 * threads. */
#ifndef TAUT_ADVISOR_LIB_GRAPH_WALK_H
#define TAUT_ADVISOR_LIB_GRAPH_WALK_H

#include "advisor/lib/graph/engine.h"

#define TAUT_WALK_MAX_THREADS 64

struct taut_walk_end {
    uint32_t router;
    uint32_t endpoint; /* NONE: any on the router */
    uint64_t weight;   /* not 0 */
};

/* A thread's own results; which of them there are is up to the caller. */
struct taut_walk_sums {
    double *load;    /* [n_load] */
    uint64_t *count; /* [n_count] */
    struct taut_lost lost;
};

/* One route; t is NULL where there is none. */
typedef void (*taut_walk_f)(const void *arg, struct taut_walk_sums *sums,
                            const struct taut_walk_end *src,
                            const struct taut_walk_end *dst,
                            const struct taut_route *t);

struct taut_walk {
    const struct taut_graph *graph;
    const struct taut_walk_end *src, *dst;
    uint32_t n_src, n_dst;
    size_t n_load, n_count;
    taut_walk_f visit;
    const void *arg;
    unsigned threads; /* 1..TAUT_WALK_MAX_THREADS; 0: one per processor */
};

/* Visit each pair on different routers; the threads' results are added to
 * 'sums', whose 'lost' keeps the first of them.
 * Returns 0, or -1 with errno ENOMEM or EAGAIN. */
int taut_walk_run(const struct taut_walk *w, struct taut_walk_sums *sums);

#endif
