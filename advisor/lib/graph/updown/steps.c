/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include "advisor/lib/graph/updown/steps.h"

void taut_updown_candidates(const struct taut_updown_choice *c, uint32_t *first,
                            uint32_t *end)
{
    uint32_t begin = c->g->out_first[c->at], ups = c->u->ups[c->at];

    if (c->row[c->at] & TAUT_UPDOWN_DOWN) {
        *first = begin + ups;
        *end = c->g->out_first[c->at + 1];
    } else {
        *first = begin;
        *end = begin + ups;
    }
}

bool taut_updown_is_step(const struct taut_updown_choice *c, uint32_t r,
                         uint32_t to)
{
    uint16_t here = c->row[r], there = c->row[to];

    return (here & TAUT_UPDOWN_DOWN) ? there + 1u == here
                                     : (there & TAUT_UPDOWN_FAR) + 1u == here;
}

/* Does candidate i lead one step nearer? */
static bool leads_on(const struct taut_updown_choice *c, uint32_t i)
{
    return taut_updown_is_step(c, c->at, c->u->far[i]);
}

bool taut_updown_is_usable(const struct taut_updown_choice *c, uint32_t i)
{
    return leads_on(c, i) &&
           (c->healthy || taut_graph_is_up(c->g, c->u->link[i]));
}

/* ---- one link for each destination ---- */

/* The n-th (modulo their count) candidate that 'is' holds for. */
static uint32_t pick(const struct taut_updown_choice *c, uint32_t n,
                     bool (*is)(const struct taut_updown_choice *, uint32_t))
{
    uint32_t first, end, count = 0, one = TAUT_GRAPH_NONE;

    taut_updown_candidates(c, &first, &end);
    for (uint32_t i = first; i < end; i++)
        if (is(c, i) && count++ == 0)
            one = i;
    if (count == 0 || n % count == 0)
        return one;
    n %= count;
    for (uint32_t i = one; i < end; i++)
        if (is(c, i) && n-- == 0)
            return i;
    return TAUT_GRAPH_NONE;
}

/* On the way up all upward links of a router count, so that a failure
 * elsewhere does not move the destinations that it does not concern; on the
 * way down those that lead on when they are healthy. */
uint32_t taut_updown_next_link(const struct taut_updown_choice *c, uint32_t key)
{
    uint32_t n = key / c->u->stride[c->at], ups = c->u->ups[c->at];
    bool down = c->row[c->at] & TAUT_UPDOWN_DOWN;
    uint32_t i = TAUT_GRAPH_NONE;

    if (down)
        i = pick(c, n, leads_on);
    else if (ups > 0)
        i = c->g->out_first[c->at] + n % ups;
    if (i != TAUT_GRAPH_NONE && !taut_updown_is_usable(c, i))
        i = pick(c, n, taut_updown_is_usable);
    return i == TAUT_GRAPH_NONE ? i : c->u->link[i];
}

uint32_t taut_updown_first_usable(const struct taut_updown_choice *c)
{
    uint32_t i = pick(c, 0, taut_updown_is_usable);

    return i == TAUT_GRAPH_NONE ? i : c->u->link[i];
}

uint32_t taut_updown_key_of(const struct taut_updown *u,
                            const struct taut_graph *g, uint32_t s,
                            uint32_t dst)
{
    if (dst == TAUT_GRAPH_NONE && g->on_first[s] < g->on_first[s + 1])
        dst = g->on[g->on_first[s]];
    if (dst == TAUT_GRAPH_NONE)
        return s;
    return u->key != NULL ? u->key[dst] : dst;
}
