/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <stdlib.h>

#include "advisor/lib/graph/dragonfly/gates.h"

#define FAR TAUT_DRAGONFLY_FAR

static double pull(enum taut_dragonfly_mode mode, const struct taut_graph *g,
                   uint32_t link)
{
    uint32_t c = taut_graph_link(g, link);

    return g->capacity[c] * (mode == TAUT_DRAGONFLY_MINIMAL ? 1 : g->left[c]);
}

/* Keep the shortest where routing is minimal; share out 1 by capacity. */
void taut_gates_share_out(enum taut_dragonfly_mode mode,
                          const struct taut_graph *g, struct taut_gates *s)
{
    bool shortest = mode == TAUT_DRAGONFLY_MINIMAL;
    uint32_t least = UINT32_MAX, n = 0;
    double sum = 0;

    for (uint32_t i = 0; shortest && i < s->n; i++)
        if (s->gate[i].hops < least)
            least = s->gate[i].hops;
    for (uint32_t i = 0; i < s->n; i++)
        if (!shortest || s->gate[i].hops == least)
            s->gate[n++] = s->gate[i];
    s->n = n;
    for (uint32_t i = 0; i < n; i++)
        sum += s->gate[i].share = pull(mode, g, s->gate[i].link);
    for (uint32_t i = 0; i < n; i++)
        s->gate[i].share /= sum;
}

/* Links from group a to group b that are in use; with r (or s) given only
 * those that router r reaches (from whose far end s is reached). */
void taut_gates_open(const struct taut_dragonfly *d, const struct taut_graph *g,
                     uint32_t a, uint32_t b, uint32_t r, uint32_t s,
                     struct taut_gates *out)
{
    size_t p = (size_t)a * d->groups + b;

    out->n = 0;
    for (uint32_t i = d->pair_first[p]; i < d->pair_first[p + 1]; i++) {
        uint32_t l = d->pair[i];
        uint32_t before =
            r == TAUT_GRAPH_NONE ? 0 : taut_dragonfly_dist(d, r, g->from[l]);
        uint32_t after =
            s == TAUT_GRAPH_NONE ? 0 : taut_dragonfly_dist(d, g->to[l], s);
        if (before != FAR && after != FAR && taut_graph_is_up(g, l))
            out->gate[out->n++] = (struct taut_gate){l, before + after, 0};
    }
}

uint32_t taut_gates_count(const struct taut_dragonfly *d, uint32_t a,
                          uint32_t b)
{
    size_t p = (size_t)a * d->groups + b;

    return d->pair_first[p + 1] - d->pair_first[p];
}

bool taut_gates_init(struct taut_gates *s, uint32_t max)
{
    s->n = 0;
    s->gate =
        max <= TAUT_GATES_FEW ? s->few : malloc((size_t)max * sizeof(*s->gate));
    return s->gate != NULL;
}

/* The gates to and from group k; false: it cannot be the one between. */
bool taut_gates_over(const struct taut_dragonfly *d, const struct taut_graph *g,
                     uint32_t r, uint32_t s, uint32_t k,
                     struct taut_gates *there, struct taut_gates *on)
{
    uint32_t a = d->group[r], b = d->group[s];

    if (k == a || k == b || !d->is_whole[k])
        return false;
    taut_gates_open(d, g, a, k, r, TAUT_GRAPH_NONE, there);
    taut_gates_open(d, g, k, b, TAUT_GRAPH_NONE, s, on);
    return there->n > 0 && on->n > 0;
}

uint32_t taut_gates_widest(const struct taut_dragonfly *d, uint32_t a,
                           uint32_t b)
{
    uint32_t most = 0;

    for (uint32_t k = 0; k < d->groups; k++) {
        uint32_t n = taut_gates_count(d, a, k), m = taut_gates_count(d, k, b);
        most = n > most ? n : most;
        most = m > most ? m : most;
    }
    return most;
}

void taut_gates_fini(struct taut_gates *s)
{
    if (s->gate != s->few)
        free(s->gate);
    s->gate = NULL;
}
