/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The fewest links of a way that traffic may take through a dragonfly. */
#include <config.h>

#include "advisor/lib/graph/dragonfly/gates.h"

#define FAR TAUT_DRAGONFLY_FAR

static uint32_t least(const struct taut_gates *s)
{
    uint32_t hops = FAR;

    for (uint32_t i = 0; i < s->n; i++)
        if (s->gate[i].hops < hops)
            hops = s->gate[i].hops;
    return hops;
}

static uint32_t hops_direct(const struct taut_dragonfly *d,
                            const struct taut_graph *g, uint32_t r, uint32_t s)
{
    uint32_t best = UINT32_MAX;
    size_t p = (size_t)d->group[r] * d->groups + d->group[s];

    if (d->group[r] == d->group[s])
        return taut_dragonfly_dist(d, r, s) == FAR
                   ? UINT32_MAX
                   : taut_dragonfly_dist(d, r, s);
    for (uint32_t i = d->pair_first[p]; i < d->pair_first[p + 1]; i++) {
        uint32_t l = d->pair[i];
        uint32_t before = taut_dragonfly_dist(d, r, g->from[l]);
        uint32_t after = taut_dragonfly_dist(d, g->to[l], s);
        if (before != FAR && after != FAR && taut_graph_is_up(g, l) &&
            before + 1 + after < best)
            best = before + 1 + after;
    }
    return best;
}

/* Where the way over a group ends counts for more than how it crosses it:
 * the fewest links of all combinations. */
static uint32_t hops_over(const struct taut_dragonfly *d,
                          const struct taut_graph *g, uint32_t r, uint32_t s)
{
    uint32_t most = taut_gates_widest(d, d->group[r], d->group[s]),
             best = UINT32_MAX;
    struct taut_gates there = {.gate = NULL}, on = {.gate = NULL};

    if (!taut_gates_init(&there, most) || !taut_gates_init(&on, most))
        goto out;
    for (uint32_t k = 0; k < d->groups; k++) {
        if (!taut_gates_over(d, g, r, s, k, &there, &on))
            continue;
        if (least(&there) + 2 + least(&on) >= best)
            continue;
        for (uint32_t i = 0; i < there.n; i++)
            for (uint32_t j = 0; j < on.n; j++) {
                uint32_t hops =
                    there.gate[i].hops + 2 + on.gate[j].hops +
                    taut_dragonfly_dist(d, g->to[there.gate[i].link],
                                        g->from[on.gate[j].link]);
                best = hops < best ? hops : best;
            }
    }
out:
    taut_gates_fini(&there);
    taut_gates_fini(&on);
    return best;
}

static uint32_t hops_around_inside(const struct taut_dragonfly *d, uint32_t r,
                                   uint32_t s)
{
    uint32_t mine = d->group[r], best = UINT32_MAX;

    for (uint32_t i = d->group_first[mine]; i < d->group_first[mine + 1]; i++) {
        uint32_t x = d->routers[i];
        uint32_t before = taut_dragonfly_dist(d, r, x);
        uint32_t after = taut_dragonfly_dist(d, x, s);
        if (x != r && x != s && before != FAR && after != FAR &&
            before + after < best)
            best = before + after;
    }
    return best;
}

uint32_t taut_dragonfly_hops(const void *self, const struct taut_graph *g,
                             uint32_t r, uint32_t s, uint32_t dst)
{
    const struct taut_dragonfly *d = self;
    uint32_t hops = UINT32_MAX;

    (void)dst;
    if (d->mode == TAUT_DRAGONFLY_VALIANT)
        hops = d->group[r] == d->group[s] ? hops_around_inside(d, r, s)
                                          : hops_over(d, g, r, s);
    if (hops == UINT32_MAX)
        hops = hops_direct(d, g, r, s);
    return hops == UINT32_MAX ? hops_over(d, g, r, s) : hops;
}
