/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which links lead on towards a destination; between the files of the engine
 * "updown". */
#ifndef TAUT_ADVISOR_LIB_GRAPH_UPDOWN_STEPS_H
#define TAUT_ADVISOR_LIB_GRAPH_UPDOWN_STEPS_H

#include "advisor/lib/graph/updown/rows.h"

struct taut_updown_choice {
    const struct taut_updown *u;
    const struct taut_graph *g;
    const uint16_t *row;
    uint32_t at;
    bool healthy; /* take all links for healthy */
};

/* The links out of c->at that go the way the route goes from there, up or
 * down: u->link[first] … [end - 1]. */
void taut_updown_candidates(const struct taut_updown_choice *c, uint32_t *first,
                            uint32_t *end);

/* Does a link from router r to router 'to' lead one step nearer?  Whether it
 * is healthy is another question. */
bool taut_updown_is_step(const struct taut_updown_choice *c, uint32_t r,
                         uint32_t to);

/* Does candidate i lead one step nearer, and is it up? */
bool taut_updown_is_usable(const struct taut_updown_choice *c, uint32_t i);

/* The first candidate of these; NONE: there is none. */
uint32_t taut_updown_first_usable(const struct taut_updown_choice *c);

/* The link (of the graph) that destination number 'key' takes; or NONE. */
uint32_t taut_updown_next_link(const struct taut_updown_choice *c,
                               uint32_t key);

/* Number of destination endpoint dst on router s; NONE: the first one there. */
uint32_t taut_updown_key_of(const struct taut_updown *u,
                            const struct taut_graph *g, uint32_t s,
                            uint32_t dst);

/* taut_engine's gather. */
int taut_updown_gather(const void *self, const struct taut_graph *g,
                       const struct taut_gather *from, uint32_t s, uint32_t dst,
                       double amount, double *load);

#endif
