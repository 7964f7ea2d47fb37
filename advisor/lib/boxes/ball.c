/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/lib/boxes/ball.h"

int taut_ball_init(struct taut_ball *b, const struct taut_graph *g)
{
    *b = (struct taut_ball){.g = g};
    b->queue = malloc(g->routers * sizeof(*b->queue));
    b->hops = malloc(g->routers * sizeof(*b->hops));
    if (b->queue != NULL && b->hops != NULL)
        return 0;
    taut_ball_fini(b);
    errno = ENOMEM;
    return -1;
}

void taut_ball_fini(struct taut_ball *b)
{
    int saved = errno;

    free(b->queue);
    free(b->hops);
    *b = (struct taut_ball){.g = NULL};
    errno = saved;
}

/* Append the neighbours of a router that are new; returns the queue's end. */
static uint32_t spread(struct taut_ball *b, const bool *avoid, uint32_t r,
                       uint32_t end)
{
    const struct taut_graph *g = b->g;

    for (uint32_t k = g->out_first[r]; k < g->out_first[r + 1]; k++) {
        uint32_t l = g->out[k], s = g->to[l];
        if (b->hops[s] != UINT32_MAX || !taut_graph_is_up(g, l) ||
            (avoid != NULL && avoid[l]))
            continue;
        b->hops[s] = b->hops[r] + 1;
        b->queue[end++] = s;
    }
    return end;
}

struct taking {
    const struct taut_graph *g;
    const bool *is_free;
    uint32_t *node, n, count;
    uint64_t hops;
};

static void take(struct taking *t, uint32_t r, uint32_t hops)
{
    const struct taut_graph *g = t->g;

    for (uint32_t k = g->on_first[r]; k < g->on_first[r + 1]; k++) {
        uint32_t n = g->on[k];
        if (n >= g->nodes || !t->is_free[n] || t->n == t->count)
            continue; /* beyond 'nodes' it is another rail's endpoint */
        t->node[t->n++] = n;
        t->hops += hops;
    }
}

/* All routers of one distance, queue[from] … queue[to - 1]: those with the
 * most free nodes first, by counting. */
static void take_shell(struct taking *t, const struct taut_ball *b,
                       const uint32_t *spare, uint32_t from, uint32_t to)
{
    uint32_t most = 0;

    for (uint32_t i = from; i < to; i++)
        most = spare[b->queue[i]] > most ? spare[b->queue[i]] : most;
    for (uint32_t want = most; want > 0 && t->n < t->count; want--)
        for (uint32_t i = from; i < to; i++)
            if (spare[b->queue[i]] == want)
                take(t, b->queue[i], b->hops[b->queue[i]]);
}

uint32_t taut_ball_grow(struct taut_ball *b, const bool *is_free,
                        const uint32_t *spare, const bool *avoid,
                        uint32_t router, uint32_t count, uint32_t *node,
                        uint64_t *hops)
{
    struct taking t = {b->g, is_free, node, 0, count, 0};
    uint32_t from = 0, end = 1;

    memset(b->hops, 0xff, b->g->routers * sizeof(*b->hops));
    b->hops[router] = 0;
    b->queue[0] = router;
    while (from < end && t.n < count) {
        uint32_t to = end;
        take_shell(&t, b, spare, from, to);
        for (uint32_t i = from; i < to && t.n < count; i++)
            end = spread(b, avoid, b->queue[i], end);
        from = to;
    }
    if (hops != NULL)
        *hops = t.hops;
    return t.n;
}

uint32_t taut_ball_surface(struct taut_ball *b, const uint32_t *spare,
                           const bool *is_free, const uint32_t *node,
                           uint32_t n)
{
    const struct taut_graph *g = b->g;
    uint32_t sum = 0, own = 0, count = 0;

    /* queue: the set's routers; hops: 0 for these, 1 for those next to them */
    memset(b->hops, 0xff, g->routers * sizeof(*b->hops));
    for (uint32_t i = 0; i < n; i++) {
        uint32_t r = g->at[node[i]];
        own += is_free[node[i]];
        if (r == TAUT_GRAPH_NONE || b->hops[r] == 0)
            continue;
        b->hops[r] = 0;
        b->queue[count++] = r;
        sum += spare[r];
    }
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t k = g->out_first[b->queue[i]];
             k < g->out_first[b->queue[i] + 1]; k++) {
            uint32_t s = g->to[g->out[k]];
            if (b->hops[s] == UINT32_MAX) {
                b->hops[s] = 1;
                sum += spare[s];
            }
        }
    return sum - own;
}
