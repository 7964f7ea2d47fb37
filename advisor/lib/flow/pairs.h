/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Traffic between pairs of nodes, each over the rails that both have.  For the
 * files of this folder. */
#ifndef TAUT_ADVISOR_LIB_FLOW_PAIRS_H
#define TAUT_ADVISOR_LIB_FLOW_PAIRS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "advisor/lib/flow/traffic.h"

#define TAUT_PAIRS_THREADS 2 /* for walks; the daemon has other work, too */

/* Rails are bits of a set here; TAUT_GRAPH_MAX_RAILS fit. */
static inline uint64_t taut_rails_of(const struct taut_graph *g, uint32_t node)
{
    uint64_t set = 0;

    for (uint32_t k = 0; k < g->rails; k++)
        if (g->at[k * g->nodes + node] != TAUT_GRAPH_NONE)
            set |= UINT64_C(1) << k;
    return set;
}

static inline uint32_t taut_rails_count(uint64_t set)
{
    return (uint32_t)__builtin_popcountll(set);
}

/* Pairs of nodes, and which rails carry each. */
struct taut_pairs {
    uint32_t n;
    uint32_t *a, *b;   /* [n] nodes, a != b */
    double *bytes;     /* [n] */
    uint64_t *ranks;   /* [n] pairs of ranks that these are */
    uint64_t *set;     /* [n] rails that both have */
    uint64_t *lost_on; /* [n] of them those without a route */
    uint64_t *losing;  /* [n] the same, while the first pass lasts */
    struct taut_flow_pair *pair; /* [n] of one rail */
    uint32_t *index;             /* [n] the pair's number */
    bool *lost;                  /* [n] */
    struct taut_arena memory;
};

/* Room for n pairs.  Returns 0, or -1 with ENOMEM; x->memory is to be freed. */
int taut_pairs_init(struct taut_pairs *x, size_t n);

/* A pair, unless both are one node or say nothing. */
void taut_pairs_add(struct taut_pairs *x, const struct taut_graph *g,
                    uint32_t a, uint32_t b, uint64_t ranks, double bytes);

/* What all of them put on the components is added to w->load; a rail without
 * a route leaves its part to the others.  Returns 0, or -1 with errno. */
int taut_pairs_load(struct taut_traffic *w, struct taut_pairs *x);

/* 'share' on a's tx and b's rx of each rail of a set. */
void taut_pairs_ports(struct taut_traffic *w, uint32_t a, uint32_t b,
                      uint64_t set, double share);

#endif
