/* SPDX-License-Identifier: GPL-2.0-or-later */
/* All that goes to one destination at once.
 *
 * Which way traffic takes at a router depends on the router and the
 * destination only, so what meets there goes on together; from the farthest
 * routers inwards each is looked at once. */
#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "advisor/lib/graph/updown/steps.h"

#define NONE TAUT_GRAPH_NONE

struct gathering {
    struct taut_updown_choice c;
    const struct taut_gather *from;
    double *load;
    uint32_t head[TAUT_UPDOWN_HOPS_MAX + 1]; /* routers by distance … */
    uint32_t most;                           /* … the largest there is */
    uint32_t key;                            /* of one link each */
    double amount;
};

static uint32_t distance(const struct gathering *x, uint32_t r)
{
    return x->c.row[r] & TAUT_UPDOWN_FAR;
}

/* 'amount' is at router r. */
static void arrive(struct gathering *x, uint32_t r, double amount)
{
    uint32_t h = distance(x, r);

    if (h == 0)
        return; /* at its destination */
    if (x->from->at[r] == 0) {
        x->from->next[r] = x->head[h];
        x->head[h] = r;
    }
    x->from->at[r] += amount;
}

static void pass_on(struct gathering *x, uint32_t link, double amount)
{
    x->load[link] += amount;
    arrive(x, x->c.g->to[link], amount);
}

/* In equal shares over all links that lead on. */
static void split(struct gathering *x, double amount)
{
    uint32_t first, end, n = 0;

    taut_updown_candidates(&x->c, &first, &end);
    for (uint32_t i = first; i < end; i++)
        n += taut_updown_is_usable(&x->c, i);
    for (uint32_t i = first; i < end; i++)
        if (taut_updown_is_usable(&x->c, i))
            pass_on(x, x->c.u->link[i], amount / n);
}

static void leave(struct gathering *x, uint32_t r)
{
    double amount = x->from->at[r];

    x->from->at[r] = 0;
    x->c.at = r;
    if (x->c.u->stride == NULL) {
        split(x, amount);
        return;
    }
    uint32_t link = taut_updown_next_link(&x->c, x->key);
    if (link != NONE) /* a row knows no way into a dead end */
        pass_on(x, link, amount);
}

static void start(struct gathering *x)
{
    for (uint32_t h = 0; h <= TAUT_UPDOWN_HOPS_MAX; h++)
        x->head[h] = NONE;
    for (uint32_t i = 0; i < x->from->n; i++) {
        uint32_t r = x->from->router[i];
        uint32_t h = distance(x, r);
        if (x->c.row[r] == TAUT_UPDOWN_FAR) {
            if (x->from->lost != NULL)
                x->from->lost[i] = true;
            continue;
        }
        x->most = h > x->most ? h : x->most;
        arrive(x, r, (double)x->from->weight[i] * x->amount);
    }
}

int taut_updown_gather(const void *self, const struct taut_graph *g,
                       const struct taut_gather *from, uint32_t s, uint32_t dst,
                       double amount, double *load)
{
    const struct taut_updown *u = self;
    struct gathering *x = malloc(sizeof(*x));

    if (x == NULL)
        return -1;
    *x = (struct gathering){
        .c = {.u = u, .g = g}, .from = from, .load = load, .amount = amount};
    x->c.row = taut_updown_row_take(u, g, s);
    if (x->c.row == NULL) {
        free(x);
        return -1;
    }
    x->key = u->stride != NULL ? taut_updown_key_of(u, g, s, dst) : 0;
    start(x);
    for (uint32_t h = x->most; h > 0; h--)
        for (uint32_t r; (r = x->head[h]) != NONE;) {
            x->head[h] = from->next[r];
            leave(x, r);
        }
    taut_updown_row_give(u, x->c.row);
    free(x);
    return 0;
}
