/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The links between two groups of a dragonfly that traffic may take, and the
 * shares of it; between the files of that engine. */
#ifndef TAUT_ADVISOR_LIB_GRAPH_DRAGONFLY_GATES_H
#define TAUT_ADVISOR_LIB_GRAPH_DRAGONFLY_GATES_H

#include "advisor/lib/graph/dragonfly/dragonfly.h"

struct taut_gate {
    uint32_t link;
    uint32_t hops; /* inside the two groups, where the ends matter */
    double share;  /* after taut_gates_share_out */
};

#define TAUT_GATES_FEW 16

struct taut_gates {
    uint32_t n;
    struct taut_gate *gate; /* 'few', or memory; it cannot be copied */
    struct taut_gate few[TAUT_GATES_FEW];
};

/* Room for 'max' of them; false: out of memory.  Where that was not called,
 * 'gate' has to be NULL. */
bool taut_gates_init(struct taut_gates *s, uint32_t max);
void taut_gates_fini(struct taut_gates *s);

/* How many links there are from group a to group b, failed or not. */
uint32_t taut_gates_count(const struct taut_dragonfly *d, uint32_t a,
                          uint32_t b);

/* The most that group a has to any other, or any other to group b. */
uint32_t taut_gates_widest(const struct taut_dragonfly *d, uint32_t a,
                           uint32_t b);

/* Healthy links from group a to group b; with r (or s) not NONE only those
 * that router r reaches (from whose far end s is reached).  'out' has room
 * for all of them. */
void taut_gates_open(const struct taut_dragonfly *d, const struct taut_graph *g,
                     uint32_t a, uint32_t b, uint32_t r, uint32_t s,
                     struct taut_gates *out);

/* The same to and from group k, for traffic from r to s that goes over it.
 * Returns false where it cannot. */
bool taut_gates_over(const struct taut_dragonfly *d, const struct taut_graph *g,
                     uint32_t r, uint32_t s, uint32_t k,
                     struct taut_gates *there, struct taut_gates *on);

/* Keep the shortest where routing is minimal; share out 1 by capacity. */
void taut_gates_share_out(enum taut_dragonfly_mode mode,
                          const struct taut_graph *g, struct taut_gates *s);

#endif
