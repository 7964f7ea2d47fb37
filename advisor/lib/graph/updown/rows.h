/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Distances to each destination, up and down; between the files of the
 * engine "updown". */
#ifndef TAUT_ADVISOR_LIB_GRAPH_UPDOWN_ROWS_H
#define TAUT_ADVISOR_LIB_GRAPH_UPDOWN_ROWS_H

#include "advisor/lib/graph/updown/updown.h"

/* A row has for each router its distance to one destination: TAUT_UPDOWN_DOWN
 * is set where the way goes only down from here. */
#define TAUT_UPDOWN_DOWN 0x8000u
#define TAUT_UPDOWN_FAR 0x7fffu
#define TAUT_UPDOWN_HOPS_MAX 1024u

struct taut_updown {
    struct taut_arena memory;
    uint32_t routers;
    uint32_t *rank;  /* NULL: no link is upward */
    uint32_t *order; /* [routers] routers by rank */
    uint32_t *link;  /* [links] like g->out, upward ones of a router first */
    uint32_t *far;   /* [links] where these lead */
    uint32_t *ups;   /* [routers] how many of them are upward */
    uint32_t *stride;
    uint32_t *key;
    _Atomic(uint16_t *) *row; /* [routers] by destination; NULL: not yet */
    struct taut_updown_cache *cache; /* instead, where not all have room */
};

static inline bool taut_updown_is_upward(const struct taut_updown *u,
                                         const struct taut_graph *g,
                                         uint32_t link)
{
    return u->rank != NULL && u->rank[g->to[link]] < u->rank[g->from[link]];
}

/* Where rows are kept: all of them as long as they have room in max_bytes,
 * else the latest. drop frees all, while none is in use; fini also accepts a
 * failed init.  Returns 0, or -1 with errno ENOMEM. */
int taut_updown_rows_init(struct taut_updown *u, size_t max_bytes);
void taut_updown_rows_drop(struct taut_updown *u);
void taut_updown_rows_fini(struct taut_updown *u);

/* The row of destination s, made where it is not kept; from several threads.
 * Returns NULL when there is no memory.  To be given back by whoever took
 * it: it stays as long as somebody has it. */
const uint16_t *taut_updown_row_take(const struct taut_updown *u,
                                     const struct taut_graph *g, uint32_t s);
void taut_updown_row_give(const struct taut_updown *u, const uint16_t *row);

/* A row of the caller's own, which free() takes.
 *   healthy  take all links for healthy */
uint16_t *taut_updown_new_row(const struct taut_updown *u,
                              const struct taut_graph *g, uint32_t s,
                              bool healthy);

#endif
