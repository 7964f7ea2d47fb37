/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What pairs of nodes put on the components.
 *
 * A pair sends B bytes.  Let S be the rails that both nodes have, and L those
 * of them on which there is no route.  Each rail of S without L carries
 *
 *   B / |S \ L|
 *
 * L is known only after the routes were asked for.  So there are two passes
 * over all rails: the first puts B / |S| on each that has a route, the second
 * adds
 *
 *   B / |S \ L| - B / |S|
 *
 * for the pairs with an L, which are few.  tx and rx come last, in one go.
 * Where S \ L is empty, the pair is lost and puts nothing anywhere.
 *
 * The first pass collects L in 'losing', since S \ L must be the same for all of
 * its rails. */
#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/lib/flow/pairs.h"
#include "advisor/lib/graph/load.h"

#define NONE TAUT_GRAPH_NONE

void taut_pairs_ports(struct taut_traffic *w, uint32_t a, uint32_t b,
                      uint64_t set, double share)
{
    const struct taut_graph *g = w->g;

    for (uint32_t k = 0; set != 0; k++, set >>= 1)
        if (set & 1) {
            w->load[taut_graph_tx(k * g->nodes + a)] += share;
            w->load[taut_graph_rx(k * g->nodes + b)] += share;
        }
}

int taut_pairs_init(struct taut_pairs *x, size_t n)
{
    n++;
    *x = (struct taut_pairs){.n = 0};
    TAUT_TAKE(&x->memory, x->a, n);
    TAUT_TAKE(&x->memory, x->b, n);
    TAUT_TAKE(&x->memory, x->bytes, n);
    TAUT_TAKE(&x->memory, x->set, n);
    TAUT_TAKE(&x->memory, x->ranks, n);
    TAUT_TAKE(&x->memory, x->lost_on, n);
    TAUT_TAKE(&x->memory, x->losing, n);
    TAUT_TAKE(&x->memory, x->pair, n);
    TAUT_TAKE(&x->memory, x->index, n);
    TAUT_TAKE(&x->memory, x->lost, n);
    return taut_arena_check(&x->memory);
}

void taut_pairs_add(struct taut_pairs *x, const struct taut_graph *g,
                    uint32_t a, uint32_t b, uint64_t ranks, double bytes)
{
    if (a == b || bytes <= 0)
        return;
    x->a[x->n] = a;
    x->b[x->n] = b;
    x->bytes[x->n] = bytes;
    x->ranks[x->n] = ranks;
    x->lost_on[x->n] = x->losing[x->n] = 0;
    x->set[x->n++] = g->rails == 1 ? g->at[a] != NONE && g->at[b] != NONE
                                   : taut_rails_of(g, a) & taut_rails_of(g, b);
}

/* One rail's pairs, one after the other. */
static int walk_rail(struct taut_traffic *w, struct taut_pairs *x,
                     uint32_t rail, uint32_t n)
{
    const struct taut_graph *g = w->g;
    double *load = w->load + taut_graph_link(g, 0);

    for (uint32_t i = 0; i < n; i++) {
        const struct taut_flow_pair *p = &x->pair[i];
        int rc = 0;
        if (p->from != p->to)
            rc = taut_load_route(g, p, rail * g->nodes + x->b[x->index[i]],
                                 load, &w->route);
        if (rc == TAUT_ROUTE_NO_MEMORY) {
            errno = ENOMEM;
            return -1;
        }
        x->lost[i] = rc < 0;
    }
    return 0;
}

static int load_rail(struct taut_traffic *w, struct taut_pairs *x,
                     uint32_t rail, uint32_t n)
{
    const struct taut_graph *g = w->g;

    if (n == 0)
        return 0;
    if (g->engine->pair_loads == NULL)
        return walk_rail(w, x, rail, n);
    return g->engine->pair_loads(g->self, g, n, x->pair,
                                 w->load + taut_graph_link(g, 0), x->lost);
}

/* Each pair's part on each of its rails.  'again': only those that some rail
 * lost, and only what the rails that are left have to take on more. */
static int load_rails(struct taut_traffic *w, struct taut_pairs *x, bool again)
{
    const struct taut_graph *g = w->g;

    for (uint32_t k = 0; k < g->rails; k++) {
        uint64_t bit = UINT64_C(1) << k;
        uint32_t n = 0;
        for (uint32_t i = 0; i < x->n; i++) {
            uint64_t set = x->set[i] & ~x->lost_on[i];
            if (!(set & bit) || (again && x->lost_on[i] == 0))
                continue;
            double amount = x->bytes[i] / taut_rails_count(set);
            if (again)
                amount -= x->bytes[i] / taut_rails_count(x->set[i]);
            x->index[n] = i;
            x->pair[n++] =
                (struct taut_flow_pair){g->at[k * g->nodes + x->a[i]],
                                        g->at[k * g->nodes + x->b[i]], amount};
        }
        memset(x->lost, 0, n * sizeof(*x->lost));
        if (load_rail(w, x, k, n) < 0)
            return -1;
        for (uint32_t i = 0; !again && i < n; i++)
            if (x->lost[i])
                x->losing[x->index[i]] |= bit;
    }
    return 0;
}

int taut_pairs_load(struct taut_traffic *w, struct taut_pairs *x)
{
    bool any_lost = false;

    if (load_rails(w, x, false) < 0)
        return -1;
    for (uint32_t i = 0; i < x->n; i++) {
        x->lost_on[i] = x->losing[i];
        any_lost |= x->lost_on[i] != 0;
    }
    if (any_lost && w->g->rails > 1 && load_rails(w, x, true) < 0)
        return -1;
    for (uint32_t i = 0; i < x->n; i++) {
        uint64_t set = x->set[i] & ~x->lost_on[i];
        if (set == 0)
            w->lost += x->ranks[i];
        else
            taut_pairs_ports(w, x->a[i], x->b[i], set,
                             x->bytes[i] / taut_rails_count(set));
    }
    return 0;
}
